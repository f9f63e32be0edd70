"""Look-ups by sketch: the earliest entry with a band's key in common whose sketch is near.

A bucket of a band is found by half of the key, and holds the other half as tags of 16 bits. As in ``scan``, rows and
slabs are fetched some queries before they are compared.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from worker.index.kernels import plan
from worker.index.kernels.growth import table_of
from worker.index.kernels.native import compiled, equal_32, fetch, lowest, u32_at, u64_at
from worker.index.kernels.nearness import agreement_of, in_ratio, is_of_another_title, may_be_near
from worker.index.kernels.scan import ROWS_AHEAD, SLABS_AHEAD, fetch_slab
from worker.index.kernels.slabs import (
    Row,
    State,
    address_of,
    form_of,
    row_of,
    sketch_at,
    slab_at,
    slots_after,
    value_at,
)

U64 = NDArray[np.uint64]
U32 = NDArray[np.uint32]
I64 = NDArray[np.int64]


@compiled("int64(int64[::1], uint32[::1], uint32, uint64[::1], int64, uint64, int64, int64)", inner=True)
def _first_keyed(state: State, row: Row, tag: Any, sketch: U64, page: int, scope: Any, lower: int, best: int) -> int:
    """The first entry of a bucket with this key, in [lower, best), whose sketch is near; otherwise ``best``.

    ``page`` is the address of the query's ``PAGE_WORDS``.
    """
    length, capacity, form = int(row[plan.LENGTH]), int(row[plan.CAPACITY]), form_of(row)
    if length == 0:
        return best
    state[plan.CANDIDATES] += length
    at = slab_at(state, row)
    slots_begin = at + slots_after(form, capacity)
    slots = u32_at(slots_begin, capacity)
    first = state[plan.FIRST]
    tokens = int(u32_at(page, plan.PAGE_WORDS)[plan.PAGE_TOKENS])
    place = 0
    while place < length:
        left = length - place
        mask = equal_32(at + 2 * place, tag, left)
        if left < 32:
            mask &= (np.uint64(1) << np.uint64(left)) - np.uint64(1)
        while mask != np.uint64(0):
            entry = int(place + np.int64(lowest(mask)))
            mask &= mask - np.uint64(1)
            slot = int(slots[entry])
            after = (slot - first) & plan.SLOT_MASK
            if after >= plan.EXPIRED_FROM or after < lower:
                continue
            if after >= best:
                return best
            if form == plan.COPIED:
                other = int(u32_at(slots_begin + 4 * capacity, capacity)[entry])
                beside = slots_begin + 8 * capacity + 8 * plan.SKETCH_WORDS * entry
            elif is_of_another_title(state, slot, page):
                continue
            else:
                other = int(value_at(state, plan.TOKENS, slot))
                beside = 0
            short = min(tokens, other) < state[plan.SHORT]
            least, most = (plan.SHORT_LEAST, plan.SHORT_MOST) if short else (plan.SKETCH_LEAST, plan.SKETCH_MOST)
            if not in_ratio(state[least], state[most], tokens, other):
                continue
            theirs = u64_at(beside, plan.SKETCH_WORDS) if beside else sketch_at(state, slot)
            threshold = state[plan.SHORT_THRESHOLD if short else plan.THRESHOLD]
            if agreement_of(sketch, theirs) >= threshold and may_be_near(state, slot, scope, page):
                return int(after)
        place += 32
    return best


@compiled("uint32[::1](int64[::1], int64, uint32)", inline=True)
def _row_of_key(state: State, band: int, key: Any) -> Any:
    own = table_of(state, state[plan.BAND_TABLES] + band)
    return row_of(state, int(own[plan.TABLE_ROW]) + int(key & np.uint32(0xFFFF)))


@compiled("void(int64[::1], uint32[:, ::1], uint64[:, ::1], uint32[:, ::1], uint64[::1], int64, int64[::1])")
def earliest(state: State, keys: U32, sketches: U64, pages: U32, scopes: U64, lower: int, best: I64) -> None:
    """Lower ``best`` (n,) to the earliest entry that has a key in common and a near sketch."""
    count, page = keys.shape[0], pages.ctypes.data
    for ahead in range(-ROWS_AHEAD, count):
        if ahead + ROWS_AHEAD < count:
            for band in range(plan.BANDS):
                own = table_of(state, state[plan.BAND_TABLES] + band)
                key = keys[ahead + ROWS_AHEAD, band]
                fetch(address_of(state, int(own[plan.TABLE_ROW]) + int(key & np.uint32(0xFFFF))))
        if 0 <= ahead + SLABS_AHEAD < count:
            for band in range(plan.BANDS):
                fetch_slab(state, _row_of_key(state, band, keys[ahead + SLABS_AHEAD, band]))
        if ahead >= 0:
            for band in range(plan.BANDS):
                key = keys[ahead, band]
                row, tag = _row_of_key(state, band, key), key >> np.uint32(16)
                numbers = page + 4 * plan.PAGE_WORDS * ahead
                best[ahead] = _first_keyed(state, row, tag, sketches[ahead], numbers, scopes[ahead], lower, best[ahead])
