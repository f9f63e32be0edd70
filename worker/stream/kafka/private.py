"""Parts of kafka-python without a public name that only workers need: of consumers, transactions and record batches.

``crawler_plugin.wire.kafka_client.private`` has the parts that the plugin needs as well.
``tests/wire/kafka_client/parts.py`` lists what must be there.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, Final

from kafka import TopicPartition
from kafka.consumer.fetcher import Fetcher
from kafka.coordinator.consumer import ConsumerCoordinator
from kafka.producer.future import FutureRecordMetadata
from kafka.producer.producer_batch import ProducerBatch
from kafka.record.default_records import DefaultRecordBatch, DefaultRecordBatchBuilder
from kafka.record.memory_records import MemoryRecords, MemoryRecordsBuilder
from kafka.structs import MemberState

from worker.stream.kafka.record_batches import RecordBatch
from worker.stream.log import Output

LARGE_BYTES: Final = 1024
"""A smaller batch is not worth reading in place."""
Refused = Callable[[Output, Exception], None]
"""Called in the client's own thread with a record that was not written, and the reason."""


def is_at_rest(consumer: Any) -> bool:
    """Whether the consumer is a member of its group and need not join anew."""
    return bool(consumer.group_metadata().state == MemberState.STABLE and not consumer._coordinator.need_rejoin())


def join_anew(consumer: Any) -> None:
    """Make it join its group in one of the next polls."""
    consumer._coordinator.request_rejoin()


def join_as_new(consumer: Any) -> None:
    """Make it join its group in one of the next polls as a member whose id the broker has yet to give."""
    consumer._coordinator.reset_generation()
    consumer._coordinator.request_rejoin()


def fetches_under_way(consumer: Any) -> list[Any]:
    """The futures of requests that are not answered, or were just answered; or the future of the asking itself. The
    consumer's fetcher is a ``BoundedFetcher``."""
    fetcher = consumer._fetcher
    if fetcher.asking is not None and not fetcher.asking.is_done:
        return [fetcher.asking]
    return list(fetcher._fetch_futures)


def fetched_while_joining(consumer: Any, most: int) -> Any:
    """The records, by partition, that ``poll`` does not ask for while the consumer joins its group, although it owns
    partitions. Waits for nothing."""
    return consumer._fetcher.fetch_records(most, timeout_ms=0)[0]


def has_records(consumer: Any) -> bool:
    """Whether an answer has come that no poll has used yet."""
    return bool(consumer._fetcher._completed_fetches or consumer._fetcher._next_partition_records)


def fetcher_as(consumer: Any, kind: type[Fetcher]) -> Any:
    """The fetcher of a new consumer, turned into one of this kind."""
    fetcher = consumer._fetcher
    fetcher.__class__ = kind
    return fetcher


def known_partitions(consumer: Any, topic: str) -> int:
    """How many partitions of a topic the consumer knows of, by the last answer that came."""
    return len(consumer._cluster.partitions_for_topic(topic) or ())


def partitions_now(consumer: Any, topic: str, timeout_ms: int) -> set[int]:
    """The partitions of a topic, with a leader or without, by an answer to a question that is asked after the call.

    Raises:
        kafka.errors.KafkaError: no broker answers in this time, or brokers refuse.
    """
    cluster = consumer._cluster
    for _ in range(2):  # the answer that is under way may be to an earlier question
        consumer._net.run(consumer._manager.wait_for, cluster.request_update(), timeout_ms)
    return set(cluster.partitions_for_topic(topic) or ())


class KnowingCoordinator(ConsumerCoordinator):  # type: ignore[misc]
    """A member's part in its group that has the client's own thread look for the coordinator only if none is known.

    ``leaves``: it leaves the group when it is closed, even with a name of its own.
    """

    leaves = False

    def is_dynamic_member(self) -> bool:
        """As kafka-python's, which uses it only to decide whether to leave."""
        return self.leaves or bool(super().is_dynamic_member())

    def ensure_coordinator_ready(self, timeout_ms: float | None = None) -> bool:
        """As kafka-python's, which is called in each poll."""
        if self.coordinator_id is not None and self._client.connected(self.coordinator_id):
            return True
        return bool(super().ensure_coordinator_ready(timeout_ms))


def keep_to_coordinator(consumer: Any) -> None:
    """Spare the polls of a new member of a group a wait for the client's own thread."""
    consumer._coordinator.__class__ = KnowingCoordinator


def leave_when_closed(consumer: Any) -> None:
    """Make a member with a name of its own leave its group when it is closed, as a member without a name does."""
    consumer._coordinator.leaves = True


