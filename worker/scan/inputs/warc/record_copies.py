"""Writes records of a WARC or an ARC into one file or two: as they are stored, where that can be told."""

from __future__ import annotations

from collections.abc import Sequence
from typing import IO, Final

from worker.scan.inputs.unpacking import Compression
from worker.scan.inputs.warc.record_search import FoundRecord

_PIECE: Final = 1024 * 1024


class RecordCopies:
    """Files of records that stay, and, where there is a second one, of those that do not.

    Args:
        source: the file that they are read from, as it is stored.
        compression: of each record by itself.
        outs: one or two.
        end: what stands behind each record.
    """

    def __init__(
        self, source: IO[bytes], compression: Compression | None, outs: Sequence[IO[bytes]], end: bytes
    ) -> None:
        self._source: Final = source
        self._compression: Final = compression
        self._outs: Final = outs
        self._end: Final = end

    def copy(self, found: FoundRecord, stays: bool) -> None:
        """A record as it is stored, where it is packed by itself and can be gone to."""
        if found.stored is None or self._compression is None or not self._source.seekable():
            self.write(found.content, stays)
        else:
            self.copy_span(*found.stored, stays)

    def write(self, content: bytes, stays: bool) -> None:
        """A record as it is to be read."""
        if (out := self._out(stays)) is None:
            return
        if self._compression is None:
            out.write(content + self._end)
        else:
            with self._compression.writer(out) as member:
                member.write(content + self._end)

    def copy_span(self, begin: int, end: int | None, stays: bool) -> None:
        """Bytes of the file as it is stored; up to its end where that is None."""
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
