"""The tables of one shard, compiled by numba: this side hands out memory, the kernels do the rest.

In addition to its own work every call does a bounded amount of maintenance: growth, splitting and removal go row by row
and region by region (``growth``, ``slabs``), so that no call stops for a copy of everything.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from worker.compiling import entry_point
from worker.index.columns import Columns
from worker.index.engine import I64, U32, U64, Asked, Rules, TableSizes
from worker.index.kernels import banded, bulk, growth, plan, scan, slabs
from worker.index.layout import WHOLE, Arrangement
from worker.index.system_memory import Chunks, Regions

_FIRST_ROWS: Final = 16
_FORGOTTEN: Final = 1 << 29
"""Entries that may have expired without being removed: slots are counted modulo 2^32, and an entry that is half of that
behind would look like a live one."""
_NEVER: Final = 1 << 40
"""As a bucket's size: it is never split."""
_SPLIT_BYTES: Final = 4 * 48
"""Bytes that splitting takes for an entry, at most: four groups, each with a slab of its own."""
_DEAD_SHARE: Final = 64
"""One part in this many of the slabs' memory may be dead."""
_BULK_ROOM: Final = 32
"""The value of ``plan.ROOM`` where many entries come at once, since few will follow them."""
_URLS_TO_ONE: Final = 4
"""How many times more entries a row has where rows are of URLs: a look-up then reads 32 tags instead of 8, and an entry
takes three bytes less."""
_TITLED: Final = ("site", "title", "doubt")
_NONE: Final = np.empty(0, np.bool_)


class _New(NamedTuple):
    """Entries from slot ``begin`` on that are to be added: ``slots`` are theirs, where they are few, or ``dealt`` is
    memory in which many are sorted."""

    begin: int
    entries: int
    coming: int
    slots: U32
    dealt: U64


class _Values(NamedTuple):
    """The values by which entries are found, in parts: values of 64 bits, or, with a ``band``, uint32 (m, 8).

    ``left_out`` (n,) says which entries do not belong there; without rows all belong.
    """

    parts: Sequence[NDArray[Any]]
    left_out: NDArray[np.bool_]
    band: int | None = None

    def places(self) -> Iterator[tuple[int, int, int]]:
        """For each part the address of its first value, the number of its first entry and the number after its last."""
        begin = 0
        for part in self.parts:
            address: int = part.__array_interface__["data"][0]
            yield address + 4 * (self.band or 0), begin, begin + len(part)
            begin += len(part)


