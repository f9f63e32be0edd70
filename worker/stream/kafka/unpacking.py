"""Parses fetched record batches in place of kafka-python: a record at a time, however much they unpack to.

kafka-python unpacks a compressed batch as a whole, and raises at the first record that it cannot parse. Here a batch is
a stream, of which memory holds no more than a piece in addition to the record that is read:

1. Of a record that is too large only the key is read, and its place and time, which stand in front of its content.
2. A record that contradicts itself, or has a header whose name is no text, does not keep other records from being read.
3. Where a batch breaks off, none of its further records can be read; their offsets are known.
4. A poll that has unpacked enough ends, with the records that it has; the next poll goes on from there.

Records of the cases 1 to 3 come out as records without value and headers that say why. The checksum over a whole batch
is checked before any of it is read: where it does not fit, the broker's disk or memory has damaged the batch, so no
single record can be blamed.

Brokers from version 4.0 on know the message format v2 only, and deliver all records in it; answers of older brokers
are left to kafka-python.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from kafka import errors
from kafka.consumer.fetcher import Fetcher
from kafka.record.default_records import DefaultRecordBatch
from kafka.record.util import decode_varint

from worker.stream.kafka.decompression import NONE, unpacked
from worker.stream.kafka.private import batches_in_place, fetcher_as, packed_content
from worker.stream.log import Record

POLL_BYTES: Final = 16 << 20
"""A poll ends when it has unpacked this much: gzip takes 50 ms for it, and other workers wait during that time."""
MOST_HEADERS: Final = 1000
"""A record with more headers cannot be read. Two bytes can be a header that takes a hundred bytes in memory."""
MOST_KEY_BYTES: Final = 4096
"""A longer key of a record that is too large is not read either."""
HEAD_BYTES: Final = 5 + 1 + 10 + 5
"""The most that the length, the attributes, the time and the offset of a record take, in front of everything else."""


class Head(NamedTuple):
    """The beginning of a record of ``length`` bytes, of which ``rest`` follow: key, value and headers."""

    length: int
    timestamp: int
    offset: int
    rest: int


class Torn(Exception):
    """Raised where no further record of a batch can be read."""


class PollBudget:
    """How much a poll may unpack."""

    def __init__(self) -> None:
        self.left = POLL_BYTES

    @property
    def spent(self) -> bool:
        """Whether the poll is to end."""
        return self.left <= 0


class Window:
    """The unpacked content of a batch, as far as it is needed: ``data`` from ``place`` on."""

    def __init__(self, batch: DefaultRecordBatch, budget: PollBudget) -> None:
        packed = packed_content(batch)
        self.data: memoryview | bytes = packed if batch.compression_type == NONE else b""
        self.place = 0
        self._pieces = iter(()) if batch.compression_type == NONE else unpacked(batch.compression_type, packed)
        self._budget = budget
        self._why = "the batch ends"

    def reach(self, size: int) -> bool:
        """Unpack until there are this many bytes from ``place`` on; false if there are fewer."""
        missing = self.place + size - len(self.data)
        if missing <= 0:
            return True
        parts = [bytes(self.data[self.place :])]
        self.data, self.place = b"", 0
        while missing > 0 and (piece := self._next_piece()) is not None:
            parts.append(piece)
            missing -= len(piece)
        self.data = b"".join(parts)
        return missing <= 0

    def pass_over(self, size: int) -> Iterator[None]:
        """Skip this many bytes; yields whenever the poll has unpacked enough; the next poll then goes on with it."""
        while size > len(self.data) - self.place:
            size -= len(self.data) - self.place
            piece = self._next_piece()
            if piece is None:
                raise self.torn()
            self.data, self.place = piece, 0
            if self._budget.spent:
                yield
        self.place += size

    def torn(self) -> Torn:
        """The exception that says why no record follows."""
        return Torn(f"{self._why} before its last record")

    def _next_piece(self) -> bytes | None:
        try:
            piece = next(self._pieces, None)
        except MemoryError:
            raise
        except Exception as error:  # each library has exceptions of its own, of no common kind
            self._why = f"the batch cannot be unpacked further ({type(error).__name__}: {error})"
            self._pieces = iter(())
            return None
        if piece is not None:
            self._budget.left -= len(piece)
        return piece


class Unpacking(Fetcher.PartitionRecords):  # type: ignore[misc]
    """The records of one answer of the broker for one partition."""

    def __init__(
        self, most_bytes: int, budget: PollBudget, fetch_offset: int, tp: Any, records: Any, **more: Any
    ) -> None:
        super().__init__(fetch_offset, tp, records, **more)
        self._most_bytes = most_bytes
        self._budget = budget
        self._next_inline_exception: Exception | None = None
        self.record_iterator = self._all(batches_in_place(records))

    def take(self, n: int | None = None) -> list[Record]:
        """At most this many records, fewer if the poll has unpacked enough.

        Raises:
            KafkaError: a batch is damaged, or its codec is not installed; the next call raises it again.
        """
        taken: list[Record] = []
        if self._next_inline_exception is not None:
            raise self._next_inline_exception
        try:
            for record in self.record_iterator:
                if record is not None:
                    self.next_fetch_offset = record.offset + 1
                    taken.append(record)
                if record is None or len(taken) == n:
                    break
        except Exception as error:
            self._next_inline_exception = error
            if not taken:
                raise
        return taken

    def _all(self, batches: Any) -> Iterator[Record | None]:
        """The records of all batches from the fetched offset on; None where the poll is to end."""
        while (batch := batches.next_batch()) is not None:
            if self.check_crcs and not batch.validate_crc():
                raise errors.CorruptRecordError(
                    f"the batch at offset {batch.base_offset} of {self.topic_partition} failed crc check"
                )
            if batch.magic < 2:
                raise errors.UnsupportedVersionError(
                    f"the batch at offset {batch.base_offset} of {self.topic_partition} has the message format "
                    f"v{batch.magic}, which brokers from 4.0 on do not give out"
                )
            self.leader_epoch = batch.leader_epoch
            if not (self._is_void(batch) or batch.is_control_batch):
                yield from self._of(batch)
            self.next_fetch_offset = max(self.next_fetch_offset, batch.next_offset)
        self.drain()

    def _is_void(self, batch: DefaultRecordBatch) -> bool:
        """Whether a transaction that was aborted wrote this batch; keeps account of such transactions."""
        if not (self.isolation_level and batch.has_producer_id()):
            return False
        self._consume_aborted_transactions_up_to(batch.last_offset)
        if self._contains_abort_marker(batch):
            self.aborted_producer_ids.discard(batch.producer_id)
            return False
        return bool(self._is_batch_aborted(batch))

    def _of(self, batch: DefaultRecordBatch) -> Iterator[Record | None]:
        """The records of one batch, without those below the fetched offset."""
        window = Window(batch, self._budget)
        partition, last, left = self.topic_partition.partition, batch.base_offset - 1, batch.records_count
        try:
            while left > 0:
                head = _head(batch, window, last)
                if head.offset < self.fetch_offset:
                    yield from window.pass_over(head.rest)
                elif head.length > self._most_bytes:
                    key = _key(window, head)
                    yield from window.pass_over(head.rest)
                    yield Record(partition, head.offset, key, b"", (), head.timestamp, oversize=head.length)
                else:
                    if not window.reach(head.rest):
                        raise window.torn()
                    yield _read(window, partition, head)
                    window.place += head.rest
                last, left = head.offset, left - 1
                self.bytes_read += head.length
                if self._budget.spent:
                    yield None
        except Torn as error:
            for offset in range(max(last + 1, self.fetch_offset), min(last + left, batch.last_offset) + 1):
                yield Record(partition, offset, None, b"", (), batch.max_timestamp, unreadable=str(error))


def _head(batch: DefaultRecordBatch, window: Window, last: int) -> Head:
    """Read the head at the window's place, and move the window past it; ``last`` is the offset before."""
    window.reach(HEAD_BYTES)  # the last record may be shorter
    try:
        length, begin = decode_varint(window.data, window.place)
        delta, place = decode_varint(window.data, begin + 1)
        number, place = decode_varint(window.data, place)
    except IndexError:
        raise window.torn() from None
    except ValueError as error:
        raise Torn(f"a record does not say how long it is ({error})") from error
    offset = batch.base_offset + number
    rest = begin + length - place
    if not last < offset <= batch.last_offset or rest < 0:
        raise Torn(f"a record of {length} bytes says that its offset is {offset}, after {last}")
    window.place = place
    timestamp = batch.max_timestamp if batch.timestamp_type else batch.first_timestamp + delta
    return Head(length, timestamp, offset, rest)


