"""What the owners of archives call the pages of a state: an id for each page by its number, in two files.

``ids`` holds the ids one behind the other, in UTF-8; ``ids.ends`` holds where each one ends, as ``uint64``, little
endian. Both only grow, so a copy that was begun later fits a state that was copied before. A page without an id, such
as one that a ``Deduplicator`` judged by itself, has an empty one.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from crawler_plugin.wire.errors import Refused
from crawler_plugin.wire.files import OWNER_ONLY, write_all

_END: Final = struct.Struct("<Q")
FILES: Final = ("ids", "ids.ends")
"""In the order in which they are to be copied."""


class Ids:
    """The ids of a folder's pages, for one process at a time.

    Args:
        folder: has to be there.
        pages: so many pages the state holds; ids of later ones are forgotten.

    Raises:
        Refused: the files do not fit each other.
    """

    def __init__(self, folder: Path, pages: int) -> None:
        ids, ends = (folder / name for name in FILES)
        self._ids: Final = os.open(ids, os.O_RDWR | os.O_CREAT, OWNER_ONLY)
        self._ends: Final = os.open(ends, os.O_RDWR | os.O_CREAT, OWNER_ONLY)
        known = min(pages, os.fstat(self._ends).st_size // _END.size)
        self._written = known
        self._bytes = self._end(known)
        if self._bytes > os.fstat(self._ids).st_size:
            self.close()
            raise Refused(
                f"{ids} is shorter than {ends} says: put back a copy of both, or delete both to go without ids"
            )
        os.ftruncate(self._ids, self._bytes)
        os.ftruncate(self._ends, known * _END.size)
        self._new: list[bytes] = [b""] * (pages - known)

    def extend(self, names: Iterable[str | None]) -> None:
        """The ids of the next pages; None where one has none."""
        self._new += [(name or "").encode() for name in names]

    def __getitem__(self, number: int) -> str | None:
        """The id of a page; None where none is known."""
        if number >= self._written:
            found = self._new[number - self._written]
        else:
            begin, end = self._end(number), self._end(number + 1)
            found = os.pread(self._ids, end - begin, begin)
        return found.decode() or None

    def flush(self) -> None:
        """When this returns, the ids outlive a crash of the machine."""
        ends, at = bytearray(), self._bytes
        for name in self._new:
            at += len(name)
            ends += _END.pack(at)
        write_all(self._ids, b"".join(self._new), self._bytes)
        os.fsync(self._ids)
        write_all(self._ends, bytes(ends), self._written * _END.size)
        os.fsync(self._ends)
        self._written += len(self._new)
        self._bytes = at
        self._new = []

    def close(self) -> None:
        """Let go of the files; what was not flushed is lost."""
        os.close(self._ids)
        os.close(self._ends)

    def _end(self, count: int) -> int:
        """Where the first so many ids end."""
        if not count:
            return 0
        (end,) = _END.unpack(os.pread(self._ends, _END.size, (count - 1) * _END.size))
        return int(end)
