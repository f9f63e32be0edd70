"""Slabs: contiguous entries of one bucket, and how they move between regions of memory.

A full slab moves to the open region and grows by one part in ``ROOM``; the memory that it leaves is dead. ``clean``
empties a region with much dead memory by moving the slabs that still live there, as a log-structured file system does
(Rosenblum and Ousterhout, SOSP 1991): memory is reclaimed bit by bit, never all at once. Whenever a slab moves, its
expired entries stay behind.

A kernel that needs another region sets ``WANTED`` to its least size and stops; the next call goes on from there.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from worker.index.kernels import plan
from worker.index.kernels.native import compiled, copy, fetch, i64_at, u8_at, u16_at, u32_at, u64_at

State = NDArray[np.int64]
Row = NDArray[np.uint32]

_AHEAD = 6
"""The rows of this many slabs are fetched before the check whether they live."""


@compiled("int64(int64[::1], int64)", inline=True)
def address_of(state: State, row: int) -> int:
    """The address of a row."""
    chunks = i64_at(state[plan.ROWS], state[plan.ROW_CHUNKS])
    return int(chunks[row >> plan.ROW_BITS] + (row & (plan.ROWS_A_CHUNK - 1)) * plan.ROW_BYTES)


@compiled("uint32[::1](int64[::1], int64)", inline=True)
def row_of(state: State, row: int) -> Any:
    """The four words of a row."""
    return u32_at(address_of(state, row), 4)


@compiled("int64(uint32[::1])", inline=True)
def form_of(row: Row) -> int:
    """TAGGED, KEYED, COPIED or NODE."""
    return int(row[plan.REGION]) >> plan.FORM_SHIFT


@compiled("int64(int64[::1], uint32[::1])", inline=True)
def slab_at(state: State, row: Row) -> int:
    """The address of a bucket's first tag."""
    bases = i64_at(state[plan.BASES], state[plan.REGIONS])
    return int(bases[int(row[plan.REGION]) & plan.REGION_MASK] + int(row[plan.OFFSET]) * plan.UNIT + plan.UNIT)


@compiled("int64(int64, int64)", inline=True)
def slots_after(form: int, capacity: int) -> int:
    """The distance from the first tag to the first slot, in bytes."""
    return 4 * capacity if form == plan.TAGGED else 2 * capacity


@compiled("int64(int64, int64)", inline=True)
def units_of(form: int, capacity: int) -> int:
    """The size of a slab, including the header."""
    if form == plan.TAGGED:
        return 1 + capacity
    if form == plan.KEYED:
        return 1 + (6 * capacity + plan.UNIT - 1) // plan.UNIT
    return 1 + ((10 + 8 * plan.SKETCH_WORDS) * capacity + plan.UNIT - 1) // plan.UNIT


@compiled("int64(int64, int64)", inline=True)
def rounded(form: int, capacity: int) -> int:
    """The next capacity at which all parts of a slab are aligned."""
    if form == plan.TAGGED:
        return capacity
    if form == plan.KEYED:
        return (capacity + 1) & ~1
    return (capacity + 3) & ~3


@compiled("int64[::1](int64[::1], int64, int64)", inline=True)
def column_at(state: State, column: int, slot: int) -> Any:
    """The words about a column in the chunk that has this slot."""
    chunk = (slot >> state[plan.CHUNK_BITS]) & (state[plan.RING] - 1)
    return i64_at(state[plan.COLUMNS] + 8 * plan.COLUMN_WORDS * (chunk * plan.COLUMN_COUNT + column), plan.COLUMN_WORDS)


@compiled("int64(int64[::1], int64[::1], int64)", inline=True)
def place_of(state: State, words: State, slot: int) -> int:
    """The address of a column's value, from these words."""
    at = slot & ((np.int64(1) << state[plan.CHUNK_BITS]) - 1)
    return int(words[plan.COLUMN_ADDRESS] + words[plan.COLUMN_STEP] * at)


