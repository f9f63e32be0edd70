"""CPU time is divided among stages in the proportions of one page in a few, and none of it is lost."""

from __future__ import annotations

import pytest

from worker.pool.stopwatch import PIPES, REPORT_SECONDS, START, WATCHED, Stopwatch


class Process:
    """A process with given CPU time and time of day, which counts the requests for its CPU time."""

    def __init__(self) -> None:
        self.used = 0.25
        self.now = 100.0
        self.asked = 0
        self.watch = Stopwatch(self._cpu, lambda: self.now)

    def _cpu(self) -> float:
        self.asked += 1
        return self.used

    def due(self) -> bool:
        """Whether a report is due, evaluated at each call."""
        return self.watch.due

    def start(self) -> dict[str, float]:
        """The report before the first page."""
        self.used += 1.0
        self.watch.begin(PIPES)
        return self.watch.report()

    def page(self, pipes: float = 0.001, extract: float = 0.006, fingerprint: float = 0.003) -> None:
        """One page of two stages, which take these CPU seconds."""
        self.used += pipes
        self.watch.begin("extract")
        self.used += extract
        self.watch.begin("fingerprint")
        self.used += fingerprint
        self.watch.end_page()


def test_all_cpu_time_up_to_the_first_page_is_the_start() -> None:
    assert Process().start() == {START: 1.25}


def test_stages_have_the_cpu_time_of_all_pages() -> None:
    process = Process()
    process.start()
    for _ in range(100):
        process.page()
    assert process.watch.report() == pytest.approx({PIPES: 0.1, "extract": 0.6, "fingerprint": 0.3})


def test_reports_add_up_to_the_cpu_time_of_the_process_whenever_they_come() -> None:
    process = Process()
    together = sum(process.start().values())
    for number in range(1, 40):
        process.page(0.001 * number, 0.02, 0.03 / number)
        if number % 3 == 0:
            together += sum(process.watch.report().values())
    while not (last := process.watch.report()):
        process.page()
    assert together + sum(last.values()) == pytest.approx(process.used)


def test_a_page_that_ends_in_the_midst_of_a_stage_leaves_the_pipes_to_themselves() -> None:
    process = Process()
    process.start()
    process.used += 0.001
    process.watch.begin("extract")
    process.used += 0.002
    process.watch.end_page()
    assert process.watch.report() == pytest.approx({PIPES: 0.001, "extract": 0.002})
    for _ in range(WATCHED):
        process.page(0.004, 0.008, 0.008)
    assert process.watch.report() == pytest.approx({PIPES: 0.016, "extract": 0.032, "fingerprint": 0.032})


def test_cpu_time_is_seldom_asked_for() -> None:
    process = Process()
    process.start()
    asked = process.asked
    for _ in range(10 * WATCHED):
        process.page()
    assert process.asked - asked == 10 * 4  # three stages and where they begin


def test_a_report_is_due_at_once_and_then_now_and_again() -> None:
    process = Process()
    process.start()
    assert not process.due(), "there is nothing to report"
    process.page()
    assert not process.due(), "a report has just been made"
    process.now += REPORT_SECONDS
    assert process.due()
    process.watch.report()
    process.now += REPORT_SECONDS
    assert not process.due()
    assert process.watch.report() == {}
