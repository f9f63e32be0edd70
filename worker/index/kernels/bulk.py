"""Adds many entries at once. It first deals them into heaps, one for each group of neighbouring rows, so that the rows
and slabs of a heap stay in a core's cache while its entries are written (radix partitioning; Manegold, Boncz, Kersten:
Optimizing Main-Memory Join on Modern Hardware, IEEE TKDE 2002). Entries of one row keep their order.

1. ``count`` says how many entries each heap gets.
2. ``deal`` writes each entry to its heap; all heaps lie in one array, one after the other.
3. ``put_away`` takes heap by heap, makes room once in each row for all the entries that the row gets, and writes. It
   leaves entries of rows that are split, keep copies or become too full to ``growth``, which adds them one by one.

An entry in a heap is 64 bits: tag, row in the heap, and number among the dealt entries.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from worker.index.kernels import plan
from worker.index.kernels.growth import arrange, row_for, table_of
from worker.index.kernels.native import compiled, u16_at, u32_at, u64_at
from worker.index.kernels.slabs import State, form_of, move, row_of, slab_at, slots_after

_HEAP_BITS = 8
"""Rows of a heap, as bits: 256 of them with 150 entries each are 300 kB, which a core's own cache holds."""
_HEAP_ROWS = 1 << _HEAP_BITS
NUMBER_BITS: Final = 24
"""Bits for the number of an entry: two to their power is how many are dealt at once."""
_TAG_AT = NUMBER_BITS + _HEAP_BITS

U64 = NDArray[np.uint64]
I64 = NDArray[np.int64]
Mask = NDArray[np.bool_]


def heaps_of(rows: int) -> int:
    """The number of heaps of a table of this many rows."""
    return -(-rows // _HEAP_ROWS)


@compiled("uint64(int64, int64, boolean, int64)", inline=True)
def _value(values: int, count: int, keyed: bool, at: int) -> Any:
    """The value of an entry, from its address: 64 bits, or a key of 32 in a row of ``BANDS``."""
    if keyed:
        return np.uint64(u32_at(values, count * plan.BANDS)[at * plan.BANDS])
    return u64_at(values, count)[at]


@compiled("void(int64[::1], int64, int64, boolean, boolean[::1], int64, int64, int64[::1])")
def count(state: State, number: int, values: int, keyed: bool, left_out: Mask, begin: int, end: int, ends: I64) -> None:
    """Add to ``ends[1:]`` how many of the entries from ``begin`` to ``end``, whose values are there, each heap gets.

    Entries that ``left_out`` (all entries,) marks go to no heap; without rows it marks none.
    """
    table = table_of(state, number)
    first = table[plan.TABLE_ROW]
    for at in range(end - begin):
        if left_out.size and left_out[begin + at]:
            continue
        row = row_for(table, arrange(table, _value(values, end - begin, keyed, at))) - first
        ends[(row >> _HEAP_BITS) + 1] += 1


@compiled("void(int64[::1], int64, int64, boolean, boolean[::1], int64, int64, int64[::1], uint64[::1])")
def deal(
    state: State, number: int, values: int, keyed: bool, left_out: Mask, begin: int, end: int, ends: I64, dealt: U64
) -> None:
    """Write the same entries to ``dealt``; ``ends[h]`` says where heap h goes on."""
    table = table_of(state, number)
    first, shift = table[plan.TABLE_ROW], np.uint64(16)
    if not keyed:
        shift = np.uint64(table[plan.TABLE_KEY_BITS])
    for at in range(end - begin):
        if left_out.size and left_out[begin + at]:
            continue
        arranged = arrange(table, _value(values, end - begin, keyed, at))
        row = row_for(table, arranged) - first
        tag = (arranged >> shift) & np.uint64(0xFFFFFFFF)
        heap = row >> _HEAP_BITS
        low = np.uint64(row & (_HEAP_ROWS - 1))
        dealt[ends[heap]] = (tag << np.uint64(_TAG_AT)) | (low << np.uint64(NUMBER_BITS)) | np.uint64(begin + at)
        ends[heap] += 1


@compiled("int64(int64[::1], int64, int64, uint64[::1], int64[::1], int64[::1], int64, int64, int64)")
def put_away(
    state: State, number: int, first: int, dealt: U64, ends: I64, left: I64, share: int, more: int, begin: int
) -> int:
    """Put the heaps from ``begin`` on into their rows; returns how far it came: the number of heaps, or the heap where
    it wants a region.

    ``first`` is the slot of entry 0. A row that needs room gets it for one entry in ``share`` and for ``more`` in
    addition. Entries that are not put away are written to the beginning of ``dealt``: in the upper half their tag, or
    their key in a table of keys, in the lower half their number. ``left[0]`` counts them.
    """
    table = table_of(state, number)
    tags, slots = np.empty(_HEAP_ROWS, np.int64), np.empty(_HEAP_ROWS, np.int64)
    counts = np.empty(_HEAP_ROWS, np.int64)
    tagged = table[plan.TABLE_FORM] == plan.TAGGED
    low_bits, number_bits = np.uint64(_HEAP_ROWS - 1), np.uint64((1 << NUMBER_BITS) - 1)
    kept_back = left[0]
    for heap in range(begin, ends.size - 1):
        start, end = ends[heap - 1] if heap else 0, ends[heap]
        if start == end:
            continue
        counts[:] = 0
        for at in range(start, end):
            counts[np.int64((dealt[at] >> np.uint64(NUMBER_BITS)) & low_bits)] += 1
        rows = min(_HEAP_ROWS, table[plan.TABLE_ROWS] - (heap << _HEAP_BITS))
        row = int(table[plan.TABLE_ROW] + (heap << _HEAP_BITS))
        for low in range(rows):
            words = row_of(state, row + low)
            wanted = int(words[plan.LENGTH]) + counts[low]
            tags[low] = 0
            if counts[low] == 0 or form_of(words) == plan.NODE or form_of(words) == plan.COPIED:
                continue
            if wanted > table[plan.TABLE_SPLIT_FROM]:
                continue
            if wanted > int(words[plan.CAPACITY]) and not move(
                state, row + low, table[plan.TABLE_FORM], wanted + wanted // share + 1 + more
            ):
                return heap
            form, length, capacity = form_of(words), int(words[plan.LENGTH]), int(words[plan.CAPACITY])
            at_tags = slab_at(state, words)
            tags[low] = at_tags + (4 if form == plan.TAGGED else 2) * length
            slots[low] = at_tags + slots_after(form, capacity) + 4 * length
        for at in range(start, end):
            entry = dealt[at]
            low = int((entry >> np.uint64(NUMBER_BITS)) & low_bits)
            tag, entry = entry >> np.uint64(_TAG_AT), entry & number_bits
            if tags[low] == 0:
                if not tagged:
                    tag = (tag << np.uint64(16)) | np.uint64((heap << _HEAP_BITS) + low)
                dealt[kept_back] = (tag << np.uint64(32)) | entry
                kept_back += 1
                continue
            if tagged:
                u32_at(tags[low], 1)[0] = np.uint32(tag)
                tags[low] += 4
            else:
                u16_at(tags[low], 1)[0] = np.uint16(tag)
                tags[low] += 2
            u32_at(slots[low], 1)[0] = np.uint32((np.int64(entry) + first) & plan.SLOT_MASK)
            slots[low] += 4
        left[0] = kept_back
        for low in range(rows):
            if tags[low]:
                row_of(state, row + low)[plan.LENGTH] += counts[low]
    return int(ends.size - 1)
