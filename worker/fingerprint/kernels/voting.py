"""Hashes of tokens to a SimHash, in compiled steps."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from worker.fingerprint.kernels.native import GOLDEN64, Array, kernel, lean

FREE: Final = 0
"""A free place in a set of hashes (XXH3 of no noise word is 0)."""


ALWAYS = 63
"""The number that stands for all languages: their noise words are those of every text, and of no other language."""


@lean("int64(uint64[::1], int64, uint64)", inline=True)
def _place(members: Array, bits: int, value: Any) -> Any:
    """The place of a hash in a set of 2^``bits`` places, or a place for it."""
    mask = (1 << bits) - 1
    place = np.int64((value * GOLDEN64) >> np.uint64(64 - bits))
    while members[place] != np.uint64(FREE) and members[place] != value:
        place = (place + 1) & mask
    return place


@lean("void(uint64[::1], uint64[::1], uint64[::1], uint64[::1], int64)", entry=True)
def gather(hashes: Array, languages: Array, members: Array, languages_of: Array, bits: int) -> None:
    """Put hashes into a set of 2^``bits`` places, more than there are hashes, and next to each the languages that it is
    a noise word of, a bit each. ``members`` must be ``FREE``."""
    for number in range(hashes.size):
        place = _place(members, bits, hashes[number])
        members[place] = hashes[number]
        languages_of[place] = languages[number]


@kernel("int64(uint64[::1], int64, uint64[::1], int64[::1])")
def _count(hashes: Array, count: int, distinct: Array, weights: Array) -> int:
    """Distinct hashes and how often each occurs; returns how many."""
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
    return found


@kernel("int64(uint64[::1], int64[::1], int64, int64, uint64[::1], uint64[::1], int64)")
def _without_noise(
    distinct: Array, weights: Array, found: int, count: int, noise: Array, languages: Array, least_share: int
) -> int:
    """Leave out the noise words of a text of ``count`` words; returns how many of the ``found`` are left."""
    if noise.size == 0:
        return found
    bits = 0
    while 1 << bits < noise.size:
        bits += 1
    of_word = np.empty(found, np.uint64)
    heard = np.zeros(64, np.int64)
    for number in range(found):
        place = _place(noise, bits, distinct[number])
        of_word[number] = languages[place] if noise[place] != np.uint64(FREE) else np.uint64(0)
        if of_word[number] >> np.uint64(ALWAYS):
            heard[ALWAYS] += weights[number]
            continue
        rest = of_word[number]
        language = 0
        while rest:
            if rest & np.uint64(1):
                heard[language] += weights[number]
            rest >>= np.uint64(1)
            language += 1
    spoken = np.uint64(1) << np.uint64(ALWAYS)
    for language in range(ALWAYS):
        if least_share * heard[language] >= count and 2 * heard[language] > heard[ALWAYS]:
            spoken |= np.uint64(1) << np.uint64(language)
    kept = 0
    for number in range(found):
        if of_word[number] & spoken == np.uint64(0):
            distinct[kept] = distinct[number]
            weights[kept] = weights[number]
            kept += 1
    return kept


@lean("void(int64[::1], int64, int64)", inline=True)
def _scale(weights: Array, count: int, part: int) -> None:
    for number in range(count):
        weights[number] = (weights[number] << 16) // part


@kernel(
    "Tuple((uint64, int64))(uint64[::1], uint64[::1], int64, uint64[::1], uint64[::1], int64, int64, int64)", entry=True
)
def vote(
    words: Array,
    pairs: Array,
    count: int,
    noise: Array,
    languages: Array,
    least_share: int,
    most_pairs: int,
    largest_share: int,
) -> tuple[Any, int]:
    """The SimHash of a text's weighted features, by tf, and their number.

    ``words`` (count,) are the hashes of all its tokens, ``pairs`` (count - 1,) the hashes of their pairs. ``noise`` are
    the hashes of the noise words and ``languages`` their languages, as from ``gather``, or empty. The limits are
    ``LEAST_SHARE`` of ``worker.page.words.noise``, and ``PAIRS`` and ``LARGEST_SHARE`` of
    ``worker.fingerprint.text_reader``. A bit is 1 if and only if its votes sum up above zero: a tie is 0.
    """
    distinct = np.empty(2 * count + 1, np.uint64)
    weights = np.empty(2 * count + 1, np.int64)
    single = _count(words, count, distinct, weights)
    single = _without_noise(distinct, weights, single, count, noise, languages, least_share)
    _scale(weights, single, 1)
    double = _count(pairs, max(0, count - 1), distinct[single:], weights[single:])
    _scale(weights[single:], double, min(most_pairs, max(1, single)))
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
