"""The survivors in a folder: packed blocks, as on the index topic, one after the other in a file.

The file begins with eight bytes that name it. Then come records, each with the length of its payload (``uint64``), the
CRC-32 of the payload, the CRC-32 of these twelve bytes (``uint32`` each), and the payload. The first payload is the
scheme in words, each other one a ``Block`` that begins where the one before it ends.

It outlives crashes as ``crawler_plugin.wire.files`` says: the next opening cuts off a record that a crash has torn,
with a warning. A changed byte leads to a refusal that names file and byte.
"""

from __future__ import annotations

import logging
import os
import struct
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, Final

from crawler_plugin.wire.counted import counted
from crawler_plugin.wire.errors import Refused, Unavailable, UnreadableRecord, UsageError
from crawler_plugin.wire.files import OWNER_ONLY, HeldFile, holder_of, replaced, write_all
from crawler_plugin.wire.messages import Block, decode, encode
from worker.fingerprint.scheme import Scheme, in_words

BLOCKS: Final = "index.blocks"
"""The name of the file."""
_MAGIC: Final = b"DEDUPST1"
_HEAD: Final = struct.Struct("<QI")
_CHECK: Final = struct.Struct("<I")
_HEAD_BYTES: Final = _HEAD.size + _CHECK.size
_FOLDER_MODE: Final = 0o700
_log = logging.getLogger(__name__)


