"""What membership over a real broker must tell where the client says nothing by itself."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final

import pytest
from kafka import KafkaAdminClient, KafkaProducer
from kafka.admin import MemberToRemove, NewPartitions

from tests.waiting import wait_for
from worker.config import KafkaSettings
from worker.errors import Unavailable
from worker.stream.kafka import membership
from worker.stream.kafka.connection import client_options
from worker.stream.kafka.membership import SHARDS_SECONDS, KafkaPages, KafkaShards
from worker.stream.kafka.topic_admin import create_topics
from worker.stream.log import Committed, Held, NotYet
from worker.topics import INDEX, PAGES, topic_specs

pytestmark = pytest.mark.cluster

PARTITIONS: Final = 4
SHARDS: Final = 8
TIMING: Final[dict[str, Any]] = {"session_timeout_ms": 10_000, "heartbeat_interval_ms": 300}


@pytest.fixture
def options(broker: str, topic_prefix: str) -> Iterator[dict[str, Any]]:
    made = client_options(KafkaSettings(bootstrap_servers=broker))
    create_topics(made, topic_specs(prefix=topic_prefix, partitions=PARTITIONS), 1)
    yield made


def until(what: str, condition: Callable[[], object]) -> None:
    wait_for(condition, what, pause=0.01)


def test_a_member_put_out_while_it_joins_hears_that_it_lost_everything(
    options: dict[str, Any], topic_prefix: str
) -> None:
    group = f"{topic_prefix}pages"
    timing = {"session_timeout_ms": 20_000, "heartbeat_interval_ms": 3_000}
    here, other = (KafkaPages(options, topic_prefix + PAGES, group, MOST_BYTES, 10, **timing) for _ in range(2))
    admin = KafkaAdminClient(**options)
    owned: set[int] = set()

    def poll() -> set[int]:
        """What this poll says was lost."""
        polled = here.poll()
        owned.difference_update(polled.lost)
        owned.update(polled.gained)
        return set(polled.lost)

    def was_or_out() -> bool:
        return here.membership().evicted or here.membership().member == was.member

    try:
        until("one owns everything", lambda: poll() or owned == set(range(PARTITIONS)))
        was = here.membership()
        coordinator = here.consumer._coordinator
        # The other one asks to come in, and a heartbeat tells the first that it has to join again.
        until("a rebalance is noticed", lambda: other.poll() and coordinator.rejoin_needed)
        admin.remove_group_members(group, [MemberToRemove(member_id=was.member)])
        assert here.membership() == was, "nothing was heard yet"
        lost: set[int] = set()

        def in_again() -> bool:
            lost.update(poll())
            other.poll()
            return not was_or_out()

        until("it is in again", in_again)
        assert lost == set(range(PARTITIONS))
    finally:
        admin.close()
        here.close()
        other.close()


MOST_BYTES: Final = 1 << 20


class Alone:
    """A member of a group on ``pages``, and what its polls have told it."""

    def __init__(self, options: dict[str, Any], prefix: str, **timing: int) -> None:
        self.pages = KafkaPages(options, prefix + PAGES, f"{prefix}group", MOST_BYTES, 10, **(timing or TIMING))
        self.owned: set[int] = set()
        self.ever_lost: set[int] = set()
        self.delivered: set[int] = set()

    def poll(self) -> None:
        polled = self.pages.poll()
        self.owned.difference_update(polled.lost)
        self.ever_lost.update(polled.lost)
        self.owned.update(polled.gained)
        self.delivered.update(record.partition for record in polled.records)

    def owns(self, count: int) -> bool:
        """After one more poll."""
        self.poll()
        return len(self.owned) == count and not self.pages.membership().evicted

    def is_joining(self) -> bool:
        """After one more poll."""
        self.poll()
        return self.pages.rebalancing


@pytest.fixture
def join(options: dict[str, Any], topic_prefix: str) -> Iterator[Callable[..., Alone]]:
    made: list[Alone] = []

    def one_more(**timing: int) -> Alone:
        made.append(Alone(options, topic_prefix, **timing))
        return made[-1]

    yield one_more
    for alone in made:
        alone.pages.close()


def test_while_a_group_rebalances_what_is_owned_goes_on(
    join: Callable[..., Alone], options: dict[str, Any], topic_prefix: str
) -> None:
    """The other one joins, and then says nothing for as long as the first waits for it."""
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


def test_the_client_is_asked_for_shards_seldom_and_a_rebalance_is_heard_of_all_the_same(
    options: dict[str, Any], topic_prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    group = f"{topic_prefix}index"
    now = 0.0
    about = (options, topic_prefix + INDEX, group, MOST_BYTES)
    here, other = KafkaShards(*about, clock=lambda: now, **TIMING), KafkaShards(*about, **TIMING)
    owned: set[Held] = set()
    asked: list[float] = []

    def poll() -> None:
        polled = here.poll()
        owned.difference_update(polled.lost)
        owned.update(polled.gained)

    def owns(count: int) -> bool:
        poll()
        return len(owned) == count

    def asked_now(**how: Any) -> Any:
        asked.append(now)
        return ask(**how)

    try:
        until("one owns everything", lambda: owns(SHARDS))
        ask = here.consumer.poll
        monkeypatch.setattr(here.consumer, "poll", asked_now)
        for _ in range(8):
            now += 0.75 * SHARDS_SECONDS
            poll()
        assert len(asked) == 4
        until("half of them went, while the clock stands still", lambda: other.poll() and owns(SHARDS // 2))
    finally:
        here.close()
        other.close()
