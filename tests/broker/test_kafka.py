"""That the broker is set up for what this project builds on: compaction, transactions, large records."""

from __future__ import annotations

import pytest
from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import KafkaAdminClient
from kafka.errors import UnknownTopicOrPartitionError

from tests.waiting import wait_for

pytestmark = pytest.mark.cluster


def make_topic(broker: str, name: str, **configs: str) -> TopicPartition:
    settings = {key.replace("_", "."): value for key, value in configs.items()}
    with KafkaAdminClient(bootstrap_servers=broker) as admin:
        admin.create_topics(
            {name: {"num_partitions": 1, "replication_factor": 1, "configs": settings}}, wait_for_metadata=True
        )
    return TopicPartition(name, 0)


def read_all(
    broker: str, partition: TopicPartition, *, isolation: str = "read_uncommitted"
) -> list[tuple[bytes, bytes]]:
    """Keys and values from the beginning up to the end as it is now, for a reader of this isolation."""
    consumer = KafkaConsumer(
        bootstrap_servers=broker, group_id=None, enable_auto_commit=False, isolation_level=isolation
    )
    consumer.assign([partition])
    consumer.seek_to_beginning()
    end = consumer.end_offsets([partition])[partition]
    found: list[tuple[bytes, bytes]] = []
    while consumer.position(partition) < end:
        for records in consumer.poll(timeout_ms=500).values():
            found += [(record.key, record.value) for record in records]
    consumer.close()
    return found


def test_compaction_leaves_the_last_record_of_each_key_and_drops_tombstones(broker: str, topic_prefix: str) -> None:
    partition = make_topic(
        broker,
        topic_prefix + "compacted",
        cleanup_policy="compact",
        segment_ms="200",
        min_cleanable_dirty_ratio="0.01",
        delete_retention_ms="0",
    )
    producer = KafkaProducer(bootstrap_servers=broker, acks="all")

    def put(key: bytes, value: bytes | None) -> None:
        producer.send(partition.topic, value, key=key, partition=0).get(timeout=30)

    for version in range(20):
        put(b"kept", b"%d" % version)
    put(b"gone", b"soon")
    put(b"gone", None)

    def is_compacted() -> bool:
        put(b"tick", b"")  # The last segment is never compacted; a new record, later than segment.ms, closes it.
        left = [(key, value) for key, value in read_all(broker, partition) if key != b"tick"]
        return left == [(b"kept", b"19")]

    wait_for(is_compacted, "the topic to be compacted")
    producer.close()


def test_a_topic_that_nobody_made_does_not_spring_up(broker: str, topic_prefix: str) -> None:
    with KafkaAdminClient(bootstrap_servers=broker) as admin:
        (described,) = admin.describe_topics([topic_prefix + "misspelt"])
        assert described["error_code"] == UnknownTopicOrPartitionError.errno
        assert topic_prefix + "misspelt" not in admin.list_topics()
