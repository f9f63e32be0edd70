"""CPU time is shared out among stages by their length, and none of it is lost."""

from __future__ import annotations

import pytest

from worker.stream.stopwatch import PIPES, REPORT_SECONDS, START, WAITING, Stopwatch


class Times:
    """Two clocks that show what they are set to: the time of day and CPU time."""

    def __init__(self, now: float = 100.0, used: float = 0.0) -> None:
        self.now = now
        self.used = used
        self.watch = Stopwatch(lambda: self.now, lambda: self.used)

    def go(self, seconds: float, cpu: float, then: str) -> None:
        """So long in the stage of now, and then the next."""
        self.now += seconds
        self.used += cpu
        self.watch.begin(then)


def test_all_cpu_time_up_to_the_first_page_is_the_start() -> None:
    times = Times(used=0.25)
    times.go(2.0, 1.0, WAITING)
    assert times.watch.due
    assert times.watch.report() == {START: 1.25}


def test_stages_share_the_cpu_time_by_their_length_whatever_put_the_process_aside() -> None:
    times = Times()
    times.go(1.0, 1.0, WAITING)
    times.watch.report()
    for _ in range(10):  # on half a core
        times.go(5.0, 0.0, PIPES)
        times.go(0.01, 0.005, "extract")
        times.go(0.06, 0.030, "fingerprint")
        times.go(0.02, 0.010, PIPES)
        times.go(0.01, 0.005, WAITING)
    report = times.watch.report()
    assert set(report) == {PIPES, "extract", "fingerprint"}, "waiting takes no CPU time"
    assert report == pytest.approx({PIPES: 0.1, "extract": 0.3, "fingerprint": 0.1})


def test_reports_add_up_to_the_cpu_time_of_the_process() -> None:
    times = Times(used=0.3)
    together = 0.0
    for page in range(1, 20):
        times.go(0.01 * page, 0.0, PIPES)
        times.go(0.02, 0.01, "extract")
        times.go(0.03 / page, 0.02, WAITING)
        if page % 3 == 0:
            together += sum(times.watch.report().values())
    together += sum(times.watch.report().values())
    assert together == pytest.approx(times.used)


def test_a_report_is_due_at_once_and_then_now_and_again() -> None:
    times = Times()
    assert times.watch.due
    times.go(0.001, 0.001, WAITING)
    times.watch.report()
    assert not times.watch.due
    times.go(REPORT_SECONDS / 2, 0, PIPES)
    assert not times.watch.due
    times.go(REPORT_SECONDS / 2, 0, WAITING)
    assert times.watch.due


def test_a_process_that_only_waited_reports_nothing_and_loses_nothing() -> None:
    times = Times()
    times.go(1.0, 1.0, WAITING)
    times.watch.report()
    times.go(9.0, 0.5, WAITING)
    assert times.watch.report() == {}
    times.go(1.0, 0.0, PIPES)
    times.go(1.0, 0.25, WAITING)
    assert times.watch.report() == {PIPES: 0.75}
