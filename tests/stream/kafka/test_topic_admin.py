"""Topics on the real broker: made once, compared in every respect, altered only where that does no harm."""

from __future__ import annotations

import dataclasses

import pytest
from kafka.admin import KafkaAdminClient

from crawler_plugin.wire.errors import UsageError
from crawler_plugin.wire.topics import TopicSpec, topic_specs
from worker.config import KafkaSettings
from worker.stream.kafka.connection import client_options
from worker.stream.kafka.topic_admin import Difference, alter_topics, compare_topics, create_topics

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


def test_settings_that_a_spec_does_not_name_are_the_operators(
    options: dict[str, object], specs: tuple[TopicSpec, ...]
) -> None:
    create_topics(options, changed(specs, "index", segment_ms="3600000", min_cleanable_dirty_ratio="0.2"), 1)
    assert compare_topics(options, specs) == []


def test_partitions_that_pages_and_outputs_lack_are_made_and_none_that_they_have_is_taken_away(
    options: dict[str, object], topic_prefix: str, specs: tuple[TopicSpec, ...]
) -> None:
    create_topics(options, specs, 1)
    more = topic_specs(prefix=topic_prefix, partitions=5, shards=2)
    grown = ["pages", "deduplicated", "verdicts", "dead-letters"]
    assert [found.topic for found in alter_topics(options, compare_topics(options, more))] == [
        topic_prefix + topic for topic in grown
    ]
    assert compare_topics(options, more) == []
    (left_out,) = compare_topics(options, specs)
    assert str(left_out) == f"{topic_prefix}pages: has 5 partitions, and topics.partitions is 3"
    assert "Pages of partitions 3 to 4 wait" in left_out.move
    assert alter_topics(options, [left_out]) == []


def test_altering_keeps_the_settings_that_the_operator_made(
    options: dict[str, object], broker: str, specs: tuple[TopicSpec, ...]
) -> None:
    create_topics(options, changed(specs, "index", segment_ms="3600000", cleanup_policy="delete"), 1)
    alter_topics(options, compare_topics(options, specs))
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
        alter_topics(options, [nonsense])


def test_a_topic_is_usable_as_soon_as_it_is_made(
    broker: str, options: dict[str, object], specs: tuple[TopicSpec, ...]
) -> None:
    create_topics(options, specs, 1)
    with KafkaAdminClient(bootstrap_servers=broker) as admin:
        described = admin.describe_topics([spec.name for spec in specs])
    assert all(partition["leader_id"] == 1 for topic in described for partition in topic["partitions"])
