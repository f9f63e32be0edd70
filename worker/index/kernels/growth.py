"""How tables grow: adding entries, spreading rows, splitting full buckets.

**Rows** grow with the entries, one row at a time (linear hashing; Litwin, VLDB 1980): the next row takes from one
earlier row the entries whose key has the next bit set. No step depends on the size of the table.

**Split.** Bits that all entries of a full bucket have in common no longer help; the others are cut into four groups.
Two fingerprints within three bits agree in at least one of four groups (the pigeonhole of ``layout``, once more), so
each entry goes into four buckets, by each of the groups, and a look-up asks four. If such a bucket becomes too full, it
is split again by the remaining bits. Where more than half of the entries agree in three groups or four, a split would
not part them: equal or nearly equal entries, which cannot both be survivors. They stay together.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from worker.index.kernels import plan
from worker.index.kernels.native import compiled, fetch, i64_at, u16_at, u32_at, u64_at
from worker.index.kernels.slabs import (
    State,
    address_of,
    expired_in,
    fetch_value,
    form_of,
    move,
    release,
    row_of,
    sketch_at,
    slab_at,
    slots_after,
    value_at,
    with_room,
)

_LINE = 64
_FETCHED = 1024
"""Bytes of a slab that are fetched ahead; the processor goes on by itself where a slab is longer."""
_AHEAD = 12
"""A slab is fetched this many entries before one is written to it, and its row as many earlier: time for memory."""


@compiled("int64[::1](int64[::1], int64)", inline=True)
def table_of(state: State, table: int) -> Any:
    """The words of a table."""
    return i64_at(state[plan.TABLES] + 8 * plan.TABLE_WORDS * table, plan.TABLE_WORDS)


@compiled("int64[::1](int64[::1], int64)", inline=True)
def node_of(state: State, node: int) -> Any:
    """The words of a node."""
    return i64_at(state[plan.NODES] + 8 * plan.NODE_WORDS * node, plan.NODE_WORDS)


@compiled("uint64(int64[::1], uint64)", inline=True)
def arrange(table: State, value: Any) -> Any:
    """The value with its blocks in a table's own order, the key lowest."""
    rotation = np.uint64(table[plan.TABLE_ROTATION])
    if table[plan.TABLE_ROTATION] == 0:
        return value
    if table[plan.TABLE_ROTATION] > 0:
        return (value >> rotation) | (value << (np.uint64(64) - rotation))
    blocks = table[plan.TABLE_BLOCKS]
    width = 64 // blocks
    block = np.uint64((1 << width) - 1)
    arranged = np.uint64(0)
    for place in range(blocks):
        arranged |= ((value >> np.uint64(table[plan.TABLE_SHIFTS + place])) & block) << np.uint64(place * width)
    return arranged


@compiled("int64(int64[::1], uint64)", inline=True)
def row_for(table: State, arranged: Any) -> int:
    """The row of a key."""
    mask = table[plan.TABLE_MASK]
    place = np.int64(arranged & np.uint64(mask))
    if place >= table[plan.TABLE_ROWS]:
        place &= mask >> 1
    return int(table[plan.TABLE_ROW] + place)


@compiled("uint32(int64[::1], uint64)", inline=True)
def tag_for(table: State, arranged: Any) -> Any:
    """The 32 bits after the key."""
    return np.uint32((arranged >> np.uint64(table[plan.TABLE_KEY_BITS])) & np.uint64(0xFFFFFFFF))


@compiled("uint64(uint64, int64, int64)", inline=True)
def _group_first(rest: Any, bits: int, begin: int) -> Any:
    """``rest``, of this many bits, rotated such that bit ``begin`` comes first."""
    all_bits = (np.uint64(1) << np.uint64(bits)) - np.uint64(1)
    if begin == 0:
        return rest & all_bits
    return ((rest >> np.uint64(begin)) | (rest << np.uint64(bits - begin))) & all_bits


@compiled("uint64(int64[::1], int64, uint64)", inner=True)
def _rest_at(state: State, node: int, arranged: Any) -> Any:
    """The bits of an arranged value that are left at a node."""
    path = np.int64(0)
    depth = 0
    at = node_of(state, node)
    while at[plan.NODE_PARENT] >= 0:
        path = (path << 2) | at[plan.NODE_GROUP]
        depth += 1
        at = node_of(state, at[plan.NODE_PARENT])
    bits = at[plan.NODE_BITS]
    rest = arranged >> np.uint64(64 - bits)
    for _ in range(depth):
        width = bits // 4
        rest = _group_first(rest, bits, (path & 3) * width) >> np.uint64(width)
        bits -= width
        path >>= 2
    return rest