def _key(window: Window, head: Head) -> bytes | None:
    """The key of a record that is not read: it shows people which page it is. The window stays where it is."""
    window.reach(min(head.rest, 5 + MOST_KEY_BYTES))
    try:
        size, place = decode_varint(window.data, window.place)
    except (ValueError, IndexError):
        return None
    return bytes(window.data[place : place + size]) if 0 <= size <= min(MOST_KEY_BYTES, head.rest) else None


def _read(window: Window, partition: int, head: Head) -> Record:
    """The record whose key begins at the window's place."""
    try:
        key, value, headers = _content(window.data, window.place, window.place + head.rest)
    except (ValueError, IndexError) as error:
        why = f"{type(error).__name__}: {error}"
        return Record(partition, head.offset, None, b"", (), head.timestamp, unreadable=why)
    return Record(partition, head.offset, key, value, headers, head.timestamp)


def _content(data: memoryview | bytes, place: int, end: int) -> tuple[bytes | None, bytes | None, list[Any]]:
    """Key, value and headers; foreign headers may have no value."""
    key, place = _nullable(data, place)
    value, place = _nullable(data, place)
    count, place = decode_varint(data, place)
    if not 0 <= count <= MOST_HEADERS:
        raise ValueError(f"it has {count} headers, and at most {MOST_HEADERS} are read")
    headers = []
    for _ in range(count):
        size, place = decode_varint(data, place)
        if size < 0:
            raise ValueError("a header has no name")
        name = str(data[place : place + size], "utf-8")
        content, place = _nullable(data, place + size)
        headers.append((name, content))
    if place != end:
        raise ValueError("the lengths of its parts do not add up to its own")
    return key, value, headers


