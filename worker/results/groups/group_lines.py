"""Groups as lines of JSON: a page that is kept and those that are near to it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

import msgspec

from crawler_plugin.wire.errors import UsageError
from crawler_plugin.wire.outcomes import Verdict
from worker.results.groups.grouping import Grouping
from worker.results.groups.keep import Keep, KeptPage, kept
from worker.results.groups.nearness import Near, Nearness, distance, nearness, page_of
from worker.results.groups.verdict_lines import VerdictLines


class Representative(msgspec.Struct, frozen=True):
    """The page that is kept. ``file`` and ``offset`` are None where it stands in none of the files of this scan."""

    id: str | None
    url: str
    file: str | None = None
    offset: int | None = None


class GroupedPage(msgspec.Struct, frozen=True):
    """A page that goes with the kept one. ``distance``, ``similarity`` and ``reason`` say how near it is to that one;
    ``verdict`` is its own, so a survivor that is not kept is ``unique``."""

    id: str | None
    url: str
    file: str
    offset: int
    verdict: str
    distance: int | None
    similarity: float | None
    reason: str


class GroupLine(msgspec.Struct, frozen=True):
    """What a group's line says besides its members. ``size`` counts the kept page and the members. ``first_seen`` and
    ``last_seen`` are of those whose fetch time is known, in milliseconds since 1970 UTC. ``split_from`` is the page
    that is kept for the rest of the group, where the preferred page is not near to all of it."""

    representative: Representative
    size: int
    first_seen: int | None
    last_seen: int | None
    split_from: Representative | None = None


@dataclass
class Written:
    """What was found. ``pages`` are those that were read, the ``dead`` ones not among them; ``groups`` those that were
    written, with ``grouped`` pages; ``split`` counts groups that came to two lines, ``elsewhere`` those whose kept page
    is no page of this scan."""

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
    """Write a line for each group of at least so many pages, in the order of their survivors.

    ``near`` is the predicate that the verdicts were made by: each member is checked to be near to the page that is
    kept. None is for verdicts without sketches, where the kept page is the survivor, to which the workers found each
    member near.

    Raises:
        UsageError: a line is no verdict, the settings are others than the scan's, or nothing can be preferred so.
    """
    if keep != "first" and near is None:
        raise UsageError(
            f"these verdicts carry no sketches, so nobody can say whether the pages of a group are near to the {keep} "
            "one: leave --keep out, or scan the pages from files"
        )
    grouping = Grouping(lines, near)
    if keep == "canonical" and not grouping.canonical:
        raise UsageError("no page of these names a canonical URL: take --keep shortest-url, or leave --keep out")
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


def members(lines: VerdictLines, part: KeptPage, near: Near | None) -> Iterator[GroupedPage]:
    """The pages that go with the kept one, each with how near it is to that one, read as they are asked for.

    Raises:
        UsageError: a page is not near to the kept one.
    """
    survivor = None if part.page is None else page_of(lines.at(part.page))
    for begin in part.members.tolist():
        row = lines.at(begin)
        found: Nearness | None = Nearness(row.distance, _rounded(row.similarity), row.reason)
        if survivor is not None and near is not None:
            found = nearness(near, survivor, page_of(row))
        elif survivor is not None:
            found = Nearness(distance(survivor, page_of(row)), None, row.reason)
        if found is None:
            raise UsageError(f"{lines.path} was changed while it was read: begin again")
        yield GroupedPage(
            id=row.id,
            url=row.url,
            file=row.file,
            offset=row.offset,
            verdict=row.verdict,
            distance=found.distance,
            similarity=_rounded(found.similarity),
            reason=found.reason,
        )


def _write(lines: VerdictLines, part: KeptPage, near: Near | None, out: BinaryIO) -> None:
    """A line, a member after the other: a group may have more of them than fit into memory."""
    rows = part.members.tolist() if part.page is None else [part.page, *part.members.tolist()]
    times = [fetched for row in rows if (fetched := lines.at(row).fetched) is not None]
    line = GroupLine(
        representative=_page(lines, part),
        size=1 + len(part.members),
        first_seen=min(times, default=None),
        last_seen=max(times, default=None),
        split_from=None if part.split_from is None else _of_row(lines.at(part.split_from)),
    )
    out.write(msgspec.json.encode(line)[:-1] + b',"members":[')
    for number, member in enumerate(members(lines, part, near)):
        out.write(b"," * bool(number) + msgspec.json.encode(member))
    out.write(b"]}\n")


def _page(lines: VerdictLines, part: KeptPage) -> Representative:
    if part.page is not None:
        return _of_row(lines.at(part.page))
    row = lines.at(int(part.members[0]))
    return Representative(row.duplicate_of_id, row.duplicate_of or row.url)


def _of_row(row: Verdict) -> Representative:
    return Representative(row.id, row.url, row.file, row.offset)


def _rounded(similarity: float | None) -> float | None:
    return None if similarity is None else round(similarity, 4)