class CompiledTables:
    """See ``worker.index.engine.Tables``."""

    def __init__(
        self, columns: Columns, arrangements: Sequence[Arrangement], rules: Rules, sizes: TableSizes, by_url: bool
    ) -> None:
        self.splits = 0
        self._columns = columns
        self._sizes = sizes
        self._texts = len(arrangements)
        self._bands = range(self._texts + 1, self._texts + 1 + (plan.BANDS if rules.sketch else 0))
        self._urls = self._bands.stop if by_url else None
        self._arrangements = dict(enumerate(arrangements)) | {self._texts: WHOLE, self._bands.stop: WHOLE}
        count = self._bands.stop + by_url
        self._counts = [0] * count
        self._regions = Regions(sizes.least_region, sizes.most_region)
        self._state = np.zeros(plan.STATE_WORDS, np.int64)
        self._address: int = self._state.ctypes.data
        self._tables = np.zeros((count, plan.TABLE_WORDS), np.int64)
        self._row_memory = Chunks(plan.ROWS_A_CHUNK)
        self._chunks: dict[int, U32] = {}
        self._chunk_addresses = np.zeros((count + 1) * plan.TABLE_CHUNKS, np.int64)
        self._node_chunk = count * plan.TABLE_CHUNKS
        self._nodes = np.zeros((16, plan.NODE_WORDS), np.int64)
        self._scratch = np.zeros(plan.SCRATCH_WORDS, np.int64)
        self._seeks = np.zeros(plan.SEEK_QUERIES * plan.SEEK_TABLES * plan.SEEK_WORDS, np.int64)
        self._sweeping: list[tuple[int, int]] = []
        self._unswept = 0
        self._swept_to = columns.first
        self._emptied = 0  # of the region that is being emptied, in bytes
        self._dead_before = -1
        self._earliest_one: Callable[[int, int, int], int] = entry_point(scan.earliest_one)
        self._describe(rules)
        for table in range(count):
            self._begin(table)

    @property
    def candidates(self) -> int:
        """See ``Tables``."""
        return int(self._state[plan.CANDIDATES])

    def add(self, count: int, bands: Sequence[U32] | None, coming: int = 0) -> None:
        """See ``Tables``."""
        columns = self._columns
        self._state[plan.TITLED] = not columns.present.isdisjoint(_TITLED)
        begin = columns.end - count
        bare = columns.between("bare", begin, columns.end)
        some_bare = bool(bare.any())
        many = count >= self._sizes.bulk_from
        slots = _slots(begin, np.arange(0 if many else count))
        new = _New(begin, count, coming, slots, np.empty(count if many else 0, np.uint64))
        prints = _Values(columns.parts_of("fingerprint", begin, columns.end), bare if some_bare else _NONE)
        for table in range(self._texts):
            self._take_in(table, new, prints)
        if some_bare:
            self._take_in(self._texts, new, _Values(columns.parts_of("text_hash", begin, columns.end), ~bare))
        if bands is not None:
            parts = [np.ascontiguousarray(part) for part in bands]
            without = _without_bands(parts)
            for band, table in enumerate(self._bands):
                self._take_in(table, new, _Values(parts, without, band))
        if self._urls is not None:
            self._take_in(self._urls, new, _Values(columns.parts_of("url_hash", begin, columns.end), _NONE))
        self._reclaim(self._sizes.cleaned * count * len(self._tables))
        self._sweep()

    def forget(self) -> None:
        """See ``Tables``."""
        first = self._columns.first
        self._unswept += first - self._swept_to
        self._swept_to = first
        self._state[plan.FIRST] = first & plan.SLOT_MASK
        self._sweep()
        while self._unswept > _FORGOTTEN:
            self._sweep()

    def tidy(self) -> bool:
        """See ``Tables``."""
        busy = self._sweep()
        return self._reclaim(self._sizes.most_region) or busy

    def earliest(self, asked: Asked, lower: int, best: I64) -> None:
        """See ``Tables``."""
        scan.earliest(
            self._state, 0, self._texts,
            asked.values, asked.pages, asked.scopes, asked.texts, asked.sketches, lower, best,
        )  # fmt: skip

    def earliest_text(self, asked: Asked, lower: int, best: I64) -> None:
        """See ``Tables``."""
        scan.earliest(
            self._state, self._texts, self._texts + 1,
            asked.texts, asked.pages, asked.scopes, asked.texts, asked.sketches, lower, best,
        )  # fmt: skip

    def earliest_by_sketch(self, asked: Asked, lower: int, best: I64) -> None:
        """See ``Tables``."""
        banded.earliest(self._state, asked.bands, asked.sketches, asked.pages, asked.scopes, lower, best)

    def earliest_one(self, value: int, tokens: int) -> int:
        """See ``Tables``."""
        return self._earliest_one(self._address, value, tokens)

    def latest_of(self, urls: U64, scopes: U64, lower: int, below: I64) -> None:
        """See ``Tables``."""
        scan.latest(self._state, urls, scopes, lower, below)

    def describe(self, asked: Asked, best: I64) -> tuple[I64, NDArray[np.bool_]]:
        """See ``Tables``."""
        numbers, flags = np.empty((5, len(best)), np.int64), np.empty((3, len(best)), np.bool_)
        scan.describe(
            self._state, best, asked.values, asked.bare, asked.texts, asked.pages, asked.sketches,
            self._columns.first, numbers, flags,
        )  # fmt: skip
        return numbers, flags

    def bands(self, begin: int, end: int) -> U32:
        """See ``Tables``."""
        found = np.zeros((end - begin, plan.BANDS), np.uint32)
        for band, table in enumerate(self._bands):
            column = np.zeros(end - begin, np.uint32)
            growth.keys_of(self._state, table, column, begin & plan.SLOT_MASK)
            found[:, band] = column
        return found

    @property
    def largest_bucket(self) -> int:
        """See ``Tables``."""
        rows = [(int(table[plan.TABLE_ROW]), int(table[plan.TABLE_ROWS])) for table in self._tables]
        return max(slabs.longest(self._state, row, row + count) for row, count in rows + self._node_rows())

    @property
    def nbytes(self) -> int:
        """See ``Tables``."""
        return self._regions.nbytes + self._row_memory.nbytes + self._nodes.nbytes

    def _describe(self, rules: Rules) -> None:
        state = self._state
        state[plan.K] = rules.k
        state[plan.RATIO_LEAST], state[plan.RATIO_MOST] = rules.ratio
        state[plan.LEAST_ACROSS] = rules.least_across
        if rules.sketch:
            state[plan.THRESHOLD] = rules.sketch.threshold
            state[plan.HAMMING_THRESHOLD] = rules.sketch.hamming_threshold
            state[plan.SKETCH_LEAST], state[plan.SKETCH_MOST] = rules.sketch.ratio
            state[plan.SHORT], state[plan.SHORT_THRESHOLD] = rules.sketch.short, rules.sketch.short_threshold
            state[plan.SHORT_LEAST], state[plan.SHORT_MOST] = rules.sketch.short_ratio
        state[plan.COLUMNS] = self._columns.words.ctypes.data
        state[plan.RING] = self._columns.ring
        state[plan.CHUNK_BITS] = self._columns.chunk_bits
        state[plan.FIRST] = self._columns.first & plan.SLOT_MASK
        state[plan.BLOCK_TABLES] = self._texts
        state[plan.BAND_TABLES] = self._texts + 1
        state[plan.URL_TABLE] = self._bands.stop
        state[plan.TABLES] = self._tables.ctypes.data
        state[plan.SCRATCH] = self._scratch.ctypes.data
        state[plan.SEEKS] = self._seeks.ctypes.data
        self._point()

    def _point(self) -> None:
        """Tell the kernels the addresses of arrays that may have moved."""
        state, regions = self._state, self._regions
        state[plan.ROWS], state[plan.ROW_CHUNKS] = self._chunk_addresses.ctypes.data, len(self._chunk_addresses)
        state[plan.BASES], state[plan.REGIONS] = regions.bases.ctypes.data, len(regions.bases)
        state[plan.USED], state[plan.LIVE] = regions.used.ctypes.data, regions.live.ctypes.data
        state[plan.SIZES], state[plan.OPEN] = regions.sizes.ctypes.data, regions.open
        state[plan.NODES] = self._nodes.ctypes.data

    def _begin(self, table: int) -> None:
        words = self._tables[table]
        words[plan.TABLE_ROW] = table * plan.TABLE_CHUNKS * plan.ROWS_A_CHUNK
        words[plan.TABLE_SPLIT_FROM] = _NEVER
        if table in self._bands:
            words[plan.TABLE_FORM] = plan.KEYED
            rows = 1 << 16  # with the 16 bits of the tag a whole key
        else:
            arrangement = self._arrangements[table]
            words[plan.TABLE_KEY_BITS] = arrangement.key_bits
            words[plan.TABLE_ROTATION] = arrangement.rotation
            words[plan.TABLE_BLOCKS] = len(arrangement.blocks)
            words[plan.TABLE_SHIFTS : plan.TABLE_SHIFTS + len(arrangement.blocks)] = arrangement.shifts
            words[plan.TABLE_COLUMN] = {self._texts: plan.TEXT, self._urls: plan.URL}.get(table, plan.FINGERPRINT)
            rows = _FIRST_ROWS
        self._set_rows(table, rows)

    def _set_rows(self, table: int, rows: int) -> None:
        """Set this number of rows, of a table that is empty."""
        self._have_rows(table, rows)
        self._tables[table, plan.TABLE_ROWS] = rows
        self._tables[table, plan.TABLE_MASK] = (1 << (rows - 1).bit_length()) - 1

    def _have_rows(self, table: int, rows: int) -> None:
        for chunk in range(-(-rows // plan.ROWS_A_CHUNK)):
            self._have_chunk(table * plan.TABLE_CHUNKS + chunk)

    def _have_chunk(self, number: int) -> None:
        if number not in self._chunks:
            self._chunks[number], self._chunk_addresses[number] = self._row_memory.take()

    def _take_in(self, table: int, new: _New, values: _Values) -> None:
        """Add entries to a table; many at once sorted roughly by row."""
        count = new.entries - (int(np.count_nonzero(values.left_out)) if len(values.left_out) else 0)
        if not count:
            return
        before = self._counts[table]
        self._counts[table] += count
        if values.band is None:
            self._grow(table, before, new.coming)
        self._set_limits(table)
        if not len(new.dealt):
            chosen = ~values.left_out if len(values.left_out) else slice(None)
            keys = None if values.band is None else np.concatenate([part[:, values.band] for part in values.parts])
            self._put(table, new.slots[chosen], None if keys is None else keys[chosen])
            return
        words = self._tables[table]
        ends = np.zeros(bulk.heaps_of(int(words[plan.TABLE_ROWS])) + 1, np.int64)
        places = list(values.places())
        for address, first, end in places:
            bulk.count(self._state, table, address, values.band is not None, values.left_out, first, end, ends)
        np.cumsum(ends, out=ends)
        for address, first, end in places:
            bulk.deal(
                self._state, table, address, values.band is not None, values.left_out, first, end, ends, new.dealt
            )
        left = np.zeros(1, np.int64)
        room = _BULK_ROOM if count >= before // 8 else plan.ROOM
        mean = new.coming / int(words[plan.TABLE_ROWS])
        more = math.ceil(mean + math.sqrt(mean))
        self._repeat(
            table,
            partial(bulk.put_away, self._state, table, new.begin, new.dealt, ends, left, room, more),
            len(ends) - 1,
        )
        if left[0]:
            by_hand = new.dealt[: left[0]]
            slots = _slots(new.begin, by_hand & np.uint64(plan.SLOT_MASK))
            self._put(table, slots, None if values.band is None else (by_hand >> np.uint64(32)).astype(np.uint32))

    def _put(self, table: int, slots: U32, keys: U32 | None = None) -> None:
        """Add slots to a table, with their keys if it is one of keys, one after the other."""
        if keys is None:
            self._repeat(table, partial(growth.add, self._state, table, slots), len(slots))
        else:
            self._repeat(table, partial(growth.add_keys, self._state, table, keys, slots), len(slots))

    def _grow(self, table: int, before: int, coming: int) -> None:
        """Make rows for the entries that came, where ``before`` are there, and for those that are still ``coming``."""
        words = self._tables[table]
        most = 1 << min(self._arrangements[table].key_bits, 24)
        entries_a_row = self._sizes.entries_a_row * (_URLS_TO_ONE if table == self._urls else 1)
        wanted = min(most, -(-(self._counts[table] + coming) // entries_a_row))
        if before == 0 and wanted > words[plan.TABLE_ROWS]:
            self._set_rows(table, wanted)
        elif wanted > words[plan.TABLE_ROWS]:
            self._have_rows(table, wanted)
            while growth.spread(self._state, table, wanted) < wanted:
                self._provide(table)

    def _set_limits(self, table: int) -> None:
        usual = 8 * self._counts[table] // int(self._tables[table, plan.TABLE_ROWS])
        if table in self._bands:
            self._tables[table, plan.TABLE_SPLIT_FROM] = max(self._sizes.copy_from, usual)
        elif table < self._texts:
            self._tables[table, plan.TABLE_SPLIT_FROM] = max(self._sizes.split_from, usual)

    def _repeat(self, table: int, kernel: Callable[[int], int], end: int) -> None:
        """Call a kernel, which returns how far it came, until it has come to the end."""
        done = kernel(0) if end else 0
        while done < end:
            self._provide(table)
            done = kernel(done)

    def _provide(self, table: int) -> None:
        """Provide what a kernel stopped for: a region, or the split of a bucket."""
        if self._state[plan.WANTED]:
            self._open(int(self._state[plan.WANTED]))
        else:
            self._split(table)

    def _open(self, wanted: int) -> None:
        self._regions.open_another(wanted)
        self._point()

    def _split(self, table: int) -> None:
        row = int(self._state[plan.WANTED_ROW])
        words = self._chunks[row >> plan.ROW_BITS][row & (plan.ROWS_A_CHUNK - 1)]
        wanted = int(words[plan.LENGTH]) * _SPLIT_BYTES + 4096
        if self._regions.room < wanted:
            self._open(wanted)
        node = self.splits
        if node == len(self._nodes):
            self._nodes = np.concatenate([self._nodes, np.zeros_like(self._nodes)])
        parent = int(self._state[plan.WANTED_PARENT])
        bits = 64
        if parent >= 0:
            bits = int(self._nodes[parent, plan.NODE_BITS] - self._nodes[parent, plan.NODE_WIDTH])
        chunks = -(-4 * (1 << bits // 4) // plan.ROWS_A_CHUNK)
        if self._node_chunk + chunks > len(self._chunk_addresses):
            more = np.zeros(len(self._chunk_addresses), np.int64)
            self._chunk_addresses = np.concatenate([self._chunk_addresses, more])
        for chunk in range(chunks):
            self._have_chunk(self._node_chunk + chunk)
        self._nodes[node, plan.NODE_ROW] = self._node_chunk << plan.ROW_BITS
        self._node_chunk += chunks
        self._point()
        if not growth.split(self._state, table, node):
            raise AssertionError("a split took more than was reckoned")
        self.splits += 1

    def _node_rows(self) -> list[tuple[int, int]]:
        """First row and number of rows of each node."""
        return [(int(node[plan.NODE_ROW]), 4 << int(node[plan.NODE_WIDTH])) for node in self._nodes[: self.splits]]

    def _reclaim(self, budget: int) -> bool:
        """Clean this many bytes of regions; false if there is no need, or no use."""
        regions = self._regions
        regions.release_empty()
        while budget > 0:
            if regions.emptying < 0 and not self._begin_emptying():
                return False
            number = regions.emptying
            until = min(int(regions.used[number]), self._emptied + budget)
            reached = slabs.clean(self._state, number, self._emptied, until)
            if reached < until:
                self._open(int(self._state[plan.WANTED]))
            budget -= reached - self._emptied
            self._emptied = reached
            if reached == regions.used[number]:
                regions.emptying = -1
                regions.release_empty()
                if regions.dead_bytes >= self._dead_before:
                    return False
        return True

    def _begin_emptying(self) -> bool:
        """Choose a region to clean; false if too little is dead."""
        regions = self._regions
        self._dead_before = regions.dead_bytes
        if self._dead_before <= regions.live_bytes // _DEAD_SHARE + self._sizes.least_region:
            return False
        self._emptied = 0
        regions.emptying = regions.emptiest()
        return regions.emptying >= 0

    def _sweep(self) -> bool:
        """Remove expired entries from some rows; false if there is nothing to remove."""
        if not self._sweeping:
            if self._unswept <= max(64, len(self._columns) // 8):
                return False
            self._unswept = 0
            rows = [(int(table[plan.TABLE_ROW]), int(table[plan.TABLE_ROWS])) for table in self._tables]
            self._sweeping = [(row, row + count) for row, count in rows + self._node_rows()]
        budget = self._sizes.swept_rows
        while self._sweeping and budget > 0:
            row, end = self._sweeping.pop()
            until = min(end, row + budget)
            reached = slabs.sweep(self._state, row, until)
            if reached < until:
                self._open(int(self._state[plan.WANTED]))
            budget -= reached - row
            if reached < end:
                self._sweeping.append((reached, end))
        return True


def _slots(begin: int, numbers: NDArray[Any]) -> U32:
    """The slots of entries that are counted from slot ``begin``."""
    return ((numbers.astype(np.int64) + begin) & plan.SLOT_MASK).astype(np.uint32)


def _without_bands(parts: Sequence[U32]) -> NDArray[np.bool_]:
    """Which entries have no bands, without rows if all have."""
    words = [part.view(np.uint64) for part in parts]
    without = np.concatenate([(word[:, 0] | word[:, 1] | word[:, 2] | word[:, 3]) == 0 for word in words])
    return without if without.any() else _NONE
