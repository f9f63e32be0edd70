"""Writes records of a WARC or an ARC into one file or two: in their stored form, where that can be found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import IO, Final

from worker.scan.inputs.unpacking import Compression
from worker.scan.inputs.warc.record_search import FoundRecord

_PIECE: Final = 1024 * 1024


class RecordCopies:
    """Files of records that stay, and, if there is a second one, of those that do not.

    Args:
        source: the stored file that they are read from.
        compression: of each record separately.
        outs: one or two.
        end: the bytes after each record.
    """

    def __init__(
        self, source: IO[bytes], compression: Compression | None, outs: Sequence[IO[bytes]], end: bytes
    ) -> None:
        self._source: Final = source
        self._compression: Final = compression
        self._outs: Final = outs
        self._end: Final = end

    def copy(self, found: FoundRecord, stays: bool) -> None:
        """Copy a stored record, if it is packed separately and the file allows going there."""
        if found.stored is None or self._compression is None or not self._source.seekable():
            self.write(found.content, stays)
        else:
            self.copy_span(*found.stored, stays)

    def write(self, content: bytes, stays: bool) -> None:
        """Write a record in its unpacked form."""
        if (out := self._out(stays)) is None:
            return
        if self._compression is None:
            out.write(content + self._end)
        else:
            with self._compression.writer(out) as member:
                member.write(content + self._end)

    def copy_span(self, begin: int, end: int | None, stays: bool) -> None:
        """Copy bytes of the stored file; up to its end if that is None."""
        if (out := self._out(stays)) is None:
            return
        self._source.seek(begin)
        while (end is None or begin < end) and (
            piece := self._source.read(_PIECE if end is None else min(_PIECE, end - begin))
        ):
            out.write(piece)
            begin += len(piece)

    def _out(self, stays: bool) -> IO[bytes] | None:
        return self._outs[0] if stays else self._outs[1] if len(self._outs) > 1 else None
