"""Changes that membership over a real broker must report where the client is silent."""

from __future__ import annotations

from typing import Any

import pytest
from kafka import KafkaAdminClient
from kafka.admin import MemberToRemove

from crawler_plugin.wire.topics import INDEX, PAGES
from tests.cluster.cluster import grow
from tests.stream.kafka.group.alone import MOST_BYTES, PARTITIONS, SHARDS, TIMING, Alone, until
from worker.stream.kafka.group.membership import SHARDS_SECONDS, KafkaPages, KafkaShards
from worker.stream.kafka.private import fetches_under_way
from worker.stream.log import Held

pytestmark = pytest.mark.cluster


def test_a_member_put_out_while_it_joins_hears_that_it_lost_everything(
    options: dict[str, Any], topic_prefix: str
) -> None:
    group = f"{topic_prefix}pages"
    timing = {"session_timeout_ms": 20_000, "heartbeat_interval_ms": 3_000}
    here, other = (KafkaPages(options, topic_prefix + PAGES, group, MOST_BYTES, 10, **timing) for _ in range(2))
    admin = KafkaAdminClient(**options)
    owned: set[int] = set()

    def poll() -> set[int]:
        """The partitions that this poll reports as lost."""
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
        # The other member wants to join, and a heartbeat tells the first that it has to join again.
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


def test_members_with_names_that_are_all_restarted_own_partitions_that_were_added(
    options: dict[str, Any], topic_prefix: str
) -> None:
    """The broker gives a member with a name its old partitions, without asking anyone, and does not tell the member
    that led the group that it leads it still (KIP-345): so no one looks for partitions that were added."""
    timing = {"session_timeout_ms": 60_000, "heartbeat_interval_ms": 300}
    members = {name: Alone(options, topic_prefix, instance=name, **timing) for name in ("a", "b")}

    def own(count: int) -> bool:
        for member in members.values():
            member.poll()
        owned = [partition for member in members.values() for partition in member.owned]
        return sorted(owned) == list(range(count)) and all(member.owned for member in members.values())

    try:
        until("two own everything", lambda: own(PARTITIONS))
        grow(options, topic_prefix + PAGES, 2 * PARTITIONS)
        for name in members:
            members[name].pages.close()
            members[name] = Alone(options, topic_prefix, instance=name, **timing)
            until(f"{name} has partitions again", lambda: own(PARTITIONS) or own(2 * PARTITIONS))
        until("the new partitions are owned", lambda: own(2 * PARTITIONS))
    finally:
        for member in members.values():
            member.pages.close()


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
            until("the client has asked the broker", lambda: not fetches_under_way(here.consumer))
        assert len(asked) == 4
        until("half of them went, while the clock stands still", lambda: other.poll() and owns(SHARDS // 2))
    finally:
        here.close()
        other.close()
