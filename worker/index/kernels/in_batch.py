"""What the claims of one batch are to each other and to those before them, compiled."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from worker.index.kernels.native import compiled, popcount
from worker.index.kernels.nearness import agreement_of, in_ratio

K, RATIO_LEAST, RATIO_MOST, SKETCHED, THRESHOLD, SKETCH_LEAST, SKETCH_MOST, HAMMING_THRESHOLD, RULES = range(9)
"""Places of the rules' numbers, and how many there are."""
HEADS = 2048
"""Rows that the keys of a band are spread over, by their lowest bits."""

Mask = NDArray[np.bool_]
I64 = NDArray[np.int64]
U32 = NDArray[np.uint32]
U64 = NDArray[np.uint64]


@compiled("void(int64[::1], int64[::1], int64[::1], boolean[::1])")
def first_claims(partition: I64, offset: I64, claimed: I64, void: Mask) -> None:
    """Mark the claims that are not the first of their page; moves ``claimed``, by partition, on claim by claim."""
    for place in range(partition.shape[0]):
        here = partition[place]
        void[place] = offset[place] <= claimed[here]
        claimed[here] = max(claimed[here], offset[place])


@compiled("boolean(uint64[:, ::1], int64)", inline=True)
def _is_sketched(sketches: U64, place: int) -> bool:
    row = sketches[place]
    return bool((row[0] | row[1] | row[2] | row[3]) != np.uint64(0))


@compiled("boolean(int64[::1], uint64[::1], uint64[:, ::1], int64, int64)", inner=True)
def _sketches_allow(rules: I64, texts: U64, sketches: U64, one: int, other: int) -> bool:
    least = rules[HAMMING_THRESHOLD]
    if least == 0 or texts[one] == texts[other] or not _is_sketched(sketches, one) or not _is_sketched(sketches, other):
        return True
    return bool(agreement_of(sketches[one], sketches[other]) >= least)


@compiled(
    "void(int64[::1], boolean[::1], uint64[::1], boolean[::1], uint64[::1], int64[::1], uint64[::1], uint32[:, ::1], "
    "uint64[:, ::1], int64[::1])"
)
def earliest(
    rules: I64,
    asked: Mask,
    values: U64,
    bare: Mask,
    texts: U64,
    tokens: I64,
    scopes: U64,
    bands: U32,
    sketches: U64,
    earlier: I64,
) -> None:
    """For each page that is ``asked``, the place of the earliest survivor before it that it is near to, else -1.

    Survivors are the pages that are asked and near to none.
    """
    count, keys = values.shape[0], bands.shape[1]
    known = np.empty(count, np.uint64)
    whole, empty = np.empty(count, np.int64), np.empty(count, np.int64)
    wholes, empties = 0, 0
    sketched = rules[SKETCHED] != 0
    heads = np.full((keys, HEADS) if sketched else (0, 0), -1, np.int64)
    later = np.empty((count, keys) if sketched else (0, 0), np.int64)
    for place in range(count):
        earlier[place] = -1
        if not asked[place]:
            continue
        best = count
        if bare[place]:
            for number in range(empties):
                other = empty[number]
                if texts[other] == texts[place] and scopes[other] == scopes[place]:
                    best = other
                    break
        else:
            value = values[place]
            for number in range(wholes):
                if popcount(known[number] ^ value) > np.uint64(rules[K]):
                    continue
                other = whole[number]
                if (
                    scopes[other] == scopes[place]
                    and in_ratio(rules[RATIO_LEAST], rules[RATIO_MOST], tokens[place], tokens[other])
                    and (not sketched or _sketches_allow(rules, texts, sketches, place, other))
                ):
                    best = other
                    break
        keyed = False
        if sketched and _is_sketched(sketches, place):
            for band in range(keys):
                keyed = keyed or bands[place, band] != 0
        if keyed:
            for band in range(keys):
                key = bands[place, band]
                other = heads[band, key & np.uint32(HEADS - 1)]
                while other >= 0:
                    if (
                        other < best
                        and bands[other, band] == key
                        and scopes[other] == scopes[place]
                        and in_ratio(rules[SKETCH_LEAST], rules[SKETCH_MOST], tokens[place], tokens[other])
                        and agreement_of(sketches[place], sketches[other]) >= rules[THRESHOLD]
                    ):
                        best = other
                    other = later[other, band]
        if best < count:
            earlier[place] = best
            continue
        if bare[place]:
            empty[empties] = place
            empties += 1
        else:
            whole[wholes] = place
            known[wholes] = values[place]
            wholes += 1
        if keyed:
            for band in range(keys):
                head = bands[place, band] & np.uint32(HEADS - 1)
                later[place, band] = heads[band, head]
                heads[band, head] = place
