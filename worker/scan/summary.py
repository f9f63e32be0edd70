"""``summary.json``: how many pages came to what, counted from the lines, in all and by archive. Equal results give
equal summaries, but for the time that they took."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, BinaryIO, Final

from msgspec import ValidationError, convert, to_builtins

from crawler_plugin.wire.errors import UsageError
from crawler_plugin.wire.files import replaced
from crawler_plugin.wire.outcomes import Verdict
from worker import __version__
from worker.fingerprint.scheme import Value
from worker.results.rows import DEAD_LETTERS, VERDICTS, pageless_records, read_line
from worker.scan.checkpoint import ArchiveEnd
from worker.scan.inputs.archive_ref import ArchiveRef
from worker.scan.inputs.records import Archive
from worker.verdict.decide import DEAD

FILE: Final = "summary.json"
OF_TIME: Final = ("seconds", "pages_per_second")
"""What differs between two scans of equal results."""


@dataclass
class _Counts:
    """Each page is in ``verdicts``, the reason of a dead one in ``dead_pages``; each record that no page could be read
    from is in ``dead_letters``, each one that holds none in ``passed_over``."""

    verdicts: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    languages: Counter[str] = field(default_factory=Counter)
    dead_pages: Counter[str] = field(default_factory=Counter)
    dead_letters: Counter[str] = field(default_factory=Counter)
    passed_over: Counter[str] = field(default_factory=Counter)
    suspect: int = 0

    def add(self, row: Verdict) -> None:
        self.verdicts[row.verdict] += 1
        self.suspect += row.suspect
        if row.verdict == DEAD:
            self.dead_pages[row.reason] += 1
        else:
            self.reasons[row.reason] += 1
            self.languages[row.language] += 1

    def add_all(self, others: _Counts) -> None:
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
    folder: Path, archives: Sequence[Archive], ends: Sequence[ArchiveEnd], scheme: Mapping[str, Value], seconds: float
) -> dict[str, Any]:
    """Counts of all lines in a folder; ``ends`` belong to the archives, in their order. The scan took ``seconds``.

    Raises:
        UnreadableRecord: a line is neither a verdict nor a dead letter.
    """
    whole = _Counts()
    by_archive, inputs = [], []
    with (folder / VERDICTS).open("rb") as verdicts, (folder / DEAD_LETTERS).open("rb") as dead_letters:
        for archive, end in zip(archives, ends, strict=True):
            counts = _Counts(passed_over=Counter(end.passed_over))
            for line in _up_to(verdicts, end.lengths[VERDICTS]):
                counts.add(read_line(line))
            for letter in pageless_records(_up_to(dead_letters, end.lengths[DEAD_LETTERS])):
                counts.dead_letters[letter.reason] += 1
            whole.add_all(counts)
            about = {"name": archive.name, "form": archive.form, "fields": dict(archive.fields)}
            by_archive.append(about | counts.told())
            inputs.append(to_builtins(ArchiveRef.of(archive, counts.verdicts.total())))
    told = whole.told()
    rate = round(told["pages"] / max(seconds, 1e-3), 1)
    timed = {"version": __version__, "seconds": round(seconds, 1), "pages_per_second": rate}
    return timed | told | {"archives": by_archive, "inputs": inputs, "settings": dict(scheme)}


def refs_in(found: Mapping[str, Any]) -> list[ArchiveRef]:
    """What opens the archives of a summary again, in their order.

    Raises:
        UsageError: it does not say it.
    """
    try:
        return convert(found["inputs"], list[ArchiveRef])
    except (KeyError, TypeError, ValidationError) as error:
        raise UsageError(f"{FILE} does not say which archives were judged ({error}): judge them anew") from error


def write_summary(found: Mapping[str, Any], target: Path) -> None:
    """As JSON for people and programs; the file has its name once it is whole."""
    with replaced(target) as beside:
        beside.write_text(json.dumps(found, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")


def _up_to(lines: BinaryIO, end: int) -> Iterator[bytes]:
    while lines.tell() < end:
        yield lines.readline()


def _falling(counts: Counter[str]) -> dict[str, int]:
    """By falling number, equal ones by name."""
    return dict(
        sorted(((name, count) for name, count in counts.items() if count), key=lambda each: (-each[1], each[0]))
    )
