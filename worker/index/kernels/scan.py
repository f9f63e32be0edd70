"""Look-ups: the earliest entry that is near, over all tables.

A look-up spends its time waiting for memory. In each table it reads the row of a bucket, then the bucket's slab, and
where a tag is near, the entry's slot and its whole fingerprint. So a batch is looked up in five steps: rows, slabs,
tags, slots, fingerprints. Each step asks the processor to fetch the memory that the next step will read, and the next
step works some queries behind it, so that memory has answered by then. ``plan.SEEKS`` keeps the results of the steps
for each query in each table. Slots ascend in a slab, so the first match in a slab is its earliest; and once a candidate
is later than the earliest match of other tables, the rest of the slab need not be read.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from worker.index.kernels import plan
from worker.index.kernels.growth import arrange, fetch_lines, leaves, row_for, table_of, tag_for
from worker.index.kernels.native import (
    compiled,
    fetch,
    i64_at,
    lowest,
    near_16,
    near_32,
    near_64,
    popcount,
    u32_at,
)
from worker.index.kernels.nearness import agreement_of, in_ratio, is_near, mask_at, sketches_allow
from worker.index.kernels.slabs import (
    Row,
    State,
    address_of,
    fetch_value,
    form_of,
    row_of,
    sketch_at,
    slab_at,
    slots_after,
    value_at,
)

ROWS_AHEAD = 28
SLABS_AHEAD = 18
_TAGS_AHEAD = 8
_SLOTS_AHEAD = 4
"""How many queries a step is ahead of the last one. With fewer, memory has not answered yet; with more, its answer has
left the cache again."""
_NONE = -1
_SPLIT = -2

U64 = NDArray[np.uint64]
U32 = NDArray[np.uint32]
I64 = NDArray[np.int64]


@compiled("int64(int64, int64, uint32, uint32, int64)", inline=True)
def _first_alike(at: int, length: int, tag: Any, radius: Any, place: int) -> int:
    """The place of the first tag that is near, of this many from ``place`` on; _NONE if there is none."""
    while place < length:
        left, here = length - place, at + 4 * place
        if left > 48:
            step, mask = 64, near_64(here, tag, radius, left)
        elif left > 16:
            step, mask = 32, near_32(here, tag, radius, left)
        else:
            step, mask = 16, near_16(here, tag, radius, left)
        if left < step:
            mask &= (np.uint64(1) << np.uint64(left)) - np.uint64(1)
        if mask != np.uint64(0):
            return int(place + np.int64(lowest(mask)))
        place += step
    return _NONE


@compiled("uint32(int64[::1], int64)", inline=True)
def _radius(state: State, column: int) -> Any:
    """Bits in which tags may differ: none for a text, which is looked up as it is."""
    return np.uint32(state[plan.K]) if column == plan.FINGERPRINT else np.uint32(0)


@compiled(
    "int64(int64[::1], int64, int64, int64, uint32, int64, int64, uint64, int64, uint64, uint64, int64, int64, int64)",
    inner=True,
)
def _first_tagged(
    state: State,
    at: int,
    slots_at: int,
    length: int,
    tag: Any,
    place: int,
    column: int,
    value: Any,
    page: int,
    scope: Any,
    text: Any,
    sketch: int,
    lower: int,
    best: int,
) -> int:
    """The first entry of a bucket that is near and lies in [lower, best), otherwise ``best``.

    ``place`` is that of the first entry whose tag is near.
    """
    slots = u32_at(slots_at, length)
    first, radius = state[plan.FIRST], _radius(state, column)
    while place >= 0:
        slot = int(slots[place])
        after = (slot - first) & plan.SLOT_MASK
        if after < plan.EXPIRED_FROM:
            if after >= best:
                return best
            if after >= lower and is_near(state, column, slot, value, page, scope, text, sketch):
                return int(after)
        place = _first_alike(at, length, tag, radius, place + 1)
    return best


@compiled("void(int64[::1], uint32[::1])", inline=True)
def fetch_slab(state: State, row: Row) -> None:
    form = form_of(row)
    if form != plan.NODE and row[plan.LENGTH] > 0:
        fetch_lines(slab_at(state, row), (4 if form == plan.TAGGED else 2) * int(row[plan.LENGTH]))


@compiled("int64(int64[::1], int64, uint64, int64, uint64, uint64, int64, int64, int64)", inner=True)
def _first_below(
    state: State,
    table: int,
    value: Any,
    page: int,
    scope: Any,
    text: Any,
    sketch: int,
    lower: int,
    best: int,
) -> int:
    """The first entry of a split bucket that is near and lies in [lower, best), otherwise ``best``."""
    own = table_of(state, table)
    arranged, column = arrange(own, value), own[plan.TABLE_COLUMN]
    found = leaves(state, row_for(own, arranged), arranged)
    out = i64_at(state[plan.SCRATCH], plan.LEAVES * plan.LEAF_WORDS)
    for leaf in range(0, found * plan.LEAF_WORDS, plan.LEAF_WORDS):
        fetch_slab(state, row_of(state, out[leaf]))
    for leaf in range(0, found * plan.LEAF_WORDS, plan.LEAF_WORDS):
        row, tag = row_of(state, out[leaf]), np.uint32(out[leaf + 1])
        length = int(row[plan.LENGTH])
        if length == 0:
            continue
        state[plan.CANDIDATES] += length
        at = slab_at(state, row)
        slots_at = at + slots_after(plan.TAGGED, int(row[plan.CAPACITY]))
        place = _first_alike(at, length, tag, _radius(state, column), 0)
        best = _first_tagged(
            state, at, slots_at, length, tag, place, column, value, page, scope, text, sketch, lower, best
        )
    return best


@compiled("int64[::1](int64[::1], int64, int64)", inline=True)
def _seek(state: State, query: int, table: int) -> Any:
    """The results of the steps for a query in a table."""
    at = ((query & (plan.SEEK_QUERIES - 1)) * plan.SEEK_TABLES + table) * plan.SEEK_WORDS
    return i64_at(state[plan.SEEKS] + 8 * at, plan.SEEK_WORDS)


@compiled("void(int64[::1], int64, int64, int64, uint64)", inline=True)
def _seek_rows(state: State, table: int, end: int, query: int, value: Any) -> None:
    for number in range(table, end):
        own = table_of(state, number)
        arranged = arrange(own, value)
        seek = _seek(state, query, number - table)
        seek[plan.SEEK_ROW] = address_of(state, row_for(own, arranged))
        seek[plan.SEEK_TAG] = np.int64(tag_for(own, arranged))
        fetch(seek[plan.SEEK_ROW])


@compiled("void(int64[::1], int64, int64, int64)", inline=True)
def _seek_slabs(state: State, table: int, end: int, query: int) -> None:
    entries = np.int64(0)
    for number in range(table, end):
        seek = _seek(state, query, number - table)
        row = u32_at(seek[plan.SEEK_ROW], 4)
        length = int(row[plan.LENGTH])
        seek[plan.SEEK_LENGTH] = length
        seek[plan.SEEK_PLACE] = _SPLIT if form_of(row) == plan.NODE else _NONE
        if length > 0:
            at = slab_at(state, row)
            seek[plan.SEEK_AT] = at
            seek[plan.SEEK_SLOTS] = at + slots_after(plan.TAGGED, int(row[plan.CAPACITY]))
            fetch_lines(at, 4 * length)
            entries += length
    state[plan.CANDIDATES] += entries


@compiled("void(int64[::1], int64, int64, int64)", inline=True)
def _seek_tags(state: State, table: int, end: int, query: int) -> None:
    radius = _radius(state, table_of(state, table)[plan.TABLE_COLUMN])
    for number in range(table, end):
        seek = _seek(state, query, number - table)
        if seek[plan.SEEK_LENGTH] > 0:
            place = _first_alike(seek[plan.SEEK_AT], seek[plan.SEEK_LENGTH], np.uint32(seek[plan.SEEK_TAG]), radius, 0)
            seek[plan.SEEK_PLACE] = place
            if place >= 0:
                fetch(seek[plan.SEEK_SLOTS] + 4 * place)


@compiled("void(int64[::1], int64, int64, int64)", inline=True)
def _seek_slots(state: State, table: int, end: int, query: int) -> None:
    column, last = table_of(state, table)[plan.TABLE_COLUMN], _NONE
    for number in range(table, end):
        seek = _seek(state, query, number - table)
        seek[plan.SEEK_AFTER] = -1
        if seek[plan.SEEK_PLACE] >= 0:
            slot = int(u32_at(seek[plan.SEEK_SLOTS] + 4 * seek[plan.SEEK_PLACE], 1)[0])
            if slot != last:  # an entry that is near is found in several tables
                fetch_value(state, column, slot)
                if state[plan.TITLED]:
                    fetch_value(state, plan.DOUBT, slot)
                last = slot
            after = (slot - state[plan.FIRST]) & plan.SLOT_MASK
            seek[plan.SEEK_AFTER] = after if after < plan.EXPIRED_FROM else -1


@compiled(
    "int64(int64[::1], int64, int64, int64, uint64, int64, uint64, uint64, int64, int64, int64)",
    inline=True,
)
def _earliest_sought(
    state: State,
    table: int,
    end: int,
    query: int,
    value: Any,
    page: int,
    scope: Any,
    text: Any,
    sketch: int,
    lower: int,
    best: int,
) -> int:
    """The earliest near entry in [lower, best) to which the steps before lead, otherwise ``best``."""
    column = table_of(state, table)[plan.TABLE_COLUMN]
    for number in range(table, end):
        seek = _seek(state, query, number - table)
        place = seek[plan.SEEK_PLACE]
        if place == _SPLIT:
            best = _first_below(state, number, value, page, scope, text, sketch, lower, best)
        elif place >= 0 and seek[plan.SEEK_AFTER] < best:
            best = _first_tagged(
                state,
                seek[plan.SEEK_AT],
                seek[plan.SEEK_SLOTS],
                seek[plan.SEEK_LENGTH],
                np.uint32(seek[plan.SEEK_TAG]),
                place,
                column,
                value,
                page,
                scope,
                text,
                sketch,
                lower,
                best,
            )
    return best


@compiled(
    "void(int64[::1], int64, int64, uint64[::1], uint32[:, ::1], uint64[::1], uint64[::1], uint64[:, ::1], int64, "
    "int64[::1])"
)
def earliest(
    state: State,
    table: int,
    end: int,
    values: U64,
    pages: U32,
    scopes: U64,
    texts: U64,
    sketches: U64,
    lower: int,
    best: I64,
) -> None:
    """Lower ``best`` (n,) to the earliest near entry at or after ``lower``, counted from the first live one.

    ``sketches`` is (n, 4), or (0, 4) where no query has any.
    """
    count = values.size
    step = 8 * plan.SKETCH_WORDS if sketches.shape[0] else 0
    sketch, page = sketches.ctypes.data if step else 0, pages.ctypes.data
    for at in range(-ROWS_AHEAD, count):
        ahead = at + ROWS_AHEAD
        if ahead < count:
            _seek_rows(state, table, end, ahead, values[ahead])
        ahead = at + SLABS_AHEAD
        if 0 <= ahead < count:
            _seek_slabs(state, table, end, ahead)
        ahead = at + _TAGS_AHEAD
        if 0 <= ahead < count:
            _seek_tags(state, table, end, ahead)
        ahead = at + _SLOTS_AHEAD
        if 0 <= ahead < count:
            _seek_slots(state, table, end, ahead)
        if at >= 0:
            best[at] = _earliest_sought(
                state,
                table,
                end,
                at,
                values[at],
                page + 4 * plan.PAGE_WORDS * at,
                scopes[at],
                texts[at],
                sketch + step * at,
                lower,
                best[at],
            )


@compiled("int64(int64, uint64, int64)")
def earliest_one(address: int, value: Any, tokens: int) -> int:
    """The earliest entry near to one fingerprint without a sketch, ``NO_SLOT`` if there is none; scope, site, title and
    doubt are 0.

    ``address`` is that of the state.
    """
    state, page = i64_at(address, plan.STATE_WORDS), address + 8 * plan.ONE
    u32_at(page, plan.PAGE_WORDS)[plan.PAGE_TOKENS] = tokens
    tables, none = state[plan.BLOCK_TABLES], np.uint64(0)
    _seek_rows(state, 0, tables, 0, value)
    _seek_slabs(state, 0, tables, 0)
    _seek_tags(state, 0, tables, 0)
    _seek_slots(state, 0, tables, 0)
    return int(_earliest_sought(state, 0, tables, 0, value, page, none, none, 0, 0, plan.NO_SLOT))


@compiled("int64(int64[::1], int64, uint64, uint64, int64, int64)", inline=True)
def _latest_sought(state: State, query: int, url: Any, scope: Any, lower: int, below: int) -> int:
    """The latest entry of a URL's hash in [lower, below) in the bucket that was sought, otherwise -1."""
    seek = _seek(state, query, 0)
    at, length, tag = seek[plan.SEEK_AT], seek[plan.SEEK_LENGTH], np.uint32(seek[plan.SEEK_TAG])
    found = np.int64(_NONE)
    place = _first_alike(at, length, tag, np.uint32(0), 0) if length > 0 else _NONE
    while place >= 0:
        slot = int(u32_at(seek[plan.SEEK_SLOTS], length)[place])
        after = (slot - state[plan.FIRST]) & plan.SLOT_MASK
        if after < plan.EXPIRED_FROM:
            if after >= below:
                break
            alike = value_at(state, plan.URL, slot) == url and value_at(state, plan.SCOPE, slot) == scope
            if after >= lower and alike:
                found = after
        place = _first_alike(at, length, tag, np.uint32(0), place + 1)
    return int(found)


