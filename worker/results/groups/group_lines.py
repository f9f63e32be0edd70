"""Groups as lines of JSON: a page that is kept and the pages near to it.

``representative`` is the page that is kept; its ``file`` and ``offset`` are null if it stands in none of the files of
this scan. For each of the ``members`` ``distance``, ``similarity`` and ``reason`` say how near it is to that page; its
``verdict`` is its own, so a survivor that is not kept is ``unique``. ``size`` counts the kept page and the members.
``first_seen`` and ``last_seen`` are of those whose fetch time is known, in milliseconds since 1970 UTC. ``split_from``
is the page that is kept for the rest of the group, if the preferred page is not near to all of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO, Final

import msgspec

from crawler_plugin.wire.errors import UsageError
from worker.results.groups.grouping import Grouping
from worker.results.groups.keep import Keep, KeptPage, kept
from worker.results.groups.nearness import Near, Nearness, distance, nearness, page_of
from worker.results.groups.verdict_lines import VerdictLines

_PAGE: Final = ("id", "url", "file", "offset")


@dataclass
class Written:
    """The result. ``pages`` are those that were read, without the ``dead`` ones; ``groups`` those that were written,
    with ``grouped`` pages; ``split`` counts groups that take two lines, ``elsewhere`` those whose kept page is no page
    of this scan."""

    pages: int
    dead: int
    groups: int = 0
    grouped: int = 0
    largest: int = 0
    split: int = 0
    elsewhere: int = 0


def write_groups(
    lines: VerdictLines, out: BinaryIO, near: Near | None, keep: Keep = "first", least: int = 2
) -> Written:
    """Write a line for each group of at least this many pages, in the order of their survivors.

    ``near`` is the predicate that the verdicts were made by: each member is checked to be near to the page that is
    kept. None is for verdicts without sketches: there the kept page is the survivor, and the workers found each member
    near to it.

    Raises:
        UsageError: a line is no verdict, the settings differ from the scan's, or this preference is impossible.
    """
    if keep != "first" and near is None:
        raise UsageError(
            f"these verdicts carry no sketches, so it is unknown whether the pages of a group are near to the {keep} "
            "one: leave --keep out, or scan the pages from files"
        )
    grouping = Grouping(lines, near)
    if keep == "canonical" and not grouping.canonical:
        raise UsageError("none of these pages names a canonical URL: take --keep shortest-url, or leave --keep out")
    written = Written(grouping.pages, grouping.dead)
    for group in grouping.groups(least):
        for number, part in enumerate(kept(lines, group, keep, near)):
            _write(lines, part, near, out)
            size = 1 + len(part.members)
            written.groups += 1
            written.grouped += size
            written.largest = max(written.largest, size)
            written.split += number
            written.elsewhere += part.page is None
    return written


def _write(lines: VerdictLines, part: KeptPage, near: Near | None, out: BinaryIO) -> None:
    """Write a line, one member after the other: a group may have more of them than fit into memory."""
    rows = part.members.tolist() if part.page is None else [part.page, *part.members.tolist()]
    times = [fetched for row in rows if (fetched := lines.at(row).fetched) is not None]
    line = {
        "representative": _representative(lines, part),
        "size": 1 + len(part.members),
        "first_seen": min(times, default=None),
        "last_seen": max(times, default=None),
        "split_from": None if part.split_from is None else lines.at(part.split_from).row(_PAGE),
    }
    out.write(msgspec.json.encode(line)[:-1] + b',"members":[')
    for number, member in enumerate(_members(lines, part, near)):
        out.write(b"," * bool(number) + msgspec.json.encode(member))
    out.write(b"]}\n")


def _representative(lines: VerdictLines, part: KeptPage) -> dict[str, Any]:
    if part.page is not None:
        return lines.at(part.page).row(_PAGE)
    row = lines.at(int(part.members[0]))
    return dict(zip(_PAGE, (row.duplicate_of_id, row.duplicate_of or row.url, None, None), strict=True))


def _members(lines: VerdictLines, part: KeptPage, near: Near | None) -> Iterator[dict[str, Any]]:
    """The pages that go with the kept one, each with how near it is to that page, read on request.

    Raises:
        UsageError: a page is not near to the kept one.
    """
    survivor = None if part.page is None else page_of(lines.at(part.page))
    for begin in part.members.tolist():
        row = lines.at(begin)
        found: Nearness | None = Nearness(row.distance, row.similarity, row.reason)
        if survivor is not None and near is not None:
            found = nearness(near, survivor, page_of(row))
        elif survivor is not None:
            found = Nearness(distance(survivor, page_of(row)), None, row.reason)
        if found is None:
            raise UsageError(f"{lines.path} was changed while it was read: begin again")
        yield row.row((*_PAGE, "verdict")) | found._asdict()
