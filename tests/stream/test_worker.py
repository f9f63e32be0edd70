"""Whole workers, played by a script with the mishaps inside it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from typing import Any
from weakref import ref

import pytest

from crawler_plugin.wire.errors import Unavailable
from crawler_plugin.wire.topics import INDEX, PAGES
from tests.simulation.memory_log import MemoryLog, in_memory
from tests.stream.pair import ONE, Pair
from tests.stream.script import (
    ANSWER,
    CLAIM,
    COMMIT,
    COMPACT,
    CRASH,
    FLUSH,
    LOSE_BLOCKS,
    REBALANCE,
    REDELIVER,
    TAKE_OVER,
    UNACKNOWLEDGED,
    Event,
    Page,
    Stage,
)
from worker.stream.log import RECORD_BYTES
from worker.stream.policy import OutputMode
from worker.stream.states import PartitionState

A, B, C = Page("http://a/", 0b000), Page("http://b/", 0b001), Page("http://c/", 0b111)
D = Page("http://d/", 0b111000)
A_AGAIN = Page("http://a/", 0b001)
VERDICTS = ["http://a/ unique", "http://b/ duplicate http://a/", "http://c/ unique", "http://a/ refetch http://a/"]

MISHAPS: list[tuple[Event, ...]] = [
    (COMMIT,),
    (CRASH,),
    (CLAIM, CRASH),
    (ANSWER, CRASH),
    (COMMIT, CRASH),
    (CLAIM, REBALANCE),
    (ANSWER, REBALANCE),
    (CLAIM, TAKE_OVER),
    (ANSWER, TAKE_OVER),
    (COMMIT, TAKE_OVER),
    (REDELIVER,),
    (REDELIVER, CRASH),
    (REDELIVER, TAKE_OVER),
    (UNACKNOWLEDGED,),
    (UNACKNOWLEDGED, CRASH),
    (UNACKNOWLEDGED, REBALANCE),
    (ANSWER, FLUSH, CRASH),
    (COMMIT, FLUSH, COMPACT, CRASH),
    (COMMIT, LOSE_BLOCKS),
    (COMMIT, FLUSH, LOSE_BLOCKS),
    (TAKE_OVER, TAKE_OVER),
]


def named(mishap: tuple[Event, ...]) -> str:
    return " ".join(event.name.lower() for event in mishap)


@pytest.mark.parametrize("partitions", [1, 3])
@pytest.mark.parametrize("mishap", MISHAPS, ids=named)
def test_verdicts_are_the_same_whatever_happens_between_the_pages(mishap: tuple[Event, ...], partitions: int) -> None:
    stage = Stage(partitions=partitions)
    stage.play(A, *mishap, B, *mishap, C, *mishap, A_AGAIN, *mishap, COMMIT, FLUSH)
    assert stage.verdicts() == VERDICTS
    stage.check()


def test_shards_that_are_lost_together_are_freed_one_a_step() -> None:
    stage = Stage(shards=3).play(A, COMMIT)
    indexes = [ref(shard.live.index) for shard in stage.worker.shards.values() if shard.live]
    stage.assign(dict.fromkeys(range(3), "another"), INDEX)
    alive = []
    for _ in range(4):
        stage.worker.poll()
        alive.append(sum(index() is not None for index in indexes))
    assert alive == [3, 2, 1, 0]


@pytest.mark.parametrize("mishap", MISHAPS, ids=named)
def test_a_page_that_cannot_be_read_is_a_dead_letter_once(mishap: tuple[Event, ...]) -> None:
    stage = Stage()
    stage.play(A, Page("http://dead/", "dead"), *mishap, B, *mishap, COMMIT, FLUSH)
    assert stage.verdicts() == ["http://a/ unique", "http://dead/ dead parser-raised", "http://b/ duplicate http://a/"]
    stage.check()


@pytest.mark.parametrize("mishap", MISHAPS, ids=named)
def test_what_has_expired_is_unique_again(mishap: tuple[Event, ...]) -> None:
    stage = Stage(ttl=10)
    later, copy = Page("http://new/", 0b111, fetched=20), Page("http://b/", 0b000, fetched=20)
    stage.play(A, *mishap, COMMIT, later, *mishap, COMMIT, copy, *mishap, COMMIT, FLUSH)
    assert stage.verdicts() == ["http://a/ unique", "http://new/ unique", "http://b/ unique"]
    stage.check()


def test_what_goes_out_may_change_from_one_start_to_the_next_and_each_page_has_its_verdict_once() -> None:
    stage = Stage().play(A, COMMIT)
    starts: list[tuple[OutputMode, Page]] = [("verdicts", B), ("drop", A_AGAIN), ("verdicts", C), ("tag", D)]
    for output, page in starts:
        stage.policy = replace(stage.policy, output=output)
        stage.play(CRASH, page, COMMIT)
    assert len(stage.verdicts()) == len(set(stage.verdicts())) == 5
    passed = [record.key for record in stage.world.topics["deduplicated", 0].records]
    assert passed == [b"http://a/", b"http://a/", b"http://d/"]


# answers


# followers


def test_what_is_gained_at_the_same_place_shares_a_follower() -> None:
    stage = Stage(partitions=3, shards=2).play(A, COMMIT)
    assert len(stage.worker.followers) == 1


def test_a_shard_gained_later_catches_up_by_itself_and_then_joins() -> None:
    stage = Stage(shards=2).play(A, B, C, COMMIT)
    stage.play(CRASH)  # nothing was flushed: both shards begin at 0, the partition begins at its committed offset
    worker = stage.worker
    for _ in range(3):
        worker.poll()
        worker.take_up()
    assert sorted(follower.place.batch for follower in worker.followers) == [0, 1]
    worker.read()
    worker.decide()
    (follower,) = worker.followers
    assert follower.place.batch == 1
    assert len([subscriber for subscriber in follower.subscribers if subscriber is worker.claimer]) == 1
    stage.play(Page("http://late/", 0b000), COMMIT, FLUSH).check()


def test_followers_stop_where_the_one_ahead_stands() -> None:
    stage = Stage(shards=1).play(A, COMMIT, B, COMMIT, CRASH)
    worker = stage.worker
    worker.poll()
    worker.take_up()
    behind, ahead = sorted(worker.followers, key=lambda follower: follower.place.batch)
    stage.workers.pop("w2")
    stage.take_over()  # another worker takes over, and w2 has read the third batch with only one of its followers
    stage.play(Page("http://third/", 0b111), COMMIT)
    behind.read()
    worker.decide()
    assert behind.place.batch == ahead.place.batch == 2
    worker.decide()
    assert worker.followers == [ahead]


def test_a_follower_whose_roles_are_lost_is_closed() -> None:
    stage = Stage().play(A, COMMIT, REBALANCE)
    first = stage.workers["w1"]
    first.decide()
    assert first.followers == []


# losses


def test_a_worker_whose_only_claims_are_lost_is_free_to_claim_again() -> None:
    stage = Stage().play(A)
    worker = stage.worker
    stage.gather()
    assert not worker.claimer.idle
    stage.assign({}, PAGES)
    worker.poll()
    assert worker.claimer.idle


def test_a_lost_shard_answers_no_more() -> None:
    stage = Stage(shards=1).play(A, COMMIT, B, CLAIM)
    stage.assign({}, INDEX)
    stage.worker.poll()
    stage.worker.read()
    assert stage.worker.answer() == 0


def test_how_much_memory_the_index_takes_is_told_once_when_all_shards_are_here(
    caplog: pytest.LogCaptureFixture,
) -> None:
    stage = Stage(shards=4).play(A, COMMIT, FLUSH)
    with caplog.at_level(logging.INFO, "worker"):
        caplog.clear()
        stage.play(CRASH, B, COMMIT)
    told = [record.getMessage() for record in caplog.records if "the index holds" in record.getMessage()]
    assert told == ["the index holds 1 entry, 0 MiB; index.memory_mb sets no limit"]


def test_a_worker_that_leaves_stands_by_until_others_have_its_shards() -> None:
    """Verdicts do not wait until the shards are restored, nor until the others have heard of the change."""
    stage = Stage(hedge=5.0).play(A, COMMIT)
    leaves, stays = stage.worker, stage.start()
    stage.workers[stays].poll()
    leaves.drain()
    assert leaves.drained
    leaves.part()
    assert [group.members for group in stage.world.groups.values()] == [[stays], [stays]]
    stage.workers[stays].poll()
    stage.assign({0: stays}, PAGES)
    stage.publish(B)
    stage.answer()
    assert len(stage.verdicts()) == 1, "the others would answer now, if they could"
    stage.now += 5.0
    stage.commit()
    assert stage.verdicts() == VERDICTS[:2]
    relieved = [leaves.relieved]
    stage.assign(dict.fromkeys(range(stage.world.shards), stays), INDEX)
    stage.play(C, COMMIT)
    assert [*relieved, leaves.relieved] == [False, True]
    leaves.close()
    del stage.workers[next(iter(stage.workers))]
    stage.play(A_AGAIN, COMMIT)
    assert stage.verdicts() == VERDICTS
    stage.check()


def test_a_worker_that_leaves_waits_for_nobody_where_nothing_is_to_be_answered() -> None:
    stage = Stage().play(A, COMMIT)
    stage.worker.drain()
    stage.worker.part()
    for seconds, relieved in ((1.0, False), (1.0, True)):
        stage.now += seconds
        stage.worker.poll()
        assert stage.worker.relieved is relieved


def test_pages_that_come_before_their_partition_is_ready_are_not_taken() -> None:
    stage = Stage().play(A, ANSWER)
    stage.redeliver()
    assert stage.worker.partitions[0].state is PartitionState.LOCATING
    stage.publish(B)
    stage.worker.poll()
    assert stage.worker.partitions[0].held == {}
    stage.play(COMMIT)
    assert stage.verdicts() == VERDICTS[:2]


@pytest.mark.parametrize("change", [CRASH, REBALANCE, TAKE_OVER])
def test_a_partition_beyond_the_setting_waits_for_a_worker_that_claims_it_and_the_others_go_on(change: Event) -> None:
    stage = Stage().play(A, COMMIT)
    stage.policy = replace(stage.policy, partitions=1)
    stage.play(CRASH)
    stage.world.partitions = 2
    stage.play(change, B._replace(partition=1), C, ANSWER)
    for _ in range(2):
        stage.worker.commit()
        stage.world.settle_down()
    assert stage.verdicts() == ["http://a/ unique", "http://c/ unique"]
    assert stage.worker.partitions[1].state is PartitionState.UNCLAIMED
    assert stage.worker.drained

    stage.policy = replace(stage.policy, partitions=2)
    stage.world.outputs = 2
    stage.play(change, FLUSH, A_AGAIN._replace(partition=1), COMMIT)
    assert stage.verdicts() == ["http://a/ unique", "http://c/ unique", *VERDICTS[1::2]]
    stage.check()


def test_partitions_of_the_index_that_are_no_shards_are_taken_by_nobody() -> None:
    stage = Stage().play(A, COMMIT)
    stage.assign(dict.fromkeys(range(3), "w1"), INDEX)
    stage.play(B, C, COMMIT)
    assert stage.worker.shards.keys() == {0, 1}
    assert stage.verdicts() == VERDICTS[:3]


# one step at a time


def test_full_hands_hold_every_partition_back_until_something_is_committed() -> None:
    stage = Stage(held_bytes=2 * RECORD_BYTES).play(A, B, C)
    worker = stage.worker
    stage.claim()
    assert in_memory(worker.log).pages().held == {0}
    stage.play(COMMIT)
    assert in_memory(worker.log).pages().held == frozenset()
    assert stage.verdicts() == VERDICTS[:3]


QUESTIONS_OF_A_START = 15
"""A worker with one partition and two shards makes at least this many requests before it works."""


@pytest.mark.parametrize("first", range(QUESTIONS_OF_A_START))
@pytest.mark.parametrize("unanswered", [1, 3])
def test_a_broker_that_is_away_while_a_worker_takes_up_its_work_is_asked_again(
    monkeypatch: pytest.MonkeyPatch, first: int, unanswered: int
) -> None:
    stage = Stage().play(A, COMMIT, FLUSH, B, ANSWER)
    asked = count()

    def away_at_times(question: Callable[..., Any]) -> Callable[..., Any]:
        def ask(*arguments: object) -> Any:
            if first <= next(asked) < first + unanswered:
                raise Unavailable("the broker is away")
            return question(*arguments)

        return ask

    for question in ("bounds", "reader"):
        monkeypatch.setattr(MemoryLog, question, away_at_times(getattr(MemoryLog, question)))
    stage.play(CRASH, C, A_AGAIN, COMMIT)
    assert next(asked) >= QUESTIONS_OF_A_START
    assert stage.verdicts() == VERDICTS


def test_a_pass_over_many_shards_waits_for_one_time_out_of_a_broker_that_is_away(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begins, follows = Stage(shards=3).play(A, COMMIT, FLUSH).worker, Pair(shards=3).play(B, COMMIT).workers[ONE]
    for shard in follows.shards.values():
        assert shard.index_follower is not None
        shard.index_follower.ask_anew()
    asked: list[str] = []

    def away(log: MemoryLog, topic: str, *where: int) -> Any:
        asked.append(topic)
        raise Unavailable("the broker is away")

    for name in ("bounds", "reader"):
        monkeypatch.setattr(MemoryLog, name, away)
    for number in range(3):
        begins._lose_shard(number)
        begins._take_shard(number)
    asked.clear()
    begins.take_up()
    assert asked == [INDEX]
    follows.tidy()
    assert asked == [INDEX, INDEX]
