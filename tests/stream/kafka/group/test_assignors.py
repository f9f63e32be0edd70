"""Members of one group on a real broker that hold each shard twice, on different workers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest

from crawler_plugin.wire.topics import INDEX, INDEX_STANDBY, topic_specs
from tests.waiting import wait_for
from worker.config import KafkaSettings
from worker.stream.kafka.connection import client_options
from worker.stream.kafka.group.assignors import TwoHolders
from worker.stream.kafka.group.membership import KafkaShards
from worker.stream.kafka.topic_admin import create_topics
from worker.stream.log import Held, Role, ShardsPolled

pytestmark = pytest.mark.cluster

SHARDS: Final = 6
MOST_BYTES: Final = 1 << 20
TIMING: Final[dict[str, Any]] = {"session_timeout_ms": 10_000, "heartbeat_interval_ms": 300}
ACTIVE, STANDBY = Role.ACTIVE, Role.STANDBY


class Holder:
    """A member of the group, the results of its polls, and those of its shards that could answer."""

    def __init__(self, options: dict[str, Any], prefix: str, worker: str, rack: str, replicas: int) -> None:
        roles = {prefix + INDEX: ACTIVE, prefix + INDEX_STANDBY: STANDBY}
        self.group = KafkaShards(
            options,
            prefix + INDEX,
            f"{prefix}shards",
            MOST_BYTES,
            two_holders=TwoHolders(roles, SHARDS, worker, rack) if replicas == 2 else None,
            **TIMING,
        )
        self.held: set[Held] = set()
        self.caught_up: set[int] = set()
        self.told: list[ShardsPolled] = []

    def poll(self) -> None:
        self.group.caught_up(frozenset(self.caught_up))
        polled = self.group.poll()
        assert set(polled.lost) <= self.held
        self.held -= set(polled.lost)
        assert not self.held & set(polled.gained)
        self.held |= set(polled.gained)
        assert len({held.shard for held in self.held}) == len(self.held), "holds a shard in both roles"
        if polled.assigned or polled.lost:
            self.told.append(polled)

    def catch_up(self) -> None:
        self.caught_up = {held.shard for held in self.held}

    def count(self, role: Role) -> int:
        return sum(held.role is role for held in self.held)


@pytest.fixture
def join(broker: str, topic_prefix: str) -> Iterator[Callable[..., Holder]]:
    options = client_options(KafkaSettings(bootstrap_servers=broker))
    create_topics(options, topic_specs(prefix=topic_prefix, partitions=1, shards=SHARDS, replicas=2), 1)
    made: list[Holder] = []

    def one_more(worker: str, rack: str = "", replicas: int = 2) -> Holder:
        made.append(Holder(options, topic_prefix, worker, rack, replicas))
        return made[-1]

    yield one_more
    for holder in made:
        holder.group.close()


def until(what: str, condition: Callable[[], bool], *holders: Holder) -> None:
    """Poll all holders until the condition holds."""

    def so() -> bool:
        for holder in holders:
            holder.poll()
        return condition() and not any(holder.group.membership().evicted for holder in holders)

    wait_for(so, what, pause=0.01)


def apart(*holders: Holder) -> bool:
    """Whether two holders have both roles of every shard; each poll checks that one holder does not have both."""
    units = [held for holder in holders for held in holder.held]
    return len(units) == len(set(units)) == 2 * SHARDS


def test_two_workers_hold_each_shard_in_different_roles_and_a_third_gets_its_share(
    join: Callable[..., Holder], caplog: pytest.LogCaptureFixture
) -> None:
    one = join("one")
    until("it holds every shard once", lambda: one.held == {Held(shard, ACTIVE) for shard in range(SHARDS)}, one)
    assert one.group.alone == frozenset(range(SHARDS))
    assert "have one holder" in caplog.text
    one.catch_up()
    two = join("two")
    until("both hold every shard", lambda: apart(one, two), one, two)
    assert one.count(ACTIVE) == SHARDS, "the other one has not caught up"
    two.catch_up()
    until("each is the active holder of half", lambda: one.count(ACTIVE) == two.count(ACTIVE) == SHARDS // 2, one, two)
    assert apart(one, two)
    assert one.group.alone == frozenset()
    three = join("three")
    until("the third has its share", lambda: apart(one, two, three) and len(three.held) == 4, one, two, three)
    assert three.count(ACTIVE) == 0
    assert len(one.held) == len(two.held) == 4
    three.catch_up()
    each = [one, two, three]
    until("each is as often the active holder", lambda: {holder.count(ACTIVE) for holder in each} == {2}, *each)
    assert apart(*each)


def test_when_a_worker_goes_each_standby_of_its_shards_hears_of_its_promotion_in_one_poll(
    join: Callable[..., Holder],
) -> None:
    one, two = join("one"), join("two")
    until("both hold every shard", lambda: apart(one, two), one, two)
    one.catch_up()
    two.catch_up()
    until("each is the active holder of half", lambda: one.count(ACTIVE) == two.count(ACTIVE) == SHARDS // 2, one, two)
    standbys = sorted(held.shard for held in one.held if held.role is STANDBY)
    one.told.clear()
    two.group.close()
    until("it is the active holder of all", lambda: one.count(ACTIVE) == SHARDS, one)
    promoted = [polled for polled in one.told if polled.gained]
    assert promoted == [
        ShardsPolled([Held(s, STANDBY) for s in standbys], [Held(s, ACTIVE) for s in standbys], assigned=True)
    ]


def test_holders_are_on_different_racks_where_workers_name_two(join: Callable[..., Holder]) -> None:
    left, also_left, right = join("one", "left"), join("two", "left"), join("three", "right")
    each = [left, also_left, right]

    def on_both_racks() -> bool:
        for holder in each:
            holder.catch_up()
        return apart(*each) and len(right.held) == SHARDS

    until("the one on the other rack holds every shard", on_both_racks, *each)


def test_workers_with_one_holder_and_with_two_work_in_one_group_while_the_setting_is_changed(
    join: Callable[..., Holder],
) -> None:
    old, one, two = join("old", replicas=1), join("one"), join("two")
    each = [old, one, two]

    def every_shard_is_held() -> bool:
        active = [held.shard for holder in each for held in holder.held if held.role is ACTIVE]
        return sorted(active) == list(range(SHARDS)) and all(holder.held for holder in each)

    until("all three work", every_shard_is_held, *each)
    assert old.count(STANDBY) == 0
    old.group.close()
    until("the others hold every shard in different roles", lambda: apart(one, two), one, two)
    back = join("back", replicas=1)
    each = [back, one, two]
    until("it works beside them again", every_shard_is_held, *each)
