"""What the verdicts on the pages of a group say of its next page: counts that fade, and a bound. Pure.

A page is *new* where its verdict is unique or refetch, and a *copy* where it is duplicate. Each verdict lets the weight
of those before it fade by a ``MEMORY``-th: by verdicts and not by time, so that a slow crawl knows as much as a fast
one. A new page halves the weight of the copies before it besides: two of them among those that are explored bring a
template back that turned out to have new content after all.

A group passes its first verdicts on to the next wider one, a quarter of those that are enough to speak. So a wider
group knows what *young* groups inside it give, it speaks for four of them at least, and a trap of ten thousand pages
counts no more there than any other group.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

MEMORY: Final = 60
"""Verdicts. Smaller, and chance brings traps back; larger, and new content takes longer to do so."""
PASSED_ON: Final = 4
"""The part of the least number of verdicts that a group passes on: by that many narrower ones a wider one speaks."""
LOW: Final = 0.2
"""An upper bound of the share of new pages up to which a group is said to give only copies. Twenty copies and no new
page are needed to come below it: some 16 % are possible then."""
Z: Final = 1.96
"""Of the 95 % interval, as is usual."""

FIRST: Final = 4
"""Pages of a group that are tried before others of it wait, and verdicts after which it is doubted. Fewer, and pages go
behind that look like copies by chance; more, and each trap costs as many at its beginning."""


@dataclass(slots=True)
class GroupCounts:
    """What is known of a group."""

    new: float = 0.0
    copies: float = 0.0
    verdicts: int = 0
    """All that it had, and in ``found`` how many of them were new: without fading."""
    found: int = 0
    fetched: int = 0
    """Requests that were let go."""

    @property
    def weight(self) -> float:
        """Of all its verdicts."""
        return self.new + self.copies

    def is_doubted(self, least: int) -> bool:
        """Whether hardly any of its pages was new, of too few to say that it gives only copies."""
        return FIRST <= self.verdicts < least and self.new <= LOW * self.weight

    def is_tried(self, *, hears_all: bool) -> bool:
        """Whether enough of its requests have no verdict yet, the more the more of its pages were new.

        ``hears_all``: whether all its verdicts are counted here, as they are not in a wider group.
        """
        unheard = self.fetched - self.verdicts
        return unheard >= FIRST * (1 + self.found) if hears_all else self.verdicts < FIRST <= unheard

    def count(self, *, is_new: bool) -> None:
        """A verdict has come."""
        kept = 1 - 1 / MEMORY
        self.new = self.new * kept + is_new
        self.copies = self.copies * kept * (0.5 if is_new else 1.0) + (not is_new)
        self.verdicts += 1
        self.found += is_new


class Evidence(NamedTuple):
    """What speaks on a request. ``depth`` is the place of the group whose verdicts are enough, 0 the narrowest."""

    depth: int
    upper_bound: float
    """Of the share of new pages, from 0 to 1."""

    @property
    def says_copies(self) -> bool:
        """Whether its group is said to give only copies."""
        return self.upper_bound <= LOW


def count_verdict(groups: Sequence[GroupCounts], least: int, *, is_new: bool) -> None:
    """Count a verdict in a page's groups, the narrowest first, as far as it is passed on."""
    for counts in groups:
        is_young = counts.verdicts < least // PASSED_ON
        counts.count(is_new=is_new)
        if not is_young:
            return


def weigh(groups: Sequence[GroupCounts | None], least: int) -> Evidence | None:
    """What the groups of a request say, the narrowest first; None where none has ``least`` verdicts.

    The narrowest group that has as many speaks. Narrower ones have what verdicts they have, and borrow the share of the
    next wider one for those that they lack.
    """
    depth = next((n for n, counts in enumerate(groups) if counts is not None and counts.verdicts >= least), None)
    if depth is None:
        return None
    speaker = groups[depth]
    assert speaker is not None
    share = speaker.new / speaker.weight
    if depth:  # a wider group has to have given copies always: the last young ones in it may all have been of one trap
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
