"""Sketches and bands by their definition, and the compiled ones each by itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from worker.fingerprint.hashing import Hashes
from worker.fingerprint.sketch import (
    BIGRAMS_UP_TO,
    BOUNDARY,
    EIGHT_BITS,
    MOST_OF_EIGHT_BITS,
    MOST_OF_SIXTEEN_BITS,
    PUBLIC,
    ROWS,
    SHORT_SLOTS_BYTES,
    SIXTEEN_BITS,
    SKETCH_BYTES,
    SLOT_BITS,
    STEP,
    Numbering,
    mixed,
)
from worker.fingerprint.text_reader import sketch_and_bands

GOLDEN: Final = 0x9E3779B1
"""2^32 divided by the golden ratio."""
_M64: Final = 2**64 - 1
_M32: Final = 2**32 - 1


def sketch(tokens: Hashes, numbering: Numbering = PUBLIC) -> bytes:
    """The sketch from ``sketch_and_bands``."""
    return sketch_and_bands(tokens, numbering)[0]


def bands(tokens: Hashes, numbering: Numbering = PUBLIC) -> bytes:
    """The bands from ``sketch_and_bands``."""
    return sketch_and_bands(tokens, numbering)[1]


def ngrams(tokens: Sequence[int], n: int, boundary: int = BOUNDARY) -> Iterator[int]:
    """A 64-bit hash of each n-tuple of neighbouring tokens, boundaries included, from hashes of the tokens."""
    bounded = [boundary, *tokens, boundary]
    for place in range(len(bounded) - n + 1):
        gathered = 0
        for token in bounded[place : place + n]:
            gathered = (gathered * STEP + token) & _M64
        yield mixed(gathered)


def sketch_by_definition(tokens: Sequence[int], numbering: Numbering = PUBLIC) -> bytes:
    """The sketch of a text from the 64-bit hashes of its tokens; none without tokens."""
    if not tokens:
        return b""
    bigrams = sorted(ngrams(tokens, 2, numbering.boundary))
    if len(bigrams) <= MOST_OF_SIXTEEN_BITS:
        exact = b"".join((bigram >> 48).to_bytes(2, "little") for bigram in bigrams)
        return exact.ljust(31, b"\0") + _last_byte(SIXTEEN_BITS, len(bigrams))
    smallest = _smallest(bigrams, numbering.slots.tolist())
    packed = sum((number * GOLDEN & _M32) >> 30 << SLOT_BITS * slot for slot, number in enumerate(smallest[:127]))
    slots = packed.to_bytes(SKETCH_BYTES, "little")
    if len(bigrams) > MOST_OF_EIGHT_BITS:
        return slots
    exact = bytes(bigram >> 56 for bigram in bigrams)
    return slots[:SHORT_SLOTS_BYTES] + exact.ljust(23, b"\0") + _last_byte(EIGHT_BITS, len(bigrams))


def bands_by_definition(tokens: Sequence[int], numbering: Numbering = PUBLIC) -> bytes:
    """The eight keys of a text, 32 bits each and little endian, from the hashes of its tokens; none without tokens."""
    if not tokens:
        return b""
    keys = []
    for band, most in enumerate(BIGRAMS_UP_TO):
        members = ngrams(tokens, 2 if len(tokens) <= most else 3, numbering.boundary)
        gathered = band
        for number in _smallest(members, numbering.bands[ROWS * band : ROWS * (band + 1)].tolist()):
            gathered = (gathered * STEP + number) & _M64
        keys.append(mixed(gathered) >> 32)
    return b"".join(key.to_bytes(4, "little") for key in keys)


def _last_byte(kind: int, count: int) -> bytes:
    return bytes([kind << 6 | count])


def _smallest(members: Iterable[int], multipliers: Iterable[int]) -> list[int]:
    low = {member & _M32 for member in members}
    return [min(number * multiplier & _M32 for number in low) for multiplier in multipliers]