@compiled("void(int64[::1], int64, int64)", inline=True)
def fetch_value(state: State, column: int, slot: int) -> None:
    """Fetch the value of a column at a slot, where it lies in memory: to look for the address of nothing takes as
    long."""
    words = column_at(state, column, slot)
    if words[plan.COLUMN_WIDTH] > 0:
        fetch(place_of(state, words, slot))


@compiled("uint64(int64[::1], int64, int64)", inline=True)
def value_at(state: State, column: int, slot: int) -> Any:
    """The value of a column at a slot, as 64 bits."""
    words = column_at(state, column, slot)
    width, place = words[plan.COLUMN_WIDTH], place_of(state, words, slot)
    if width == 8:
        return u64_at(place, 1)[0]
    base = np.uint64(words[plan.COLUMN_BASE])
    if width == 4:
        return base + np.uint64(u32_at(place, 1)[0])
    if width == 2:
        return base + np.uint64(u16_at(place, 1)[0])
    if width == 1:
        return base + np.uint64(u8_at(place, 1)[0])
    return base


@compiled("uint64[::1](int64[::1], int64)", inner=True)
def sketch_at(state: State, slot: int) -> Any:
    """The sketch of an entry."""
    return u64_at(place_of(state, column_at(state, plan.SKETCH, slot), slot), plan.SKETCH_WORDS)


@compiled("int64(int64[::1], uint32[::1])", inner=True)
def expired_in(state: State, row: Row) -> int:
    """How many entries at the beginning of a bucket have expired."""
    length, capacity = int(row[plan.LENGTH]), int(row[plan.CAPACITY])
    if length == 0:
        return 0
    slots = u32_at(slab_at(state, row) + slots_after(form_of(row), capacity), capacity)
    first = state[plan.FIRST]
    if (int(slots[0]) - first) & plan.SLOT_MASK < plan.EXPIRED_FROM:
        return 0
    low, high = 1, length
    while low < high:
        middle = (low + high) >> 1
        if (int(slots[middle]) - first) & plan.SLOT_MASK >= plan.EXPIRED_FROM:
            low = middle + 1
        else:
            high = middle
    return low


