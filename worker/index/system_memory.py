"""Memory of the system, taken and freed piece by piece: regions for slabs, shares for the heads of entries."""

from __future__ import annotations

import math
import mmap
from typing import Final

import numpy as np
from numpy.typing import NDArray

from worker.index.kernels.native import READ_AHEAD
from worker.index.kernels.plan import ROW_BYTES

_HUGE: Final = 1 << 21
"""Pages of 2 MB: with 4 kB pages every look-up would also wait for the tables that say where a page lies."""
_SINGLE_CHUNKS: Final = 32
_SPARE: Final = 2
"""Empty regions that are kept for later: the system would clear new ones first."""


class _Memory:
    """Private memory of the system, zero at first; ``address`` is that of ``size`` usable bytes."""

    def __init__(self, size: int) -> None:
        self.size: Final = size
        huge = size % _HUGE == 0
        length = size + READ_AHEAD + (_HUGE if huge else 0)
        self._map = mmap.mmap(-1, length, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        address: int = np.frombuffer(self._map, np.uint8).ctypes.data
        self.address: Final = -(-address // _HUGE) * _HUGE if huge else address
        self._before = self.address - address
        if huge and hasattr(mmap, "MADV_HUGEPAGE"):
            try:
                self._map.madvise(mmap.MADV_HUGEPAGE)
            except OSError:
                return  # a kernel without them: only slower

    def words(self, begin: int, count: int) -> NDArray[np.uint32]:
        """A view of ``count`` bytes from ``begin`` on."""
        return np.frombuffer(self._map, np.uint32, count // 4, self._before + begin)


class Shares:
    """Huge pages in equal shares, zero at first; a page is freed when none of its shares is used any more."""

    def __init__(self) -> None:
        self._rest = np.empty(0, np.uint8)

    def take(self, size: int) -> NDArray[np.uint8]:
        """This many bytes."""
        if len(self._rest) == 0 or len(self._rest) % size:
            whole = math.lcm(size, _HUGE)
            self._rest = _Memory(whole).words(0, whole).view(np.uint8)
        share, self._rest = self._rest[:size], self._rest[size:]
        return share


class Chunks:
    """Chunks of rows, zero at first; the first few separately, so that a small index takes little."""

    def __init__(self, rows: int) -> None:
        self._rows: Final = rows
        self._bytes: Final = rows * ROW_BYTES
        self._memory: list[_Memory] = []
        self._left = 0
        self.count = 0

    def take(self) -> tuple[NDArray[np.uint32], int]:
        """A chunk, uint32 (rows, 4), and its address."""
        self.count += 1
        if self.count <= _SINGLE_CHUNKS:
            chunk = np.zeros((self._rows, 4), np.uint32)
            return chunk, chunk.ctypes.data
        if self._left == 0:
            self._memory.append(_Memory(_HUGE))
            self._left = _HUGE // self._bytes
        self._left -= 1
        memory = self._memory[-1]
        return memory.words(self._left * self._bytes, self._bytes).reshape(-1, 4), memory.address + (
            self._left * self._bytes
        )

    @property
    def nbytes(self) -> int:
        """Bytes in use."""
        return self.count * self._bytes


class Regions:
    """Regions by number: ``bases``, ``used``, ``live`` and ``sizes`` are int64 arrays, which may move as they grow.

    ``used`` bytes of a region were handed out, and ``live`` of them are still in use. New slabs come from the region
    ``open``; the region ``emptying`` is kept while its live slabs are moved, -1 for none.
    """

    def __init__(self, least: int, most: int) -> None:
        self._least: Final = least
        self._most: Final = most
        self._memory: list[_Memory | None] = []
        self._spare: list[_Memory] = []
        self._free: list[int] = []
        self.bases: NDArray[np.int64] = np.zeros(16, np.int64)
        self.used: NDArray[np.int64] = np.zeros(16, np.int64)
        self.live: NDArray[np.int64] = np.zeros(16, np.int64)
        self.sizes: NDArray[np.int64] = np.zeros(16, np.int64)
        self.open = -1
        self.emptying = -1

    def open_another(self, wanted: int) -> None:
        """Open a region with room for a slab of ``wanted`` bytes. Sizes grow with the memory that is there already."""
        share = int(self.sizes.sum()) // 4
        size = self._least
        while size < self._most and size < share:
            size *= 2
        if size < wanted:
            size = -(-wanted // 4096) * 4096
        self.release_empty()
        spare = next((memory for memory in self._spare if memory.size == size), None)
        if spare is not None:
            self._spare.remove(spare)
        memory = spare or _Memory(size)
        number = self._free.pop() if self._free else self._another_number()
        self._memory[number] = memory
        self.bases[number], self.sizes[number] = memory.address, size
        self.used[number] = self.live[number] = 0
        self.open = number

    def release_empty(self) -> None:
        """Free the regions without live slabs."""
        for number in np.flatnonzero((self.live == 0) & (self.sizes > 0)).tolist():
            if number in (self.open, self.emptying):
                continue
            memory = self._memory[number]
            if memory is not None and memory.size == self._most and len(self._spare) < _SPARE:
                self._spare.append(memory)
            self._memory[number] = None
            self.bases[number] = self.used[number] = self.sizes[number] = 0
            self._free.append(number)

    def emptiest(self) -> int:
        """The closed region with the largest dead share, -1 if there is none."""
        dead = (self.sizes - self.live) / np.maximum(self.sizes, 1)
        if self.open >= 0:
            dead[self.open] = 0.0
        number = int(dead.argmax())
        return number if dead[number] > 0 else -1

    @property
    def dead_bytes(self) -> int:
        """Bytes of closed regions that are not live."""
        dead = int((self.sizes - self.live).sum())
        return dead - int(self.sizes[self.open] - self.live[self.open]) if self.open >= 0 else dead

    @property
    def live_bytes(self) -> int:
        """Bytes of all slabs."""
        return int(self.live.sum())

    @property
    def room(self) -> int:
        """Bytes that are left in the open region."""
        return int(self.sizes[self.open] - self.used[self.open]) if self.open >= 0 else 0

    @property
    def nbytes(self) -> int:
        """Bytes in use, including dead ones; of the open region only the bytes that were handed out."""
        return int(self.sizes.sum()) - self.room + sum(memory.size for memory in self._spare)

    def _another_number(self) -> int:
        number = len(self._memory)
        self._memory.append(None)
        if number == len(self.bases):
            for name in ("bases", "used", "live", "sizes"):
                setattr(self, name, np.concatenate([getattr(self, name), np.zeros(number, np.int64)]))
        return number
