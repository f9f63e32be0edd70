"""Which features and n-grams make two texts differ: in bits of fingerprints, in slots and bands of sketches.

A bit of a fingerprint changes if features that only one text has, or that have another weight there, outvote the
features that both have. A slot or a band's number changes if an n-gram of one text alone has a smaller number than all
common n-grams. So each place that differs has causes, and they are n-grams of one text alone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from worker.evaluate.literature.explained import Explained
from worker.evaluate.literature.hashes import hashes_of
from worker.evaluate.literature.simhash import from_sums
from worker.evaluate.literature.variant import Variant
from worker.fingerprint.hashing import Hashes, hash_words
from worker.fingerprint.key import Key
from worker.fingerprint.sketch import (
    BIGRAMS_UP_TO,
    MOST_OF_EIGHT_BITS,
    ROWS,
    SLOT_BITS,
    SLOTS,
    STEP,
    Numbering,
    Numbers,
    as_keys,
    numbering_of,
)

Side = Literal["A", "B"]
_FEATURES_OF_A_BIT: Final = 5


class VoteChange(NamedTuple):
    """A feature, and by how much more it votes for a one in B than in A."""

    feature: str
    change: float


class MovedBit(NamedTuple):
    """A bit that differs; bit 0 is the least significant one. ``a`` and ``b`` are the sums of its votes, and ``by`` are
    the features that moved them most, the strongest first."""

    bit: int
    a: float
    b: float
    by: tuple[VoteChange, ...]


class MovedPlaces(NamedTuple):
    """Slots and bands that differ because of an n-gram that is in one text alone."""

    side: Side
    ngram: tuple[str, ...]
    slots: tuple[int, ...]
    bands: tuple[int, ...]


@dataclass(frozen=True)
class Causes:
    """``shown``: the texts come with other pictures, numbers or unread text, so that nothing of one is like anything of
    the other, and there are no other causes. ``lengths`` are bands that use bigrams in one text and trigrams in the
    other. ``slots`` is None if one of the sketches holds the bigrams themselves: it has no slots then, or few."""

    shown: bool
    bits: tuple[MovedBit, ...]
    places: tuple[MovedPlaces, ...]
    lengths: tuple[int, ...]
    slots: int | None
    bands: tuple[int, ...]


def causes(a: Explained, b: Explained, variant: Variant, key: Key | None = None) -> Causes | None:
    """The causes of the difference, both texts explained by this variant; None if one has no fingerprint.

    Its time and memory grow with the number of n-grams.
    """
    if a.fingerprint is None or b.fingerprint is None:
        return None
    if (a.fingerprint ^ from_sums(a.sums)) != (b.fingerprint ^ from_sums(b.sums)):
        return Causes(True, (), (), (), None, ())
    places, lengths, slots, bands = _places(a, b, key)
    return Causes(False, _moved_bits(a, b, variant, key), places, lengths, slots, bands)


def _moved_bits(a: Explained, b: Explained, variant: Variant, key: Key | None) -> tuple[MovedBit, ...]:
    assert a.fingerprint is not None and b.fingerprint is not None
    of_a, of_b = dict(a.features), dict(b.features)
    words = [word for word in of_a | of_b if of_a.get(word) != of_b.get(word)]
    change = np.array([of_b.get(word, 0.0) - of_a.get(word, 0.0) for word in words])
    hashes = hashes_of(words, variant.hash, a.bits, key.features if key else None)
    found = []
    for bit in range(a.bits - 1, -1, -1):
        if not (a.fingerprint ^ b.fingerprint) >> bit & 1:
            continue
        votes = np.array([1 if hashed >> bit & 1 else -1 for hashed in hashes]) * change
        before, after = a.sums[a.bits - 1 - bit], b.sums[a.bits - 1 - bit]
        towards = votes * (1 if after > before else -1)
        strongest = np.argsort(-towards, kind="stable")[:_FEATURES_OF_A_BIT]
        by = tuple(VoteChange(words[n], float(votes[n])) for n in strongest.tolist() if towards[n] > 0)
        found.append(MovedBit(bit, before, after, by))
    return tuple(found)


def _places(
    a: Explained, b: Explained, key: Key | None
) -> tuple[tuple[MovedPlaces, ...], tuple[int, ...], int | None, tuple[int, ...]]:
    if not a.sketch or not b.sketch:
        return (), (), None, ()
    numbering = numbering_of(key)
    texts = [_Text(one, numbering, key.tokens if key else None) for one in (a, b)]
    slots: dict[tuple[Side, tuple[str, ...]], list[int]] = defaultdict(list)
    bands: dict[tuple[Side, tuple[str, ...]], list[int]] = defaultdict(list)
    different = None
    if all(text.count > MOST_OF_EIGHT_BITS for text in texts):
        moved = np.flatnonzero(_slots_of(a.sketch) != _slots_of(b.sketch)).tolist()
        different = len(moved)
        for slot in moved:
            for cause in _only_in_one(texts, 2, numbering.slots[slot]):
                slots[cause].append(slot)
    moved_bands = np.flatnonzero((as_keys([a.bands]) != as_keys([b.bands]))[0]).tolist()
    lengths = [band for band in moved_bands if len({text.length_of(band) for text in texts}) > 1]
    for band in moved_bands:
        if band in lengths:
            continue
        for multiplier in numbering.bands[ROWS * band : ROWS * (band + 1)]:
            for cause in _only_in_one(texts, texts[0].length_of(band), multiplier):
                if band not in bands[cause]:
                    bands[cause].append(band)
    places = [
        MovedPlaces(side, ngram, tuple(slots.get((side, ngram), ())), tuple(bands.get((side, ngram), ())))
        for side, ngram in slots | bands
    ]
    places.sort(key=lambda place: -len(place.slots) - len(place.bands))
    return tuple(places), tuple(lengths), different, tuple(moved_bands)


class _Text:
    """The n-grams of a text, numbered."""

    def __init__(self, text: Explained, numbering: Numbering, key: bytes | None) -> None:
        self._units: Final = ("", *text.units, "")
        self._hashes: Final[Hashes] = hash_words(text.units, key=key)
        self._boundary: Final = numbering.boundary
        self._low: Final[dict[int, Numbers]] = {}
        self.count: Final = len(text.units) + 1
        """The number of its bigrams."""

    def low(self, n: int) -> Numbers:
        """For each n-gram the lower 32 bits of its hash, which are numbered."""
        if n not in self._low:
            self._low[n] = _ngrams_of(self._hashes, n, self._boundary).astype(np.uint32)
        return self._low[n]

    def ngram(self, n: int, place: int) -> tuple[str, ...]:
        """The n-gram's spelling; an empty token stands before the first and after the last one."""
        return self._units[place : place + n]

    def length_of(self, band: int) -> int:
        """The n of the n-grams that the band uses."""
        return 2 if len(self._hashes) <= BIGRAMS_UP_TO[band] else 3


