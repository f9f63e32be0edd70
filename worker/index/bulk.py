"""Many entries at once: cut into heaps of neighbouring rows first, so that a heap's rows and slabs stay in a core's
cache while it is put away (radix partitioning; Manegold, Boncz, Kersten: Optimizing Main-Memory Join on Modern
Hardware, IEEE TKDE 2002). The order within a row remains.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from worker.index.growth import (
    add_below,
    arrange,
    fetch_end,
    known_bits,
    make_room,
    put,
    row_for,
    table_of,
    tag_for,
)
from worker.index.native import compiled
from worker.index.plan import NODE, SLOT_MASK, TABLE_COLUMN, TABLE_FORM, TABLE_ROW, TAGGED
from worker.index.slabs import State, form_of, row_of, value_at

_HEAP_BITS = 8
"""Rows a heap, as bits: 256 of them with 150 entries each are 300 kB, which a core's own cache holds."""
_AHEAD = 12

U32 = NDArray[np.uint32]
U64 = NDArray[np.uint64]


@compiled("uint64(uint32, uint32)", inline=True)
def _packed(tag: Any, slot: Any) -> Any:
    return (np.uint64(tag) << np.uint64(32)) | np.uint64(slot)


@compiled("void(int64[::1], int64, uint32[::1], uint32[::1], uint64[::1], uint32[::1])")
def cut(state: State, number: int, new: U32, rows: U32, entries: U64, counts: U32) -> None:
    """Write for each slot of ``new`` its row in a table to ``rows`` (n,), tag and slot to ``entries`` (n,).

    Adds to ``counts`` (rows of the table,) how many fall into each row.
    """
    table = table_of(state, number)
    first, column = table[TABLE_ROW], table[TABLE_COLUMN]
    for at in range(new.size):
        arranged = arrange(table, value_at(state, column, int(new[at])))
        row = row_for(table, arranged) - first
        rows[at] = row
        entries[at] = _packed(tag_for(table, arranged), new[at])
        counts[row] += np.uint32(1)


@compiled("void(int64[::1], int64, uint32[::1], uint32[::1], uint32[::1], uint64[::1], uint32[::1])")
def cut_keys(state: State, number: int, keys: U32, new: U32, rows: U32, entries: U64, counts: U32) -> None:
    """The same of a table of keys, which stand beside the slots."""
    table = table_of(state, number)
    for at in range(new.size):
        row = row_for(table, np.uint64(keys[at])) - table[TABLE_ROW]
        rows[at] = row
        entries[at] = _packed(keys[at] >> np.uint32(16), new[at])
        counts[row] += np.uint32(1)


@compiled("void(uint32[::1], uint32[::1], uint64[::1], uint32[::1], uint64[::1])")
def heap(counts: U32, rows: U32, entries: U64, heaped_rows: U32, heaped: U64) -> None:
    """Write rows and entries (n,) heap by heap; ``counts`` is what ``cut`` has counted, from zeros."""
    ends = np.zeros((counts.size >> _HEAP_BITS) + 2, np.int64)
    for row in range(counts.size):
        ends[(row >> _HEAP_BITS) + 1] += counts[row]
    for number in range(1, ends.size):
        ends[number] += ends[number - 1]
    for at in range(rows.size):
        number = rows[at] >> np.uint32(_HEAP_BITS)
        to = ends[number]
        heaped_rows[to] = rows[at]
        heaped[to] = entries[at]
        ends[number] = to + 1


@compiled("int64(int64[::1], int64, uint32[::1], uint64[::1], int64)")
def place(state: State, number: int, rows: U32, entries: U64, begin: int) -> int:
    """Put ``entries[begin:]`` into their rows; returns how far it came, as ``growth.add`` does."""
    table = table_of(state, number)
    count, first = entries.size, table[TABLE_ROW]
    bits = 64 - known_bits(table) if table[TABLE_FORM] == TAGGED else 0
    for at in range(begin, count):
        if at + _AHEAD < count:
            fetch_end(state, int(first + np.int64(rows[at + _AHEAD])))
        row = int(first + np.int64(rows[at]))
        slot = int(entries[at] & np.uint64(SLOT_MASK))
        if form_of(row_of(state, row)) == NODE:
            arranged = arrange(table, value_at(state, table[TABLE_COLUMN], slot))
            if not add_below(state, number, row, arranged, slot):
                return at
        else:
            if not make_room(state, number, row, -1, 0, bits):
                return at
            put(state, row, np.uint32(entries[at] >> np.uint64(32)), slot)
    return int(count)
