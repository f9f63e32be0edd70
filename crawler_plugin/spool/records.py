"""Records of a spool: each holds one page and can be read, checked and found again without the others.

A record is a header of 32 bytes, little endian, then the page's key on ``pages`` (its canonical URL) and the payload:

======  =====  =======================================================================================
offset  bytes  content
======  =====  =======================================================================================
0       4      ``MAGIC``
4       1      version of the payload; the header stays as it is in all versions
5       1      how the payload is compressed: 1 for zlib
6       1      ``OPEN``, or ``SENT`` once Kafka has confirmed the page; the only byte that is ever changed
7       1      zero
8       4      length of the key
12      4      length of the payload
16      4      length of the payload before it was compressed
20      4      zero
24      4      CRC-32 of the payload
28      4      CRC-32 of the header before it (state left out) and the key
======  =====  =======================================================================================

A record may also hold a mark of a job (``crawler_plugin.wire.outcomes.JobMark``) with its key, which no canonical URL
equals, or a ``Destination``, with a key that no mark has: before the pages of each crawl stands where they are to go.

The payload is MessagePack: the record's headers on ``pages`` as pairs, and its value. The key stands outside so that a
page whose payload is torn or damaged can be named. After damage, reading goes on at the next place where a whole record
begins, wherever that is.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple, TypeAlias

import msgspec

from crawler_plugin.record import PageRecord
from crawler_plugin.wire.errors import Refused, UnreadableRecord
from crawler_plugin.wire.outcomes import JobMark

MAGIC: Final = b"\x89DSP"
VERSION: Final = 1
ZLIB: Final = 1
OPEN: Final = 0x4F
SENT: Final = 0x53
"""Differs from ``OPEN`` in three bits: one that flips does not make a page look as if it had been sent."""
STATE_OFFSET: Final = 6
HEADER_BYTES: Final = 32
LONGEST_KEY: Final = 1024 * 1024
COMPRESSION_LEVEL: Final = 1
"""HTML becomes four times smaller; higher levels take several times as long for a few percent."""
_SEARCHED_BYTES: Final = 1024 * 1024
_IN_A_MARK: Final = b"\n"
"""In the key of each mark, and in no URL."""
_DESTINATION_KEY: Final = b"\n"
"""A mark's key begins with the name of its job."""

_HEADER: Final = struct.Struct("<4sBBBBIIIII")
_CHECK: Final = struct.Struct("<I")

Content: TypeAlias = tuple[list[tuple[str, bytes]], bytes]
ReadAt: TypeAlias = Callable[[int, int], bytes]
"""So many bytes from this offset on; fewer at the end of the file."""


class RecordHeader(NamedTuple):
    """What stands before a payload; ``size`` is the whole record's."""

    version: int
    codec: int
    is_sent: bool
    payload_bytes: int
    plain_bytes: int
    payload_check: int
    key: bytes

    @property
    def size(self) -> int:
        """Bytes of the whole record."""
        return HEADER_BYTES + len(self.key) + self.payload_bytes


class Destination(msgspec.Struct, frozen=True):
    """Where a crawl publishes: the topic of its pages, the one that is told how many they are, brokers, and its job."""

    topic: str
    jobs: str
    servers: tuple[str, ...]
    job: str | None = None

    def is_that_of(self, other: Destination) -> bool:
        """Whether pages of both go to the same topic, as far as can be said: of a cluster some brokers are named."""
        return self.topic == other.topic and not set(self.servers).isdisjoint(other.servers)

    def at(self, servers: tuple[str, ...]) -> Destination:
        """The same by other brokers."""
        return Destination(self.topic, self.jobs, servers, self.job)

    def __str__(self) -> str:
        return f"{self.topic} at {','.join(self.servers)}"


class SpooledRecord(NamedTuple):
    """A whole record, at this offset: a page, a mark of a job, or a destination."""

    offset: int
    size: int
    is_sent: bool
    is_mark: bool = False
    is_destination: bool = False


class Damage(NamedTuple):
    """Bytes from ``start`` up to ``end`` that are no whole record; ``keys`` of pages known to have been there."""

    start: int
    end: int
    keys: tuple[str, ...]


def encode(page: PageRecord) -> bytes:
    """The record of a page that is not sent."""
    plain = msgspec.msgpack.encode((page.headers, page.value))
    payload = zlib.compress(plain, COMPRESSION_LEVEL)
    return _header(page.key, payload, len(plain)) + page.key + payload


def encode_mark(mark: JobMark) -> bytes:
    """The record of a mark."""
    return encode(PageRecord("", mark.key, mark.encode(), ()))


def encode_destination(destination: Destination) -> bytes:
    """The record of a destination."""
    return encode(PageRecord("", _DESTINATION_KEY, msgspec.json.encode(destination), ()))


def decode_destination(record: bytes) -> Destination:
    """The destination of a whole record.

    Raises:
        UnreadableRecord: it is none that this program knows.
    """
    try:
        return msgspec.json.decode(decode(record).value, type=Destination)
    except msgspec.MsgspecError as error:
        raise UnreadableRecord(f"a record of a spool: {error}") from error