def _only_in_one(texts: Sequence[_Text], n: int, multiplier: np.uint32) -> list[tuple[Side, tuple[str, ...]]]:
    """The n-grams with the smallest number in each text that the other text does not have."""
    smallest = [int(np.argmin(text.low(n) * multiplier)) for text in texts]
    members: list[npt.NDArray[np.bool_]] = [
        other.low(n) == text.low(n)[place] for text, other, place in zip(texts, reversed(texts), smallest, strict=True)
    ]
    sides: tuple[Side, Side] = ("A", "B")
    return [
        (side, text.ngram(n, place))
        for side, text, place, found in zip(sides, texts, smallest, members, strict=True)
        if not found.any()
    ]


def _slots_of(sketch: bytes) -> npt.NDArray[np.uint8]:
    """The slots of a sketch that holds no bigrams, (128,), each from 0 to 3."""
    bits = np.unpackbits(np.frombuffer(sketch, np.uint8), bitorder="little").reshape(SLOTS, SLOT_BITS)
    slots: npt.NDArray[np.uint8] = bits[:, 0] | bits[:, 1] << np.uint8(1)
    return slots


def _ngrams_of(tokens: Hashes, n: int, boundary: int) -> Hashes:
    """A 64-bit hash of each n-tuple of neighbouring tokens, boundaries included, from the hashes of the tokens."""
    bounded = np.concatenate(([np.uint64(boundary)], tokens, [np.uint64(boundary)]))
    count = len(bounded) - n + 1
    gathered = np.zeros(count, np.uint64)
    for place in range(n):
        gathered = gathered * np.uint64(STEP) + bounded[place : place + count]
    return _mixed_all(gathered)


def _mixed_all(values: Hashes) -> Hashes:
    values = (values ^ values >> np.uint64(33)) * np.uint64(0xFF51AFD7ED558CCD)
    values = (values ^ values >> np.uint64(33)) * np.uint64(0xC4CEB9FE1A85EC53)
    mixed_values: Hashes = values ^ values >> np.uint64(33)
    return mixed_values
