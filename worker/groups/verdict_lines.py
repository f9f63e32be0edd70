"""The file of a scan's verdicts, read from the beginning or at a place: no more than a line of it is in memory."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Self

from worker.errors import UnreadableRecord, UsageError
from worker.scan.rows import VerdictRow

VERDICTS: Final = "verdicts.jsonl"
"""What the file is called in the folder that a scan writes to."""


class VerdictLines:
    """The lines of a file of verdicts, or of the one in the folder of a scan.

    Raises:
        UsageError: there is no such file.
    """

    def __init__(self, path: Path) -> None:
        self.path: Final = path / VERDICTS if path.is_dir() else path
        try:
            with self.path.open("rb") as file:
                empty = not file.read(1)
                self._bytes: Final = b"" if empty else mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError) as error:
            raise UsageError(
                f"{self.path} cannot be read ({error}): name the {VERDICTS} of a scan, or the folder that holds it"
            ) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        if not isinstance(self._bytes, bytes):
            self._bytes.close()

    def rows(self) -> Iterator[tuple[int, VerdictRow]]:
        """Each row in the order of the file, behind the place at which its line begins.

        Raises:
            UsageError: a line is no verdict.
        """
        begin = 0
        while begin < len(self._bytes):
            yield begin, self.at(begin)
            begin = self._end(begin) + 1

    def at(self, begin: int) -> VerdictRow:
        """The row whose line begins there.

        Raises:
            UsageError: the line is no verdict.
        """
        try:
            return VerdictRow.decode(self._bytes[begin : self._end(begin)])
        except UnreadableRecord as error:
            line = 1 + self._bytes[:begin].count(b"\n")
            raise UsageError(f"{self.path}, line {line}: {error}; name the {VERDICTS} of a scan") from error

    def _end(self, begin: int) -> int:
        end = self._bytes.find(b"\n", begin)
        return len(self._bytes) if end < 0 else end
