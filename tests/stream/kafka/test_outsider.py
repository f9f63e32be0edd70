"""Commands read from the broker, and write to it, without being a member of any group."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from kafka import KafkaProducer

from crawler_plugin.wire.errors import Refused, UsageError
from crawler_plugin.wire.outcomes import Verdict, dead_letter_headers
from crawler_plugin.wire.topics import DEAD_LETTERS, FINGERPRINTS, INDEX, VERDICTS
from tests.stream.contract import SHARDS, Member
from tests.stream.kafka.under_test import GROUP, KafkaUnderTest, kafka_log
from worker.broker.server import LocalBroker
from worker.stream.kafka import outsider
from worker.stream.kafka.outsider import ClusterView
from worker.stream.kafka.private import is_at_rest
from worker.stream.log import Bounds, Committed, read_to_end

pytestmark = pytest.mark.cluster


@pytest.fixture
def world(broker: str, topic_prefix: str) -> Iterator[KafkaUnderTest]:
    with KafkaUnderTest.on(broker, topic_prefix) as world:
        yield world


@pytest.fixture
def view(world: KafkaUnderTest) -> Iterator[ClusterView]:
    with ClusterView(world.options, prefix=world.prefix, group=world.prefix + GROUP) as view:
        yield view


def test_what_is_written_is_there_in_its_order_when_writing_returns(view: ClusterView) -> None:
    view.write([(INDEX, 0, b"%d" % n, b"block %d" % n, [("scheme", b"words")]) for n in range(3)])
    assert view.bounds(INDEX, 0) == Bounds(0, 3)
    found = list(read_to_end(view.reader(INDEX, 0, 1), 3))
    assert [(record.key, record.value, record.headers) for record in found] == [
        (b"%d" % n, b"block %d" % n, [("scheme", b"words")]) for n in (1, 2)
    ]


def test_a_record_that_the_broker_refuses_ends_the_command_with_the_next_move(
    world: KafkaUnderTest, view: ClusterView
) -> None:
    with (
        ClusterView(
            world.options, prefix=world.prefix, group=world.prefix + GROUP, max_message_bytes=64 << 20
        ) as unbounded,
        pytest.raises(UsageError, match=rf"{world.prefix}fingerprints as too large.*--alter-config"),
    ):
        unbounded.write([(FINGERPRINTS, 0, b"", bytes(16 << 20), ())])
    assert view.bounds(FINGERPRINTS, 0).end == 0


def test_a_broker_that_was_never_asked_for_a_group_has_no_members(tmp_path: Path) -> None:
    with (
        LocalBroker(data_dir=tmp_path / "broker") as running,
        ClusterView({"bootstrap_servers": [running.bootstrap_servers]}, prefix="a.", group="nobody") as view,
    ):
        assert view.workers() == []


def test_consumed_offsets_are_set_only_while_nobody_is_in_the_group(world: KafkaUnderTest, view: ClusterView) -> None:
    member = world.member("a")
    world.balance(member)
    assert len(view.workers()) == 1, "though it is in both groups"
    with pytest.raises(Refused, match=r"did not take the consumed offsets of group .*stop all workers"):
        view.commit({0: Committed(7, "note")})
    world.members.remove(member)
    kafka_log(member).close(4)
    world.until("both groups are empty", lambda: not view.workers())
    view.commit({0: Committed(7, "note"), 1: Committed(0, "")})
    assert [view.committed(partition) for partition in range(3)] == [Committed(7, "note"), Committed(0, ""), None]


def ended(world: KafkaUnderTest, member: Member, *, leave: bool = False) -> None:
    """Stop the member in order."""
    world.members.remove(member)
    kafka_log(member).close(4, leave=leave)


def test_a_worker_with_a_name_that_has_stopped_keeps_its_places_and_is_told_from_one_that_hangs(
    world: KafkaUnderTest, view: ClusterView
) -> None:
    first, second = world.member("1", "w1"), world.member("2", "w2")
    world.balance(first, second)
    assert view.workers() == ["w1", "w2"]
    ended(world, first)
    assert view.workers() == ["w2"], "which says nothing to the broker any more, as if it hung"
    assert view.named() == ["w1", "w2"]
    back = world.member("3", "w1")
    world.balance(back, second)
    assert view.workers() == ["w1", "w2"], "what it noted was of the life before"
    for member in (back, second):
        ended(world, member)
    assert view.named() == ["w1", "w2"]
    assert view.workers() == []
    assert view.named() == [], "nobody waits for their sessions to end"
    view.commit({0: Committed(7, "note")})


def test_a_worker_that_leaves_gives_its_places_to_the_others_at_once(world: KafkaUnderTest, view: ClusterView) -> None:
    first, second = world.member("1", "w1"), world.member("2", "w2")
    world.balance(first, second)
    ended(world, first, leave=True)
    assert view.named() == ["w2"]
    world.balance(second)


def test_a_worker_without_a_shard_leaves_when_it_stops(world: KafkaUnderTest, view: ClusterView) -> None:
    """Hardly anything moves then, and it owns no partition that could carry its note."""
    members = [world.member(str(number), f"w{number}") for number in range(SHARDS + 1)]

    def is_shared_out() -> bool:
        for member in members:
            member.poll()
        logs = [kafka_log(member) for member in members]
        owned = [log.shards().consumer.assignment() for log in logs]
        # A member that leaves in the middle of a rebalance, of either group, waits for the others.
        at_rest = all(is_at_rest(group.consumer) for log in logs for group in (log.pages(), log.shards()))
        generations = {log.shards().membership().generation for log in logs}
        shared = sum(map(len, owned)) == sum(map(bool, owned)) == SHARDS
        return shared and at_rest and len(generations) == 1 and len(idle()) == 1

    def idle() -> list[Member]:
        return [member for member in members if kafka_log(member).shards().has_none]

    world.until("each shard has a worker of its own, and one has none", is_shared_out)
    (spare,) = idle()
    ended(world, spare)
    assert f"w{spare.name}" not in view.named()


def test_the_last_page_in_the_outputs_is_found_however_far_from_their_end(
    world: KafkaUnderTest, view: ClusterView, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outsider, "LAST_RECORDS", 2)
    verdict = Verdict(
        url="http://a.example/",
        verdict="unique",
        duplicate_of=None,
        distance=None,
        reason="first",
        fingerprint=None,
        order=(0, 0),
        source=(0, 5),
        fetched=None,
        scheme="",
    )
    producer = KafkaProducer(**world.options, transactional_id=f"{world.prefix}out")
    producer.init_transactions()
    producer.begin_transaction()
    producer.send(world.prefix + VERDICTS, verdict.encode(), partition=0)
    producer.send(world.prefix + DEAD_LETTERS, b"", headers=dead_letter_headers("why", "", (0, 7)), partition=0)
    producer.commit_transaction()
    for _ in range(9):  # leaves nothing but markers
        producer.begin_transaction()
        producer.send(world.prefix + DEAD_LETTERS, b"", headers=dead_letter_headers("why", "", (0, 9)), partition=0)
        producer.flush(timeout=30)
        producer.abort_transaction()
    producer.close(timeout=10)
    world.until("the last transaction is over", lambda: view.committed_up_to(0) == 7)
    assert view.committed_up_to(1) == -1
