"""A file that grows by lines, and is cut back to a checkpoint."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final


class LineFile:
    """The file, cut back to so many bytes; made where it is not there."""

    def __init__(self, path: Path, length: int = 0) -> None:
        self.name: Final = path.name
        self._file: Final = path.open("ab", buffering=1 << 20)
        self._file.truncate(length)

    def write(self, line: bytes) -> None:
        """``line`` brings its own end."""
        self._file.write(line)

    def sync(self) -> int:
        """When this returns, all lines outlive a crash of the machine; how many bytes there are."""
        self._file.flush()
        os.fsync(self._file.fileno())
        return os.fstat(self._file.fileno()).st_size

    def close(self) -> None:
        self._file.close()