@compiled("int64(int64[::1], int64, uint64)", inner=True)
def leaves(state: State, row: int, arranged: Any) -> int:
    """The number of buckets of a value below a row that was split; row, tag, parent and group go to the scratch."""
    scratch = i64_at(state[plan.SCRATCH], plan.SCRATCH_WORDS)
    out = scratch[: plan.LEAVES * plan.LEAF_WORDS]
    queue = scratch[plan.LEAVES * plan.LEAF_WORDS :]
    node = int(row_of(state, row)[plan.REGION]) & plan.REGION_MASK
    bits = node_of(state, node)[plan.NODE_BITS]
    queue[0] = row
    queue[1] = np.int64(arranged >> np.uint64(64 - bits))
    queue[2] = bits
    head, tail, found = 0, 1, 0
    while head < tail:
        item = head * plan.LEAF_WORDS
        words = row_of(state, queue[item])
        rest, bits = np.uint64(queue[item + 1]), queue[item + 2]
        if form_of(words) == plan.NODE:
            node = int(words[plan.REGION]) & plan.REGION_MASK
            first, width = node_of(state, node)[plan.NODE_ROW], node_of(state, node)[plan.NODE_WIDTH]
            for group in range(4):
                turned = _group_first(rest, bits, group * width)
                key = np.int64(turned & ((np.uint64(1) << np.uint64(width)) - np.uint64(1)))
                child = first + (np.int64(group) << width) + key
                fetch(address_of(state, child))
                queue[tail * plan.LEAF_WORDS] = child
                queue[tail * plan.LEAF_WORDS + 1] = np.int64(turned >> np.uint64(width))
                queue[tail * plan.LEAF_WORDS + 2] = bits - width
                queue[tail * plan.LEAF_WORDS + 3] = node
                queue[tail * plan.LEAF_WORDS + 4] = group
                tail += 1
        else:
            leaf = found * plan.LEAF_WORDS
            out[leaf] = queue[item]
            out[leaf + 1] = np.int64(rest & np.uint64(0xFFFFFFFF))
            out[leaf + 2] = queue[item + 3]
            out[leaf + 3] = queue[item + 4]
            out[leaf + 4] = bits
            found += 1
        head += 1
    return found


@compiled("int64(int64[::1])", inline=True)
def known_bits(table: State) -> int:
    """Low bits of the key in which all entries of any one row agree."""
    bits = 0
    while (np.int64(2) << bits) <= table[plan.TABLE_ROWS]:
        bits += 1
    return bits


@compiled("uint64(int64[::1], int64[::1], int64, int64, int64)", inner=True)
def _rest_in(state: State, table: State, parent: int, group: int, slot: int) -> Any:
    """The bits of an entry that are left in a bucket: ``group`` of node ``parent``, or a table's own with parent -1."""
    arranged = arrange(table, value_at(state, table[plan.TABLE_COLUMN], slot))
    if parent < 0:
        return arranged >> np.uint64(known_bits(table))
    width = node_of(state, parent)[plan.NODE_WIDTH]
    bits = node_of(state, parent)[plan.NODE_BITS]
    return _group_first(_rest_at(state, parent, arranged), bits, group * width) >> np.uint64(width)


@compiled("boolean(int64[::1], int64[::1], int64, int64, int64, int64)", inner=True)
def _splits_well(state: State, table: State, row: int, parent: int, group: int, bits: int) -> bool:
    words = row_of(state, row)
    length, capacity = int(words[plan.LENGTH]), int(words[plan.CAPACITY])
    slots = u32_at(slab_at(state, words) + slots_after(plan.TAGGED, capacity), capacity)
    width = bits // 4
    counts = np.zeros((4, 1 << width), np.uint32)
    low = np.uint64((1 << width) - 1)
    expired = expired_in(state, words)
    for at in range(expired, length):
        rest = _rest_in(state, table, parent, group, int(slots[at]))
        for cut in range(4):
            counts[cut, np.int64((rest >> np.uint64(cut * width)) & low)] += np.uint32(1)
    apart = 0
    for cut in range(4):
        most = np.uint32(0)
        for count in counts[cut]:  # numba takes a second to compile ``max``
            most = max(most, count)
        if 2 * int(most) <= length - expired:
            apart += 1
    return apart >= 2


