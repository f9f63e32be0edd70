"""Record batches in the message format v2, as brokers send them: whole, forged and cut off."""

from __future__ import annotations

import gzip
import struct
from collections.abc import Sequence
from typing import Any, Final

import crc32c
import lz4.frame
import snappy
import zstandard
from kafka.codec import snappy_encode
from kafka.record.memory_records import MemoryRecordsBuilder

NONE, GZIP, SNAPPY, LZ4, ZSTD = range(5)
HEADER: Final = struct.Struct(">qiibIhiqqqhii")
ATTRIBUTES_AT: Final = 21
TIME: Final = 1_700_000_000_000
LOG_APPEND_TIME: Final = 8

CODECS: Final[dict[str, tuple[int, Any]]] = {
    "none": (NONE, bytes),
    "gzip": (GZIP, gzip.compress),
    "gzip in two members": (GZIP, lambda data: gzip.compress(data[:100]) + gzip.compress(data[100:])),
    "snappy as Java writes it": (SNAPPY, snappy_encode),
    "snappy as librdkafka writes it": (SNAPPY, snappy.compress),
    "lz4": (LZ4, lz4.frame.compress),
    "lz4 in blocks of their own": (LZ4, lambda data: lz4.frame.compress(data, block_linked=False)),
    "zstd": (ZSTD, zstandard.ZstdCompressor().compress),
    "zstd in two frames": (
        ZSTD,
        lambda data: (
            zstandard.ZstdCompressor().compress(data[:100]) + zstandard.ZstdCompressor(level=19).compress(data[100:])
        ),
    ),
}
"""How a batch is compressed: the number of the codec, and the function."""

Fields = tuple[bytes | None, bytes | None, Sequence[tuple[str, bytes | None]]]
"""Key, value and headers."""


def records_of(contents: Sequence[Fields]) -> bytes:
    """The records of a batch, uncompressed."""
    builder = MemoryRecordsBuilder(2, NONE, 1 << 40)
    for number, (key, value, headers) in enumerate(contents):
        builder.append(TIME + number, key, value, list(headers))
    builder.close()
    return bytes(builder.buffer()[HEADER.size :])


def sealed(packed: bytes, codec: int, count: int, base: int = 0, last: int | None = None) -> bytes:
    """A batch around compressed records, dated by the broker; ``last`` is the delta of its last offset."""
    delta = count - 1 if last is None else last
    after = struct.pack(">hiqqqhii", codec | LOG_APPEND_TIME, delta, TIME, TIME, -1, -1, -1, count) + packed
    return struct.pack(">qiibI", base, len(after) + 9, 0, 2, crc32c.crc32c(after)) + after


def batch(kind: str, contents: Sequence[Fields], base: int = 0) -> bytes:
    """A correct batch."""
    codec, compress = CODECS[kind]
    return sealed(compress(records_of(contents)), codec, len(contents), base)
