"""A text for each page by its number, in two files: what the owners of archives call pages, and URLs.

``NAME`` holds the texts one behind the other, in UTF-8; ``NAME.ends`` holds where each one ends, as ``uint64``, little
endian. Both only grow, so a copy that was begun later fits a state that was copied before. A page that has none, such
as one that a ``Deduplicator`` judged by itself, has an empty one.
"""

from __future__ import annotations

import mmap
import os
import struct
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from crawler_plugin.wire.errors import Refused
from crawler_plugin.wire.files import OWNER_ONLY, write_all

_END: Final = struct.Struct("<Q")
IDS: Final = "ids"
FILES: Final = (IDS, f"{IDS}.ends")
"""Those of a state, in the order in which they are to be copied."""


class Texts:
    """The texts of a folder's pages, for one process at a time.

    Args:
        folder: has to be there.
        name: of the files.
        pages: so many pages are known; texts of later ones are forgotten.

    Raises:
        Refused: the files do not fit each other.
    """

    def __init__(self, folder: Path, name: str, pages: int) -> None:
        texts, ends = folder / name, folder / f"{name}.ends"
        self._path: Final = texts
        self._texts: Final = os.open(texts, os.O_RDWR | os.O_CREAT, OWNER_ONLY)
        self._ends: Final = os.open(ends, os.O_RDWR | os.O_CREAT, OWNER_ONLY)
        self._mapped: Final = _MappedFile(self._texts), _MappedFile(self._ends)
        known = min(pages, os.fstat(self._ends).st_size // _END.size)
        last = os.pread(self._ends, _END.size, (known - 1) * _END.size) if known else bytes(_END.size)
        (self._bytes,) = _END.unpack(last)
        if self._bytes > os.fstat(self._texts).st_size:
            self.close()
            raise Refused(
                f"{texts} is shorter than {ends} says: put back a copy of both, or delete both to go without {name}"
            )
        os.ftruncate(self._texts, self._bytes)
        os.ftruncate(self._ends, known * _END.size)
        self._count = known
        self.extend(pa.array([""] * (pages - known), pa.string()))

    def __len__(self) -> int:
        return self._count

    def extend(self, texts: pa.Array) -> None:
        """Those of the next pages, null for none.

        Raises:
            OSError: there is no room.
        """
        texts = texts.cast(pa.large_string()).fill_null("")
        if not len(texts):
            return
        _, ends, content = texts.buffers()
        offsets = np.frombuffer(ends, np.int64)[texts.offset : texts.offset + len(texts) + 1]
        if content is not None:
            write_all(self._texts, bytes(memoryview(content)[offsets[0] : offsets[-1]]), self._bytes)
        at = (offsets[1:] - offsets[0] + self._bytes).astype("<u8")
        write_all(self._ends, at.tobytes(), self._count * _END.size)
        self._bytes = int(at[-1])
        self._count += len(texts)

    def at(self, numbers: NDArray[np.int64]) -> pa.Array:
        """Those of pages, int64 (m,): strings (m,), null where none is known.

        Raises:
            Refused: the files do not fit each other.
        """
        if not len(numbers) or not self._bytes:
            return pa.nulls(len(numbers), pa.string())
        texts_file, ends_file = self._mapped
        ends = np.frombuffer(ends_file.up_to(self._count * _END.size, (np.maximum(numbers, 1) - 1) * _END.size), "<u8")
        begin, end = np.where(numbers > 0, ends[numbers - 1], 0), ends[numbers]
        if not ((begin <= end) & (end <= self._bytes)).all():
            raise Refused(f"{self._path}.ends is damaged: put back a copy of it and of {self._path}")
        # Each second one is a text; what lies between them is never looked at. Arrow wants the last to end last.
        order = np.argsort(numbers)
        spans = np.stack([begin[order], end[order]], axis=1).astype(np.int64)
        buffers = [None, pa.py_buffer(spans.tobytes()), pa.py_buffer(texts_file.up_to(self._bytes, begin))]
        between = pa.Array.from_buffers(pa.large_string(), 2 * len(numbers) - 1, buffers)
        texts = between.take(pa.array(2 * np.argsort(order))).cast(pa.string())
        return pc.if_else(pc.equal(texts, ""), None, texts)

    def sync(self) -> None:
        """When this returns, all of them outlive a crash of the machine."""
        os.fsync(self._texts)
        os.fsync(self._ends)

    def close(self) -> None:
        """Let go of the files."""
        os.close(self._texts)
        os.close(self._ends)


class _MappedFile:
    """A file that grows, in memory as it is asked for.

    What is asked for lies anywhere: to read on from there, megabytes at a time on some disks, would drive what is
    wanted out of memory once the file is larger than what is free.
    """

    def __init__(self, file: int) -> None:
        self._file: Final = file
        self._map: mmap.mmap | None = None

    def up_to(self, length: int, places: NDArray[np.integer[Any]]) -> mmap.mmap:
        """The first ``length`` bytes, which is all of the file, of which those at ``places`` are wanted.

        The disk reads these all at once: who took them one by one would wait for it once a page. No part of what was
        returned before may be held any more.
        """
        if self._map is None or len(self._map) != length:
            self._map = self._of(length)
        for page in np.unique(places // mmap.PAGESIZE).tolist():
            self._map.madvise(mmap.MADV_WILLNEED, page * mmap.PAGESIZE, mmap.PAGESIZE)
        return self._map

    def _of(self, length: int) -> mmap.mmap:
        if self._map is not None:
            try:
                self._map.resize(length)  # what was read stays
            except (SystemError, BufferError):  # this system cannot, or a part is still held
                pass
            else:
                return self._map
        mapped = mmap.mmap(self._file, length)  # never written to, but a read-only one cannot grow
        mapped.madvise(mmap.MADV_RANDOM)
        return mapped