@compiled("boolean(int64[::1], int64, int64, int64, int64, int64)", inner=True)
def make_room(state: State, number: int, row: int, parent: int, group: int, bits: int) -> bool:
    """Make room for one more entry in a bucket that is no node; false: it wants a region, or a split of
    ``WANTED_ROW``."""
    words = row_of(state, row)
    length, capacity = int(words[plan.LENGTH]), int(words[plan.CAPACITY])
    if length < capacity:
        return True
    table = table_of(state, number)
    form = table[plan.TABLE_FORM] if capacity == 0 else form_of(words)
    if length >= table[plan.TABLE_SPLIT_FROM]:
        if form == plan.KEYED:
            form = plan.COPIED
        elif form == plan.TAGGED and bits >= plan.LEAST_BITS and _splits_well(state, table, row, parent, group, bits):
            state[plan.WANTED] = 0
            state[plan.WANTED_ROW] = row
            state[plan.WANTED_PARENT] = parent
            state[plan.WANTED_GROUP] = group
            return False
    kept = length - expired_in(state, words)
    return bool(move(state, row, form, with_room(kept)))


@compiled("void(int64[::1], int64, uint32, int64)", inner=True)
def put(state: State, row: int, tag: Any, slot: int) -> None:
    """Write an entry after the last one of a bucket that has room."""
    words = row_of(state, row)
    form, length, capacity = form_of(words), int(words[plan.LENGTH]), int(words[plan.CAPACITY])
    at = slab_at(state, words)
    slots = at + slots_after(form, capacity)
    if form == plan.TAGGED:
        u32_at(at, capacity)[length] = tag
    else:
        u16_at(at, capacity)[length] = np.uint16(tag)
    u32_at(slots, capacity)[length] = np.uint32(slot)
    if form == plan.COPIED:
        u32_at(slots + 4 * capacity, capacity)[length] = np.uint32(value_at(state, plan.TOKENS, slot))
        sketch = sketch_at(state, slot)
        copied = u64_at(slots + 8 * capacity, capacity * plan.SKETCH_WORDS)
        for word in range(plan.SKETCH_WORDS):
            copied[length * plan.SKETCH_WORDS + word] = sketch[word]
    words[plan.LENGTH] = length + 1


@compiled("boolean(int64[::1], int64, int64, uint64, int64)", inner=True)
def add_below(state: State, number: int, row: int, arranged: Any, slot: int) -> bool:
    """Add an entry to the buckets below a row that was split; false as for ``make_room``, then it is added to none."""
    found = leaves(state, row, arranged)
    out = i64_at(state[plan.SCRATCH], plan.LEAVES * plan.LEAF_WORDS)
    for leaf in range(0, found * plan.LEAF_WORDS, plan.LEAF_WORDS):
        if not make_room(state, number, out[leaf], out[leaf + 2], out[leaf + 3], out[leaf + 4]):
            return False
    for leaf in range(0, found * plan.LEAF_WORDS, plan.LEAF_WORDS):
        put(state, out[leaf], np.uint32(out[leaf + 1]), slot)
    return True


@compiled("void(int64, int64)", inline=True)
def fetch_lines(at: int, size: int) -> None:
    """Fetch this many bytes, up to the end of a line: sixteen tags are compared at once, the last ones, too."""
    for line in range(at & -_LINE, at + min(size + _LINE - 1 & -_LINE, _FETCHED), _LINE):
        fetch(line)


@compiled("void(int64[::1], int64)", inline=True)
def fetch_end(state: State, row: int) -> None:
    """Fetch the place of a bucket's next entry, or the whole of a bucket that has to move first."""
    words = row_of(state, row)
    if form_of(words) != plan.NODE and words[plan.CAPACITY] > 0:
        form, length, capacity = form_of(words), int(words[plan.LENGTH]), int(words[plan.CAPACITY])
        at, slots = slab_at(state, words), slots_after(form, capacity)
        if length == capacity:
            fetch_lines(at, slots + 4 * length)
        else:
            fetch(at + (4 if form == plan.TAGGED else 2) * length)
            fetch(at + slots + 4 * length)


