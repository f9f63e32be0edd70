"""Sketches: 32 bytes that show how many of their n-grams two texts share, and the keys by which such texts are found.

A text's *n-grams* are its n-tuples of neighbouring tokens, with one boundary before the first token and one after the
last, so that a text of few tokens has some as well. The share of n-grams that two texts have in common is their Jaccard
similarity (Broder: On the resemblance and containment of documents, 1997).

*MinHash*: number a set's members at random and note the smallest number; the probability that two sets note the same
number is their similarity. A **sketch** does this 128 times over the bigrams and keeps two bits of each smallest
member, a *slot* (Li and König: b-Bit Minwise Hashing, WWW 2010). For a short text that would be a rough guess where an
exact value is possible: its sketch holds the bigrams themselves, as hashes of 16 bits (15 of them at most) or 8 bits
(23), ascending. The last byte gives the kind:

    bigrams   bytes 0-7      bytes 8-29            byte 30    byte 31
    > 23      slots 0-31     slots 32-119          120-123    slots 124-126, kind 0
    16-23     slots 0-31     bigrams, 8 bits each             number of bigrams, kind 1
    1-15      bigrams, 16 bits each, little endian    -       number of bigrams, kind 2

``agreement`` compares two of them, in equal slots of 128. Two slots also agree by chance one time in four, so m equal
slots estimate a similarity of (m/128 - 1/4) / (3/4), with a standard error of .055. All kinds come to this scale:

- two slotted sketches: their equal slots;
- two exact ones: the slots to expect for a similarity J, 32 + 96·J, and five more. A threshold so high that chance does
  not bring unrelated texts there lies, in effect, one standard error of the estimate above the limit that is meant; an
  exact count needs no such distance. Sketches of 16 and of 8 bits are compared at 8 bits, and repeated bigrams count as
  often as both have them;
- a slotted one and one of 8 bits: four times the equal slots among the 32 that both have;
- a slotted one and one of 16 bits: 0. They have nothing in common to compare; nor could the texts be near, since one
  has at most 14 tokens and the other at least 23.

**Bands** do the same 24 times, in eight bands of three: texts that agree in all three of a band have its key in common
(Leskovec, Rajaraman, Ullman: Mining of Massive Datasets, section 3.4). They use trigrams, which unrelated texts hardly
ever share. In a short text two edits change nearly every trigram, so there bands use bigrams; up to which length
differs from band to band, so that texts on either side of such a limit still have the other bands.

All numbers are 32 or 64 bits wide and wrap around, so every machine gets the same bytes.
``worker.fingerprint.kernels.sketching`` makes both; this module has the numbers for making them, and the comparison of
two.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from worker.fingerprint.hashing import hash_words
from worker.fingerprint.key import Key

SKETCH: Final = "128x2/exact-15x16-23x8/bands-8x3/1"
"""Name of the rule; a part of the scheme, so change it when the rule changes."""

SLOTS: Final = 128
SLOT_BITS: Final = 2
SKETCH_BYTES: Final = 32

SLOTTED, EIGHT_BITS, SIXTEEN_BITS = 0, 1, 2
"""Kinds of sketches: the two highest bits of the last byte. In a slotted one they are slot 127, the same in all."""
MOST_OF_SIXTEEN_BITS: Final = 15
MOST_OF_EIGHT_BITS: Final = 23
SHORT_SLOTS: Final = 32
"""Slots that the sketch of 16 to 23 bigrams has in addition, for the comparison with a longer text's."""
SHORT_SLOTS_BYTES: Final = SHORT_SLOTS * SLOT_BITS // 8

EXACT: Final = 5
"""Slots by which an exact similarity counts for more than an estimated one: a standard error of the estimate."""

BANDS: Final = 8
ROWS: Final = 3
BANDS_BYTES: Final = BANDS * 4
BIGRAMS_UP_TO: Final = (32, 38, 45, 54, 64, 76, 91, 108)
"""Tokens up to which a band uses bigrams, then trigrams. Each is a fifth above the last: if one text has at least three
quarters of the other's tokens, the two lie on different sides of at most two of them."""

BOUNDARY: Final = int(hash_words([""])[0])
"""Stands before the first and after the last token: the hash of a token without a character."""

Numbers: TypeAlias = npt.NDArray[np.uint32]
Words: TypeAlias = npt.NDArray[np.uint64]

_M64: Final = 2**64 - 1
STEP: Final = 0x9E3779B97F4A7C15
"""2^64 divided by the golden ratio (Knuth, TAOCP volume 3, section 6.4): multiplying by it spreads."""


def mixed(value: int) -> int:
    """64 bits, each of which depends on all of ``value`` (finalizer of MurmurHash3, Appleby 2011; a bijection)."""
    value ^= value >> 33
    value = value * 0xFF51AFD7ED558CCD & _M64
    value ^= value >> 33
    value = value * 0xC4CEB9FE1A85EC53 & _M64
    return value ^ value >> 33


def _multipliers(first: int, count: int) -> list[int]:
    """Odd 32-bit numbers. Multiplied by one of them, all numbers of 32 bits trade places: that is the numbering."""
    return [mixed(number * STEP & _M64) >> 32 | 1 for number in range(first, first + count)]


SLOT_MULTIPLIERS: Final = np.array(_multipliers(1, SLOTS), np.uint32)
BAND_MULTIPLIERS: Final = np.array(_multipliers(1 + SLOTS, BANDS * ROWS), np.uint32)


