"""The largest groups: their composition, from all their pages or from as many as can be looked at."""

from __future__ import annotations

import heapq
from collections import Counter
from dataclasses import dataclass
from typing import Final

from crawler_plugin.wire.url_templates import address_of
from worker.results.groups.grouping import Grouping, Rows, SameSurvivor
from worker.results.groups.verdict_lines import VerdictLines

LARGEST: Final = 200
"""Groups that are looked at."""
_LOOKED_AT: Final = 200
"""Pages of a group that are looked at, evenly spread over it."""
_SHOWN: Final = 10
"""Pages that are named."""


@dataclass(frozen=True)
class GroupPicture:
    """A group. All but ``size`` is of the pages that were looked at; ``similarity`` is the median of known values."""

    url: str
    size: int
    looked_at: int
    tokens: int
    hosts: Counter[str]
    templates: Counter[str]
    reasons: Counter[str]
    similarity: float | None
    first_seen: int | None
    last_seen: int | None
    urls: tuple[str, ...]


def largest(lines: VerdictLines, grouping: Grouping, most: int = LARGEST) -> list[GroupPicture]:
    """The groups with most pages, of equals those that come first in the file."""
    found = heapq.nsmallest(most, enumerate(grouping.groups()), key=lambda group: (-group[1].size, group[0]))
    return [_picture(lines, group) for _, group in found]


def _picture(lines: VerdictLines, group: SameSurvivor) -> GroupPicture:
    rows = [lines.at(begin) for begin in _spread(group.rows).tolist()]
    addresses = [address_of(row.url) for row in rows]
    similarities = sorted(row.similarity for row in rows if row.similarity is not None)
    times = [row.fetched for row in rows if row.fetched is not None]
    return GroupPicture(
        url=rows[0].url if not group.elsewhere else rows[0].duplicate_of or rows[0].url,
        size=group.size,
        looked_at=len(rows),
        tokens=rows[0].tokens,
        hosts=Counter(one.host for one in addresses),
        templates=Counter(one.template for one in addresses),
        reasons=Counter(row.reason for row in rows if row.verdict != "unique"),
        similarity=similarities[len(similarities) // 2] if similarities else None,
        first_seen=min(times, default=None),
        last_seen=max(times, default=None),
        urls=tuple(row.url for row in rows[:: max(1, -(-len(rows) // _SHOWN))]),
    )


def _spread(rows: Rows) -> Rows:
    """The first one, and others at equal distances."""
    return rows[:: -(-len(rows) // _LOOKED_AT)]
