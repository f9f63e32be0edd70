"""The port to the log over a real broker."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from kafka import KafkaConsumer, TopicPartition, errors

from crawler_plugin.wire.errors import Unavailable
from crawler_plugin.wire.page_headers import Headers
from crawler_plugin.wire.topics import (
    ANSWERS,
    FINGERPRINTS,
    INDEX,
    INDEX_STANDBY,
    OUTPUT_MARGIN_BYTES,
    PAGES,
    group_names,
    topic_name,
)
from worker.stream.kafka.connection import Options, check_login, reaching
from worker.stream.kafka.errors import as_stop, speaking, while_away
from worker.stream.kafka.fetches import Fetches
from worker.stream.kafka.group.assignors import TwoHolders
from worker.stream.kafka.group.membership import KafkaPages, KafkaShards
from worker.stream.kafka.group.roster import instances_of
from worker.stream.kafka.private import partitions_now
from worker.stream.kafka.producers import Appender, Job, KafkaTicket, TransactionTicket, Transactor
from worker.stream.kafka.unpacking import unpack_bounded
from worker.stream.log import Bounds, Committed, Log, Membership, Output, Reader, Record, Role

Offsets = Mapping[TopicPartition, int]

RECORDS_A_READ: Final = 2000
PAGES_A_POLL: Final = 200
FETCH_BYTES: Final = 4 << 20
"""How much of pages is fetched at a time: about a poll's worth. The work of client and broker for each answer costs as
much as forty pages, whatever its size. A page that is larger comes by itself (KIP-74)."""
READ_BYTES: Final = 2 << 20
"""How much a reader fetches at a time. It reads twice as fast as with 16 MiB, which no processor cache holds."""
POSITION_TIMEOUT_MS: Final = 1000
NEW_PARTITION_MS: Final = 5000
"""How long it may take until each broker knows of a partition that others know of."""
METADATA_MS: Final = 5000
"""How long a broker may take to say which partitions a topic has."""


class KafkaReader(Reader):
    """One partition, read by a consumer of its own; records of more than ``most_bytes`` come without content."""

    position = 0

    def __init__(self, options: Options, name: str, partition: int, offset: int, most_bytes: int) -> None:
        with reaching(options):
            self._consumer: Any = KafkaConsumer(
                **options,
                group_id=None,
                enable_auto_commit=False,
                auto_offset_reset="none",
                max_partition_fetch_bytes=READ_BYTES,
                fetch_max_bytes=READ_BYTES,
                metrics_enabled=False,
            )
        unpack_bounded(self._consumer, most_bytes)
        self._partition = TopicPartition(name, partition)
        self._consumer.assign([self._partition])
        self._consumer.seek(self._partition, offset)
        self.position = offset
        self._fetches = Fetches(self._consumer)

    def read(self, wait: float = 0.0) -> Sequence[Record]:
        deadline = time.monotonic() + wait
        while True:
            records = self._poll() if self._fetches.worth_a_poll() else ()
            left = deadline - time.monotonic()
            if records or left <= 0:
                return records
            self._fetches.wait(left)

    def _poll(self) -> Sequence[Record]:
        """The client's records, without waiting."""
        records: Sequence[Record] = ()
        with (
            speaking(f"partition {self._partition.partition} of {self._partition.topic}, offset {self.position},"),
            while_away(),
        ):
            records = self._consumer.poll(timeout_ms=0, max_records=RECORDS_A_READ).get(self._partition, ())
            if records:
                self.position = records[-1].offset + 1
            else:  # the end of a transaction, or records that compaction removed, have an offset and no record
                known = self._consumer.position(self._partition, timeout_ms=POSITION_TIMEOUT_MS)
                self.position = max(self.position, known or 0)
        return records

    def close(self) -> None:
        self._consumer.close(autocommit=False, timeout_ms=1000)


