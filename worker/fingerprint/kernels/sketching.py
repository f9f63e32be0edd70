"""Hashes of tokens to a sketch and the keys of its bands, in compiled steps."""

from __future__ import annotations

from typing import Any

import numpy as np

from worker.fingerprint.kernels.native import GOLDEN64, Array, kernel, lean

_GOLDEN32 = np.uint32(0x9E3779B1)


@lean("uint64(uint64)", inline=True)
def _mixed(value: Any) -> Any:
    value ^= value >> np.uint64(33)
    value *= np.uint64(0xFF51AFD7ED558CCD)
    value ^= value >> np.uint64(33)
    value *= np.uint64(0xC4CEB9FE1A85EC53)
    return value ^ (value >> np.uint64(33))


@lean("void(uint64[::1], uint32[::1], uint32[::1])")
def _minima(members: Array, multipliers: Array, smallest: Array) -> None:
    whole = members.size - members.size % 4
    for number in range(0, whole, 4):  # four at once: the smallest value is then read and written once
        first, second = np.uint32(members[number]), np.uint32(members[number + 1])
        third, fourth = np.uint32(members[number + 2]), np.uint32(members[number + 3])
        for slot in range(multipliers.size):
            by = multipliers[slot]
            some = min(np.uint32(first * by), np.uint32(second * by))
            others = min(np.uint32(third * by), np.uint32(fourth * by))
            smallest[slot] = min(smallest[slot], min(some, others))
    for number in range(whole, members.size):
        low = np.uint32(members[number])
        for slot in range(multipliers.size):
            value = np.uint32(low * multipliers[slot])
            smallest[slot] = min(smallest[slot], value)


@kernel("uint64[::1](uint64[::1])")
def _in_order(values: Array) -> Array:
    """A few values in ascending order: numba takes a second to compile ``np.sort``."""
    ordered = values.copy()
    for place in range(1, ordered.size):
        value = ordered[place]
        while place > 0 and ordered[place - 1] > value:
            ordered[place] = ordered[place - 1]
            place -= 1
        ordered[place] = value
    return ordered


@kernel("void(uint64[::1], uint64, uint32[::1], uint32[::1], int64[::1], uint8[::1], uint32[::1])", entry=True)
def sketch_tokens(
    tokens: Array,
    boundary: Any,
    slot_multipliers: Array,
    band_multipliers: Array,
    bigrams_up_to: Array,
    sketch: Array,
    keys: Array,
) -> None:
    """``sketch`` (uint8, 32) and ``bands`` (uint32, 8) of at least one token; ``sketch`` must be zeros."""
    count = tokens.size
    bigrams = np.empty(count + 1, np.uint64)
    trigrams = np.empty(count, np.uint64)
    before = boundary
    for place in range(count):
        after = tokens[place + 1] if place + 1 < count else boundary
        pair = before * GOLDEN64 + tokens[place]
        bigrams[place] = _mixed(pair)
        trigrams[place] = _mixed(pair * GOLDEN64 + after)
        before = tokens[place]
    bigrams[count] = _mixed(before * GOLDEN64 + boundary)

    if bigrams.size > 15:
        smallest = np.full(128, np.uint32(0xFFFFFFFF), np.uint32)
        _minima(bigrams, slot_multipliers, smallest)
        for slot in range(127):
            sketch[slot >> 2] |= np.uint8((smallest[slot] * _GOLDEN32 & np.uint32(0xFFFFFFFF)) >> 30 << 2 * (slot & 3))
    if bigrams.size <= 23:
        exact = _in_order(bigrams)
        wide = bigrams.size <= 15
        for number in range(bigrams.size):
            if wide:
                sketch[2 * number] = np.uint8(exact[number] >> np.uint64(48))
                sketch[2 * number + 1] = np.uint8(exact[number] >> np.uint64(56))
            else:
                sketch[8 + number] = np.uint8(exact[number] >> np.uint64(56))
        for place in range(2 * bigrams.size if wide else 8 + bigrams.size, 31):
            sketch[place] = 0
        sketch[31] = (2 if wide else 1) << 6 | bigrams.size

    rows = band_multipliers.size // keys.size
    of_trigrams = 0
    while of_trigrams < keys.size and count > bigrams_up_to[of_trigrams]:
        of_trigrams += 1
    smallest = np.full(band_multipliers.size, np.uint32(0xFFFFFFFF), np.uint32)
    _minima(trigrams, band_multipliers[: rows * of_trigrams], smallest[: rows * of_trigrams])
    _minima(bigrams, band_multipliers[rows * of_trigrams :], smallest[rows * of_trigrams :])
    for band in range(keys.size):
        gathered = np.uint64(band)
        for row in range(rows):
            gathered = gathered * GOLDEN64 + np.uint64(smallest[rows * band + row])
        keys[band] = np.uint32(_mixed(gathered) >> np.uint64(32))
