"""A consumer is polled only when a poll can bring records; against the real broker."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from kafka import KafkaConsumer, TopicPartition

from crawler_plugin.wire.topics import FINGERPRINTS
from tests.stream.kafka.under_test import KafkaUnderTest
from tests.waiting import wait_for
from worker.stream.kafka.fetches import ASK_SECONDS, Fetches
from worker.stream.kafka.unpacking import unpack_bounded

pytestmark = pytest.mark.cluster

LONG_MS = 20_000
"""How long the broker keeps a fetch without records: no answer comes by itself during a test."""


class Looked:
    """A consumer of one partition, and a clock that stands still."""

    def __init__(self, broker: str, topic: str) -> None:
        self.now = 0.0
        self.here = TopicPartition(topic, 0)
        self.consumer: Any = KafkaConsumer(
            bootstrap_servers=broker, group_id=None, auto_offset_reset="none", fetch_max_wait_ms=LONG_MS
        )
        unpack_bounded(self.consumer, 1 << 20)
        self.consumer.assign([self.here])
        self.consumer.seek(self.here, 0)
        self.fetches = Fetches(self.consumer, lambda: self.now)

    def poll(self) -> list[bytes]:
        return [record.value for record in self.consumer.poll(timeout_ms=0).get(self.here, [])]

    def commit(self) -> None:
        """Poll until a fetch is under way; only then can a consumer be left alone."""
        wait_for(lambda: not self.fetches.worth_a_poll() or self.poll(), "a question under way", pause=0.01)


@pytest.fixture
def world(broker: str, topic_prefix: str) -> Iterator[KafkaUnderTest]:
    with KafkaUnderTest.on(broker, topic_prefix) as world:
        yield world


@pytest.fixture
def looked(broker: str, world: KafkaUnderTest) -> Iterator[Looked]:
    looked = Looked(broker, world.prefix + FINGERPRINTS)
    yield looked
    looked.consumer.close(autocommit=False, timeout_ms=1000)


def test_it_is_polled_once_an_answer_has_come_and_then_not_again(world: KafkaUnderTest, looked: Looked) -> None:
    assert looked.fetches.worth_a_poll(), "nothing is under way"
    looked.commit()
    assert not looked.fetches.worth_a_poll()
    world.append(world.member("a"), FINGERPRINTS, b"record")
    found: list[bytes] = []
    while not found:  # on a busy machine an answer without records may come before
        wait_for(looked.fetches.worth_a_poll, "the answer", pause=0.01)
        found = looked.poll()
    assert found == [b"record"]
    looked.commit()
    assert not looked.fetches.worth_a_poll()


def test_a_wait_ends_with_the_answer_also_where_it_came_before(world: KafkaUnderTest, looked: Looked) -> None:
    looked.commit()
    world.append(world.member("a"), FINGERPRINTS, b"record")
    found: list[bytes] = []
    while not found:
        looked.fetches.wait(LONG_MS)
        found = looked.poll() if looked.fetches.worth_a_poll() else []
    assert found == [b"record"]


def test_it_is_polled_now_and_then_whatever_it_shows(looked: Looked) -> None:
    looked.commit()
    assert not looked.fetches.worth_a_poll()
    looked.now += ASK_SECONDS
    assert looked.fetches.worth_a_poll()
    assert not looked.fetches.worth_a_poll()


def test_it_is_polled_while_nothing_is_under_way(looked: Looked) -> None:
    looked.consumer.pause(looked.here)
    for _ in range(3):
        # The poll before has told the client's thread to fetch, which finds nothing to fetch.
        wait_for(looked.fetches.worth_a_poll, "nothing to be under way", pause=0.001)
        assert looked.poll() == []
