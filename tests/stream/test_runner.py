"""When each step is due, with a clock that the tests move; and a whole drain over the in-memory twin."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from crawler_plugin.wire.errors import Unavailable
from tests.stream.script import Page, Stage
from worker.stream.barrier import Barred
from worker.stream.observer import Observer
from worker.stream.runner import GATHER_SECONDS, REFRESH_SECONDS, WAIT_SECONDS, Rhythm, Runner

RHYTHM = Rhythm(claim_seconds=0.25, commit_seconds=1.0, commit_pages=10, flush_seconds=60.0, drain_seconds=20.0)
STEPS = ["poll", "take_up", "read", "answer", "decide", "claim", "commit", "flush"]


class Clock:
    """A clock that only the test moves."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Partition:
    """The parts of an owned partition that the runner uses."""

    def __init__(self, ready: int) -> None:
        self.decisions = range(ready)


class Scripted:
    """Worker, parsing, watch and listener in one: records each call and gives the scripted answers."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.answers: dict[str, Any] = {}
        self.on: dict[str, Callable[[], None]] = {}
        self.partitions: dict[int, Partition] = {}
        self.busy = False
        self.backlog = False
        self.drained = True
        self.flushed = True
        self.committing = False
        self.barred = False
        self.relieved = True
        self.followers = ["one"]
        self.slept: list[float] = []

    def runner(self, rhythm: Rhythm = RHYTHM) -> Runner:
        return Runner(self, self, self, rhythm, self, self.clock, self.slept.append)  # type: ignore[arg-type]

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_"):
            raise AttributeError(name)

        def called(*given: Any, **named: Any) -> Any:
            self.calls.append((name, named | {"given": given}))
            self.on.get(name, lambda: None)()
            return named.get("send", True) and self.answers.get(name, False)

        return called

    def said(self, name: str) -> list[dict[str, Any]]:
        return [given for called, given in self.calls if called == name]

    def order(self) -> list[str]:
        return [name for name, _ in self.calls if name in STEPS]

    def passes(self, runner: Runner, *seconds: float) -> None:
        """Make a pass at each of these seconds after the start."""
        for second in seconds:
            self.clock.now = 1000.0 + second
            runner.one_pass()


@pytest.fixture
def scripted() -> Scripted:
    return Scripted()


def test_each_step_is_timed_under_its_name(scripted: Scripted) -> None:
    scripted.runner().one_pass()
    stages = [given["given"] for given in scripted.said("stage")]
    assert [name for name, _ in stages] == STEPS
    assert all(seconds >= 0 for _, seconds in stages)


def test_it_waits_for_the_logs_only_when_the_pass_before_found_nothing_to_do(scripted: Scripted) -> None:
    runner = scripted.runner()
    scripted.answers["poll"] = 3
    scripted.passes(runner, 0.01)
    scripted.answers["poll"] = 0
    scripted.passes(runner, 0.02, 0.03)
    assert [given["given"] for given in scripted.said("read")] == [(0.0,), (0.0,), (WAIT_SECONDS,)]


def test_a_worker_that_stands_by_and_reads_no_log_yet_sleeps_instead(scripted: Scripted) -> None:
    runner = scripted.runner()
    scripted.passes(runner, 0.5, 0.6, 0.7)
    assert scripted.slept == []
    scripted.followers = []
    scripted.passes(runner, 0.8, 0.9)
    assert scripted.slept == [WAIT_SECONDS] * 2
    scripted.answers["poll"] = 1
    scripted.passes(runner, 1.0, 1.1)
    assert scripted.slept == [WAIT_SECONDS] * 3


@pytest.mark.parametrize("step", ["poll", "claim", "answer", "decide", "commit"])
def test_whatever_step_finds_something_to_do_the_next_pass_does_not_wait(scripted: Scripted, step: str) -> None:
    scripted.answers[step] = 1
    scripted.passes(scripted.runner(), 0.5, 0.6)
    assert [given["given"] for given in scripted.said("read")] == [(0.0,), (0.0,)]


def test_with_pages_at_the_parsers_it_gathers_from_them_and_does_not_wait_for_the_logs(scripted: Scripted) -> None:
    scripted.busy = True
    scripted.passes(scripted.runner(), 0.01, 0.02)
    assert [given["given"] for given in scripted.said("read")] == [(0.0,), (0.0,)]
    assert [given["given"] for given in scripted.said("claim")] == [(GATHER_SECONDS,)] * 2
    scripted.busy = False
    scripted.passes(scripted.runner(), 0.03)
    assert scripted.said("claim")[-1]["given"] == (0.0,)


def test_a_batch_is_sent_only_some_time_after_the_one_before(scripted: Scripted) -> None:
    runner = scripted.runner()
    scripted.answers["claim"] = True
    scripted.passes(runner, 0.125, 0.25, 0.375, 0.4375, 0.5)
    assert [given["send"] for given in scripted.said("claim")] == [False, True, False, False, True]


def test_before_a_record_that_is_not_decided_it_commits_at_once(scripted: Scripted) -> None:
    runner = scripted.runner()
    scripted.partitions = {0: Partition(1)}
    scripted.backlog = True
    scripted.passes(runner, 0.1)
    scripted.barred = True
    scripted.passes(runner, 0.2)
    assert [given["begin"] for given in scripted.said("commit")] == [False, True]


def test_it_commits_when_the_time_is_over(scripted: Scripted) -> None:
    scripted.passes(scripted.runner(), 0.5, 0.99, 1.0, 1.5, 1.99, 2.0)
    assert [given["begin"] for given in scripted.said("commit")] == [False, False, True, False, False, True]


def test_it_commits_at_once_when_enough_pages_are_ready_in_all_partitions_together(scripted: Scripted) -> None:
    runner = scripted.runner()
    scripted.backlog = True
    scripted.partitions = {0: Partition(4), 1: Partition(5)}
    scripted.passes(runner, 0.1)
    scripted.partitions = {0: Partition(4), 1: Partition(6)}
    scripted.passes(runner, 0.2)
    assert [given["begin"] for given in scripted.said("commit")] == [False, True]


class Transactions:
    """A worker's step whose transactions take this many seconds; ``begun`` has the seconds after the start."""

    def __init__(self, scripted: Scripted, took: float) -> None:
        self.scripted = scripted
        self.took = took
        self.begun: list[float] = []

    def commit(self, *, begin: bool, refresh: bool) -> bool:
        now = self.scripted.clock.now - 1000
        self.scripted.committing = bool(self.begun) and now < self.begun[-1] + self.took
        if not begin or self.scripted.committing:
            return False
        self.begun.append(now)
        self.scripted.committing = True
        return True


