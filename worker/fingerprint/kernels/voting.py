"""Hashes of tokens to a SimHash, in compiled steps."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from worker.fingerprint.kernels.native import GOLDEN64, Array, kernel

FREE: Final = 0
"""A free place in a set of hashes (XXH3 of no noise word is 0)."""


@kernel("void(uint64[::1], uint64[::1], int64)")
def gather(hashes: Array, members: Array, bits: int) -> None:
    """Put hashes into a set of 2^``bits`` places, more than there are hashes. ``members`` must be ``FREE``."""
    mask = (1 << bits) - 1
    for number in range(hashes.size):
        place = np.int64((hashes[number] * GOLDEN64) >> np.uint64(64 - bits))
        while members[place] != np.uint64(FREE):
            place = (place + 1) & mask
        members[place] = hashes[number]


@kernel("boolean(uint64[::1], int64, uint64)", inline=True)
def _has(members: Array, bits: int, value: Any) -> bool:
    mask = (1 << bits) - 1
    place = np.int64((value * GOLDEN64) >> np.uint64(64 - bits))
    while members[place] != np.uint64(FREE):
        if members[place] == value:
            return True
        place = (place + 1) & mask
    return False


@kernel("int64(uint64[::1], int64, uint64[::1], int64, uint64[::1], int64[::1])")
def _count(hashes: Array, count: int, left_out: Array, part: int, distinct: Array, weights: Array) -> int:
    """Distinct hashes and how often each is there, without those in the set ``left_out``; returns how many.

    ``left_out`` is of ``gather``, or empty.
    """
    bits = 4
    while 1 << bits < 2 * count:
        bits += 1
    mask = (1 << bits) - 1
    places = np.zeros(1 << bits, np.int32)
    found = 0
    for number in range(count):
        value = hashes[number]
        place = np.int64((value * GOLDEN64) >> np.uint64(64 - bits))
        while places[place] != 0 and distinct[places[place] - 1] != value:
            place = (place + 1) & mask
        if places[place] == 0:
            distinct[found] = value
            weights[found] = 0
            found += 1
            places[place] = found
        weights[places[place] - 1] += 1
    kept = 0
    left_out_bits = 0
    while 1 << left_out_bits < left_out.size:
        left_out_bits += 1
    for number in range(found):
        value = distinct[number]
        if left_out_bits and _has(left_out, left_out_bits, value):
            continue
        distinct[kept] = value
        weights[kept] = (weights[number] << 16) // part
        kept += 1
    return kept


@kernel("Tuple((uint64, int64))(uint64[::1], uint64[::1], int64, uint64[::1], int64, int64)")
def vote(words: Array, pairs: Array, count: int, noise: Array, most_pairs: int, largest_share: int) -> tuple[Any, int]:
    """The SimHash of a text's weighted features, by tf, and their number.

    ``words`` (count,) are the hashes of all its tokens, ``pairs`` (count - 1,) those of their pairs, ``noise`` those of
    the noise words, a set of ``gather``. The two limits are ``PAIRS`` and ``LARGEST_SHARE`` of ``worker.page.weigh``.
    """
    distinct = np.empty(2 * count + 1, np.uint64)
    weights = np.empty(2 * count + 1, np.int64)
    single = _count(words, count, noise, 1, distinct, weights)
    part = min(most_pairs, max(1, single))
    double = _count(pairs, max(0, count - 1), noise[:0], part, distinct[single:], weights[single:])
    features = single + double
    total = 0
    for number in range(features):
        total += weights[number]
    most = max(1, total // largest_share)
    total = 0
    ones = np.zeros(64, np.int64)
    for number in range(features):
        weight = min(weights[number], most)
        total += weight
        bits = np.int64(distinct[number])
        for bit in range(64):
            ones[bit] += weight & -((bits >> bit) & 1)
    fingerprint = np.uint64(0)
    for bit in range(64):
        if 2 * ones[bit] > total:
            fingerprint |= np.uint64(1) << np.uint64(bit)
    return fingerprint, features
