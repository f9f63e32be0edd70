"""When an entry is near to what is looked for: the rules of ``worker.fingerprint.near``, in compiled steps."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from worker.fingerprint.sketch import (
    EIGHT_BITS,
    EXACT,
    MOST_OF_EIGHT_BITS,
    MOST_OF_SIXTEEN_BITS,
    SHORT_SLOTS,
    SIXTEEN_BITS,
    SLOTTED,
)
from worker.index.kernels import plan
from worker.index.kernels.native import compiled, popcount, u64_at
from worker.index.kernels.slabs import State, sketch_at, value_at

U64 = NDArray[np.uint64]


@compiled("boolean(int64, int64, int64, int64)", inline=True)
def in_ratio(least: int, most: int, one: int, other: int) -> bool:
    """Whether the smaller of two token counts is at least ``least / most`` of the larger."""
    return most * min(one, other) >= least * max(one, other)


@compiled("int64(uint64, uint64, uint64, uint64, uint64, uint64, uint64, uint64)", inline=True)
def equal_slots(a0: Any, a1: Any, a2: Any, a3: Any, b0: Any, b1: Any, b2: Any, b3: Any) -> int:
    """In how many of their 128 slots of two bits two sketches agree."""
    odd = np.uint64(0x5555555555555555)
    one = np.uint64(1)
    x0, x1, x2, x3 = a0 ^ b0, a1 ^ b1, a2 ^ b2, a3 ^ b3
    different = popcount((x0 | (x0 >> one)) & odd) + popcount((x1 | (x1 >> one)) & odd)
    different += popcount((x2 | (x2 >> one)) & odd) + popcount((x3 | (x3 >> one)) & odd)
    return 128 - int(different)


@compiled("int64(int64, int64, uint64[::1])", inline=True)
def _bigram(kind: int, number: int, sketch: U64) -> int:
    """The hash of a short text's bigram in its sketch, 16 or 8 bits of it."""
    if kind == EIGHT_BITS:
        return int(np.int64((sketch[1 + (number >> 3)] >> np.uint64(8 * (number & 7))) & np.uint64(0xFF)))
    return int(np.int64((sketch[number >> 2] >> np.uint64(16 * (number & 3))) & np.uint64(0xFFFF)))


@compiled("int64(int64, uint64[::1])", inline=True)
def _bigrams(kind: int, sketch: U64) -> int:
    """How many bigrams a short text's sketch holds, never more than have place in it."""
    most = MOST_OF_EIGHT_BITS if kind == EIGHT_BITS else MOST_OF_SIXTEEN_BITS
    return min(most, int((sketch[3] >> np.uint64(56)) & np.uint64(63)))


@compiled("int64(uint64[::1], uint64[::1])", inner=True)
def _agreement_of_short(a: U64, b: U64) -> int:
    """``agreement``, where a sketch holds a short text's bigrams: of two such, the ascending bigrams are merged."""
    kind_a, kind_b = int(a[3] >> np.uint64(62)), int(b[3] >> np.uint64(62))
    if kind_a == SLOTTED or kind_b == SLOTTED:
        if kind_a == SIXTEEN_BITS or kind_b == SIXTEEN_BITS:
            return 0
        different = a[0] ^ b[0]
        different = (different | (different >> np.uint64(1))) & np.uint64(0x5555555555555555)
        return int(4 * (SHORT_SLOTS - np.int64(popcount(different))))
    shift_a, shift_b = 8 if kind_a > kind_b else 0, 8 if kind_b > kind_a else 0
    count_a, count_b = _bigrams(kind_a, a), _bigrams(kind_b, b)
    common, at_a, at_b = 0, 0, 0
    while at_a < count_a and at_b < count_b:
        one, other = _bigram(kind_a, at_a, a) >> shift_a, _bigram(kind_b, at_b, b) >> shift_b
        if one == other:
            common += 1
        if one <= other:
            at_a += 1
        if other <= one:
            at_b += 1
    of_both = count_a + count_b - common
    return min(128, 32 + 96 * common // of_both + EXACT) if of_both else 0


@compiled("int64(uint64[::1], uint64[::1])", inline=True)
def agreement_of(a: U64, b: U64) -> int:
    """``worker.fingerprint.sketch.agreement``."""
    if (a[3] | b[3]) >> np.uint64(62) != np.uint64(SLOTTED):
        return int(_agreement_of_short(a, b))
    return int(equal_slots(a[0], a[1], a[2], a[3], b[0], b[1], b[2], b[3]))


@compiled("boolean(int64[::1], int64, uint64, int64)", inner=True)
def sketches_allow(state: State, slot: int, text: Any, sketch: int) -> bool:
    """Whether an entry with a close fingerprint has a sketch, or a text, that is close enough to those asked for."""
    least = state[plan.HAMMING_THRESHOLD]
    if least == 0 or sketch == 0:
        return True
    ours, theirs = u64_at(sketch, plan.SKETCH_WORDS), sketch_at(state, slot)
    if (ours[0] | ours[1] | ours[2] | ours[3]) == np.uint64(0):
        return True
    if (theirs[0] | theirs[1] | theirs[2] | theirs[3]) == np.uint64(0):
        return True
    return bool(value_at(state, plan.TEXT, slot) == text or agreement_of(ours, theirs) >= least)


@compiled("boolean(int64[::1], int64, int64, uint64, int64, uint64, uint64, int64)", inner=True)
def is_near(state: State, column: int, slot: int, value: Any, tokens: int, scope: Any, text: Any, sketch: int) -> bool:
    """The rule of the block tables, and of the texts of pages without fingerprint.

    ``sketch`` is the address of the query's, 0 where none has any.
    """
    different = popcount(value_at(state, column, slot) ^ value)
    if column == plan.TEXT:
        return bool(different == np.uint64(0) and value_at(state, plan.SCOPE, slot) == scope)
    if different > np.uint64(state[plan.K]) or value_at(state, plan.SCOPE, slot) != scope:
        return False
    least = state[plan.RATIO_LEAST]
    if least != 0 and not in_ratio(least, state[plan.RATIO_MOST], tokens, int(value_at(state, plan.TOKENS, slot))):
        return False
    return bool(sketches_allow(state, slot, text, sketch))
