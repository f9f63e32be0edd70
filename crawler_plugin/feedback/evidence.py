"""Predicts a group's next page from the verdicts on its pages: counts that fade, and a bound. Pure.

A page is *new* where its verdict is unique or refetch, and a *copy* where it is duplicate. Each verdict reduces the
weight of earlier verdicts by a ``MEMORY``-th: the weight fades by verdicts and not by time, so that a slow crawl knows
as much as a fast one. A new page also halves the weight of the copies before it: two new pages among the explored ones
bring back a template that has new content after all.

A group passes its first verdicts on to the next wider group: a quarter of the number that a group needs before it
decides. So a wider group knows what *young* groups inside it give, it decides only after four of them at least, and a
trap of ten thousand pages counts no more there than any other group.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

MEMORY: Final = 60
"""Verdicts. With fewer, chance brings traps back; with more, new content takes longer to bring a template back."""
PASSED_ON: Final = 4
"""A group passes on the least number of verdicts divided by this: a wider group decides after this many narrower
groups."""
LOW: Final = 0.2
"""A group counts as giving only copies while the upper bound of its share of new pages is at most this. To get there a
group needs twenty copies and no new page: some 16 % are still possible then."""
Z: Final = 1.96
"""The quantile for the usual 95 % interval."""

FIRST: Final = 4
"""Pages of a group that are tried before its other pages wait, and verdicts after which the group is doubted. With
fewer, groups that look like copies by chance are put back; with more, each trap costs that many pages at its
beginning."""


@dataclass(slots=True)
class GroupCounts:
    """The evidence on one group."""

    new: float = 0.0
    copies: float = 0.0
    verdicts: int = 0
    """All verdicts on the group, and in ``found`` how many of them were new: without fading."""
    found: int = 0
    fetched: int = 0
    """Requests that were let go."""

    @property
    def weight(self) -> float:
        """The weight of all its verdicts."""
        return self.new + self.copies

    def is_doubted(self, least: int) -> bool:
        """Whether hardly any of its pages was new, while they are too few to say that the group gives only copies."""
        return FIRST <= self.verdicts < least and self.new <= LOW * self.weight

    def is_tried(self, *, hears_all: bool) -> bool:
        """Whether enough of its requests have no verdict yet. The more of its pages were new, the more requests are
        enough.

        ``hears_all``: whether all its verdicts are counted here; in a wider group they are not.
        """
        unheard = self.fetched - self.verdicts
        return unheard >= FIRST * (1 + self.found) if hears_all else self.verdicts < FIRST <= unheard

    def count(self, *, is_new: bool) -> None:
        """Count one verdict."""
        kept = 1 - 1 / MEMORY
        self.new = self.new * kept + is_new
        self.copies = self.copies * kept * (0.5 if is_new else 1.0) + (not is_new)
        self.verdicts += 1
        self.found += is_new


class Evidence(NamedTuple):
    """The evidence on a request. ``depth`` is the place of the group whose verdicts are enough, 0 for the narrowest."""

    depth: int
    upper_bound: float
    """The upper bound of the share of new pages, from 0 to 1."""

    @property
    def says_copies(self) -> bool:
        """Whether the group counts as giving only copies."""
        return self.upper_bound <= LOW


def count_verdict(groups: Sequence[GroupCounts], least: int, *, is_new: bool) -> None:
    """Count a verdict in a page's groups, the narrowest first, as far as each group passes it on."""
    for counts in groups:
        is_young = counts.verdicts < least // PASSED_ON
        counts.count(is_new=is_new)
        if not is_young:
            return


def weigh(groups: Sequence[GroupCounts | None], least: int) -> Evidence | None:
    """The evidence from a request's groups, the narrowest first; None where no group has ``least`` verdicts.

    The narrowest group with that many verdicts decides. Narrower groups use the verdicts that they have, and for the
    missing ones borrow the share of the next wider group.
    """
    depth = next((n for n, counts in enumerate(groups) if counts is not None and counts.verdicts >= least), None)
    if depth is None:
        return None
    speaker = groups[depth]
    assert speaker is not None
    share = speaker.new / speaker.weight
    if depth:  # a wider group must always have given copies: its last young groups may all belong to one trap
        share = max(share, speaker.found / speaker.verdicts)
    for counts in reversed(groups[:depth]):
        if counts is not None:
            share = (counts.new + share * (least - counts.weight)) / least
    return Evidence(depth, wilson_upper_bound(share, least if depth else speaker.weight))


def wilson_upper_bound(share: float, count: float) -> float:
    """The upper end of Wilson's score interval for a share of ``count`` trials (Wilson 1927, JASA 22, p. 209)."""
    squared = Z * Z
    centre = share + squared / (2 * count)
    spread = Z * math.sqrt(share * (1 - share) / count + squared / (4 * count * count))
    return min(1.0, (centre + spread) / (1 + squared / count))
