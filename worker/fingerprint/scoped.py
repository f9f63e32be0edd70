"""Which pages of near texts are near: pages of one scope, unless a text may be its site's rather than the page's.

The text that was extracted as a page's content may stand on other pages of its site as well: an appeal, a table of
contents, a shop's text about all its articles. If the text repeats nothing of the title, the text is *doubted*
(``worker.page.main_text.title_evidence``). Titles tell such pages of one site apart, and copies on one site have one
title. They do not tell pages of two sites apart, for each site writes its own name there: equal content on two sites is
a copy, whatever the titles say, unless it was seen under several titles of one site. Then it is a *template*'s.

Texts that are announced may be a template's in their larger part, too: if the titles of two pages of one site, both
announced, have next to nothing in common, most of each text is the site's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from worker.fingerprint.near import SHORT, AccurateNear, Match, SimHashNear, SketchedRecord

RULE: Final = "titles-within-sites-1"
"""Name of the rule; a part of the scheme, so change it when the rule changes."""

ANNOUNCED: Final = 0
DOUBTED: Final = 1
TEMPLATE: Final = 2
"""A text that stands under several titles of its site, as far as the worker that claims the page has seen: for a
doubted text all other titles count, for an announced one those that are not alike."""

LEAST_ACROSS: Final = SHORT
"""A doubted text, or a text compared with it, of this many tokens or more is a copy if two sites have it. Shorter ones
are what all shops say: that an article is sold out, or a page was moved."""


class TitledRecord(SketchedRecord, Protocol):
    """The fields that show whether a page's text is its own."""

    @property
    def site(self) -> int:
        """32 bits that stand for the registered domain, 0 where it is not known."""

    @property
    def title(self) -> int:
        """32 bits that stand for the title without the site's name, 0 for none."""

    @property
    def title_words(self) -> int:
        """64 bits, one set for each word of that title by its hash; 0 for none."""

    @property
    def doubt(self) -> int:
        """``ANNOUNCED``, ``DOUBTED`` or ``TEMPLATE``."""


class ScopedRecord(TitledRecord, Protocol):
    """The fields of a page that ``ScopedNear`` reads."""

    @property
    def scope(self) -> int:
        """64 bits that stand for the scope that the page is compared within; 0 for all pages."""


@dataclass(frozen=True)
class ScopedNear:
    """``near`` between pages of one scope that are comparable. They are comparable if their titles are the same; or if
    they are of one site, neither text is doubted, and the titles are alike; or if they are of two sites, and either
    neither text is doubted, or none is a template's and each has at least ``least_across`` tokens.

    Symmetric and pure as ``near`` is.
    """

    near: SimHashNear | AccurateNear
    least_across: int = LEAST_ACROSS

    def __call__(self, a: ScopedRecord, b: ScopedRecord) -> Match | None:
        """How ``a`` and ``b`` are near, or None."""
        return self.near(a, b) if a.scope == b.scope and self.comparable(a, b) else None

    def comparable(self, a: TitledRecord, b: TitledRecord) -> bool:
        """Whether their texts say something about these pages, rather than about their sites."""
        if a.title == b.title and a.title != 0:
            return True
        if a.site == b.site != 0:
            return a.doubt == b.doubt == ANNOUNCED and alike(a.title_words, b.title_words)
        if a.doubt == b.doubt == ANNOUNCED:
            return True
        return max(a.doubt, b.doubt) < TEMPLATE and min(a.tokens, b.tokens) >= self.least_across

    def is_alone(self, page: TitledRecord) -> bool:
        """Whether it is near to pages of its own title at most, so that an index need not find it by its text alone."""
        return page.doubt >= TEMPLATE or (page.doubt == DOUBTED and page.tokens < self.least_across)


def alike(a: int, b: int) -> bool:
    """Whether the words of two titles, as bits, have more than half of the fewer ones in common; or one has no title.

    Long titles set so many bits that some are alike by chance: then their texts decide.
    """
    return a == 0 or b == 0 or 2 * (a & b).bit_count() > min(a.bit_count(), b.bit_count())


def title_masks(titles: NDArray[np.uint32]) -> NDArray[np.uint64]:
    """64 bits for each of n titles, different for each; 0 for none. XOR with them puts equal texts under many titles as
    far apart as unrelated texts.

    The last steps of SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, OOPSLA 2014).
    """
    mixed = titles.astype(np.uint64) * _GOLDEN
    mixed = (mixed ^ mixed >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ mixed >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return mixed ^ mixed >> np.uint64(31)


_GOLDEN: Final = np.uint64(0x9E3779B97F4A7C15)
