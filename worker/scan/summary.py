"""``summary.json``: how many pages had which result, in all and by archive. Equal results give equal summaries, except
for the time that they took."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from msgspec import ValidationError, convert, to_builtins

from crawler_plugin.wire.errors import UsageError
from worker import __version__
from worker.fingerprint.scheme import Value
from worker.scan.inputs.archive_ref import ArchiveRef
from worker.verdict.decide import DEAD, UNIQUE

FILE: Final = "summary.json"
OF_TIME: Final = ("seconds", "pages_per_second")
"""The fields that differ between two scans of equal results."""


@dataclass
class VerdictCounts:
    """Each page is in ``verdicts``, the reason of a dead one in ``dead_pages``; each record that no page could be read
    from is in ``dead_letters``, each record that holds no page in ``passed_over``."""

    verdicts: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    languages: Counter[str] = field(default_factory=Counter)
    dead_pages: Counter[str] = field(default_factory=Counter)
    dead_letters: Counter[str] = field(default_factory=Counter)
    passed_over: Counter[str] = field(default_factory=Counter)
    suspect: int = 0

    def add(self, rows: pa.RecordBatch) -> None:
        """Add verdicts in the form of ``worker.scan.judge.rows``."""
        dead = pc.equal(rows.column("verdict"), DEAD)
        alive = rows.filter(pc.invert(dead))
        self.suspect += pc.sum(rows.column("suspect")).as_py() or 0
        for counter, column in (
            (self.verdicts, rows.column("verdict")),
            (self.dead_pages, rows.column("reason").filter(dead)),
            (self.reasons, alive.column("reason")),
            (self.languages, alive.column("language")),
        ):
            for each in pc.value_counts(column).to_pylist():
                counter[each["values"]] += each["counts"]

    def add_all(self, others: VerdictCounts) -> None:
        for one in fields(self):
            mine, theirs = getattr(self, one.name), getattr(others, one.name)
            setattr(self, one.name, mine + theirs)

    def told(self) -> dict[str, Any]:
        pages = self.verdicts.total()
        records = pages + self.dead_letters.total() + self.passed_over.total()
        told = {"records": records, "pages": pages, "suspect": self.suspect}
        counters = (one.name for one in fields(self) if one.name != "suspect")
        return told | {name: _falling(getattr(self, name)) for name in counters}


def summary(
    archives: Sequence[ArchiveRef], counted: Sequence[VerdictCounts], scheme: Mapping[str, Value], seconds: float
) -> dict[str, Any]:
    """The counts of each of the archives, and in all. The scan took this many ``seconds``."""
    whole = VerdictCounts()
    by_archive, inputs = [], []
    for archive, counts in zip(archives, counted, strict=True):
        whole.add_all(counts)
        about = {"name": archive.name, "form": archive.form, "fields": archive.fields}
        by_archive.append(about | counts.told())
        inputs.append(to_builtins(archive.with_pages(counts.verdicts.total())))
    told = whole.told()
    rate = round(told["pages"] / max(seconds, 1e-3), 1)
    timed = {"version": __version__, "seconds": round(seconds, 1), "pages_per_second": rate}
    return timed | told | {"archives": by_archive, "inputs": inputs, "settings": dict(scheme)}


def encoded(found: Mapping[str, Any]) -> bytes:
    """A summary as JSON for people and programs."""
    return (json.dumps(found, ensure_ascii=False, indent=2) + "\n").encode()


def refs_in(found: Mapping[str, Any]) -> list[ArchiveRef]:
    """References that open the archives of a summary again, in their order.

    Raises:
        UsageError: the summary does not have them.
    """
    try:
        return convert(found["inputs"], list[ArchiveRef])
    except (KeyError, TypeError, ValidationError) as error:
        raise UsageError(f"{FILE} does not say which archives were judged ({error}): judge them anew") from error


def unique_in(found: Mapping[str, Any]) -> int:
    """The number of unique pages in a summary.

    Raises:
        UsageError: the summary does not say it.
    """
    try:
        return convert(found["verdicts"], dict[str, int]).get(UNIQUE, 0)
    except (KeyError, ValidationError) as error:
        raise UsageError(f"{FILE} does not say how many pages are unique ({error}): judge them anew") from error


def decoded(content: bytes) -> dict[str, Any]:
    """The summary that was ``encoded``."""
    found: dict[str, Any] = json.loads(content)
    return found


def _falling(counts: Counter[str]) -> dict[str, int]:
    """By falling number, equal ones by name."""
    return dict(
        sorted(((name, count) for name, count in counts.items() if count), key=lambda each: (-each[1], each[0]))
    )
