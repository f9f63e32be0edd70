"""A worker's holdings as the gauges show them, and the reasons why it is not ready."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import count
from weakref import ref

import pytest

from crawler_plugin.wire.topics import ANSWERS, FINGERPRINTS, INDEX, PAGES
from tests.observe.exposed import INFO, series
from tests.simulation.memory_log import MemoryLog, World, active
from tests.stream.script import ANSWER, CLAIM, COMMIT, CRASH, FLUSH, Page, Stage, Straight, policy
from worker.index.engine import TableSizes
from worker.index.shard import Shard
from worker.observe.catalogue import CATALOGUE
from worker.observe.counters import Counters
from worker.observe.gauges import Gauges, missing_for_readiness
from worker.observe.metrics import Metrics
from worker.pool.process_pool import PoolUsage
from worker.stream.log import Bounds, Role
from worker.stream.watchdog import Watch
from worker.stream.worker import Worker

A, B, C = Page("http://a/", 0b000), Page("http://b/", 0b001), Page("http://c/", 0b111)


class Clock:
    """Shows the time to which it is set."""

    def __init__(self, now: float = 0.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def sampled(stage: Stage, now: float = 0.0) -> dict[str, float]:
    """The series after one sample of the worker that owns everything."""
    metrics, watch = looking_at(stage.worker, now)
    metrics.sample(stage.worker, watch)
    return series(metrics)


def looking_at(worker: Worker, now: float = 0.0) -> tuple[Metrics, Watch]:
    """Metrics that observe the worker from now on, and a watch that has asked the broker once."""
    worker.observer = metrics = Metrics(INFO, now=Clock(now))
    watch = Watch(worker.log, worker, 60)
    watch.check(0)
    return metrics, watch


def named(seen: dict[str, float], name: str) -> dict[str, float]:
    return {key.partition(" ")[2]: value for key, value in seen.items() if key.split(" ")[0] == name}


# shards


def test_entries_of_all_shards_are_the_survivors() -> None:
    stage = Stage(shards=2).play(A, B, C, COMMIT)
    seen = sampled(stage)
    assert set(named(seen, "dedup_index_entries")) == {"0", "1"}
    assert sum(named(seen, "dedup_index_entries").values()) == 2
    assert sum(named(seen, "dedup_unflushed_entries").values()) == 2
    stage.play(FLUSH)
    assert sum(named(sampled(stage), "dedup_unflushed_entries").values()) == 0


def test_a_shard_is_in_one_state_and_the_others_are_0() -> None:
    stage = Stage(shards=1).play(A, COMMIT, FLUSH, B, COMMIT, CRASH)
    worker = stage.worker
    worker.poll()
    states = []
    for step in ("poll", "take_up", "read"):
        getattr(worker, step)()
        worker.answer()
        states.append(named(sampled(stage), "dedup_shard_state"))
    assert {tuple(state) for state in states} == {("0 answering", "0 replaying", "0 restoring")}
    assert [[key for key, value in state.items() if value] for state in states] == [
        ["0 restoring"],
        ["0 replaying"],
        ["0 answering"],
    ]


@pytest.mark.parametrize("role", [Role.ACTIVE, Role.STANDBY, None])
def test_a_shard_is_held_in_one_role_or_kept_in_none(role: Role | None) -> None:
    stage = Stage(shards=1).play(A, COMMIT)
    stage.worker.shards[0].hold(role)
    held = named(sampled(stage), "dedup_shard_role")
    assert held == {"0 active": role is Role.ACTIVE, "0 standby": role is Role.STANDBY}


def test_a_restored_shard_has_progress_1_and_one_that_begins_less() -> None:
    stage = Stage(shards=1).play(A, COMMIT, FLUSH)
    assert named(sampled(stage), "dedup_restore_progress_ratio") == {"0": 1}
    stage.play(CRASH)
    stage.worker.poll()
    assert named(sampled(stage), "dedup_restore_progress_ratio") == {"0": 0}


def test_what_was_lost_is_shown_no_more() -> None:
    stage = Stage(shards=1).play(A, COMMIT)
    metrics, watch = looking_at(stage.worker)
    metrics.sample(stage.worker, watch)
    stage.assign({}, INDEX)
    stage.assign({}, PAGES)
    stage.worker.poll()
    metrics.sample(stage.worker, watch)
    seen = series(metrics)
    assert not [key for key in seen if key.startswith(("dedup_shard_state ", "dedup_partition_state ", "dedup_index_"))]
    assert named(seen, "dedup_lag_records") == {}


# partitions


def test_lag_is_what_is_not_committed_and_as_old_as_its_oldest_page() -> None:
    stage = Stage(shards=1, partitions=2).play(A, ANSWER)
    held = stage.worker.partitions[0].held
    first = next(iter(held.values()))
    stage.play(B, CLAIM)
    seen = sampled(stage, now=first.timestamp / 1000 + 40)
    assert named(seen, "dedup_lag_records") == {"0": 2, "1": 0}
    assert seen["dedup_lag_seconds"] == pytest.approx(40)
    assert seen["dedup_held_pages"] == 2
    assert seen["dedup_held_bytes"] == sum(record.weight for record in held.values()) > len(A.value) + len(B.value)
    assert named(seen, "dedup_partition_state")["0 claiming"] == 1
    committed = sampled(stage.play(COMMIT), now=first.timestamp / 1000 + 40)
    assert committed["dedup_lag_seconds"] == committed["dedup_held_pages"] == committed["dedup_held_bytes"] == 0
    assert named(committed, "dedup_lag_records") == {"0": 0, "1": 0}


def test_a_partition_beyond_the_setting_is_shown_as_unclaimed_and_the_worker_is_ready() -> None:
    stage = Stage(shards=1, partitions=2)
    stage.policy = replace(stage.policy, partitions=1)
    stage.play(CRASH, A, COMMIT)
    states = {name for name, value in named(sampled(stage), "dedup_partition_state").items() if value}
    assert states == {"0 claiming", "1 unclaimed"}
    assert missing_for_readiness(stage.worker) == []


def test_pages_that_wait_while_none_comes_grow_old_by_this_machine_s_clock() -> None:
    stage = Stage(shards=1).play(A, COMMIT)
    clock = Clock(100)
    counters = Counters(CATALOGUE)
    gauges = Gauges(counters, clock)

    def age(lags: dict[int, int], now: float) -> float:
        clock.now = now
        gauges.take(stage.worker, lags, {})
        return counters.copy()[0]["dedup_lag_seconds"][()]

    first_look = {0: 5}
    assert age(first_look, 100) == 0
    assert age(first_look, 104) == 0  # may be from before the last commit
    assert age({0: 5}, 105) == 5
    assert age({0: 5}, 165) == 65
    assert age({0: 0}, 166) == 0
    assert age({0: 3}, 170) == 0


# counts by shards


def shard_worker(sizes: TableSizes | None = None) -> tuple[World, Worker]:
    """A worker over real shards that own nothing yet."""
    world = World(partitions=1, shards=1)
    keys = (number.to_bytes(16, "big") for number in count(1))
    worker = Worker(
        MemoryLog(world, "w"), policy(shards=1), Straight(), lambda: Shard(k=1, sizes=sizes), lambda: next(keys)
    )
    worker.poll()
    world.groups[INDEX].assign(active({0: "w"}))
    world.groups[PAGES].assign({0: "w"})
    return world, worker


def commit(world: World, worker: Worker) -> None:
    for _ in range(30):
        for step in ("poll", "take_up", "read", "claim", "answer", "decide", "commit", "flush"):
            getattr(worker, step)()
        world.settle_down()


def publish(world: World, *pages: Page) -> None:
    for page in pages:
        world.publish(0, page.url.encode(), page.value, [("url", page.url.encode()), ("fetched", b"0")])


def test_look_ups_go_on_when_a_shard_is_lost_and_restored() -> None:
    world, worker = shard_worker()
    metrics, watch = looking_at(worker)
    publish(world, A, B)
    commit(world, worker)
    metrics.sample(worker, watch)
    before = series(metrics)
    assert before["dedup_look_ups_total"] == 2
    world.groups[INDEX].assign({})
    worker.poll()
    metrics.sample(worker, watch)
    assert series(metrics)["dedup_look_ups_total"] == 2
    world.groups[INDEX].assign(active({0: "w"}))
    publish(world, C, A)
    commit(world, worker)
    metrics.sample(worker, watch)
    seen = series(metrics)
    assert seen["dedup_look_ups_total"] == 4
    assert seen["dedup_candidates_total"] > before["dedup_candidates_total"]
    live = worker.shards[0].live
    assert live is not None
    assert seen["dedup_index_bytes 0 tables"] == live.index.nbytes


def test_the_fullest_bucket_is_looked_for_at_once_and_then_as_seldom_as_it_takes_long() -> None:
    world, worker = shard_worker()
    publish(world, A, C)
    commit(world, worker)
    times = iter([0.0, 0.1, 5.0, 20.2, 20.3])
    counters = Counters(CATALOGUE)
    gauges = Gauges(counters, stopwatch=lambda: next(times))

    def bucket() -> float:
        gauges.take(worker, {}, {})
        return counters.copy()[0]["dedup_index_largest_bucket_entries"]["0",]

    live = worker.shards[0].live
    assert live is not None
    first = bucket()
    assert first == live.index.largest_bucket >= 1
    publish(world, *(Page(f"http://{number}/", 0b111 << 3 * number) for number in range(1, 16)))
    commit(world, worker)
    assert live.index.largest_bucket > first
    assert bucket() == first
    assert bucket() == live.index.largest_bucket
    assert counters.copy()[0]["dedup_index_bytes"]["0", "urls"] == live.index.url_bytes


def test_an_index_that_was_counted_is_freed_when_its_shard_is_lost() -> None:
    world, worker = shard_worker()
    publish(world, A, C)
    commit(world, worker)
    metrics, watch = looking_at(worker)
    metrics.sample(worker, watch)
    index = ref(live.index) if (live := worker.shards[0].live) else None
    assert index is not None
    assert index() is not None
    del live
    world.groups[INDEX].assign({})
    for _ in range(5):
        worker.poll()
    assert index() is None


def test_buckets_that_were_split_are_counted() -> None:
    world, worker = shard_worker(TableSizes(split_from=4))
    metrics, watch = looking_at(worker)
    chance = random.Random(7)
    publish(world, *(Page(f"http://{number}/", chance.getrandbits(48) << 16) for number in range(60)))
    commit(world, worker)
    metrics.sample(worker, watch)
    live = worker.shards[0].live
    assert live is not None
    assert series(metrics)["dedup_index_split_buckets 0"] == live.index.splits > 0


def test_replaced_parsers_are_counted_once() -> None:
    _, worker = shard_worker()
    worker.fingerprinting = parsers = Straight()
    metrics, watch = looking_at(worker)
    for parsers.usage in (PoolUsage(7, 1), PoolUsage(0, 1), PoolUsage(2, 4)):
        metrics.sample(worker, watch)
    seen = series(metrics)
    assert seen["dedup_parser_replacements_total"] == 4
    assert seen["dedup_parsing_pages"] == 2


def test_what_parsers_spent_is_counted_once_beside_the_loops_steps() -> None:
    _, worker = shard_worker()
    worker.fingerprinting = parsers = Straight()
    metrics, watch = looking_at(worker)
    metrics.stage("poll", 0.5)
    for spent in ({"start": 2.0}, {"start": 2.0, "extract": 0.25}, {"start": 4.0, "extract": 1.25}):
        parsers.usage = PoolUsage(stage_seconds=spent)
        metrics.sample(worker, watch)
    seen = named(series(metrics), "dedup_stage_seconds_total")
    assert seen == {"start": 4.0, "extract": 1.25, "poll": 0.5}


# readiness


def test_a_worker_is_ready_when_all_that_is_its_own_works() -> None:
    stage = Stage(shards=1).play(A, COMMIT, FLUSH)
    assert missing_for_readiness(stage.worker) == []
    stage.play(CRASH)
    worker = stage.worker
    worker.poll()
    assert missing_for_readiness(worker) == [
        "shard 0 is restoring, 0% of its blocks read",
        "partition 0 is locating",
    ]
    worker.take_up()
    assert missing_for_readiness(worker) == ["shard 0 is replaying", "partition 0 is replaying"]
    worker.shards[0].hold(None)
    assert missing_for_readiness(worker) == ["partition 0 is replaying"]
    worker.shards[0].hold(Role.ACTIVE)
    stage.play(B, COMMIT)
    assert missing_for_readiness(worker) == []
    worker.drain()
    assert missing_for_readiness(worker) == ["the worker is draining"]


def test_a_worker_that_no_group_has_taken_in_is_not_ready() -> None:
    worker = Worker(
        MemoryLog(World(partitions=1, shards=1), "w"),
        policy(shards=1),
        Straight(),
        lambda: Shard(k=1),
        lambda: b"k" * 16,
    )
    assert missing_for_readiness(worker) == [
        "the worker is not, or not yet, a member of the consumer group on pages",
        "the worker is not, or not yet, a member of the consumer group on index",
    ]
    worker.log.pages().poll()
    assert missing_for_readiness(worker) == ["the worker is not, or not yet, a member of the consumer group on index"]


def test_readiness_does_not_wait_for_numbers_that_fail() -> None:
    stage = Stage(shards=1).play(A, COMMIT)
    metrics, watch = looking_at(stage.worker)
    watch.check(0)
    metrics.health.heard()
    watch.logs = {FINGERPRINTS: Bounds(0, 1)}
    with pytest.raises(KeyError):
        metrics.sample(stage.worker, watch)
    assert metrics.health.not_ready() == []


NOTHING_REMOVED = {FINGERPRINTS: Bounds(0, 12), ANSWERS: Bounds(0, 12)}


def margins(stage: Stage, logs: dict[str, Bounds]) -> dict[str, float]:
    """The margins shown while both logs have these bounds."""
    metrics, watch = looking_at(stage.worker)
    watch.logs = logs
    metrics.sample(stage.worker, watch)
    return named(series(metrics), "dedup_replay_margin_ratio")


@pytest.mark.parametrize(
    ("begin", "margin"),
    [(0, 1.0), (1, 0.0), (2, 0.0), (3, 0.0)],
    ids=["nothing was removed", "removed up to the replay point", "removed beyond it", "everything was removed"],
)
def test_the_oldest_replay_point_is_compared_with_the_beginning_of_the_log(begin: int, margin: float) -> None:
    stage = Stage(shards=1, partitions=1).play(A, COMMIT, FLUSH, C, COMMIT)
    assert stage.worker.shards[0].block_writer
    assert stage.worker.shards[0].block_writer.replay_point.batch == 1, "of the batches 0 and 1 the first is in a block"
    seen = margins(stage, NOTHING_REMOVED | {FINGERPRINTS: Bounds(begin, 3)})
    assert seen == {"fingerprints": margin, "answers": 1.0}


def test_a_replay_point_between_both_ends_of_a_log_has_its_part_of_the_way() -> None:
    stage = Stage(shards=1, partitions=1)
    for number in range(8):
        stage.play(Page(f"http://{number}/", number << 8), COMMIT)
    stage.play(FLUSH)
    seen = margins(stage, {FINGERPRINTS: Bounds(4, 12), ANSWERS: Bounds(6, 10)})
    assert seen == {"fingerprints": 0.5, "answers": 0.5}


@pytest.mark.parametrize("answers", [Bounds(1, 1), Bounds(5, 5), Bounds(3, 7)], ids=["read", "emptied", "not read"])
def test_behind_the_last_batch_nothing_is_needed_whatever_became_of_the_answers(answers: Bounds) -> None:
    """A shard with two answers to one batch leaves an answer that no worker reads; then retention empties the topic."""
    stage = Stage(shards=1, partitions=1).play(A, COMMIT, FLUSH)
    seen = margins(stage, {FINGERPRINTS: Bounds(1, 1), ANSWERS: answers})
    assert seen == {"fingerprints": 1.0, "answers": 1.0}


def test_answers_that_are_gone_while_their_batch_is_not_leave_no_margin() -> None:
    stage = Stage(shards=1, partitions=1).play(A, COMMIT, FLUSH)
    seen = margins(stage, {FINGERPRINTS: Bounds(1, 2), ANSWERS: Bounds(5, 5)})
    assert seen == {"fingerprints": 0.0, "answers": 0.0}
