"""Topics on the real broker: made once, compared in every respect, altered only where it does no harm."""

from __future__ import annotations

import dataclasses

import pytest
from kafka import KafkaProducer
from kafka.admin import KafkaAdminClient

from crawler_plugin.wire.errors import UsageError
from crawler_plugin.wire.topics import TopicSpec, topic_specs
from worker.config import KafkaSettings
from worker.stream.kafka.connection import client_options
from worker.stream.kafka.topic_admin import Difference, alter_configs, compare_topics, create_topics

pytestmark = pytest.mark.cluster


@pytest.fixture
def options(broker: str) -> dict[str, object]:
    return client_options(KafkaSettings(bootstrap_servers=broker))


@pytest.fixture
def specs(topic_prefix: str) -> tuple[TopicSpec, ...]:
    return topic_specs(prefix=topic_prefix, partitions=3, shards=2)


def changed(specs: tuple[TopicSpec, ...], topic: str, **config: str) -> tuple[TopicSpec, ...]:
    """The same topics, one of them with other settings."""
    other = {key.replace("_", "."): value for key, value in config.items()}
    return tuple(
        dataclasses.replace(spec, config=spec.config | other) if spec.topic == topic else spec for spec in specs
    )


def test_before_they_are_made_all_topics_are_missing(options: dict[str, object], specs: tuple[TopicSpec, ...]) -> None:
    found = [(difference.topic, difference.what) for difference in compare_topics(options, specs)]
    assert found == [(spec.name, "missing") for spec in specs]


def test_made_topics_do_not_differ_and_are_made_once(options: dict[str, object], specs: tuple[TopicSpec, ...]) -> None:
    assert create_topics(options, specs, 1) == [spec.name for spec in specs]
    assert compare_topics(options, specs) == []
    assert create_topics(options, specs, 1) == []


def test_only_the_missing_topic_is_made(options: dict[str, object], specs: tuple[TopicSpec, ...]) -> None:
    create_topics(options, specs[1:], 1)
    assert create_topics(options, specs, 1) == [specs[0].name]


@pytest.mark.parametrize(
    ("topic", "what", "made", "wanted"),
    [
        ("pages", "message.timestamp.type", "CreateTime", "LogAppendTime"),
        ("index", "message.timestamp.type", "CreateTime", "LogAppendTime"),
        ("verdicts", "message.timestamp.type", "CreateTime", "LogAppendTime"),
        ("index", "cleanup.policy", "delete", "compact"),
        ("index", "cleanup.policy", "compact,delete", "compact"),
        ("fingerprints", "cleanup.policy", "compact", "delete"),
        ("answers", "retention.ms", "1000000", "604800000"),
        ("verdicts", "retention.bytes", "1000000", "-1"),
        ("verdicts", "max.message.bytes", "1048588", "8388608"),
    ],
)
def test_a_setting_that_differs_is_named_and_left_until_it_is_altered(
    options: dict[str, object], specs: tuple[TopicSpec, ...], topic: str, what: str, made: str, wanted: str
) -> None:
    create_topics(options, changed(specs, topic, **{what.replace(".", "_"): made}), 1)
    expected = [Difference(next(spec.name for spec in specs if spec.topic == topic), what, wanted, made)]
    assert create_topics(options, specs, 1) == []
    assert compare_topics(options, specs) == expected
    assert alter_configs(options, expected) == expected
    assert compare_topics(options, specs) == []


def test_partitions_that_differ_are_named_and_never_altered(options: dict[str, object], topic_prefix: str) -> None:
    create_topics(options, topic_specs(prefix=topic_prefix, partitions=2, shards=2), 1)
    wanted = topic_specs(prefix=topic_prefix, partitions=3, shards=4)
    differences = compare_topics(options, wanted)
    assert {(difference.topic, difference.what, difference.wanted, difference.found) for difference in differences} == {
        (topic_prefix + "pages", "partitions", "3", "2"),
        (topic_prefix + "deduplicated", "partitions", "3", "2"),
        (topic_prefix + "verdicts", "partitions", "3", "2"),
        (topic_prefix + "dead-letters", "partitions", "3", "2"),
        (topic_prefix + "index", "partitions", "4", "2"),
    }
    assert alter_configs(options, differences) == []
    assert create_topics(options, wanted, 1) == []
    assert compare_topics(options, wanted) == differences


def test_settings_that_a_spec_does_not_name_are_the_operators(
    options: dict[str, object], specs: tuple[TopicSpec, ...]
) -> None:
    create_topics(options, changed(specs, "index", segment_ms="3600000", min_cleanable_dirty_ratio="0.2"), 1)
    assert compare_topics(options, specs) == []


def test_altering_keeps_the_settings_that_the_operator_made(
    options: dict[str, object], broker: str, specs: tuple[TopicSpec, ...]
) -> None:
    create_topics(options, changed(specs, "index", segment_ms="3600000", cleanup_policy="delete"), 1)
    alter_configs(options, compare_topics(options, specs))
    index = next(spec for spec in specs if spec.topic == "index")
    assert compare_topics(options, changed((index,), "index", segment_ms="3600000")) == []


def test_more_copies_than_brokers_is_an_error_that_names_the_setting(
    options: dict[str, object], specs: tuple[TopicSpec, ...]
) -> None:
    with pytest.raises(UsageError, match=rf"{specs[0].name}.*topics\.replication_factor"):
        create_topics(options, specs, 3)


def test_a_setting_that_the_broker_does_not_take_is_an_error(
    options: dict[str, object], specs: tuple[TopicSpec, ...]
) -> None:
    with pytest.raises(UsageError, match="refuses to make"):
        create_topics(options, changed(specs, "index", cleanup_policy="shred"), 1)
    create_topics(options, specs, 1)
    nonsense = Difference(specs[0].name, "cleanup.policy", "shred", "delete")
    with pytest.raises(UsageError, match="does not set"):
        alter_configs(options, [nonsense])


def test_pages_get_the_brokers_time(broker: str, options: dict[str, object], specs: tuple[TopicSpec, ...]) -> None:
    create_topics(options, specs, 1)
    producer = KafkaProducer(bootstrap_servers=broker)
    far_away = 4_070_908_800_000  # the year 2099
    written = producer.send(specs[0].name, b"page", timestamp_ms=far_away)
    assert 0 < written.get(timeout=30).timestamp < far_away
    producer.close()


def test_a_topic_is_usable_as_soon_as_it_is_made(
    broker: str, options: dict[str, object], specs: tuple[TopicSpec, ...]
) -> None:
    create_topics(options, specs, 1)
    with KafkaAdminClient(bootstrap_servers=broker) as admin:
        described = admin.describe_topics([spec.name for spec in specs])
    assert all(partition["leader_id"] == 1 for topic in described for partition in topic["partitions"])