@compiled("int64(int64[::1], int64, int64)", inner=True)
def allocate(state: State, row: int, units: int) -> int:
    """The offset of a new slab in the open region, -1 if there is no room."""
    region = state[plan.OPEN]
    if region >= 0:
        used = i64_at(state[plan.USED], state[plan.REGIONS])
        offset = used[region]
        if offset + units * plan.UNIT <= i64_at(state[plan.SIZES], state[plan.REGIONS])[region]:
            used[region] = offset + units * plan.UNIT
            i64_at(state[plan.LIVE], state[plan.REGIONS])[region] += units * plan.UNIT
            header = u32_at(i64_at(state[plan.BASES], state[plan.REGIONS])[region] + offset, 2)
            header[0] = row
            header[1] = units
            return int(offset // plan.UNIT)
    state[plan.WANTED] = units * plan.UNIT
    return -1


@compiled("void(int64[::1], uint32[::1])", inner=True)
def release(state: State, row: Row) -> None:
    """Leave a bucket without a slab."""
    if row[plan.CAPACITY] > 0:
        units = units_of(form_of(row), int(row[plan.CAPACITY]))
        i64_at(state[plan.LIVE], state[plan.REGIONS])[int(row[plan.REGION]) & plan.REGION_MASK] -= units * plan.UNIT
    row[:] = 0


@compiled("void(int64[::1], int64, int64, int64, int64)", inner=True)
def _copy_beside(state: State, to: int, slots_at: int, count: int, capacity: int) -> None:
    """Write tokens and sketches of the entries next to their slots."""
    slots = u32_at(slots_at, capacity)
    tokens = u32_at(slots_at + 4 * capacity, capacity)
    sketches = u64_at(slots_at + 8 * capacity, capacity * plan.SKETCH_WORDS)
    for at in range(count):
        tokens[at] = np.uint32(value_at(state, plan.TOKENS, int(slots[at])))
        sketch = sketch_at(state, int(slots[at]))
        for word in range(plan.SKETCH_WORDS):
            sketches[at * plan.SKETCH_WORDS + word] = sketch[word]


@compiled("boolean(int64[::1], int64, int64, int64)", inner=True)
def move(state: State, row: int, form: int, capacity: int) -> bool:
    """Give a bucket a new slab, without expired entries; false if the open region has no room for it.

    ``capacity`` must suffice for the entries that stay. A KEYED slab may become COPIED, nothing else changes its form.
    """
    words = row_of(state, row)
    expired = expired_in(state, words)
    kept = int(words[plan.LENGTH]) - expired
    capacity = rounded(form, capacity)
    offset = allocate(state, row, units_of(form, capacity))
    if offset < 0:
        return False
    region = state[plan.OPEN]
    to = int(i64_at(state[plan.BASES], state[plan.REGIONS])[region] + offset * plan.UNIT + plan.UNIT)
    if kept:
        before, had = slab_at(state, words), int(words[plan.CAPACITY])
        old = form_of(words)
        width = 4 if form == plan.TAGGED else 2
        copy(u8_at(to, width * capacity), u8_at(before, width * had), width * expired, width * kept)
        to_slots, slots = to + slots_after(form, capacity), before + slots_after(old, had)
        copy(u8_at(to_slots, 4 * capacity), u8_at(slots, 4 * had), 4 * expired, 4 * kept)
        if form == plan.COPIED:
            _copy_beside(state, to, to_slots, kept, capacity)
    release(state, words)
    words[plan.REGION] = np.uint32(region | (form << plan.FORM_SHIFT))
    words[plan.OFFSET] = offset
    words[plan.LENGTH] = kept
    words[plan.CAPACITY] = capacity
    return True


@compiled("int64(int64)", inline=True)
def with_room(kept: int) -> int:
    """The capacity of a slab that moves."""
    return kept + kept // plan.ROOM + 2


@compiled("int64(int64[::1], int64, int64, int64)")
def clean(state: State, region: int, begin: int, end: int) -> int:
    """Move the live slabs of a region out of it, from byte ``begin`` on, where a slab begins.

    A slab that moves gets room as if it grew: slabs that came to a region together become full, and leave it dead, at
    about the same time. Returns where it stopped: after the first slab that reaches ``end``, or before a slab for which
    it wants a region.
    """
    base = i64_at(state[plan.BASES], state[plan.REGIONS])[region]
    at, ahead, seen = np.int64(begin), np.int64(begin), 0
    while at < end:
        while seen < _AHEAD and ahead < end:
            fetch(address_of(state, int(u32_at(base + ahead, 2)[0])))
            ahead += int(u32_at(base + ahead, 2)[1]) * plan.UNIT
            seen += 1
        header = u32_at(base + at, 2)
        row = int(header[0])
        units = int(header[1])
        words = row_of(state, row)
        form = form_of(words)
        lives = form != plan.NODE and int(words[plan.CAPACITY]) > 0
        if lives and int(words[plan.REGION]) & plan.REGION_MASK == region and int(words[plan.OFFSET]) * plan.UNIT == at:
            kept = int(words[plan.LENGTH]) - expired_in(state, words)
            if not move(state, row, form, with_room(kept)):
                return int(at)
        at += units * plan.UNIT
        seen -= 1
    return int(at)


@compiled("int64(int64[::1], int64, int64)")
def sweep(state: State, row: int, end: int) -> int:
    """Remove expired entries from the rows up to ``end``; returns where it stopped for a region, or ``end``."""
    for number in range(row, end):
        words = row_of(state, number)
        form = form_of(words)
        if form == plan.NODE or words[plan.CAPACITY] == 0:
            continue
        expired = expired_in(state, words)
        kept = int(words[plan.LENGTH]) - expired
        if kept == 0:
            release(state, words)
        elif expired and not move(state, number, form, with_room(kept)):
            return number
    return end


@compiled("int64(int64[::1], int64, int64)")
def longest(state: State, row: int, end: int) -> int:
    """Entries in the fullest bucket of these rows."""
    most = 0
    for number in range(row, end):
        words = row_of(state, number)
        if form_of(words) != plan.NODE:
            most = max(most, int(words[plan.LENGTH]))
    return most