@dataclass(frozen=True, eq=False)
class Numbering:
    """How a text's n-grams are numbered: the boundary before its first and after its last token, and the multipliers of
    slots, uint32 (128,), and of bands, (24,)."""

    boundary: int
    slots: Numbers
    bands: Numbers


PUBLIC: Final = Numbering(BOUNDARY, SLOT_MULTIPLIERS, BAND_MULTIPLIERS)


def numbering_of(key: Key | None) -> Numbering:
    """With a key the numbering that only its owner knows; without a key the public one."""
    if key is None:
        return PUBLIC
    size = 4 * (SLOTS + BANDS * ROWS)
    wanted = range(-(-size // hashlib.blake2b.MAX_DIGEST_SIZE))
    drawn = b"".join(hashlib.blake2b(bytes([number]), key=key.numberings).digest() for number in wanted)[:size]
    multipliers = np.frombuffer(drawn, "<u4").astype(np.uint32) | np.uint32(1)
    boundary = int(hash_words([""], key=key.tokens)[0])
    return Numbering(boundary, multipliers[:SLOTS].copy(), multipliers[SLOTS:].copy())


def agreement(a: bytes, b: bytes) -> int:
    """How well two sketches agree, 0 to 128; 0 where a text has none. Symmetric."""
    if not a or not b:
        return 0
    slotted = [one for one in (a, b) if _kind(one) == SLOTTED]
    if len(slotted) == 2:
        return SLOTS - _different_slots(a, b)
    if not slotted:
        return _exact(a, b)
    if SIXTEEN_BITS in (_kind(a), _kind(b)):
        return 0
    return SLOTS // SHORT_SLOTS * (SHORT_SLOTS - _different_slots(a[:SHORT_SLOTS_BYTES], b[:SHORT_SLOTS_BYTES]))


def similarity(agreeing: float) -> float:
    """The Jaccard similarity that this many equal slots of 128 estimate; below zero where chance alone gives more.

    >>> similarity(128), similarity(32), round(similarity(84), 2)
    (1.0, 0.0, 0.54)
    """
    by_chance = 1 / (1 << SLOT_BITS)
    return (agreeing / SLOTS - by_chance) / (1 - by_chance)


def slots_for(least: float) -> int:
    """The fewest equal slots of 128 that estimate at least this Jaccard similarity."""
    by_chance = 1 / (1 << SLOT_BITS)
    return math.ceil(round(SLOTS * (by_chance + least * (1 - by_chance)), 9))


def share_of_new(agreeing: int, tokens: int, earlier: int) -> float | None:
    """The share of a text's bigrams that an earlier one does not have, 0 to 1, from the agreement of their sketches.

    Both texts have this many ``tokens``, and one bigram more. A Jaccard similarity of J means that of a and b bigrams J
    / (1 + J) x (a + b) are common. None where the sketches have nothing in common to compare.
    """
    ours, theirs = tokens + 1, earlier + 1
    slotted = [count > MOST_OF_EIGHT_BITS for count in (ours, theirs)]
    if any(slotted) and min(ours, theirs) <= MOST_OF_SIXTEEN_BITS:
        return None
    jaccard = max(0.0, similarity(agreeing if any(slotted) else agreeing - EXACT))
    return min(1.0, max(0.0, 1 - jaccard / (1 + jaccard) * (ours + theirs) / ours))


def as_words(sketches: Sequence[bytes]) -> Words:
    """Sketches as uint64 (n, 4); all zeros for a text without one."""
    return _rows(sketches, SKETCH_BYTES).view(np.uint64)


def as_keys(bands: Sequence[bytes]) -> Numbers:
    """Keys of bands as uint32 (n, 8); all zeros for a text without them."""
    return _rows(bands, BANDS_BYTES).view(np.uint32)


def _kind(sketch: bytes) -> int:
    return sketch[-1] >> 6


def _different_slots(a: bytes, b: bytes) -> int:
    different = int.from_bytes(a, "little") ^ int.from_bytes(b, "little")
    low = int.from_bytes(b"\x55" * len(a), "little")
    return ((different | different >> 1) & low).bit_count()


def _exact(a: bytes, b: bytes) -> int:
    both_of_sixteen = _kind(a) == _kind(b) == SIXTEEN_BITS
    left, right = _bigrams(a, both_of_sixteen), _bigrams(b, both_of_sixteen)
    common = (left & right).total()
    of_both = (left | right).total()
    return min(SLOTS, SLOTS // 4 + 3 * SLOTS // 4 * common // of_both + EXACT) if of_both else 0


def _bigrams(sketch: bytes, sixteen_bits: bool) -> Counter[int]:
    count = sketch[-1] & 0x3F
    if _kind(sketch) == EIGHT_BITS:
        return Counter(sketch[SHORT_SLOTS_BYTES : SHORT_SLOTS_BYTES + count])
    hashes = np.frombuffer(sketch, "<u2")[:count]
    return Counter((hashes if sixteen_bits else hashes >> 8).tolist())


def _rows(values: Sequence[bytes], width: int) -> npt.NDArray[np.uint8]:
    joined = b"".join(value or bytes(width) for value in values)
    return np.frombuffer(joined, np.uint8).reshape(len(values), width)
