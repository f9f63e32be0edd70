"""A shard's survivors in a file of this machine, so that a restart reads only what came after.

The file is no authority: the topic and the logs are. It holds the content of the blocks on the topic up to one batch: a
block without entries that stands for all of them (``block``), the entries, and the place from which to read the topic
on. If anything about the file is odd, the shard reads the topic from its beginning instead.

The format: eight bytes that name it (other ones where it names forgotten conditions), then frames, each with its length
(``uint64``), the CRC-32 of its payload (``uint32``) and the payload, MessagePack. The first frame is the ``Snapshot``,
the others are pieces of its entries.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, Final

import msgspec
import numpy as np

from crawler_plugin.wire.files import OWNER_ONLY, replaced
from crawler_plugin.wire.messages import Block, ForgettingBlock
from worker.index.entries import COLUMNS, OPTIONAL, Entries
from worker.index.urls import Group, UrlRun, groups_of, pack_group

_MAGIC: Final = b"DEDUPSN1"
_MAGIC_FORGETTING: Final = b"DEDUPSN2"
"""Of a snapshot whose ``block`` is a ``ForgettingBlock``; a program that does not know them reads the topic."""
_FRAME: Final = struct.Struct("<QI")
_PIECE: Final = 1 << 18
"""Entries of a piece, which has 16 MB then: it is written at once, and loaded as fast as memory is read."""
_KEPT: Final = COLUMNS | OPTIONAL
_COLUMNS: Final = tuple((name, str(dtype)) for name, dtype in _KEPT.items())
_MOST: Final = 1 << 32
"""Bytes that no frame reaches; a length above it was not written by this program."""


class SnapshotDamaged(Exception):
    """A file that this program did not write to its end, or did not write at all."""


class Abandoned(Exception):
    """No one waits for the file any more."""


class Snapshot(msgspec.Struct, frozen=True, array_like=True, kw_only=True):
    """All about a shard just after a batch, except its entries.

    ``block`` stands for all blocks up to its ``to``: their header's state and the clocks of all entries, no entries.
    ``mark`` is the hash of the record at ``to`` in ``fingerprints``: in another log it is another record. ``position``
    is where to read the index topic on; ``block_keys`` (key, last batch) names the blocks before it. ``columns`` are
    names and types, so that a program with other columns does not read them.
    """

    block: Block
    mark: bytes
    position: int
    block_keys: tuple[tuple[bytes, int], ...]
    entries: int
    columns: tuple[tuple[str, str], ...] = _COLUMNS


class _ForgettingSnapshot(Snapshot, frozen=True, array_like=True, kw_only=True):
    block: ForgettingBlock


class _Piece(msgspec.Struct, frozen=True, array_like=True):
    """Consecutive entries: ``count`` of them, a buffer a column, and (bytes, size, skip, count) a group of URLs.

    The buffer of a column that was left out is empty.
    """

    count: int
    columns: tuple[memoryview, ...]
    urls: tuple[tuple[bytes, int, int, int], ...]


_ENCODER: Final = msgspec.msgpack.Encoder()
_SNAPSHOTS: Final[dict[bytes, msgspec.msgpack.Decoder[Snapshot]]] = {
    _MAGIC: msgspec.msgpack.Decoder(Snapshot),
    _MAGIC_FORGETTING: msgspec.msgpack.Decoder(_ForgettingSnapshot),
}
_PIECES: Final = msgspec.msgpack.Decoder(_Piece)


def write(file: Path, writer: str, snapshot: Snapshot, entries: Entries, abandoned: Callable[[], bool]) -> None:
    """Put a snapshot in the place of the one before.

    No other user can read it. ``writer``, the name of this process, is part of the name of the temporary file next to
    it; ``abandoned`` is asked between pieces.

    Raises:
        Abandoned: it said so; the previous snapshot is still there.
        OSError: there is no space, or no permission to write.
    """
    with replaced(file, OWNER_ONLY, writer) as beside, beside.open("wb") as out:
        out.write(_MAGIC_FORGETTING if isinstance(snapshot.block, ForgettingBlock) else _MAGIC)
        _write_frame(out, snapshot)
        for start in range(0, len(entries), _PIECE):
            if abandoned():
                raise Abandoned
            _write_frame(out, _piece_of(entries[start : start + _PIECE]))


class SnapshotFile:
    """A snapshot that was found: its head is read at once, its entries when they are loaded.

    Raises:
        SnapshotDamaged: the head is not one of ours.
        OSError: the file cannot be read; ``FileNotFoundError``: there is none.
    """

    def __init__(self, file: Path) -> None:
        self.file: Final = file
        with file.open("rb") as source:
            self.head: Final = _read_head(source)
            self._begin: Final = source.tell()

    def entries(self) -> Iterator[Entries]:
        """The entries in portions, in the order of the log; their columns are read-only.

        Raises:
            SnapshotDamaged: torn, or changed since it was written. Entries that were yielded before must not be used.
            OSError: the file cannot be read.
        """
        found = 0
        last = (-1, -1)
        with self.file.open("rb") as source:
            source.seek(self._begin)
            while found < self.head.entries:
                piece = _entries_of(_read_frame(source))
                if not len(piece) or not piece.ascending or piece.first_order <= last:
                    raise SnapshotDamaged(f"its entries do not ascend after {last}")
                last = piece.last_order
                found += len(piece)
                yield piece
            if found > self.head.entries or last[0] > self.head.block.to or source.read(1):
                raise SnapshotDamaged(f"it goes on after its {self.head.entries} entries")


def _read_head(source: BinaryIO) -> Snapshot:
    if (decoder := _SNAPSHOTS.get(source.read(len(_MAGIC)))) is None:
        raise SnapshotDamaged("it is not a snapshot of this program's version")
    try:
        head = decoder.decode(_read_frame(source))
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise SnapshotDamaged(f"its head cannot be read: {error}") from error
    if head.columns != _COLUMNS:
        raise SnapshotDamaged(f"it has the columns {head.columns}, this program has {_COLUMNS}")
    return head


def _read_frame(source: BinaryIO) -> bytes:
    head = source.read(_FRAME.size)
    if len(head) < _FRAME.size:
        raise SnapshotDamaged(f"it ends at byte {source.tell()}, in the middle")
    length, crc = _FRAME.unpack(head)
    payload = source.read(length) if length < _MOST else b""
    if len(payload) < length:
        raise SnapshotDamaged(f"it ends at byte {source.tell()}, in the middle of {length} bytes")
    if zlib.crc32(payload) != crc:
        raise SnapshotDamaged(f"the checksum does not fit the {length} bytes before byte {source.tell()}")
    return payload


def _write_frame(out: BinaryIO, message: Snapshot | _Piece) -> None:
    payload = _ENCODER.encode(message)
    out.write(_FRAME.pack(len(payload), zlib.crc32(payload)))
    out.write(payload)


def _piece_of(entries: Entries) -> _Piece:
    columns = [np.ascontiguousarray(entries.column(name), dtype) for name, dtype in COLUMNS.items()]
    for name, dtype in OPTIONAL.items():
        column = entries.optional(name)
        columns.append(np.empty(0, dtype.base) if column is None else np.ascontiguousarray(column))
    groups = (
        (group.stored, group.size, group.skip, group.count)
        if isinstance(group.stored, bytes)
        else (pack_group(group.open()), group.count, 0, group.count)
        for group in groups_of(entries.urls)
    )
    return _Piece(len(entries), tuple(column.reshape(-1).view(np.uint8).data for column in columns), tuple(groups))


def _entries_of(payload: bytes) -> Entries:
    try:
        piece = _PIECES.decode(payload)
        columns: dict[str, Any] = {
            name: np.frombuffer(column, dtype)
            for (name, dtype), column in zip(_KEPT.items(), piece.columns, strict=True)
            if name in COLUMNS or len(column)
        }
        for _, size, skip, count in piece.urls:
            if skip < 0 or count < 0 or skip + count > size:
                raise ValueError(f"a group of {size} URLs has no {count} URLs after the first {skip}")
        return Entries(**columns, urls=UrlRun(Group(*group) for group in piece.urls))
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise SnapshotDamaged(f"a piece cannot be read: {error}") from error