@pytest.mark.parametrize(
    ("took", "backlog", "begins"),
    [
        (0.125, False, [0.0, 0.375, 0.75, 1.125, 1.5, 1.875, 2.25]),
        (0.5, False, [0.0, 1.0, 2.0]),
        (0.125, True, [1.0, 2.0]),
    ],
)
def test_without_a_backlog_it_commits_twice_as_long_after_a_transaction_as_that_took(
    scripted: Scripted, monkeypatch: pytest.MonkeyPatch, took: float, backlog: bool, begins: list[float]
) -> None:
    """But not later than the set number of seconds."""
    transactions = Transactions(scripted, took)
    monkeypatch.setattr(scripted, "commit", transactions.commit)
    scripted.partitions, scripted.backlog = {0: Partition(1)}, backlog
    scripted.passes(scripted.runner(), *(eighth / 8 for eighth in range(21)))
    assert transactions.begun == begins


def test_a_backlog_with_a_break_is_none_until_the_next_commit(scripted: Scripted) -> None:
    runner = scripted.runner()
    scripted.partitions, scripted.backlog = {0: Partition(1)}, True
    scripted.passes(runner, 0.25)
    scripted.backlog, scripted.answers["commit"] = False, True
    scripted.passes(runner, 0.5)
    scripted.backlog, scripted.answers["commit"] = True, False
    scripted.passes(runner, 0.75, 1.0, 1.5)
    assert [given["begin"] for given in scripted.said("commit")] == [False, True, False, False, True]


def test_quiet_partitions_commit_their_replay_point_once_an_hour(scripted: Scripted) -> None:
    runner = scripted.runner()
    hour = REFRESH_SECONDS
    scripted.passes(runner, hour - 1, hour, hour + 1, 2 * hour - 1, 2 * hour)
    assert [given["refresh"] for given in scripted.said("commit")] == [False, True, False, False, True]
    assert all(given["begin"] for given in scripted.said("commit") if given["refresh"])


def test_blocks_are_sealed_once_in_flush_seconds_and_looked_after_at_each_pass(scripted: Scripted) -> None:
    scripted.passes(scripted.runner(), 1, 59, 60, 61, 119, 120)
    assert [given["seal"] for given in scripted.said("flush")] == [False, False, True, False, False, True]


def test_once_a_second_it_tidies_and_shows_what_it_holds(scripted: Scripted) -> None:
    scripted.passes(scripted.runner(), 0.5, 1.0, 1.5, 1.9, 2.0)
    assert len(scripted.said("tidy")) == len(scripted.said("sample")) == 2


