"""That the broker is set up for what this project builds on: compaction, transactions, large records."""

from __future__ import annotations

import os

import pytest
from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import KafkaAdminClient
from kafka.errors import UnknownTopicOrPartitionError
from kafka.structs import OffsetAndMetadata

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


def test_a_committed_transaction_is_seen_once_and_an_aborted_one_never(broker: str, topic_prefix: str) -> None:
    partition = make_topic(broker, topic_prefix + "outputs")
    producer = KafkaProducer(bootstrap_servers=broker, acks="all", transactional_id=topic_prefix + "writer")
    producer.init_transactions()
    for value, commit in [(b"first", True), (b"aborted", False), (b"second", True)]:
        producer.begin_transaction()
        producer.send(partition.topic, value, partition=0)
        producer.flush()
        if commit:
            producer.commit_transaction()
        else:
            producer.abort_transaction()
    producer.close()

    def visible() -> list[bytes | None]:
        return [value for _, value in read_all(broker, partition, isolation="read_committed")]

    # a commit returns before its markers stand in the partitions
    wait_for(lambda: b"second" in visible(), "the second transaction to be seen")
    assert visible() == [b"first", b"second"]
    assert b"aborted" in [value for _, value in read_all(broker, partition)]


def test_an_open_transaction_hides_what_comes_after_it_until_the_broker_aborts_it(
    broker: str, topic_prefix: str
) -> None:
    partition = make_topic(broker, topic_prefix + "outputs")
    dead = KafkaProducer(bootstrap_servers=broker, transactional_id=topic_prefix + "dead", transaction_timeout_ms=2000)
    dead.init_transactions()
    dead.begin_transaction()
    dead.send(partition.topic, b"never committed", partition=0)
    dead.flush()
    other = KafkaProducer(bootstrap_servers=broker, acks="all")
    other.send(partition.topic, b"after", partition=0).get(timeout=30)
    assert b"after" in [value for _, value in read_all(broker, partition)]

    def visible() -> list[bytes | None]:
        return [value for _, value in read_all(broker, partition, isolation="read_committed")]

    wait_for(lambda: visible() == [b"after"], "the broker to abort the open transaction")
    other.close()
    dead.close(timeout=0)


def test_offsets_committed_in_a_transaction_are_the_groups(broker: str, topic_prefix: str) -> None:
    source, output = (make_topic(broker, topic_prefix + name) for name in ("source", "output"))
    consumer = KafkaConsumer(
        source.topic,
        bootstrap_servers=broker,
        group_id=topic_prefix + "group",
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        isolation_level="read_committed",
    )
    producer = KafkaProducer(bootstrap_servers=broker, acks="all", transactional_id=topic_prefix + "writer")
    producer.init_transactions()
    producer.begin_transaction()
    producer.send(source.topic, b"page", partition=0)
    producer.commit_transaction()
    wait_for(lambda: consumer.poll(timeout_ms=500), "the page to come")

    producer.begin_transaction()
    producer.send(output.topic, b"verdict", partition=0)
    position = consumer.position(source)
    producer.send_offsets_to_transaction({source: OffsetAndMetadata(position, "7,9", -1)}, consumer.group_metadata())
    producer.commit_transaction()
    committed = consumer.committed(source, metadata=True)
    assert (committed.offset, committed.metadata) == (position, "7,9")
    consumer.close()
    producer.close()


def test_a_page_of_eight_mebibytes_comes_back_whole(broker: str, topic_prefix: str) -> None:
    size = 8 * 1024 * 1024
    partition = make_topic(broker, topic_prefix + "pages", max_message_bytes=str(size + 64 * 1024))
    page = os.urandom(size)
    producer = KafkaProducer(
        bootstrap_servers=broker, acks="all", max_request_size=size + 64 * 1024, batch_size=size + 64 * 1024
    )
    producer.send(partition.topic, page, partition=0).get(timeout=60)
    producer.close()
    assert [value for _, value in read_all(broker, partition)] == [page]


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
def test_the_broker_compresses_with_every_codec_of_the_protocol(broker: str, topic_prefix: str, codec: str) -> None:
    # The broker itself compresses anew here, so that its jars are put to use without one of Python's codecs.
    partition = make_topic(broker, topic_prefix + codec, compression_type=codec)
    producer = KafkaProducer(bootstrap_servers=broker, acks="all")
    written = producer.send(partition.topic, b"text " * 1000, partition=0).get(timeout=30)
    producer.close()
    assert written.offset == 0


def test_a_topic_that_nobody_made_does_not_spring_up(broker: str, topic_prefix: str) -> None:
    with KafkaAdminClient(bootstrap_servers=broker) as admin:
        (described,) = admin.describe_topics([topic_prefix + "misspelt"])
        assert described["error_code"] == UnknownTopicOrPartitionError.errno
        assert topic_prefix + "misspelt" not in admin.list_topics()
