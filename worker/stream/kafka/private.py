"""Parts of kafka-python without a public name that only workers need: of consumers, transactions and record batches.

What the plugin needs as well stands in ``crawler_plugin.wire.kafka_client.private``.
``tests/wire/kafka_client/parts.py`` lists what must be there.
"""

from __future__ import annotations

from typing import Any

from kafka.consumer.fetcher import Fetcher
from kafka.record.default_records import DefaultRecordBatch
from kafka.structs import MemberState


def is_at_rest(consumer: Any) -> bool:
    """Whether the consumer is a member of its group and need not join anew."""
    return bool(consumer.group_metadata().state == MemberState.STABLE and not consumer._coordinator.need_rejoin())


def join_anew(consumer: Any) -> None:
    """Have it join its group in one of the next polls."""
    consumer._coordinator.request_rejoin()


def fetches_under_way(consumer: Any) -> list[Any]:
    """The futures of what was asked for and is not answered, or was just answered."""
    return list(consumer._fetcher._fetch_futures)


def fetched_while_joining(consumer: Any, most: int) -> Any:
    """What ``poll`` does not ask for while the consumer joins its group, although it owns partitions: records by
    partition. Waits for nothing."""
    return consumer._fetcher.fetch_records(most, timeout_ms=0)[0]


def has_records(consumer: Any) -> bool:
    """Whether an answer has come that no poll has taken up."""
    return bool(consumer._fetcher._completed_fetches or consumer._fetcher._next_partition_records)


def fetcher_as(consumer: Any, kind: type[Fetcher]) -> Any:
    """The fetcher of a new consumer, made one of this kind."""
    fetcher = consumer._fetcher
    fetcher.__class__ = kind
    return fetcher


def transactions_of(producer: Any) -> Any:
    """What begins the end of a transaction without waiting for it, which no public method does."""
    return producer._transaction_manager


def wake(producer: Any) -> None:
    """Let the thread that sends look at once for what there is to be done."""
    producer._sender.wakeup()


def packed_content(batch: DefaultRecordBatch) -> memoryview:
    """The records of a batch as they came: compressed, if they were."""
    return memoryview(batch._buffer)[batch.HEADER_STRUCT.size :]
