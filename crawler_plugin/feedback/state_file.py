"""What a crawl knows of its groups, in a file of its ``JOBDIR``. It is advice: a crawl that loses it learns anew."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import astuple
from pathlib import Path
from typing import Final

from crawler_plugin.feedback.evidence import GroupCounts
from crawler_plugin.wire.files import replaced

FILE: Final = "dedup.feedback"
FORM: Final = 1
"""Of the file. Raise it when what it holds means something else; files of another form are refused."""


def read_groups(path: Path) -> dict[str, GroupCounts]:
    """What was written there; nothing where there is no file.

    Raises:
        OSError: it cannot be read.
        ValueError: it is damaged, or of another form.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    try:
        told = json.loads(text)
        if told["form"] != FORM:
            raise ValueError(f"form {told['form']!r}, not {FORM}")
        return {str(group): _counts(*numbers) for group, *numbers in told["groups"]}
    except (LookupError, TypeError, RecursionError) as error:
        raise ValueError(f"it is damaged ({type(error).__name__}: {error})") from error


def write_groups(path: Path, groups: Iterable[tuple[str, GroupCounts]]) -> None:
    """Write in place of what was there, whole or not at all.

    Raises:
        OSError: it cannot be written.
    """
    told = {"form": FORM, "groups": [(group, *astuple(counts)) for group, counts in groups]}
    with replaced(path) as beside:
        beside.write_text(json.dumps(told), encoding="utf-8")


def _counts(new: float, copies: float, verdicts: int, found: int, fetched: int) -> GroupCounts:
    are_whole = all(type(number) is int and number >= 0 for number in (verdicts, found, fetched))
    has_weight = new + copies > 0
    if not (are_whole and new >= 0 and copies >= 0 and has_weight == (verdicts > 0)):
        raise ValueError("it is damaged")
    return GroupCounts(float(new), float(copies), verdicts, found, fetched)
