"""Writes record batches in the message format v2, as the records of a transaction go to the broker.

kafka-python writes record by record, each a byte at a time into a buffer of its own, and keeps a future for each: that
takes ten times as long as all the work here. The client writes only the header of a batch, since that has the
producer's sequence number in it (``worker.stream.kafka.private.hand_over``).

Source: KIP-98, and https://kafka.apache.org/documentation/#record.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from kafka.record.default_records import DefaultRecordBatch

from worker.stream.kafka.compression import Pack
from worker.stream.kafka.decompression import NONE, ZSTD
from worker.stream.log import Output

BATCH_BYTES: Final = 1 << 20
"""kafka-python's 16 KiB would make a request of every page."""
HEADER_BYTES: Final = DefaultRecordBatch.HEADER_STRUCT.size
"""In front of the records of a batch."""
MOST_FRAMING: Final = 21
"""The most that a record takes in addition to key, value and headers."""
_SMALL: Final = 1 << 13
"""Lengths below this are looked up: they take two bytes at most, as nearly all do."""


def _varint(number: int) -> bytes:
    """A number that is not negative in Kafka's format: twice its value, seven bits a byte, the lowest ones first."""
    left, written = number << 1, bytearray()
    while left > 0x7F:
        written.append(left & 0x7F | 0x80)
        left >>= 7
    written.append(left)
    return bytes(written)


_VARINTS: Final = tuple(map(_varint, range(_SMALL)))
_NULL: Final = b"\x01"
"""The length of a missing part: -1."""


@dataclass(frozen=True)
class RecordBatch:
    """Records of one partition: ``data`` is a batch whose header is still empty, ``outputs`` are its records, in order,
    written at ``timestamp`` in milliseconds. ``codec`` is how its records are compressed, 0 for not at all."""

    topic: str
    partition: int
    data: bytearray
    outputs: Sequence[Output]
    timestamp: int
    codec: int


class TooLarge(Exception):
    """Raised for an output that makes a larger request than the client may send: ``size`` in bytes."""

    def __init__(self, output: Output, size: int) -> None:
        super().__init__(output, size)
        self.output = output
        self.size = size


def batches_of(outputs: Iterable[Output], timestamp: int, most_bytes: int, pack: Pack | None) -> Iterator[RecordBatch]:
    """Outputs as batches of about ``BATCH_BYTES``, the records of each partition in the order of the outputs.

    All sizes are those before ``pack``: how large a page may be does not depend on the pages that it is compressed
    with.

    Raises:
        TooLarge: a record takes more than ``most_bytes`` in a batch of its own.
        TypeError: a header's name is no text.
    """
    open_ones: dict[tuple[str, int], _Open] = {}
    for output in outputs:
        place = output.topic, output.partition
        content = _content(output)
        size = sum(map(len, content))
        if HEADER_BYTES + MOST_FRAMING + size > most_bytes:
            raise TooLarge(output, HEADER_BYTES + MOST_FRAMING + size)
        batch = open_ones.get(place)
        if batch is not None and batch.size + size > BATCH_BYTES:
            yield batch.closed(timestamp, pack)
            batch = None
        if batch is None:
            batch = open_ones[place] = _Open()
        batch.add(output, content, size)
    for batch in open_ones.values():
        yield batch.closed(timestamp, pack)


class _Open:
    """A batch that takes further records."""

    def __init__(self) -> None:
        self.size = HEADER_BYTES
        self._parts = [bytes(HEADER_BYTES)]
        self._outputs: list[Output] = []

    def add(self, output: Output, content: list[bytes], size: int) -> None:
        number = _length(len(self._outputs))
        body = 2 + len(number) + size  # attributes and the difference to the time, both 0
        head = _length(body) + b"\0\0" + number
        self._parts.append(head)
        self._parts += content
        self._outputs.append(output)
        self.size += len(head) + size

    def closed(self, timestamp: int, pack: Pack | None) -> RecordBatch:
        first, codec = self._outputs[0], NONE
        data = bytearray().join(self._parts)
        if pack is not None:
            packed = pack(memoryview(data)[HEADER_BYTES:])
            if HEADER_BYTES + len(packed) < len(data):
                data[HEADER_BYTES:] = packed
                codec = ZSTD
        return RecordBatch(first.topic, first.partition, data, self._outputs, timestamp, codec)


def _content(output: Output) -> list[bytes]:
    """Key, value and headers. A record with neither key nor value gets an empty value, and so does a header without
    one: clients read both, and refuse to write them."""
    key, value = output.key, output.value
    if value is None and key is None:
        value = b""
    parts = [_NULL] if key is None else [_length(len(key)), key]
    parts += [_NULL] if value is None else [_length(len(value)), value]
    parts.append(_length(len(output.headers)))
    for name, content in output.headers:
        content = content or b""
        parts += (_name(name), _length(len(content)), content)
    return parts


def _length(number: int) -> bytes:
    return _VARINTS[number] if number < _SMALL else _varint(number)


@lru_cache(1024)
def _name(name: str) -> bytes:
    """A header's name after its length; a crawl uses a dozen."""
    encoded = bytes(name, "utf-8")
    return _length(len(encoded)) + encoded