@compiled("void(int64[::1], uint64[::1], uint64[::1], int64, int64[::1])")
def latest(state: State, urls: U64, scopes: U64, lower: int, below: I64) -> None:
    """Lower ``below`` (n,) to the latest entry of that URL's hash and scope before it, at or after ``lower``; -1 for
    none. Slots ascend in a slab, and a URL has few entries: all are read, and the last one counts."""
    count, table = urls.size, state[plan.URL_TABLE]
    for at in range(-ROWS_AHEAD, count):
        ahead = at + ROWS_AHEAD
        if ahead < count:
            _seek_rows(state, table, table + 1, ahead, urls[ahead])
        ahead = at + SLABS_AHEAD
        if 0 <= ahead < count:
            _seek_slabs(state, table, table + 1, ahead)
        if at >= 0:
            below[at] = _latest_sought(state, at, urls[at], scopes[at], lower, below[at])


@compiled(
    "void(int64[::1], int64[::1], uint64[::1], boolean[::1], uint64[::1], uint32[:, ::1], uint64[:, ::1], int64, "
    "int64[:, ::1], boolean[:, ::1])"
)
def describe(
    state: State,
    best: I64,
    values: U64,
    bare: NDArray[np.bool_],
    texts: U64,
    pages: U32,
    sketches: U64,
    first: int,
    numbers: NDArray[np.int64],
    flags: NDArray[np.bool_],
) -> None:
    """See ``worker.index.engine.Tables``."""
    count, missing = best.size, np.int64(-1)
    sketched = sketches.shape[0] > 0
    for at in range(-ROWS_AHEAD, count):
        ahead = at + ROWS_AHEAD
        if ahead < count and best[ahead] != plan.NO_SLOT:
            slot = (best[ahead] + first) & plan.SLOT_MASK
            fetch_value(state, plan.FINGERPRINT, slot)
            fetch_value(state, plan.BATCH, slot)
            fetch_value(state, plan.PLACE, slot)
        if at < 0:
            continue
        if best[at] == plan.NO_SLOT:
            numbers[0, at], numbers[1, at], numbers[2, at], numbers[3, at] = missing, missing, missing, missing
            numbers[4, at] = missing
            flags[0, at] = flags[1, at] = flags[2, at] = False
            continue
        slot = (best[at] + first) & plan.SLOT_MASK
        theirs_bare = value_at(state, plan.BARE, slot) != np.uint64(0)
        tokens, mask = int(pages[at, plan.PAGE_TOKENS]), mask_at(state, slot)
        value, text = values[at] ^ mask, texts[at] ^ mask
        same_text = value_at(state, plan.TEXT, slot) == text
        numbers[0, at] = np.int64(value_at(state, plan.BATCH, slot))
        numbers[1, at] = np.int64(value_at(state, plan.PLACE, slot))
        numbers[3, at] = best[at] + first
        numbers[4, at] = missing
        if sketched:
            ours, stored = sketches[at], sketch_at(state, slot)
            one, other = ours[0] | ours[1] | ours[2] | ours[3], stored[0] | stored[1] | stored[2] | stored[3]
            if one != np.uint64(0) and other != np.uint64(0):
                numbers[4, at] = agreement_of(ours, stored)
        flags[2, at] = False
        if bare[at] or theirs_bare:
            numbers[2, at] = -1
            flags[0, at] = same_text and bare[at] and theirs_bare
            flags[1, at] = not flags[0, at]
            flags[2, at] = flags[0, at] and tokens == 0 and value_at(state, plan.TOKENS, slot) == np.uint64(0)
            continue
        distance = np.int64(popcount(value_at(state, plan.FINGERPRINT, slot) ^ value))
        numbers[2, at] = distance
        close = distance <= state[plan.K]
        if close and sketched:
            least, theirs = state[plan.RATIO_LEAST], int(value_at(state, plan.TOKENS, slot))
            close = least == 0 or in_ratio(least, state[plan.RATIO_MOST], tokens, theirs)
            close = close and sketches_allow(state, slot, text, sketches.ctypes.data + 8 * plan.SKETCH_WORDS * at)
        flags[0, at] = same_text and close and distance == 0
        flags[1, at] = not close
