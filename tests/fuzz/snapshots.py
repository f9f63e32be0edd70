"""Snapshots of a shard on disk: every damaged one is ``SnapshotDamaged``, and the topic is read instead."""

from __future__ import annotations

import tempfile
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from crawler_plugin.wire.errors import UnreadableRecord
from tests.stream.shard.test_snapshot_file import LOG, written
from worker.index.entries import Entries
from worker.stream.shard.snapshot_file import _FRAME, _MAGIC, SnapshotDamaged, SnapshotFile

FOLDER = Path(tempfile.mkdtemp(prefix="fuzz-snapshots-"))
WHOLE = written(FOLDER, Entries.from_rows(LOG.rows(-1, 2))).read_bytes()
SEPARATOR = b"\0frame\0"


def payloads(whole: bytes) -> list[bytes]:
    """The payloads of its frames."""
    found, place = [], len(_MAGIC)
    while place < len(whole):
        length, _ = _FRAME.unpack_from(whole, place)
        place += _FRAME.size + length
        found.append(whole[place - length : place])
    return found


def framed(parts: list[bytes]) -> bytes:
    """A correct file of frames with these payloads."""
    return _MAGIC + b"".join(_FRAME.pack(len(part), zlib.crc32(part)) + part for part in parts)


def attack(data: bytes) -> None:
    """Read the data as a file, and as payloads of good frames."""
    for content in (data, framed(data.split(SEPARATOR)), framed([payloads(WHOLE)[0], data])):
        file = FOLDER / "tried.snapshot"
        file.write_bytes(content)
        try:
            for entries in SnapshotFile(file).entries():
                assert entries.ascending
                _read_urls(entries)
        except SnapshotDamaged:
            continue


def _read_urls(entries: Entries) -> None:
    with suppress(UnreadableRecord):  # as in a block: a group of URLs is opened when one of them is read
        assert len(list(entries.urls)) == len(entries)


def seeds() -> Iterator[bytes]:
    """A snapshot, and its payloads."""
    yield WHOLE
    yield SEPARATOR.join(payloads(WHOLE))
    yield from payloads(WHOLE)
    yield bytes([payloads(WHOLE)[1][0] + 1]) + payloads(WHOLE)[1][1:] + b"\x91" * 5000