def transactions_of(producer: Any) -> Any:
    """The object that begins the end of a transaction without waiting for it, which no public method does."""
    return producer._transaction_manager


def wake(producer: Any) -> None:
    """Let the thread that sends look at once for work."""
    producer._sender.wakeup()


def hand_over(producer: Any, batches: Sequence[RecordBatch], refused: Refused) -> None:
    """Give a producer in a transaction whole batches, all at once, in the order of each partition.

    From then on they are the client's own: it numbers them, adds the checksum, sends, repeats and splits them. The
    thread that sends is woken only when all are there: it asks once to add their partitions to the transaction, and
    combines the batches for one broker.

    Raises:
        KafkaError: the transaction has failed before.
    """
    accumulator = producer._accumulator
    places = {TopicPartition(batch.topic, batch.partition) for batch in batches}
    for place in places:
        transactions_of(producer).maybe_add_partition_to_transaction(place)
    accumulator._appends_in_progress.increment()  # the closing of the client waits for this
    try:
        for batch in batches:
            place = TopicPartition(batch.topic, batch.partition)
            queued = _queued(place, batch, refused)
            with accumulator._tp_lock(place):
                accumulator._batches[place].append(queued)
                accumulator._incomplete.add(queued)
    finally:
        accumulator._appends_in_progress.decrement()
    wake(producer)


class PackedBuilder(DefaultRecordBatchBuilder):  # type: ignore[misc]
    """Writes the header of a batch whose records are already in the form to be sent, compressed or not."""

    __slots__ = ()

    def _maybe_compress(self) -> bool:
        return True


def _queued(place: TopicPartition, batch: RecordBatch, refused: Refused) -> ProducerBatch:
    """A batch of the client's that takes no further record."""
    records = MemoryRecordsBuilder(2, 0, 0)
    builder = records._builder
    builder.__class__ = PackedBuilder
    builder._compression_type = batch.codec
    builder._buffer = batch.data
    builder._first_timestamp = builder._max_timestamp = batch.timestamp
    records._next_offset = builder._num_records = len(batch.outputs)
    builder._last_offset = len(batch.outputs) - 1
    queued = ProducerBatch(place, records, now=time.monotonic())
    queued._record_futures = RecordFutures(queued, batch, refused)

    def ended(result: tuple[int, int, Callable[[int], Exception] | None]) -> None:
        _, _, why = result
        if why is not None:
            for number, output in enumerate(batch.outputs):
                refused(output, why(number))

    queued.produce_future.add_callback(ended)
    return queued


class RecordFutures(Sequence[FutureRecordMetadata]):
    """The futures of a batch's records, made on request: only for a batch that the client splits."""

    def __init__(self, queued: ProducerBatch, batch: RecordBatch, refused: Refused) -> None:
        self._queued = queued
        self._batch = batch
        self._refused = refused

    def __len__(self) -> int:
        return len(self._batch.outputs)

    def __getitem__(self, number: Any) -> Any:
        output = self._batch.outputs[number]
        future = FutureRecordMetadata(self._queued.produce_future, number, self._batch.timestamp, None, -1, -1, -1)
        future.add_errback(lambda error: self._refused(output, error))
        return future


class BatchInPlace(DefaultRecordBatch):  # type: ignore[misc]
    """A fetched batch that is read where it stands; kafka-python copies it."""

    __slots__ = ()

    def __init__(self, buffer: memoryview) -> None:
        super().__init__(buffer[: self.HEADER_STRUCT.size])
        self._buffer = buffer  # type: ignore[misc]  # it is in the slots of kafka-python's class


class BatchesInPlace(MemoryRecords):  # type: ignore[misc]
    """The batches of an answer; small ones, such as the marks of transactions, and old formats are left to
    kafka-python."""

    __slots__ = ()

    def next_batch(self, **how: Any) -> Any:
        """The next batch, None at the end."""
        buffer = self._next_slice
        if buffer is None or len(buffer) < LARGE_BYTES or buffer[self.MAGIC_OFFSET] < 2:
            return super().next_batch(**how)
        self._cache_next()
        return BatchInPlace(buffer)


def batches_in_place(records: MemoryRecords) -> MemoryRecords:
    """The same batches, not copied."""
    return BatchesInPlace(records._buffer)


def packed_content(batch: DefaultRecordBatch) -> memoryview:
    """The records of a batch as they came: compressed, if they were."""
    return memoryview(batch._buffer)[batch.HEADER_STRUCT.size :]