def bounds_of(consumer: Any, partitions: Sequence[TopicPartition]) -> list[Bounds]:
    """Begin and end of each partition as of now, asked for together; works with any consumer.

    Raises:
        Unavailable: the broker does not answer.
    """
    try:
        begins, ends = (_all(ask, partitions) for ask in (consumer.beginning_offsets, consumer.end_offsets))
        return [Bounds(begins[partition], ends[partition]) for partition in partitions]
    except (errors.KafkaTimeoutError, errors.UnknownTopicOrPartitionError) as error:
        raise Unavailable(
            f"the broker does not say where partitions of {_topics_of(partitions)} end ({type(error).__name__}). Check "
            "that the broker runs and the topics exist: python -m worker topics check"
        ) from error
    except errors.KafkaError as error:
        raise as_stop(error, _topics_of(partitions)) from error


def has_partition(consumer: Any, partition: TopicPartition) -> bool:
    """See the port; works with any consumer.

    A partition of which no leader answers, as after a broker was killed, is there all the same; so only a list of the
    topic's partitions tells that there is none.

    Raises:
        Unavailable: no leader of the partition answers, or no broker at all.
    """
    try:
        consumer.end_offsets([partition], timeout_ms=NEW_PARTITION_MS)
        return True
    except (errors.KafkaTimeoutError, errors.UnknownTopicOrPartitionError):
        pass
    except errors.KafkaError as error:
        raise as_stop(error, partition.topic) from error
    try:
        there = partitions_now(consumer, partition.topic, METADATA_MS)
    except errors.KafkaError as error:
        raise as_stop(error, partition.topic) from error
    if partition.partition in there or not there:
        raise Unavailable(
            f"no broker answers for partition {partition.partition} of {partition.topic}. Check that all brokers run "
            "and the topics exist: python -m worker topics check"
        )
    return False


def _all(ask: Callable[[Sequence[TopicPartition]], Offsets], partitions: Sequence[TopicPartition]) -> Offsets:
    try:
        return ask(partitions)
    except KeyError:  # of several, the client leaves out those whose leader it does not know, and then misses them
        return {partition: ask([partition])[partition] for partition in partitions}


def _topics_of(partitions: Sequence[TopicPartition]) -> str:
    return " and ".join(sorted({partition.topic for partition in partitions}))