@compiled("int64(int64[::1], int64, uint32[::1], int64)")
def add(state: State, number: int, new: NDArray[np.uint32], begin: int) -> int:
    """Add the slots ``new[begin:]`` to a table by the values of its column; returns how far it came."""
    table = table_of(state, number)
    count, column = new.size, table[plan.TABLE_COLUMN]
    rows, tags = np.empty(count, np.int64), np.empty(count, np.uint32)
    for at in range(begin, count):
        arranged = arrange(table, value_at(state, column, int(new[at])))
        rows[at], tags[at] = row_for(table, arranged), tag_for(table, arranged)
    for at in range(begin - 2 * _AHEAD, count):
        if at + 2 * _AHEAD < count:
            fetch(address_of(state, rows[at + 2 * _AHEAD]))
        if begin <= at + _AHEAD < count:
            fetch_end(state, rows[at + _AHEAD])
        if at < begin:
            continue
        words = row_of(state, rows[at])
        length, capacity = int(words[plan.LENGTH]), int(words[plan.CAPACITY])
        if length < capacity and form_of(words) == plan.TAGGED:  # as ``put``, without a call
            slab = slab_at(state, words)
            u32_at(slab, capacity)[length] = tags[at]
            u32_at(slab + slots_after(plan.TAGGED, capacity), capacity)[length] = new[at]
            words[plan.LENGTH] = length + 1
        elif form_of(words) == plan.NODE:
            arranged = arrange(table, value_at(state, column, int(new[at])))
            if not add_below(state, number, rows[at], arranged, int(new[at])):
                return at
        else:
            if not make_room(state, number, rows[at], -1, 0, 64 - known_bits(table)):
                return at
            put(state, rows[at], tags[at], int(new[at]))
    return count


@compiled("int64(int64[::1], int64, uint32[::1], uint32[::1], int64)")
def add_keys(state: State, number: int, keys: NDArray[np.uint32], new: NDArray[np.uint32], begin: int) -> int:
    """Add the slots ``new[begin:]`` to a table by their 32-bit keys, given separately; returns how far it came."""
    table = table_of(state, number)
    count = new.size
    for ahead in range(begin - 2 * _AHEAD, count):
        if ahead + 2 * _AHEAD < count:
            fetch(address_of(state, row_for(table, np.uint64(keys[ahead + 2 * _AHEAD]))))
        if begin <= ahead + _AHEAD < count:
            fetch_end(state, row_for(table, np.uint64(keys[ahead + _AHEAD])))
        if ahead < begin:
            continue
        row = row_for(table, np.uint64(keys[ahead]))
        if not make_room(state, number, row, -1, 0, 0):
            return ahead
        put(state, row, keys[ahead] >> np.uint32(16), int(new[ahead]))
    return count


@compiled("int64(int64)", inline=True)
def _mask_for(place: int) -> int:
    """The bits of a key that count where there are rows up to this one."""
    mask = 1
    while mask < place:
        mask = 2 * mask + 1
    return mask


@compiled("boolean(int64[::1], int64[::1], int64)", inner=True)
def _spread(state: State, table: State, place: int) -> bool:
    """Add one row, false if a region is wanted first."""
    mask = _mask_for(place)
    old, new = int(table[plan.TABLE_ROW] + (place & (mask >> 1))), int(table[plan.TABLE_ROW] + place)
    words, to = row_of(state, old), row_of(state, new)
    if form_of(words) == plan.NODE:
        to[:] = words  # both lead to it, whatever the next bit is
    elif words[plan.LENGTH] > 0:
        length, capacity = int(words[plan.LENGTH]), int(words[plan.CAPACITY])
        at = slab_at(state, words)
        tags, slots = u32_at(at, capacity), u32_at(at + slots_after(plan.TAGGED, capacity), capacity)
        bit = (mask + 1) >> 1
        chosen = np.empty(length, np.bool_)
        expired, leaving = expired_in(state, words), 0
        for entry in range(expired, length):
            arranged = arrange(table, value_at(state, table[plan.TABLE_COLUMN], int(slots[entry])))
            chosen[entry] = np.int64(arranged & np.uint64(bit)) != 0
            leaving += chosen[entry]
        if leaving:
            if not move(state, new, plan.TAGGED, with_room(leaving)):
                return False
            stays = 0
            for entry in range(expired, length):
                if chosen[entry]:
                    put(state, new, tags[entry], int(slots[entry]))
                else:
                    tags[stays] = tags[entry]
                    slots[stays] = slots[entry]
                    stays += 1
            words[plan.LENGTH] = stays
            if stays == 0:
                release(state, words)
    table[plan.TABLE_ROWS] = place + 1
    table[plan.TABLE_MASK] = mask
    return True


