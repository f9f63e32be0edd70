"""Records of a spool: each holds one page and can be read, checked and found again without the others.

A record is a header of 32 bytes, little endian, then the page's key on ``pages`` (its canonical URL) and the payload:

======  =====  =======================================================================================
offset  bytes  content
======  =====  =======================================================================================
0       4      ``MAGIC``
4       1      version of the payload; the header is the same in all versions
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
equals, or a ``Destination``, with a key that no mark has: one stands before the pages of each crawl and says where they
go.

The payload is MessagePack: the record's headers on ``pages`` as pairs, and its value. The key stands outside the
payload so that a page whose payload is torn or damaged can be named. After damage, reading goes on at the next offset
where a whole record begins.

A changed byte costs its own page and no other. That is why the spool is not a SQLite database, which would need half
the statements: when a byte of its tree changed, it lost up to all pages or returned some twice; a full disk left none
of the pages that were written together; a second file had to stay next to the first; and sending took a third longer or
more.
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
"""Differs from ``OPEN`` in three bits, so that a single flipped bit does not make a page look sent."""
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

_HEADER: Final = struct.Struct("<4sBBBBIIIIII")
_CHECK_OFFSET: Final = _HEADER.size - 4

Content: TypeAlias = tuple[list[tuple[str, bytes]], bytes]
ReadAt: TypeAlias = Callable[[int, int], bytes]
"""Reads this many bytes from an offset on; fewer at the end of the file."""


class Destination(msgspec.Struct, frozen=True):
    """Where a crawl publishes: the topic of its pages, the topic that gets their number, brokers, and its job."""

    topic: str
    jobs: str
    servers: tuple[str, ...]
    job: str | None = None

    def is_that_of(self, other: Destination) -> bool:
        """Whether pages of both go to the same topic, as far as can be told: settings name only some brokers of a
        cluster."""
        return self.topic == other.topic and not set(self.servers).isdisjoint(other.servers)

    def at(self, servers: tuple[str, ...]) -> Destination:
        """The same destination through other brokers."""
        return Destination(self.topic, self.jobs, servers, self.job)

    def __str__(self) -> str:
        return f"{self.topic} at {','.join(self.servers)}"


class SpooledRecord(NamedTuple):
    """A record whose header and key are whole: a page, a mark of a job, or a destination.

    ``content`` holds its bytes, fewer than ``size`` where the file ends inside it.
    """

    offset: int
    size: int
    version: int
    codec: int
    is_sent: bool
    plain_bytes: int
    payload_check: int
    key: bytes
    content: bytes

    @property
    def payload(self) -> bytes:
        """The bytes behind the key."""
        return self.content[HEADER_BYTES + len(self.key) :]

    @property
    def is_whole(self) -> bool:
        """Whether the payload is unchanged since it was written."""
        return len(self.content) == self.size and zlib.crc32(self.payload) == self.payload_check

    @property
    def is_known(self) -> bool:
        """Whether this program knows its version."""
        return (self.version, self.codec) == (VERSION, ZLIB)

    @property
    def is_destination(self) -> bool:
        """Whether the record is a destination."""
        return self.key == _DESTINATION_KEY

    @property
    def is_mark(self) -> bool:
        """Whether the record is a mark of a job."""
        return _IN_A_MARK in self.key and not self.is_destination

    def page(self) -> PageRecord:
        """The page; a record of another kind comes in the form of a page, too.

        Raises:
            UnreadableRecord: the record is torn or damaged, or of a later version.
        """
        if not (self.is_whole and self.is_known):
            raise UnreadableRecord(f"a record of a spool: damaged, or of version {self.version}")
        try:
            unpacking = zlib.decompressobj()
            plain = unpacking.decompress(self.payload, self.plain_bytes) if self.plain_bytes else b""
            headers, value = msgspec.msgpack.decode(plain, type=Content)
        except (zlib.error, msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise UnreadableRecord(f"a record of a spool: {error}") from error
        told = dict(headers)
        url = told.get("url", self.key).decode(errors="replace")
        return PageRecord(url, self.key, value, tuple(headers), is_text=told.get("form") == b"text")

    def destination(self) -> Destination:
        """The destination in the record.

        Raises:
            UnreadableRecord: it is not a destination that this program knows.
        """
        try:
            return msgspec.json.decode(self.page().value, type=Destination)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise UnreadableRecord(f"a record of a spool: {error}") from error


class Damage(NamedTuple):
    """Bytes from ``start`` up to ``end`` that are not a whole record; ``keys`` are those of pages known to have been
    there."""

    start: int
    end: int
    keys: tuple[str, ...]


def encode(page: PageRecord) -> bytes:
    """The record of a page that is not sent yet."""
    plain = msgspec.msgpack.encode((page.headers, page.value))
    payload = zlib.compress(plain, COMPRESSION_LEVEL)
    return with_header(page.key, payload, len(plain))


def encode_mark(mark: JobMark) -> bytes:
    """The record of a mark."""
    return encode(PageRecord("", mark.key, mark.encode(), ()))


def encode_destination(destination: Destination) -> bytes:
    """The record of a destination."""
    return encode(PageRecord("", _DESTINATION_KEY, msgspec.json.encode(destination), ()))


def record_at(read_at: ReadAt, offset: int) -> SpooledRecord | None:
    """The record that begins there, if its header and key are whole."""
    start = read_at(offset, HEADER_BYTES)
    if len(start) < HEADER_BYTES or not start.startswith(MAGIC):
        return None
    _, version, codec, state, _, *numbers = _HEADER.unpack(start)
    key_bytes, payload_bytes, plain_bytes, _, payload_check, check = numbers
    if key_bytes > LONGEST_KEY:
        return None
    key = read_at(offset + HEADER_BYTES, key_bytes)
    if len(key) < key_bytes or check != _check(start, key):
        return None
    size = HEADER_BYTES + key_bytes + payload_bytes
    content = read_at(offset, size)
    return SpooledRecord(offset, size, version, codec, state == SENT, plain_bytes, payload_check, key, content)


def scan(read_at: ReadAt, end: int) -> Iterator[SpooledRecord | Damage]:
    """All whole records up to ``end`` and the damage between them, in order.

    Raises:
        Refused: a record is of a later version.
    """
    offset = damaged_from = 0
    keys: list[str] = []
    while offset < end:
        record = record_at(read_at, offset)
        if record is None or not record.is_whole:
            if record is not None:
                keys.append(record.key.decode(errors="replace"))
            offset = _next_magic(read_at, offset + 1, end)
            continue
        if not record.is_known:
            raise Refused(
                f"the record at byte {offset} has version {record.version} and compression {record.codec}, which this "
                f"program (version {VERSION}) does not know; send it with the program that wrote it"
            )
        if damaged_from < offset:
            yield Damage(damaged_from, offset, tuple(keys))
        yield record
        offset = damaged_from = offset + record.size
        keys = []
    if damaged_from < end:
        yield Damage(damaged_from, end, tuple(keys))


def with_header(key: bytes, payload: bytes, plain_bytes: int) -> bytes:
    """The record of a payload that has ``plain_bytes`` bytes unpacked."""
    told = (MAGIC, VERSION, ZLIB, OPEN, 0, len(key), len(payload), plain_bytes, 0, zlib.crc32(payload))
    check = _check(_HEADER.pack(*told, 0), key)
    return _HEADER.pack(*told, check) + key + payload


def _check(header: bytes, key: bytes) -> int:
    before, after = header[:STATE_OFFSET], header[STATE_OFFSET + 1 : _CHECK_OFFSET]
    return zlib.crc32(key, zlib.crc32(after, zlib.crc32(before)))


def _next_magic(read_at: ReadAt, offset: int, end: int) -> int:
    """The next offset at which a record may begin, from ``offset`` on; ``end`` if there is none."""
    while offset < end:
        found = read_at(offset, min(_SEARCHED_BYTES, end - offset))
        place = found.find(MAGIC)
        if place >= 0:
            return offset + place
        if len(found) < len(MAGIC):
            return end
        offset += len(found) - len(MAGIC) + 1
    return end