class KafkaLog(Log):
    """One worker's side of the broker.

    ``rack`` is where it runs; ``shards`` is needed only with two ``replicas``, the holders of each.
    """

    def __init__(
        self,
        options: Options,
        *,
        prefix: str,
        group: str,
        writer: str,
        generation: str = "",
        instance: str | None = None,
        rack: str = "",
        shards: int = 0,
        replicas: int = 1,
        max_message_bytes: int = 8 << 20,
        compression: str = "zstd",
        session_seconds: float = 30,
        heartbeat_seconds: float = 3,
        transaction_seconds: float = 60,
        delivery_seconds: float = 30,
        patience_seconds: float = 60,
    ) -> None:
        self._patience = patience_seconds
        self._options = reading = {**options, "client_rack": rack}
        self._prefix = prefix
        self._generation = generation
        page_group, shard_group = group_names(group, generation)
        self._named = instance is not None
        page_instance, shard_instance = (None, None) if instance is None else instances_of(instance)
        timing: dict[str, Any] = {
            "session_timeout_ms": int(session_seconds * 1000),
            "heartbeat_interval_ms": int(heartbeat_seconds * 1000),
        }
        # Verdict headers are added to the largest page.
        max_bytes = self._most_bytes = max_message_bytes + OUTPUT_MARGIN_BYTES
        self._appender = Appender(
            options, prefix, max_bytes=max_bytes, delivery_seconds=delivery_seconds, generation=generation
        )
        with reaching(options):
            self._asker: Any = KafkaConsumer(**reading, group_id=None, enable_auto_commit=False)
        self._pages = KafkaPages(
            reading,
            prefix + PAGES,
            page_group,
            max_bytes,
            PAGES_A_POLL,
            instance=page_instance,
            max_partition_fetch_bytes=FETCH_BYTES,
            fetch_max_bytes=FETCH_BYTES,
            **timing,
        )
        self.transactor = Transactor(
            options,
            prefix,
            page_group,
            transactional_id=f"{group}-{writer}",
            max_bytes=max_bytes,
            timeout_seconds=transaction_seconds,
            pages=self._pages,
            generation=generation,
            compression=compression,
        )
        self.transactor.start()
        name = topic_name(prefix, INDEX, generation)
        two_holders = None
        if replicas > 1:
            roles = {name: Role.ACTIVE, topic_name(prefix, INDEX_STANDBY, generation): Role.STANDBY}
            two_holders = TwoHolders(roles, shards, instance or writer, rack)
        self._shards = KafkaShards(
            reading, name, shard_group, max_bytes, instance=shard_instance, two_holders=two_holders, **timing
        )

    def prepare(self) -> None:
        """Look up the topics that a worker appends to before it begins, so that no page waits for that."""
        self._appender.prepare((FINGERPRINTS, ANSWERS, INDEX))

    def pages(self) -> KafkaPages:
        return self._pages

    def shards(self) -> KafkaShards:
        return self._shards

    def reader(self, topic: str, partition: int, offset: int) -> KafkaReader:
        return KafkaReader(self._options, self._name(topic), partition, offset, self._most_bytes)

    def bounds(self, topic: str, partition: int) -> Bounds:
        return self.all_bounds([(topic, partition)])[0]

    def all_bounds(self, places: Sequence[tuple[str, int]]) -> Sequence[Bounds]:
        return bounds_of(self._asker, [TopicPartition(self._name(topic), partition) for topic, partition in places])

    def has_partition(self, topic: str, partition: int) -> bool:
        return has_partition(self._asker, TopicPartition(self._name(topic), partition))

    def _name(self, topic: str) -> str:
        return topic_name(self._prefix, topic, self._generation)

    def append(
        self, topic: str, partition: int, key: bytes | None, value: bytes | None, headers: Headers = ()
    ) -> KafkaTicket:
        return self._appender.append(topic, partition, key, value, headers)

    def transact(
        self, outputs: Sequence[Output], offsets: Mapping[int, Committed], membership: Membership
    ) -> TransactionTicket:
        return self.transactor.submit(Job(outputs, offsets, membership))

    def written(self) -> Mapping[str, int]:
        return self._appender.written + self.transactor.written

    def failing(self) -> Sequence[str]:
        """See the port.

        Raises:
            UsageError: another worker was found under this one's ``kafka.instance_id``. Nothing else shows it: the
                heartbeats of a member that was replaced stop, and its polls go on without an error. Or the broker
                refused what it will refuse again until a setting, a topic or a right is changed: a login, too.
            Refused: the same, where the topics are not as agreed.
            Unavailable: the last sends all failed, for longer than the patience allows.
        """
        for client in (self._asker, self._pages.consumer, self._shards.consumer):
            check_login(self._options, client)
        self._appender.look()
        for failures in (self._appender.failures, self.transactor.failures):
            failures.check(self._patience)
        return [*self._appender.told(), *self.transactor.failures.told()]

    def leave(self) -> None:
        for group in (self._pages, self._shards):
            with suppress(errors.KafkaError):
                group.close(leave=True)

    def close(self, seconds: float, *, leave: bool = False) -> None:
        """Finish the sends within this many seconds, then end the membership. A broker that is gone is no error here.

        With a ``kafka.instance_id`` its partitions and shards are kept for it until its session ends, unless it is told
        to ``leave``; a worker without a shard leaves in any case, as little moves then.
        """
        self.transactor.close(seconds / 2)
        self._appender.close(seconds / 2)
        groups = self._pages, self._shards
        if leave or self._shards.has_none:
            self.leave()
        elif self._named:
            self._shards.note_stop(group.consumer.group_metadata().member_id for group in groups)
        for group in groups:
            with suppress(errors.KafkaError):
                group.close()
        with suppress(errors.KafkaError):
            self._asker.close(autocommit=False, timeout_ms=1000)
