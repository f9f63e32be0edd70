"""A text for each page by its number, in two files: what the owners of archives call pages, and URLs.

``NAME`` holds the texts one behind the other, in UTF-8; ``NAME.ends`` holds where each one ends, as ``uint64``, little
endian. Both only grow, so a copy that was begun later fits a state that was copied before. A page that has none, such
as one that a ``Deduplicator`` judged by itself, has an empty one.
"""

from __future__ import annotations

import os
import struct
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa

from crawler_plugin.wire.errors import Refused
from crawler_plugin.wire.files import OWNER_ONLY, write_all

_END: Final = struct.Struct("<Q")
_TWO: Final = struct.Struct("<QQ")
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
        self._texts: Final = os.open(texts, os.O_RDWR | os.O_CREAT, OWNER_ONLY)
        self._ends: Final = os.open(ends, os.O_RDWR | os.O_CREAT, OWNER_ONLY)
        known = min(pages, os.fstat(self._ends).st_size // _END.size)
        self._bytes = self._span(known - 1)[1] if known else 0
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

    def __getitem__(self, number: int) -> str | None:
        """That of a page; None where none is known."""
        begin, end = self._span(number)
        return os.pread(self._texts, end - begin, begin).decode() or None

    def sync(self) -> None:
        """When this returns, all of them outlive a crash of the machine."""
        os.fsync(self._texts)
        os.fsync(self._ends)

    def close(self) -> None:
        """Let go of the files."""
        os.close(self._texts)
        os.close(self._ends)

    def _span(self, number: int) -> tuple[int, int]:
        """Where the text of a page begins and ends."""
        if not number:
            return 0, int(_END.unpack(os.pread(self._ends, _END.size, 0))[0])
        begin, end = _TWO.unpack(os.pread(self._ends, _TWO.size, (number - 1) * _END.size))
        return begin, end