class StateFile:
    """A folder with the state, which only this process holds until it is closed. Made if it does not exist.

    Raises:
        UsageError: the folder cannot be made or read.
        Refused: another process holds it, it was written with another scheme, or it is damaged.
    """

    def __init__(self, folder: Path, scheme: Scheme) -> None:
        self.file: Final = folder / BLOCKS
        self._scheme: Final = scheme
        try:
            folder.mkdir(mode=_FOLDER_MODE, parents=True, exist_ok=True)
            self._lock: Final = held(folder)
            try:
                if not self.file.exists():
                    self._make()
                self._fd = os.open(self.file, os.O_RDWR)
            except BaseException:
                self._lock.close()
                raise
        except OSError as error:
            raise UsageError(
                f"the state {folder} cannot be opened ({error.strerror}): name a folder that this program may write to"
            ) from error
        self._end = os.fstat(self._fd).st_size
        self._torn = False
        self._last = -1
        self._pages = 0
        """Of the block that was read last."""

    def blocks(self) -> Iterator[Block]:
        """All blocks, to be read to the end before anything is appended; at the end it cuts off a record that a crash
        has torn. Later they can be read again.

        Raises:
            Refused: the file is damaged, or of another scheme.
        """
        self._last, self._pages = -1, 0
        with self.file.open("rb") as source:
            if source.read(len(_MAGIC)) != _MAGIC:
                raise Refused(f"{self.file} is no state that this program wrote: name another folder")
            head = self._next(source)
            self._compare(b"" if head is None else head)
            while (payload := self._next(source)) is not None:
                begin = source.tell() - len(payload) - _HEAD_BYTES
                try:
                    block = decode(Block, payload)
                except UnreadableRecord as error:
                    raise self._damaged(begin, str(error)) from error
                if block.after != self._last or block.scheme != self._scheme.id:
                    raise self._damaged(begin, f"it goes on after batch {block.after}, not after {self._last}")
                self._last = block.to
                self._pages = _pages_up_to(block)
                yield block
            whole = source.tell()
        if whole < self._end:
            _log.warning(
                "%s: the last %d bytes are a record that was not written to its end, so they are cut off; the pages in "
                "it were not flushed when the process was killed",
                self.file,
                self._end - whole,
            )
            os.ftruncate(self._fd, whole)
            os.fsync(self._fd)
            self._end = whole

    def append(self, block: Block) -> None:
        """Write a block; when this returns, it outlives a crash of the machine.

        Raises:
            Unavailable: it could not be written. Anyone who opens the file finds it as before, and the same block can
                be appended again.
        """
        record = _record(encode(block))
        try:
            if self._torn:
                os.ftruncate(self._fd, self._end)
            self._torn = True
            write_all(self._fd, record, self._end)
            os.fsync(self._fd)
        except OSError as error:
            raise Unavailable(
                f"{self.file} cannot be written ({error.strerror}). What was judged since the last flush is in memory "
                "only: make room on the disk, then call flush()"
            ) from error
        self._torn = False
        self._end += len(record)

    def rewrite(self, blocks: Sequence[Block]) -> None:
        """Replace all blocks that were read by these: at every moment the file is the old one or the new one.

        Raises:
            OSError: there is no room; the file is the old one.
        """
        self._make(blocks)
        os.close(self._fd)
        self._fd = os.open(self.file, os.O_RDWR)
        self._end = os.fstat(self._fd).st_size

    def close(self) -> None:
        """Release the folder."""
        os.close(self._fd)
        self._lock.close()

    def _make(self, blocks: Sequence[Block] = ()) -> None:
        """A file of these blocks; it gets its name only once it is whole."""
        with replaced(self.file, OWNER_ONLY) as beside, beside.open("wb") as out:
            out.write(_MAGIC + _record(self._scheme.encode()))
            for block in blocks:
                out.write(_record(encode(block)))

    def _next(self, source: BinaryIO) -> bytes | None:
        """The payload of the next record; None, and the place as it was, where the file ends or a torn record
        begins."""
        begin = source.tell()
        head = source.read(_HEAD_BYTES)
        if len(head) == _HEAD_BYTES:
            length, crc = _HEAD.unpack_from(head)
            (check,) = _CHECK.unpack_from(head, _HEAD.size)
            if check != zlib.crc32(head[: _HEAD.size]):
                if not _is_blank(head, source):
                    raise self._damaged(begin, "the checksum of its length does not fit")
            elif begin + _HEAD_BYTES + length <= self._end:
                payload = source.read(length)
                if zlib.crc32(payload) != crc:
                    raise self._damaged(begin, f"the checksum does not fit its {length} bytes")
                return payload
        source.seek(begin)
        return None

    def _compare(self, found: bytes) -> None:
        """Raises ``Refused`` unless the scheme of the file is ours."""
        try:
            theirs = Scheme.decode(found)
        except UnreadableRecord as error:
            raise Refused(
                f"{self.file} does not say by which scheme it was made ({error}): name another folder"
            ) from error
        if theirs.id != self._scheme.id:
            differs = "; ".join(map(in_words, self._scheme.differences(theirs)))
            raise Refused(
                f"{self.file} was written with other settings: {differs}. Open it with the settings that it was "
                "written with, or give these settings a folder of their own"
            )

    def _damaged(self, begin: int, why: str) -> Refused:
        otherwise = (
            f"go on with the {counted(self._pages, 'page')} before it and forget the others: truncate -s {begin} "
        )
        if begin == len(_MAGIC):
            otherwise = "begin anew without what it holds: rm "
        return Refused(
            f"{self.file} is damaged in the record at byte {begin}: {why}. Nothing was changed. Put back a copy of it, "
            f"or {otherwise}{self.file}"
        )


def _pages_up_to(block: Block) -> int:
    """The number of judged pages when the block was sealed."""
    return dict(block.claimed_up_to).get(0, -1) + 1


def held(folder: Path) -> HeldFile:
    """The folder, held by this process alone.

    Raises:
        Refused: another process holds it.
        OSError: the folder cannot be written to.
    """
    lock = folder / "lock"
    try:
        found = HeldFile(lock)
    except BlockingIOError:
        raise Refused(
            f"the state {folder} is open already, in process {holder_of(lock) or '(unknown)'}: close it there, or give "
            "this one a folder of its own. Two processes with one state would each miss what the other has seen"
        ) from None
    found.note(f"{os.getpid()}\n")
    return found


def _record(payload: bytes) -> bytes:
    head = _HEAD.pack(len(payload), zlib.crc32(payload))
    return head + _CHECK.pack(zlib.crc32(head)) + payload


def _is_blank(head: bytes, source: BinaryIO) -> bool:
    """Whether only zeros follow: the file was made longer, and the machine lost power before the content came."""
    while head:
        if head.strip(b"\0"):
            return False
        head = source.read(1 << 20)
    return True
