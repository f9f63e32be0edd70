"""The watch gives up only on a broker that is gone and on a reader that makes no progress."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

import pytest

from crawler_plugin.wire.errors import Unavailable, UsageError
from crawler_plugin.wire.topics import ANSWERS, FINGERPRINTS, PAGES
from tests.stream.script import ANSWER, CLAIM, COMMIT, Page, Stage
from worker.stream.log import Bounds
from worker.stream.watchdog import EVERY_SECONDS, Watch

PATIENCE = 60.0


class Asked:
    """The part of the log that a watch uses, with a broker that may be away."""

    def __init__(self, stage: Stage) -> None:
        self._log = stage.worker.log
        self.away = False
        self.questions: list[tuple[str, int]] = []
        self.failing: Callable[[], Sequence[str]] = lambda: ()

    def all_bounds(self, places: Sequence[tuple[str, int]]) -> Sequence[Bounds]:
        self.questions += places
        if self.away:
            raise Unavailable("the broker does not say where it ends; start it")
        return self._log.all_bounds(places)


class Watched:
    """A watched worker of a script; ``at`` checks at a second of the clock."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.log = Asked(stage)
        self.watch = Watch(self.log, stage.worker, PATIENCE)  # type: ignore[arg-type]

    def at(self, *seconds: float) -> None:
        for second in seconds:
            self.watch.check(second)

    def fall_behind(self) -> None:
        """Add a record, which no worker reads from now on."""
        self.stage.play(Page("http://b/"))
        self.stage.gather()
        self.stage.land(FINGERPRINTS)


@pytest.fixture
def watched() -> Watched:
    return Watched(Stage(partitions=2).play(Page("http://a/"), COMMIT))


def test_what_keeps_failing_is_known_at_each_look_and_what_fails_for_good_ends_the_worker(watched: Watched) -> None:
    watched.at(100.0)
    assert list(watched.watch.failing) == []
    watched.log.failing = lambda: ["appends keep failing"]
    watched.at(100.1)
    assert list(watched.watch.failing) == ["appends keep failing"]

    def refused() -> Sequence[str]:
        raise UsageError("the broker refused it; give the user the right")

    watched.log.failing = refused
    with pytest.raises(UsageError, match="refused"):
        watched.at(100.2)


def test_it_asks_every_few_seconds_where_the_logs_and_the_owned_pages_end(watched: Watched) -> None:
    watched.at(100.0)
    assert set(watched.log.questions) == {(FINGERPRINTS, 0), (ANSWERS, 0), (PAGES, 0), (PAGES, 1)}
    asked = len(watched.log.questions)
    watched.at(100.1, 100.0 + EVERY_SECONDS - 0.1)
    assert len(watched.log.questions) == asked
    watched.at(100.0 + EVERY_SECONDS)
    assert len(watched.log.questions) == 2 * asked


def test_the_observer_hears_of_each_answer_and_of_no_silence(watched: Watched) -> None:
    watched.at(0.0, 10.0)
    assert watched.stage.observer.times("heard") == 2
    watched.log.away = True
    watched.at(20.0)
    assert watched.stage.observer.times("heard") == 2


def test_lags_count_the_pages_that_are_not_committed() -> None:
    stage = Stage(partitions=2).play(Page("http://a/"), COMMIT)
    watched = Watched(stage)
    watched.at(0.0)
    assert watched.watch.lags == {0: 0, 1: 0}
    stage.play(Page("http://b/", partition=1), Page("http://c/", partition=1), CLAIM)
    watched.at(10.0)
    assert watched.watch.lags == {0: 0, 1: 2}
    stage.play(ANSWER, COMMIT)
    watched.at(20.0)
    assert watched.watch.lags == {0: 0, 1: 0}


def test_a_partition_that_is_not_located_yet_has_no_lag() -> None:
    stage = Stage()
    stage.worker.poll()
    watched = Watched(stage)
    watched.at(0.0)
    assert watched.watch.lags == {}


def test_a_broker_that_is_away_is_waited_for_as_long_as_patience_lasts(watched: Watched) -> None:
    watched.at(0.0)
    watched.log.away = True
    watched.at(10.0, 30.0, PATIENCE)
    with pytest.raises(Unavailable):
        watched.at(PATIENCE + EVERY_SECONDS)


def test_patience_begins_anew_when_the_broker_is_back(watched: Watched) -> None:
    for second in (0.0, 200.0, 400.0):
        watched.log.away = False
        watched.at(second)
        watched.log.away = True
        watched.at(second + 10, second + PATIENCE)


def test_an_absence_is_told_once_and_its_end_as_well(watched: Watched, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    for away, second in ((False, 0.0), (True, 10.0), (True, 20.0), (False, 30.0), (False, 40.0)):
        watched.log.away = away
        watched.at(second)
    told = [record.getMessage() for record in caplog.records if record.name == "worker.stream.watchdog"]
    assert len(told) == 2
    assert "kafka.patience_seconds" in told[0]
    assert told[1] == "the broker answers again"


def test_a_broker_that_never_answered_is_waited_for_from_the_first_question_on(watched: Watched) -> None:
    watched.log.away = True
    watched.at(1000.0, 1000.0 + PATIENCE)
    with pytest.raises(Unavailable):
        watched.at(1000.0 + PATIENCE + EVERY_SECONDS)


def test_a_reader_that_stands_still_while_its_log_goes_on_ends_the_worker() -> None:
    watched = Watched(Stage().play(Page("http://a/"), COMMIT))
    watched.at(0.0)
    watched.fall_behind()
    watched.at(10.0, 10.0 + PATIENCE)
    with pytest.raises(
        Unavailable, match=rf"reading {FINGERPRINTS} stands still at offset 1 although the topic goes on to 2"
    ):
        watched.at(10.0 + PATIENCE + EVERY_SECONDS)


def test_a_reader_that_is_found_behind_for_the_first_time_may_catch_up(watched: Watched) -> None:
    """This holds however long ago the last answer was: until just now its log may have ended at its place."""
    watched.at(0.0)
    watched.fall_behind()
    watched.at(10 * PATIENCE, 11 * PATIENCE)
    with pytest.raises(Unavailable):
        watched.at(11 * PATIENCE + EVERY_SECONDS)


def test_a_reader_is_not_blamed_for_the_time_without_a_broker(watched: Watched) -> None:
    watched.fall_behind()
    watched.at(0.0)
    watched.log.away = True
    watched.at(PATIENCE)
    watched.log.away = False
    watched.at(2 * PATIENCE, 3 * PATIENCE)
    with pytest.raises(Unavailable):
        watched.at(3 * PATIENCE + EVERY_SECONDS)


def test_a_reader_that_moves_on_slowly_is_no_reason_to_end() -> None:
    stage = Stage()
    watched = Watched(stage.play(Page("http://a/"), COMMIT))
    for second in range(0, 600, 10):
        stage.play(Page(f"http://{second}/"))
        stage.gather()
        stage.land(FINGERPRINTS)
        watched.at(float(second))
        stage.worker.read()
        stage.play(COMMIT)


def test_an_idle_worker_at_the_end_of_its_logs_is_no_reason_to_end(watched: Watched) -> None:
    watched.at(*[float(second) for second in range(0, 1000, 10)])