def test_a_transaction_in_flight_puts_that_off_for_a_second_at_most(scripted: Scripted) -> None:
    runner = scripted.runner()
    scripted.committing = True
    scripted.passes(runner, 1.0, 1.9)
    assert not scripted.said("sample")
    scripted.passes(runner, 2.0, 3.5)
    assert len(scripted.said("sample")) == 1
    scripted.committing = False
    scripted.passes(runner, 3.6)
    assert len(scripted.said("tidy")) == len(scripted.said("sample")) == 2


def test_each_pass_is_watched_and_heard_of(scripted: Scripted) -> None:
    scripted.passes(scripted.runner(), 1, 2, 3)
    assert [given["given"] for given in scripted.said("check")] == [(1001.0,), (1002.0,), (1003.0,)]
    assert [given["given"] for given in scripted.said("passed")] == [(1001.0,), (1002.0,), (1003.0,)]


def test_what_the_watch_finds_ends_the_run(scripted: Scripted) -> None:
    def gone() -> None:
        raise Unavailable("the broker is gone; start it")

    scripted.on["check"] = gone
    with pytest.raises(Unavailable):
        scripted.runner().run()


def stops_after(scripted: Scripted, runner: Runner, passes: int) -> None:
    """Let each pass take a second, and tell the runner to stop after ``passes`` of them."""

    def heard() -> None:
        scripted.clock.now += 1.0
        if len(scripted.said("passed")) == passes:
            runner.stop()

    scripted.on["passed"] = heard


def test_a_runner_that_was_stopped_before_it_ran_drains_and_returns(scripted: Scripted) -> None:
    runner = scripted.runner()
    runner.stop()
    assert runner.run()
    assert scripted.order() == ["flush"]


def test_stopped_it_drains_until_everything_is_committed_then_flushes(scripted: Scripted) -> None:
    runner = scripted.runner()
    stops_after(scripted, runner, 3)
    scripted.drained = False

    def committed() -> None:
        scripted.drained = len(scripted.said("commit")) >= 5

    scripted.on["commit"] = committed
    assert runner.run()
    names = [name for name, _ in scripted.calls]
    assert names.count("drain") == 1
    assert names[: names.index("drain")].count("poll") == 3
    assert names[names.index("drain") :].count("poll") == 2
    assert scripted.said("flush")[-1]["seal"]
    assert names[-1] == "flush"


def test_while_it_drains_every_pass_claims_and_commits_at_once(scripted: Scripted) -> None:
    runner = scripted.runner(Rhythm(claim_seconds=1e6, commit_seconds=1e6, drain_seconds=3))
    stops_after(scripted, runner, 2)
    scripted.drained = False
    assert not runner.run()
    assert [given["begin"] for given in scripted.said("commit")] == [False, False, True, True, True]
    assert [given["send"] for given in scripted.said("claim")] == [False, False, True, True, True]


def test_draining_ends_with_its_budget_and_says_that_pages_are_left(scripted: Scripted) -> None:
    runner = scripted.runner()
    stops_after(scripted, runner, 1)
    scripted.drained = False
    assert not runner.run()
    assert len(scripted.said("passed")) == 1 + RHYTHM.drain_seconds


@pytest.mark.parametrize(("acknowledged_after", "flushes"), [(1, 1), (4, 4)])
def test_it_waits_for_the_last_blocks(scripted: Scripted, acknowledged_after: int, flushes: int) -> None:
    runner = scripted.runner()
    runner.stop()
    scripted.flushed = False

    def acknowledged() -> None:
        scripted.flushed = len(scripted.said("flush")) >= acknowledged_after

    scripted.on["flush"] = acknowledged
    assert runner.run()
    assert len(scripted.said("flush")) == flushes


def test_for_good_it_parts_when_all_is_written_and_goes_on_until_others_have_taken_over(scripted: Scripted) -> None:
    """It takes no snapshot in that time: snapshots are for the next start on this machine."""
    runner = scripted.runner()
    runner.stop(for_good=True)
    runner.stop()
    scripted.relieved = False

    def taken_over() -> None:
        scripted.relieved = len(scripted.said("answer")) >= 3

    scripted.on["answer"] = taken_over
    assert runner.run()
    names = [name for name, _ in scripted.calls]
    assert names.index("flush") < names.index("part") < names.index("answer")
    assert names.count("answer") == 3
    assert not any(given.get("keep") for given in scripted.said("flush"))


