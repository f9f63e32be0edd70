"""When an entry is near to a page that is looked up: the rules of ``worker.fingerprint.near`` and ``scoped``, in
compiled steps."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from worker.fingerprint.scoped import ANNOUNCED, DOUBTED, TEMPLATE
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
from worker.index.kernels.native import compiled, popcount, u32_at, u64_at
from worker.index.kernels.slabs import State, sketch_at, value_at

U64 = NDArray[np.uint64]


@compiled("boolean(int64, int64, int64, int64)", inline=True)
def in_ratio(least: int, most: int, one: int, other: int) -> bool:
    """Whether the smaller of two token counts is at least ``least / most`` of the larger."""
    return most * min(one, other) >= least * max(one, other)


@compiled("uint64(uint64)", inline=True)
def title_mask(title: Any) -> Any:
    """``worker.fingerprint.scoped.title_masks`` of one title."""
    mixed = title * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


@compiled("boolean(uint64, uint64)", inline=True)
def titles_alike(a: Any, b: Any) -> bool:
    """``worker.fingerprint.scoped.alike``."""
    if a == np.uint64(0) or b == np.uint64(0):
        return True
    return bool(2 * np.int64(popcount(a & b)) > min(np.int64(popcount(a)), np.int64(popcount(b))))


@compiled("uint64(uint32[::1])", inline=True)
def words_of(page: Any) -> Any:
    """The words of a page's title, of its ``PAGE_WORDS``."""
    return np.uint64(page[plan.PAGE_TITLE_WORDS]) | (np.uint64(page[plan.PAGE_TITLE_WORDS + 1]) << np.uint64(32))


@compiled("boolean(int64, int64, int64)", inline=True)
def is_alone(doubt: int, tokens: int, least: int) -> bool:
    """``ScopedNear.is_alone``."""
    return doubt >= TEMPLATE or (doubt == DOUBTED and tokens < least)


@compiled("uint64(int64[::1], int64)", inline=True)
def mask_at(state: State, slot: int) -> Any:
    """The mask by which an entry lies apart in addition to its scope, see ``worker.index.apart``."""
    if state[plan.TITLED] == 0:
        return np.uint64(0)
    doubt = int(value_at(state, plan.DOUBT, slot))
    if doubt == ANNOUNCED:
        return np.uint64(0)
    if not is_alone(doubt, int(value_at(state, plan.TOKENS, slot)), state[plan.LEAST_ACROSS]):
        return np.uint64(0)
    title = value_at(state, plan.TITLE, slot)
    return value_at(state, plan.URL, slot) if title == np.uint64(0) else title_mask(title)


@compiled("boolean(int64[::1], int64, int64)", inline=True)
def is_of_another_title(state: State, slot: int, page: int) -> bool:
    """Whether a page, at this address, is a template's and the entry has another title: they are not near then, and one
    look shows it."""
    asked = u32_at(page, plan.PAGE_WORDS)
    return bool(
        asked[plan.PAGE_DOUBT] >= TEMPLATE and value_at(state, plan.TITLE, slot) != np.uint64(asked[plan.PAGE_TITLE])
    )


@compiled("boolean(int64, int64)", inline=True)
def _one_title(a: int, b: int) -> bool:
    return a == b and a != 0


@compiled("boolean(int64[::1], int64, uint64, int64)", inline=True)
def may_be_near(state: State, slot: int, scope: Any, page: int) -> bool:
    """Whether an entry is comparable with a page (``ScopedNear.comparable``), and lies apart by the same ``scope``.

    ``page`` is the address of the page's ``PAGE_WORDS``.
    """
    asked = u32_at(page, plan.PAGE_WORDS)
    doubted = int(asked[plan.PAGE_DOUBT])
    if state[plan.TITLED] == 0 and doubted == ANNOUNCED:
        return bool(value_at(state, plan.SCOPE, slot) == scope)
    doubt = int(value_at(state, plan.DOUBT, slot))
    of_one_site = asked[plan.PAGE_SITE] != 0 and value_at(state, plan.SITE, slot) == np.uint64(asked[plan.PAGE_SITE])
    if doubt == ANNOUNCED and doubted == ANNOUNCED:  # most are, of two sites: then no title is read
        if (
            of_one_site
            and not _one_title(int(value_at(state, plan.TITLE, slot)), int(asked[plan.PAGE_TITLE]))
            and not titles_alike(value_at(state, plan.TITLE_WORDS, slot), words_of(asked))
        ):
            return False
        return bool(value_at(state, plan.SCOPE, slot) == scope)
    if not _one_title(int(value_at(state, plan.TITLE, slot)), int(asked[plan.PAGE_TITLE])):
        if of_one_site or doubt >= TEMPLATE or doubted >= TEMPLATE:
            return False
        if min(int(asked[plan.PAGE_TOKENS]), int(value_at(state, plan.TOKENS, slot))) < state[plan.LEAST_ACROSS]:
            return False
    return bool(value_at(state, plan.SCOPE, slot) ^ mask_at(state, slot) == scope)


@compiled("int64(uint64, uint64, uint64, uint64, uint64, uint64, uint64, uint64)", inline=True)
def equal_slots(a0: Any, a1: Any, a2: Any, a3: Any, b0: Any, b1: Any, b2: Any, b3: Any) -> int:
    """The number of slots, of 128 with two bits each, in which two sketches agree."""
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
    """The number of bigrams in a short text's sketch, at most as many as fit."""
    most = MOST_OF_EIGHT_BITS if kind == EIGHT_BITS else MOST_OF_SIXTEEN_BITS
    return min(most, int((sketch[3] >> np.uint64(56)) & np.uint64(63)))


@compiled("int64(uint64[::1], uint64[::1])", inner=True)
def _agreement_of_short(a: U64, b: U64) -> int:
    """``agreement``, where a sketch holds a short text's bigrams: of two such sketches, it merges the ascending
    bigrams."""
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
    """Whether an entry with a close fingerprint has a sketch, or a text, that is close enough to the query's."""
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
def is_near(state: State, column: int, slot: int, value: Any, page: int, scope: Any, text: Any, sketch: int) -> bool:
    """The rule of the block tables, and of the texts of pages without fingerprint.

    ``page`` is the address of the query's ``PAGE_WORDS``, ``sketch`` that of its sketch, 0 where no entry has any.
    """
    if is_of_another_title(state, slot, page):
        return False
    different = popcount(value_at(state, column, slot) ^ value)
    if column == plan.TEXT:
        return bool(different == np.uint64(0) and may_be_near(state, slot, scope, page))
    if different > np.uint64(state[plan.K]) or not may_be_near(state, slot, scope, page):
        return False
    least, tokens = state[plan.RATIO_LEAST], int(u32_at(page, plan.PAGE_WORDS)[plan.PAGE_TOKENS])
    if least != 0 and not in_ratio(least, state[plan.RATIO_MOST], tokens, int(value_at(state, plan.TOKENS, slot))):
        return False
    return bool(sketches_allow(state, slot, text, sketch))
