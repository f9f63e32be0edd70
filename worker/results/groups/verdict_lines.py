"""The file of a scan's verdicts, read from the beginning or at a place: memory holds no more than a line of it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Self

from crawler_plugin.wire.errors import UnreadableRecord, UsageError
from crawler_plugin.wire.outcomes import Verdict
from worker.results.rows import VERDICTS, read_line

_FIRST_BYTES: Final = 2048
"""Bytes in which nearly every line ends; for a longer line the next bytes are read as well."""
_MOST_BYTES: Final = 64 * 1024 * 1024
"""Bytes of the longest line that is read: a file of another kind may have no line ends at all."""


class VerdictLines:
    """The lines of a file of verdicts, or of the file in the folder of a scan.

    Raises:
        UsageError: there is no such file.
    """

    def __init__(self, path: Path) -> None:
        self.path: Final = path / VERDICTS if path.is_dir() else path
        try:
            self._file: Final = self.path.open("rb")
        except OSError as error:
            raise UsageError(
                f"{self.path} cannot be read ({error.strerror}): name the {VERDICTS} of a scan, or the folder that "
                "holds it"
            ) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self._file.close()

    def rows(self) -> Iterator[tuple[int, Verdict]]:
        """Each row in the order of the file, after the place where its line begins.

        Raises:
            UsageError: a line is no verdict.
        """
        begin = 0
        with self.path.open("rb") as file:
            while line := file.readline(_MOST_BYTES):
                yield begin, self._row(line, begin)
                begin += len(line)

    def at(self, begin: int) -> Verdict:
        """The row whose line begins there.

        Raises:
            UsageError: the line is no verdict.
        """
        found = b""
        while more := os.pread(self._file.fileno(), _FIRST_BYTES, begin + len(found)):
            found += more
            if b"\n" in more:
                break
        return self._row(found.partition(b"\n")[0], begin)

    def _row(self, line: bytes, begin: int) -> Verdict:
        try:
            return read_line(line)
        except UnreadableRecord as error:
            raise UsageError(f"{self.path}, at byte {begin}: {error}; name the {VERDICTS} of a scan") from error