@compiled("int64(int64[::1], int64, int64)")
def spread(state: State, number: int, rows: int) -> int:
    """Add rows, whose words are zero, to a table up to this number; returns the number of rows when it stops for a
    region."""
    table = table_of(state, number)
    column = table[plan.TABLE_COLUMN]
    for place in range(table[plan.TABLE_ROWS], rows):
        for ahead in range(3):  # a row, two steps later the values of its entries, by which they part
            other = place + 1 + ahead
            row = int(table[plan.TABLE_ROW] + (other & (_mask_for(other) >> 1)))
            words = row_of(state, row)
            if ahead == 2:
                fetch(address_of(state, row))
            elif form_of(words) != plan.NODE and words[plan.LENGTH] > 0:
                at, length, capacity = slab_at(state, words), int(words[plan.LENGTH]), int(words[plan.CAPACITY])
                slots = at + slots_after(plan.TAGGED, capacity)
                if ahead == 1:
                    fetch_lines(at, slots - at + 4 * length)
                else:
                    for entry in range(length):
                        fetch_value(state, column, int(u32_at(slots, capacity)[entry]))
        if not _spread(state, table, int(place)):
            return int(place)
    return rows


@compiled("boolean(int64[::1], int64, int64)")
def split(state: State, number: int, node: int) -> bool:
    """Split ``WANTED_ROW`` into the rows of a node, which are zero; false if there was no room in the open region.

    It sets the node's words except its rows. The open region must have room for all at once.
    """
    table = table_of(state, number)
    row, parent, group = int(state[plan.WANTED_ROW]), int(state[plan.WANTED_PARENT]), int(state[plan.WANTED_GROUP])
    bits = 64 - known_bits(table)
    if parent >= 0:
        bits = int(node_of(state, parent)[plan.NODE_BITS] - node_of(state, parent)[plan.NODE_WIDTH])
    words = row_of(state, row)
    length, capacity = int(words[plan.LENGTH]), int(words[plan.CAPACITY])
    slots = u32_at(slab_at(state, words) + slots_after(plan.TAGGED, capacity), capacity)
    width = bits // 4
    own = node_of(state, node)
    own[plan.NODE_WIDTH], own[plan.NODE_BITS], own[plan.NODE_PARENT], own[plan.NODE_GROUP] = width, bits, parent, group
    own[plan.NODE_TABLE] = number
    low = np.uint64((1 << width) - 1)
    rests = np.empty(length, np.uint64)
    expired = expired_in(state, words)
    for entry in range(expired, length):
        rests[entry] = _rest_in(state, table, parent, group, int(slots[entry]))
    for cut in range(4):
        first = int(own[plan.NODE_ROW]) + (cut << width)
        counts = np.zeros(1 << width, np.uint32)
        for entry in range(expired, length):
            counts[np.int64((rests[entry] >> np.uint64(cut * width)) & low)] += np.uint32(1)
        for place in range(counts.size):
            if counts[place] and not move(state, first + place, plan.TAGGED, int(counts[place]) * 9 // 8 + 1):
                return False
        for entry in range(expired, length):
            turned = _group_first(rests[entry], bits, cut * width)
            tag = np.uint32((turned >> np.uint64(width)) & np.uint64(0xFFFFFFFF))
            put(state, first + int(turned & low), tag, int(slots[entry]))
    release(state, words)
    words[plan.REGION] = np.uint32(node | (plan.NODE << plan.FORM_SHIFT))
    return True


@compiled("void(int64[::1], int64, uint32[::1], int64)")
def keys_of(state: State, number: int, out: NDArray[np.uint32], first: int) -> None:
    """Write the key of each entry of a table of keys to ``out``, from slot ``first`` on."""
    table = table_of(state, number)
    for place in range(table[plan.TABLE_ROWS]):
        words = row_of(state, int(table[plan.TABLE_ROW]) + place)
        capacity = int(words[plan.CAPACITY])
        if capacity == 0:
            continue
        at = slab_at(state, words)
        tags, slots = u16_at(at, capacity), u32_at(at + slots_after(form_of(words), capacity), capacity)
        for entry in range(int(words[plan.LENGTH])):
            to = (int(slots[entry]) - first) & plan.SLOT_MASK
            if to < out.size:
                out[to] = np.uint32(place) | (np.uint32(tags[entry]) << np.uint32(16))