def test_taking_over_has_the_same_budget_and_who_is_not_drained_does_not_part(scripted: Scripted) -> None:
    runner = scripted.runner()
    scripted.relieved = False

    def time_passes() -> None:
        scripted.clock.now += 1.0

    scripted.on["passed"] = time_passes
    runner.stop(for_good=True)
    assert runner.run()
    assert len(scripted.said("passed")) == RHYTHM.drain_seconds
    scripted.drained = False
    assert not runner.run()
    assert len(scripted.said("part")) == 1


def test_the_last_blocks_are_waited_for_within_the_same_budget(scripted: Scripted) -> None:
    runner = scripted.runner()
    runner.stop()
    scripted.flushed = False

    def time_passes() -> None:
        scripted.clock.now += 1.0

    scripted.on["read"] = time_passes
    assert runner.run()
    assert len(scripted.said("read")) == RHYTHM.drain_seconds


def test_what_the_listener_raises_ends_nothing(scripted: Scripted) -> None:
    for method in ("stage", "passed", "sample"):
        scripted.on[method] = fail
    scripted.passes(scripted.runner(), 0.5, 5.0)
    assert scripted.order() == 2 * STEPS
    failed = [given["given"][0] for given in scripted.said("failed")]
    assert set(failed) == {"stage", "passed", "sample"}
    assert len(failed) == len(scripted.said("stage")) + len(scripted.said("passed")) + len(scripted.said("sample"))


def fail() -> None:
    raise ZeroDivisionError


def away() -> None:
    raise Unavailable("the broker is away")


# over the twin


class NoListener(Observer):
    def passed(self, now: float) -> None:
        pass

    def sample(self, worker: object, watch: object) -> None:
        pass


class Idle:
    """Parsing that is never busy, and a watch that never barks."""

    busy = backlog = False

    def check(self, now: float) -> None:
        pass


@pytest.mark.parametrize("passes", [0, 1, 2, 4, 8, 16])
def test_whenever_it_is_stopped_what_was_consumed_is_committed_and_the_next_worker_does_the_rest(passes: int) -> None:
    stage = Stage(partitions=2)
    pages = [Page(f"http://{number}/", 0b111 * (number % 2), partition=number % 2) for number in range(6)]
    stage.play(*pages)
    clock = Clock()
    runner = Runner(stage.worker, Idle(), Idle(), RHYTHM, NoListener(), clock)  # type: ignore[arg-type]
    for _ in range(passes):
        world_goes_on(stage, clock)
        runner.one_pass()
    runner.stop()
    worker_polls = stage.worker.poll

    def poll() -> int:
        world_goes_on(stage, clock)
        return worker_polls()

    stage.worker.poll = poll  # type: ignore[method-assign]
    reads = stage.worker.read

    def read(wait: float = 0.0) -> None:
        world_goes_on(stage, clock)
        reads(wait)

    stage.worker.read = read  # type: ignore[method-assign]
    assert runner.run()
    assert stage.worker.drained
    assert stage.worker.flushed
    committed = len(stage.verdicts())
    if passes >= 8:
        assert committed == len(pages)
    stage.crash()
    stage.commit()
    stage.check()
    assert len(stage.verdicts()) == len(pages)


def world_goes_on(stage: Stage, clock: Clock) -> None:
    """Let half a second pass, in which everything on its way arrives."""
    clock.now += 0.5
    stage.world.settle_down()


def test_all_of_a_worker_is_timed_under_names_that_are_steps_of_its_loop() -> None:
    seen: list[str] = []

    class Heard(NoListener):
        def stage(self, name: str, seconds: float) -> None:
            seen.append(name)

    stage = Stage()
    clock = Clock()
    runner = Runner(stage.worker, Idle(), Idle(), RHYTHM, Heard(), clock)  # type: ignore[arg-type]
    for _ in range(3):
        world_goes_on(stage, clock)
        runner.one_pass()
    waited: Sequence[str] = [name for name in seen if name == "wait"]
    assert waited, "an idle pass is a wait, not work"
    assert set(seen) <= {*STEPS, "wait"}


def test_at_a_barrier_it_waits_no_longer_than_it_may_drain(scripted: Scripted) -> None:
    def barred() -> None:
        raise Barred("record 1 of fingerprints")

    def second_passes() -> None:
        scripted.clock.now += 1

    scripted.on = {"decide": barred, "flush": second_passes}
    scripted.committing = True
    with pytest.raises(Barred):
        scripted.runner().run()
    assert scripted.said("drain")
    assert scripted.said("flush")[0]["seal"] is True
    assert RHYTHM.drain_seconds <= scripted.clock.now - 1000 <= RHYTHM.drain_seconds + 1
