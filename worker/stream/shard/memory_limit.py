"""How much memory a worker's index may take, and the refusal before it takes more."""

from __future__ import annotations

from typing import Final, NamedTuple, Protocol

from crawler_plugin.wire.counted import counted
from crawler_plugin.wire.errors import Refused

MIB: Final = 1 << 20
_COLUMNS_BYTES: Final = 32
_URL_BYTES: Final = 16
_TABLE_BYTES: Final = 10
"""A tag and a slot, and a quarter for growing."""
_SKETCH_BYTES: Final = 32 + 8 * 7
"""The sketch, and in each of eight tables of bands half a key and a slot."""
_EMPTY_BYTES: Final = 8 * MIB + MIB // 2
"""Bytes of the tables of bands of one shard before they hold anything; without sketches next to nothing."""
_MEASURED_FROM: Final = 100_000
"""With this many entries or more, an index's own bytes say how much one more takes."""


class OverMemoryLimit(Refused):
    """More memory than the setting allows would be needed."""


class Measured(Protocol):
    """An index that knows how many bytes it takes."""

    def __len__(self) -> int: ...

    @property
    def nbytes(self) -> int:
        """Bytes of columns and tables."""

    @property
    def url_bytes(self) -> int:
        """Bytes of compressed URLs."""


class _Taken(NamedTuple):
    """Bytes of a shard, and how many entries it had when the bytes were last counted."""

    entries: int
    bytes: int
    counted_at: int


def expected_bytes(tables: int = 4, sketched: bool = False) -> int:
    """An entry of an index that is still too small to be measured: columns, look-up tables, URL."""
    return _COLUMNS_BYTES + tables * _TABLE_BYTES + _URL_BYTES + sketched * _SKETCH_BYTES


class MemoryLimit:
    """Bytes that all shards of a worker may take together; 0 is no limit. ``tables`` are those of the index, and
    ``sketched`` says whether entries have sketches.

    The bytes of a shard are counted when it is restored, and again whenever it has grown by a fiftieth; between two
    counts, each new entry counts for the average size of an entry.
    """

    def __init__(self, limit: int = 0, tables: int = 4, sketched: bool = False) -> None:
        self.limit: Final = limit
        self._expected = expected_bytes(tables, sketched)
        self._empty = sketched * _EMPTY_BYTES
        self._shards: dict[int, _Taken] = {}
        self._spare: set[int] = set()
        self.crowded = False
        """Whether shards that can be spared block others, so that the limit may be passed until they go."""

    @property
    def used(self) -> int:
        """Bytes that the shards take, by the last counts."""
        return sum(taken.bytes for taken in tuple(self._shards.values()))  # another thread may reserve in the mean time

    @property
    def entries(self) -> int:
        return sum(taken.entries for taken in tuple(self._shards.values()))

    @property
    def entry_bytes(self) -> float:
        """Bytes an entry takes here."""
        entries = self.entries
        return self.used / entries if entries >= _MEASURED_FROM else self._expected

    def reserve(self, shard: int, entries: int) -> None:
        """Count this many entries before they are loaded.

        Raises:
            OverMemoryLimit: they would not fit.
        """
        if not self.limit:
            return
        self._shards.pop(shard, None)
        coming = self._empty + int(entries * self.entry_bytes)
        if not self._fits(coming):
            raise OverMemoryLimit(
                f"shard {shard} has {counted(entries, 'entry', 'entries')}, about {_shown(coming)}; with the "
                f"{_shown(self.used)} of the other shards here that is above "
                f"index.memory_mb={self.limit // MIB}. {_NEXT_MOVE}"
            )
        self._shards[shard] = _Taken(entries, coming, entries)

    def count(self, shard: int, index: Measured, beside: int = 0) -> None:
        """Ask an index itself how many bytes it takes; ``beside`` is added to them."""
        self._shards[shard] = _Taken(len(index), index.nbytes + index.url_bytes + beside, len(index))

    def grow(self, shard: int, entries: int, index: Measured, beside: int = 0) -> None:
        """Count this many entries before they are stored; ``beside`` as for ``count``.

        Raises:
            OverMemoryLimit: they would not fit.
        """
        if not self.limit:
            return
        taken = self._shards.get(shard)
        if taken is None or taken.entries + entries >= taken.counted_at * 1.02 + 1000:
            self.count(shard, index, beside)
            taken = self._shards[shard]
        coming = int(entries * self.entry_bytes)
        if not self._fits(coming):
            raise OverMemoryLimit(
                f"the index holds {counted(self.entries, 'entry', 'entries')} in "
                f"{_shown(self.used)}, and {entries} more would take it above index.memory_mb={self.limit // MIB}. "
                f"{_NEXT_MOVE}"
            )
        self._shards[shard] = _Taken(taken.entries + entries, taken.bytes + coming, taken.counted_at)

    def release(self, shard: int) -> None:
        """A shard is no longer here."""
        self._shards.pop(shard, None)
        self.spare(shard, False)

    def spare(self, shard: int, spared: bool) -> None:
        """Mark a shard that is kept only in case it comes back: another shard must not be refused because of it."""
        self._spare = self._spare | {shard} if spared else self._spare - {shard}
        self.crowded &= bool(self._spare)

    def _fits(self, coming: int) -> bool:
        if self.used + coming <= self.limit:
            return True
        spared = sum(taken.bytes for shard, taken in tuple(self._shards.items()) if shard in self._spare)
        self.crowded = spared > 0 and self.used - spared + coming <= self.limit
        return self.crowded

    def __str__(self) -> str:
        """How much memory is used and how much more fits, in words."""
        held = f"the index holds {counted(self.entries, 'entry', 'entries')}, {_shown(self.used)}"
        if not self.limit:
            return f"{held}; index.memory_mb sets no limit"
        more = int(max(0, self.limit - self.used) / self.entry_bytes)
        return f"{held}; room for {more:,} more at {self.entry_bytes:.0f} bytes an entry (index.memory_mb)"


_NEXT_MOVE: Final = (
    "Raise it, start another worker that takes over some of the shards, or let pages expire (near.ttl_days)"
)


def _shown(count: float) -> str:
    return f"{count / MIB:,.0f} MiB"
