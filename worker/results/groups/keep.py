"""Which page of a group is kept, and what happens to pages not near to it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, Literal, get_args

import numpy as np

from worker.results.groups.grouping import Rows, SameSurvivor, spelled_alike
from worker.results.groups.nearness import Near, nearness, page_of
from worker.results.groups.verdict_lines import VerdictLines

Keep = Literal["first", "longest", "newest", "canonical", "shortest-url"]
KEEPS: Final = get_args(Keep)


@dataclass(frozen=True)
class KeptPage:
    """A page, and the pages near to it that go with it. If ``page`` is None it stands elsewhere, and the members name
    it. ``split_from`` is the page of the other part, if the two were one group."""

    page: int | None
    members: Rows
    split_from: int | None = None


def kept(lines: VerdictLines, group: SameSurvivor, keep: Keep, near: Near | None) -> Iterator[KeptPage]:
    """The group with the preferred page in front: in one part, or in two.

    Each page that is near to the preferred one goes with it; ``near`` decides. The others stay with their survivor,
    which is near to all of them, and which is then no member of the preferred page's part though it is near to it, too.
    A survivor that stands elsewhere is kept whatever is preferred: it was there before.
    """
    if group.elsewhere:
        yield KeptPage(None, group.rows)
        return
    survivor = int(group.rows[0])
    page = survivor if keep == "first" else _PREFERRED[keep](lines, group.rows)
    if page == survivor or near is None:
        yield KeptPage(survivor, group.rows[1:])
        return
    of_page = page_of(lines.at(page))
    holds = [row == page or nearness(near, of_page, page_of(lines.at(row))) is not None for row in group.rows.tolist()]
    others = group.rows[~np.array(holds)]
    together = group.rows[np.array(holds) & (group.rows != page)]
    if not len(others):
        yield KeptPage(page, together)
        return
    yield KeptPage(survivor, others, split_from=page)
    yield KeptPage(page, together[together != survivor], split_from=survivor)


def _longest(lines: VerdictLines, rows: Rows) -> int:
    return int(max(rows.tolist(), key=lambda row: lines.at(row).tokens))


def _newest(lines: VerdictLines, rows: Rows) -> int:
    """The page fetched last; a page without a known time is older than all."""

    def time(row: int) -> int:
        fetched = lines.at(row).fetched
        return -1 if fetched is None else fetched

    return int(max(rows.tolist(), key=time))


def _shortest_url(lines: VerdictLines, rows: Rows) -> int:
    return int(min(rows.tolist(), key=lambda row: len(lines.at(row).url)))


def _canonical(lines: VerdictLines, rows: Rows) -> int:
    """The page whose URL most of the others name as canonical; the survivor if they name none of the group."""
    urls, named = [], Counter[str]()
    for row in map(lines.at, rows.tolist()):
        urls.append(spelled_alike(row.url))
        if row.canonical is not None and (name := spelled_alike(row.canonical)) != urls[-1]:
            named[name] += 1
    return int(rows[max(range(len(urls)), key=lambda place: named[urls[place]])])


_PREFERRED: Final[dict[str, Callable[[VerdictLines, Rows], int]]] = {
    "longest": _longest,
    "newest": _newest,
    "shortest-url": _shortest_url,
    "canonical": _canonical,
}
"""The first of those with equal preference: ``max`` and ``min`` return it."""
