"""``summary.json``: how many pages came to what, counted from the lines; equal results give equal summaries."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from worker.fingerprint.scheme import Value
from worker.scan.inputs.packed_file import renamed_when_whole
from worker.scan.inputs.records import Archive
from worker.scan.rows import DeadRow, VerdictRow
from worker.verdict.decide import DEAD

FILE: Final = "summary.json"


def summary(
    verdicts: Path,
    dead_letters: Path,
    archives: Sequence[Archive],
    passed_over: Sequence[Mapping[str, int]],
    scheme: Mapping[str, Value],
) -> dict[str, Any]:
    """Counts of all lines, in all and by archive; ``passed_over`` belongs to the archives, in their order.

    Raises:
        UnreadableRecord: a line is neither a verdict nor a dead letter.
    """
    kinds, reasons, languages = Counter[str](), Counter[str](), Counter[str]()
    suspects = 0
    with verdicts.open("rb") as lines:
        for line in lines:
            row = VerdictRow.decode(line)
            kinds[row.verdict] += 1
            suspects += row.suspect
            languages[row.language] += row.verdict != DEAD
            reasons[row.reason] += row.verdict != DEAD
    with dead_letters.open("rb") as lines:
        dead = Counter(DeadRow.decode(line).reason for line in lines)
    return {
        "pages": kinds.total(),
        "verdicts": _falling(kinds),
        "suspect": suspects,
        "reasons": _falling(reasons),
        "languages": _falling(languages),
        "dead_letters": _falling(dead),
        "archives": [
            {"name": each.name, "form": each.form, "fields": dict(each.fields), "passed_over": dict(others)}
            for each, others in zip(archives, passed_over, strict=True)
        ],
        "settings": dict(scheme),
    }


def write_summary(found: Mapping[str, Any], target: Path) -> None:
    """As JSON for people and programs; the file has its name once it is whole."""
    with renamed_when_whole(target) as beside:
        beside.write_text(json.dumps(found, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")


def _falling(counts: Counter[str]) -> dict[str, int]:
    """By falling number, equal ones by name."""
    return dict(
        sorted(((name, count) for name, count in counts.items() if count), key=lambda each: (-each[1], each[0]))
    )
