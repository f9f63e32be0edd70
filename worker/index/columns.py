"""Entries by slot, column by column, in chunks: growing copies nothing, and arrays handed out do not change.

Slots count up for ever, from the first entry that was ever stored. A full chunk is sealed: its values are kept as
differences from their smallest, in as few bytes as these need (frame of reference; Goldstein, Ramakrishnan, Shaft:
Compressing Relations and Indexes, ICDE 1998). Pages come in the order of the log, so most columns except the hashes
take one or two bytes an entry, and columns of equal values take none.

The values that a look-up reads of nearly each candidate stand side by side, in the entry's *head*: fingerprint and hash
of the text, the sketch where entries have any, and site, title and its words where an entry of the chunk has one of
these. A head has 16, 32, 48 or 64 bytes, so it costs one cache line, or two, and stands in huge pages.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from worker.index.entries import COLUMNS, OPTIONAL, Entries
from worker.index.kernels.plan import (
    COLUMN_COUNT,
    COLUMN_WORDS,
    DOUBT,
    SCOPE,
    SITE,
    SKETCH,
    SKETCH_WORDS,
    TITLE,
    TITLE_WORDS,
    URL,
)
from worker.index.system_memory import Shares

_RING: Final = 1 << 15
"""Chunks that may be alive at once; with 2^16 entries each, 2^31 entries."""
_CHUNKS_A_STEP: Final = 8
"""Freeing the memory of this many takes a millisecond."""
PLACES: Final = {
    "fingerprint": 0,
    "text_hash": 1,
    "tokens": 2,
    "batch": 4,
    "place": 5,
    "bare": 6,
    "url_hash": URL,
    "fetched": 8,
    "scope": SCOPE,
    "site": SITE,
    "title": TITLE,
    "doubt": DOUBT,
    "title_words": TITLE_WORDS,
}
"""The column of each name in ``words``; number 3 is the sketch."""
LEFT_OUT: Final = ("scope", "site", "title", "title_words", "doubt")
"""Columns that take nothing where no entry of a chunk has a value."""
_NARROWED: Final = ("tokens", "batch", "place", "bare", "fetched", "scope", "doubt")
_DTYPES: Final = COLUMNS | {name: OPTIONAL[name] for name in LEFT_OUT}
_IN_HEADS: Final = ("fingerprint", "text_hash")
_OF_TITLES: Final = ("site", "title", "title_words")
"""The fields of all heads, and the additional fields of pages with site or title."""


class _Chunk:
    """Consecutive entries: arrays by the column's number, some of them parts of heads, and the number that is added to
    each value."""

    def __init__(self, rows: int, sketched: bool, titled: bool, shares: Shares) -> None:
        self.arrays: dict[int, NDArray[Any]] = {
            place: np.empty(rows, COLUMNS[name])
            for name, place in PLACES.items()
            if name in COLUMNS and name not in _IN_HEADS
        }
        self.bases = [0] * COLUMN_COUNT
        self.rows: Final = rows
        """Entries that there is room for."""
        self._shares: Final = shares
        self._have_heads(sketched, titled)

    def have(self, name: str) -> None:
        """Make room for a column of ``LEFT_OUT`` that is not there, zeros so far."""
        if name not in _OF_TITLES:
            self.arrays[PLACES[name]] = np.zeros(self.rows, OPTIONAL[name])
            return
        before = dict(self.arrays)
        self._have_heads(SKETCH in before, titled=True)
        for place in (*(PLACES[name] for name in _IN_HEADS), SKETCH):
            if place in before:
                self.arrays[place][:] = before[place]

    def _have_heads(self, sketched: bool, titled: bool) -> None:
        """Make the arrays that stand side by side, zeros so far."""
        names = [*_IN_HEADS, *(_OF_TITLES if titled else ())]
        fields = [(name, _DTYPES[name]) for name in names]
        kind = np.dtype(fields + [("sketch", OPTIONAL["sketch"])] * sketched)
        heads = self._shares.take(self.rows * kind.itemsize).view(kind)
        self.arrays |= {PLACES[name]: heads[name] for name in names}
        if sketched:
            self.arrays[SKETCH] = heads["sketch"]

    def values(self, name: str, rows: slice | NDArray[np.int64]) -> NDArray[Any]:
        """Values of a column in its own type."""
        place, dtype = PLACES[name], _DTYPES[name]
        if place not in self.arrays:
            count = len(range(*rows.indices(self.rows))) if isinstance(rows, slice) else len(rows)
            return np.full(count, self.bases[place], np.int64).astype(dtype)
        kept = self.arrays[place]
        if kept.dtype == dtype:
            return kept[rows]
        return (kept[rows].astype(np.int64) + self.bases[place]).astype(dtype)

    def seal(self) -> None:
        """Keep no more bytes than the values need."""
        for name in _NARROWED:
            if PLACES[name] in self.arrays:
                self._narrow(name)

    def overwrite(self, name: str, values: NDArray[Any], *, sealed: bool) -> None:
        """Put these values into a column; in the fewest bytes if the chunk is ``sealed``."""
        self.arrays[PLACES[name]], self.bases[PLACES[name]] = values, 0
        if sealed:
            self._narrow(name)

    def _narrow(self, name: str) -> None:
        place = PLACES[name]
        values = self.arrays[place].astype(np.int64, copy=False)
        low, high = int(values.min()), int(values.max())
        width = next((width for width in (1, 2, 4) if high - low < 1 << 8 * width), 8)
        if low == high:
            self.bases[place] = low
            del self.arrays[place]
        elif width < _DTYPES[name].itemsize:
            self.bases[place] = low
            self.arrays[place] = (values - low).astype(f"u{width}")

    @property
    def row_bytes(self) -> int:
        """Bytes of one entry."""
        return sum(array.nbytes for array in self.arrays.values()) // self.rows


class Columns:
    """The columns of all entries from slot ``first`` up to slot ``end``.

    Kernels read ``words``: int64 (chunk modulo the ring, column, 4), each column's address, base and width, and the
    bytes from one value to the next.
    """

    def __init__(self, chunk_bits: int, first_slot: int, sketched: bool) -> None:
        self.chunk_bits: Final = chunk_bits
        self.ring: Final = min(_RING, 1 << (32 - chunk_bits))
        self.sketched: Final = sketched
        self.present: Final = set[str]()
        """The columns of ``LEFT_OUT`` that some entry had."""
        self.words: Final = np.zeros((self.ring, COLUMN_COUNT, COLUMN_WORDS), np.int64)
        self.first = first_slot
        self.end = first_slot
        self._shares: Final = Shares()
        self._chunks: dict[int, _Chunk] = {}
        self._first_batches: list[int] = []  # of each chunk, ascending
        self._oldest = first_slot >> chunk_bits

    @property
    def limit(self) -> int:
        """The most live entries that there is room for."""
        return (self.ring - 2) << self.chunk_bits

    def __len__(self) -> int:
        return self.end - self.first

    def append(self, entries: Entries) -> None:
        """Add entries at the end."""
        rows = 1 << self.chunk_bits
        sketches = entries.filled("sketch") if self.sketched else np.empty((0, SKETCH_WORDS), np.uint64)
        titled = any(entries.optional(name) is not None for name in _OF_TITLES)
        done = 0
        while done < len(entries):
            number, begin = divmod(self.end, rows)
            count = min(rows - begin, len(entries) - done)
            if number not in self._chunks:
                self._chunks[number] = _Chunk(rows, self.sketched, titled, self._shares)
                self._first_batches.append(int(entries.batch[done]))
                self._point_at(number)
            chunk = self._chunks[number]
            for name in COLUMNS:
                chunk.arrays[PLACES[name]][begin : begin + count] = entries.column(name)[done : done + count]
            if self.sketched:
                chunk.arrays[SKETCH][begin : begin + count] = sketches[done : done + count]
            for name in LEFT_OUT:
                column = entries.optional(name)
                if column is None:
                    continue
                self.present.add(name)
                if PLACES[name] not in chunk.arrays:
                    chunk.have(name)
                    self._point_at(number)
                chunk.arrays[PLACES[name]][begin : begin + count] = column[done : done + count]
            if begin + count == rows:
                if self.first > number * rows:  # the first chunk of all may begin in its middle
                    for array in chunk.arrays.values():
                        array[: self.first - number * rows] = array[self.first - number * rows]
                chunk.seal()
                self._point_at(number)
            self.end += count
            done += count

    def overwrite(self, name: str, slots: NDArray[np.int64], value: int) -> None:
        """Give a column of ``LEFT_OUT`` another value at some slots; arrays that were handed out keep their values."""
        self.present.add(name)
        rows = 1 << self.chunk_bits
        for number in np.unique(slots >> self.chunk_bits).tolist():
            chunk = self._chunks[number]
            values = chunk.values(name, slice(0, rows)).copy()
            values[slots[slots >> self.chunk_bits == number] - number * rows] = value
            chunk.overwrite(name, values, sealed=self.end >= (number + 1) * rows)
            self._point_at(number)

    def drop(self, first: int) -> None:
        """Forget the slots below ``first``; frees whole chunks of memory."""
        self.first = first
        while self._first_batches and (self._oldest + 1) << self.chunk_bits <= first:
            del self._chunks[self._oldest]
            self._first_batches.pop(0)
            self._oldest += 1
        if not self._first_batches:
            self._oldest = self.end >> self.chunk_bits

    def dismantle(self) -> Iterator[None]:
        """Free all memory, some of it in each step; after this, no queries are allowed."""
        for number in list(self._chunks):
            del self._chunks[number]
            if number % _CHUNKS_A_STEP == 0:
                yield

    def first_after(self, batch: int) -> int:
        """The first slot, at or after ``first``, of a batch later than ``batch``; ``end`` if there is none."""
        after = bisect_right(self._first_batches, batch)
        if after == 0:
            return self.first
        number = self._oldest + after - 1
        begin = max(self.first, number << self.chunk_bits)
        end = min(self.end, (number + 1) << self.chunk_bits)
        batches = self.between("batch", begin, end)
        return begin + int(np.searchsorted(batches, batch, side="right"))

    def between(self, name: str, begin: int, end: int) -> NDArray[Any]:
        """The values of a column from slot ``begin`` up to ``end``; a view of memory that never changes, or a copy."""
        parts = [chunk.values(name, rows) for chunk, rows in self._parts(begin, end)]
        return parts[0] if len(parts) == 1 else np.concatenate([np.empty(0, _DTYPES[name]), *parts])

    def parts_of(self, name: str, begin: int, end: int) -> list[NDArray[Any]]:
        """The same chunk by chunk, contiguous."""
        return [np.ascontiguousarray(chunk.values(name, rows)) for chunk, rows in self._parts(begin, end)]

    def at(self, name: str, slots: NDArray[np.int64]) -> NDArray[Any]:
        """The values of a column at some slots."""
        values, chunks = np.empty(len(slots), _DTYPES[name]), slots >> self.chunk_bits
        for number in set(chunks.tolist()):
            here = chunks == number
            values[here] = self._chunks[number].values(name, slots[here] - (number << self.chunk_bits))
        return values

    def value(self, name: str, slot: int) -> int:
        """The value of a column of whole numbers at one slot."""
        return int(self.between(name, slot, slot + 1)[0])

    def sketches_between(self, begin: int, end: int) -> NDArray[np.uint64]:
        """The sketches of these slots: uint64 (n, 4)."""
        parts = [chunk.arrays[SKETCH][rows] for chunk, rows in self._parts(begin, end)]
        return np.concatenate([np.empty((0, SKETCH_WORDS), np.uint64), *parts])

    @property
    def nbytes(self) -> int:
        """Bytes in use."""
        full = sum(chunk.row_bytes for chunk in self._chunks.values()) << self.chunk_bits
        newest = self._chunks.get(self.end >> self.chunk_bits)
        unused = (-self.end & ((1 << self.chunk_bits) - 1)) * newest.row_bytes if newest else 0
        return full - unused

    def _parts(self, begin: int, end: int) -> list[tuple[_Chunk, slice]]:
        rows = 1 << self.chunk_bits
        return [
            (self._chunks[number], slice(max(0, begin - number * rows), min(rows, end - number * rows)))
            for number in range(begin // rows, -(-end // rows) if end > begin else begin // rows)
        ]

    def _point_at(self, number: int) -> None:
        """Tell the kernels the addresses of a chunk."""
        chunk = self._chunks[number]
        words = self.words[number & (self.ring - 1)]
        words[:, :] = 0
        words[:, 1] = chunk.bases
        for column, array in chunk.arrays.items():
            words[column] = array.ctypes.data, chunk.bases[column], array.itemsize, array.strides[0]