def _nullable(data: memoryview | bytes, place: int) -> tuple[bytes | None, int]:
    size, place = decode_varint(data, place)
    return (None, place) if size < 0 else (bytes(data[place : place + size]), place + size)


class BoundedFetcher(Fetcher):  # type: ignore[misc]
    """A consumer's fetcher that parses answers with ``Unpacking``."""

    most_bytes: int
    budget: PollBudget
    asking: Any = None
    """The future of the client's own thread's last request to the broker for more."""

    def fetch_records(
        self, max_records: int | None = None, update_offsets: bool = True, timeout_ms: float | None = None
    ) -> Any:
        """As kafka-python's, but a poll that waits for no answer does not wait for its question either.

        Its own wait for the client's thread costs both of them a change of threads and, where that thread has much to
        do, milliseconds. A request whose position has moved in between is made in vain: the client discards its answer,
        and asks again.
        """
        if timeout_ms is None or timeout_ms > 0:
            return super().fetch_records(max_records, update_offsets, timeout_ms)
        records, are_more = self.fetched_records(max_records, update_offsets=update_offsets)
        if not are_more:
            self.asking = self._manager.call_soon(self._send_fetches_async)
        return records, False

    def PartitionRecords(self, *args: Any, **more: Any) -> Unpacking:
        """The function that kafka-python calls with the broker's answer for a partition; in kafka-python it is a
        class."""
        return Unpacking(self.most_bytes, self.budget, *args, **more)

    def fetched_records(self, *args: Any, **more: Any) -> Any:
        """As kafka-python's, which calls it once or twice a poll."""
        self.budget.left = POLL_BYTES
        return super().fetched_records(*args, **more)

    def _append(self, drained: Any, part: Any, max_records: int, update_offsets: bool) -> int:
        """The number of records that were taken; to end the poll it returns as many as wanted."""
        taken: int = super()._append(drained, part, max_records, update_offsets)
        return max_records if self.budget.spent else taken


def unpack_bounded(consumer: Any, most_bytes: int) -> None:
    """Let a new consumer deliver ``Record``; a record of more bytes than these comes without content."""
    fetcher = fetcher_as(consumer, BoundedFetcher)
    fetcher.most_bytes = most_bytes
    fetcher.budget = PollBudget()