def decode(record: bytes) -> PageRecord:
    """The page of a whole record.

    Raises:
        UnreadableRecord: it is torn or damaged, or of a later version.
    """
    header = read_header(record)
    if header is None or header.size != len(record):
        raise UnreadableRecord("a record of a spool: its header is damaged")
    payload = record[HEADER_BYTES + len(header.key) :]
    if zlib.crc32(payload) != header.payload_check:
        raise UnreadableRecord("a record of a spool: its payload is damaged")
    if (header.version, header.codec) != (VERSION, ZLIB):
        raise UnreadableRecord(f"a record of a spool: version {header.version}, compression {header.codec}")
    try:
        unpacking = zlib.decompressobj()
        plain = unpacking.decompress(payload, header.plain_bytes) if header.plain_bytes else b""
        headers, value = msgspec.msgpack.decode(plain, type=Content)
    except (zlib.error, msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise UnreadableRecord(f"a record of a spool: {error}") from error
    told = dict(headers)
    url = told.get("url", header.key).decode(errors="replace")
    return PageRecord(url, header.key, value, tuple(headers), is_text=told.get("form") == b"text")


def read_header(start: bytes) -> RecordHeader | None:
    """The header of a record that begins with these bytes, if it and the key are whole."""
    if len(start) < HEADER_BYTES or not start.startswith(MAGIC):
        return None
    _, version, codec, state, _, key_bytes, payload_bytes, plain_bytes, _, payload_check = _HEADER.unpack_from(start)
    (check,) = _CHECK.unpack_from(start, _HEADER.size)
    key = start[HEADER_BYTES : HEADER_BYTES + key_bytes]
    if key_bytes > LONGEST_KEY or len(key) != key_bytes or check != _check(start, key):
        return None
    return RecordHeader(version, codec, state == SENT, payload_bytes, plain_bytes, payload_check, key)


def scan(read_at: ReadAt, end: int) -> Iterator[SpooledRecord | Damage]:
    """All records up to ``end`` and the damage between them, in order, each record's checksums compared.

    Raises:
        Refused: a record is of a later version.
    """
    offset = damaged_from = 0
    keys: list[str] = []
    while offset < end:
        header = _header_at(read_at, offset)
        if header is not None and _is_whole(read_at, offset, header):
            if header.version != VERSION or header.codec != ZLIB:
                raise Refused(
                    f"at byte {offset} begins a record of version {header.version}, compression {header.codec}, which "
                    f"this program (version {VERSION}) does not know; send it with the program that wrote it"
                )
            if damaged_from < offset:
                yield Damage(damaged_from, offset, tuple(keys))
            is_destination = header.key == _DESTINATION_KEY
            is_mark = _IN_A_MARK in header.key and not is_destination
            yield SpooledRecord(offset, header.size, header.is_sent, is_mark, is_destination)
            offset = damaged_from = offset + header.size
            keys = []
            continue
        if header is not None:
            keys.append(header.key.decode(errors="replace"))
        offset = _next_magic(read_at, offset + 1, end)
    if damaged_from < end:
        yield Damage(damaged_from, end, tuple(keys))


def _header(key: bytes, payload: bytes, plain_bytes: int) -> bytes:
    check = zlib.crc32(payload)
    header = _HEADER.pack(MAGIC, VERSION, ZLIB, OPEN, 0, len(key), len(payload), plain_bytes, 0, check)
    return header + _CHECK.pack(_check(header, key))


def _check(header: bytes, key: bytes) -> int:
    before, after = header[:STATE_OFFSET], header[STATE_OFFSET + 1 : _HEADER.size]
    return zlib.crc32(key, zlib.crc32(after, zlib.crc32(before)))


def _header_at(read_at: ReadAt, offset: int) -> RecordHeader | None:
    start = read_at(offset, 4096)
    header = read_header(start)
    if header is None and len(start) >= HEADER_BYTES and start.startswith(MAGIC):
        (key_bytes,) = struct.unpack_from("<I", start, 8)
        if HEADER_BYTES + key_bytes > len(start) and key_bytes <= LONGEST_KEY:
            header = read_header(read_at(offset, HEADER_BYTES + key_bytes))
    return header


def _is_whole(read_at: ReadAt, offset: int, header: RecordHeader) -> bool:
    payload = read_at(offset + HEADER_BYTES + len(header.key), header.payload_bytes)
    return len(payload) == header.payload_bytes and zlib.crc32(payload) == header.payload_check


def _next_magic(read_at: ReadAt, offset: int, end: int) -> int:
    """Where a record may begin, from ``offset`` on; ``end`` if nowhere."""
    while offset < end:
        found = read_at(offset, min(_SEARCHED_BYTES, end - offset))
        place = found.find(MAGIC)
        if place >= 0:
            return offset + place
        if len(found) < len(MAGIC):
            return end
        offset += len(found) - len(MAGIC) + 1
    return end
