"""``near``: the one predicate that verdicts rest on. Symmetric, and a pure function of two records.

``simhash`` (Manku, Jain, Das Sarma: Detecting Near-Duplicates for Web Crawling, WWW 2007, section 2): pages are near
when their 64-bit fingerprints differ in at most k bits and neither has far more tokens than the other.

``accurate`` also finds the pages that share most of their bigrams (``worker.fingerprint.sketch``): pages with a band's
key in common whose sketches confirm it. For two pages with close fingerprints it requires that their sketches agree
somewhat, too.

A page of too few features has no fingerprint, and by the first rule it is near only to another such page of equal
normalised text. A page without any token, such as the shell of a page that scripts fill, is near only to one of equal
bytes, which its ``text_hash`` stands for. Pages with a fingerprint need no such rule, since equal texts have equal
fingerprints. Whether a page has a sketch is another question: two pages with sketches are compared by them, with a
fingerprint or without.
"""

from __future__ import annotations

from dataclasses import dataclass
from operator import eq
from struct import Struct
from typing import Final, NamedTuple, Protocol

from worker.fingerprint.sketch import BANDS, agreement

_KEYS: Final = Struct(f"<{BANDS}I")

EXACT_TEXT: Final = "exact-text"
EXACT_BYTES: Final = "exact-bytes"
HAMMING: Final = "hamming"
SKETCH: Final = "sketch"

THRESHOLD: Final = 84
"""Least agreement of two sketches: an estimated similarity of .54. Some copies on pages of the open web have comments
or teasers in addition to the common text; no other labelled pair has as much text in common."""

SHORT: Final = 50
"""Tokens below which a text is short: most strings of a program's menus have that much in common with others of the
program."""
SHORT_THRESHOLD: Final = 90
"""Least agreement where one text is short: an estimated similarity of .60."""

HAMMING_THRESHOLD: Final = 71
"""Least agreement of the sketches of pages with close fingerprints: an estimated similarity of .40, eight standard
errors above unrelated texts. The same words in another order have the same fingerprint by single words, and among
millions of pages some fingerprints are close by chance; both kinds of pairs share next to no bigrams. No labelled
duplicate has less.
"""


class Ratio(NamedTuple):
    """Least ratio of two pages' counts of tokens, as a fraction: whole numbers compare the same on every machine."""

    numerator: int
    denominator: int

    def allows(self, a: int, b: int) -> bool:
        """Whether the smaller count is at least this share of the larger one."""
        return self.denominator * min(a, b) >= self.numerator * max(a, b)


ANY_RATIO: Final = Ratio(0, 1)
HAMMING_RATIO: Final = Ratio(3, 5)
"""Unrelated pages whose fingerprints are close by chance seldom have such similar numbers of tokens; edited copies
do."""
SKETCH_RATIO: Final = Ratio(3, 5)
"""With 3/4, two in five of the lost copies on pages of the open web are lost because of it: additional text on one
side, such as comments, is up to two fifths of that side."""
SHORT_RATIO: Final = Ratio(3, 4)
"""The same where one text is short."""


class NearRecord(Protocol):
    """The fields of a page that ``near`` reads."""

    @property
    def fingerprint(self) -> int | None:
        """64 bits, or None for a page of too few features."""

    @property
    def text_hash(self) -> int:
        """64 bits that stand for the text; for the bytes of a page without any token."""

    @property
    def tokens(self) -> int:
        """The number of the page's tokens."""


class SketchedRecord(NearRecord, Protocol):
    """The fields of a page that ``AccurateNear`` reads; both are empty where it has no sketch."""

    @property
    def sketch(self) -> bytes:
        """32 bytes, of ``worker.fingerprint.sketch.sketch``."""

    @property
    def bands(self) -> bytes:
        """32 bytes, of ``worker.fingerprint.sketch.bands``."""


class Match(NamedTuple):
    """Why two records are near. ``distance`` is in bits, None where they have no fingerprints."""

    distance: int | None
    reason: str


@dataclass(frozen=True)
class SimHashNear:
    """Hamming distance of two fingerprints at most ``k``, and counts of tokens in at least the ``ratio``."""

    k: int = 3
    ratio: Ratio = ANY_RATIO

    def __call__(self, a: NearRecord, b: NearRecord) -> Match | None:
        """How ``a`` and ``b`` are near, or None."""
        same_text = a.text_hash == b.text_hash
        if a.fingerprint is None or b.fingerprint is None:
            if a.fingerprint is not b.fingerprint or not same_text:
                return None
            return Match(None, EXACT_BYTES if a.tokens == b.tokens == 0 else EXACT_TEXT)
        distance = (a.fingerprint ^ b.fingerprint).bit_count()
        if distance > self.k or not self.ratio.allows(a.tokens, b.tokens):
            return None
        return Match(distance, EXACT_TEXT if same_text and distance == 0 else HAMMING)


@dataclass(frozen=True)
class AccurateNear:
    """Near by ``SimHashNear`` and at least ``hamming_threshold`` equal slots of the sketches; or a band's key in
    common, at least ``threshold`` equal slots, and counts of tokens in at least the ``sketch_ratio``. If a text has
    fewer than ``short`` tokens, ``short_threshold`` holds instead, if that is more, and ``short_ratio``.

    The first rule ignores the sketches if a page has none, or if the texts are equal.
    """

    k: int = 3
    threshold: int = THRESHOLD
    ratio: Ratio = HAMMING_RATIO
    sketch_ratio: Ratio = SKETCH_RATIO
    hamming_threshold: int = HAMMING_THRESHOLD
    short_threshold: int = SHORT_THRESHOLD
    short_ratio: Ratio = SHORT_RATIO
    short: int = SHORT

    def __call__(self, a: SketchedRecord, b: SketchedRecord) -> Match | None:
        """How ``a`` and ``b`` are near, or None; the first of the rules that holds is the reason."""
        match = SimHashNear(self.k, self.ratio)(a, b)
        if match is not None and self._agree_enough(a, b):
            return match
        least, ratio = self.sketch_rule(a.tokens, b.tokens)
        if not ratio.allows(a.tokens, b.tokens) or not share_a_band(a.bands, b.bands):
            return None
        if agreement(a.sketch, b.sketch) < least:
            return None
        if a.fingerprint is None or b.fingerprint is None:
            return Match(None, SKETCH)
        return Match((a.fingerprint ^ b.fingerprint).bit_count(), SKETCH)

    def sketch_rule(self, a: int, b: int) -> tuple[int, Ratio]:
        """Least agreement of sketches, and least ratio, for texts of these numbers of tokens."""
        if min(a, b) >= self.short:
            return self.threshold, self.sketch_ratio
        return max(self.threshold, self.short_threshold), self.short_ratio

    def _agree_enough(self, a: SketchedRecord, b: SketchedRecord) -> bool:
        if not a.sketch or not b.sketch or a.text_hash == b.text_hash:
            return True
        return agreement(a.sketch, b.sketch) >= self.hamming_threshold


def share_a_band(a: bytes, b: bytes) -> bool:
    """Whether some band's key is the same in both; False where a page has none."""
    if not a or not b:
        return False
    return any(map(eq, _KEYS.unpack(a), _KEYS.unpack(b)))
