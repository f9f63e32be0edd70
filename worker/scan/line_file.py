"""A file that grows by lines, and is cut back to a checkpoint."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from crawler_plugin.wire.errors import Refused


class LineFile:
    """The file, cut back to so many bytes; made where it is not there.

    Raises:
        Refused: it has fewer bytes.
    """

    def __init__(self, path: Path, length: int = 0) -> None:
        self.name: Final = path.name
        self._file: Final = path.open("ab", buffering=1 << 20)
        if (there := os.fstat(self._file.fileno()).st_size) < length:
            self._file.close()
            raise Refused(
                f"{path} was to be gone on with behind its first {length} bytes, and has {there}: put back what was "
                "there, or scan into another folder"
            )
        self._file.truncate(length)
        self.length = length
        """Bytes, those included that are not on the disk yet."""

    def write(self, line: bytes) -> None:
        """``line`` brings its own end."""
        self._file.write(line)
        self.length += len(line)

    def sync(self) -> int:
        """When this returns, all lines outlive a crash of the machine; how many bytes there are."""
        self._file.flush()
        os.fsync(self._file.fileno())
        return os.fstat(self._file.fileno()).st_size

    def close(self) -> None:
        self._file.close()
