"""While a group rebalances, work on owned partitions goes on, and errors are reported."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from kafka import KafkaAdminClient, KafkaProducer
from kafka.admin import NewPartitions

from crawler_plugin.wire.errors import Unavailable
from crawler_plugin.wire.topics import PAGES
from tests.stream.kafka.group.alone import PARTITIONS, Alone, until
from worker.stream.kafka.group import membership
from worker.stream.log import Committed, NotYet

pytestmark = pytest.mark.cluster


def test_while_a_group_rebalances_what_is_owned_goes_on(
    join: Callable[..., Alone], options: dict[str, Any], topic_prefix: str
) -> None:
    """The other member joins, and then is silent for as long as the first waits for it."""
    one, other = join(), join()
    producer = KafkaProducer(**options)

    def publish() -> None:
        one.delivered.clear()
        for partition in range(PARTITIONS):
            producer.send(topic_prefix + PAGES, value=b"page", partition=partition).get(timeout=30)

    def brings(partitions: set[int]) -> bool:
        one.poll()
        return one.delivered >= partitions

    everything = set(range(PARTITIONS))
    until("one owns everything", lambda: one.owns(PARTITIONS))
    publish()
    until("the other one asks to come in", lambda: other.is_joining() and one.is_joining())
    for partition in everything:
        one.pages.start(partition, 0)
    with pytest.raises(NotYet):
        one.pages.committed(0)
    with pytest.raises(NotYet):
        one.pages.commit({0: Committed(1, "")})
    half = PARTITIONS // 2
    until("they have shared", lambda: one.owns(half) & other.owns(half))
    assert one.ever_lost == other.owned
    publish()
    until("what one has kept is delivered", lambda: brings(one.owned))
    assert one.delivered == one.owned

    third = join()
    until("the next one asks to come in", lambda: third.is_joining() and one.is_joining())
    publish()
    until("what one owns is delivered while it waits for another", lambda: brings(one.owned))
    assert one.pages.rebalancing
    producer.close()


def test_a_group_whose_topic_has_grown_comes_to_rest_however_short_the_polls_are(
    join: Callable[..., Alone], options: dict[str, Any], topic_prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """kafka-python forgets that it is joining when a poll ends after the assignment was made."""
    monkeypatch.setattr(membership, "SLICE_MS", 5)
    one = join()

    def hears_of(count: int) -> bool:
        if one.owns(count):
            return True
        if not one.pages.rebalancing:
            one.pages.consumer._client.cluster.request_update()
        return False

    until("it owns everything", lambda: one.owns(PARTITIONS))
    admin = KafkaAdminClient(**options)
    try:
        for more in range(1, 4):
            admin.create_partitions({topic_prefix + PAGES: NewPartitions(PARTITIONS + more)})
            until("it owns the new partition", partial(hears_of, PARTITIONS + more))
    finally:
        admin.close()
    assert not one.ever_lost


def test_what_goes_wrong_while_joining_is_told_by_a_poll(join: Callable[..., Alone]) -> None:
    too_patient = join(session_timeout_ms=3_600_000, heartbeat_interval_ms=300)
    with pytest.raises(Unavailable, match="InvalidSessionTimeout"):
        until("it is in", lambda: too_patient.owns(PARTITIONS))


def test_who_is_closed_while_it_joins_leaves_no_thread(join: Callable[..., Alone]) -> None:
    one, other = join(), join()
    until("one owns everything", lambda: one.owns(PARTITIONS))
    assert other.is_joining()
    name = f"joins {other.pages.group}"
    assert [thread.name for thread in threading.enumerate()].count(name) == 1
    other.pages.close()
    assert name not in [thread.name for thread in threading.enumerate()]
