"""How long a page may take: by the clock and by CPU time, alone, and again after other pages delayed it."""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.pool import tasks
from tests.pool.pools import META, MIB, PATIENCE, RESULT, Pool, reasons, run, run_out
from worker.pool import process_pool
from worker.pool.process_pool import PAGES_AHEAD, ProcessPool


@pytest.mark.parametrize(
    ("order", "detail"),
    [
        (b"loop", "no end after "),  # of CPU time, unless other programs have the cores
        (b"sleep 1000", "no end after 3 s, with "),
        (b"write-for-ever", "no end after "),
    ],
)
def test_a_page_without_end_is_killed_and_those_behind_it_run_elsewhere(
    impatient_pool: Pool, order: bytes, detail: str
) -> None:
    results = run(impatient_pool, [b"length x", order, *[b"length xy"] * 30])
    assert reasons(results) == [1, "parser-timeout", *[2] * 30]
    assert detail in results[1].detail


@pytest.fixture
def cpu_pool(monkeypatch: pytest.MonkeyPatch) -> Iterator[Pool]:
    """A pool in which pages may take half a second of CPU time, and any time by the clock."""
    monkeypatch.setattr(process_pool, "WATCHED_TIMES", 1000)
    with Pool(tasks.obedient, RESULT, processes=1, timeout_seconds=0.5, memory_bytes=64 * MIB) as pool:
        yield pool


def test_a_page_may_sleep_for_longer_than_it_may_compute(cpu_pool: Pool) -> None:
    assert run(cpu_pool, [b"sleep 1", b"length x"]) == [b"sleep", 1]
    assert cpu_pool.replaced == 0


def test_a_page_that_computes_without_end_is_killed_for_its_cpu_time(cpu_pool: Pool) -> None:
    looped, after = run(cpu_pool, [b"loop", b"length x"])
    assert (looped.reason, after) == ("parser-timeout", 1)
    assert looped.detail == "no end after 0.5 s of CPU time (page.timeout_seconds)"


def test_a_child_that_is_paused_for_longer_than_a_page_may_take_costs_no_page(cpu_pool: Pool) -> None:
    (child,) = cpu_pool.pids
    assert run(cpu_pool, [b"length x"]) == [1]
    os.kill(child, signal.SIGSTOP)
    cpu_pool.submit("paused", b"length xy", META)
    resumed = time.monotonic() + 1.0
    while time.monotonic() < resumed:
        assert cpu_pool.results(0.05) == []
    os.kill(child, signal.SIGCONT)
    assert run_out(cpu_pool) == [("paused", 2)]
    assert cpu_pool.replaced == 0


@pytest.mark.parametrize("order", [b"stop-once", b"sleep-once", b"loop-once"])
def test_a_page_that_took_too_long_is_tried_once_more_in_a_new_child_that_has_no_other(
    impatient_pool: Pool, tmp_path: Path, order: bytes
) -> None:
    before = impatient_pool.replaced
    orders = [order + b" " + os.fsencode(tmp_path / "mark"), *[b"length x"] * (PAGES_AHEAD - 1)]
    assert run(impatient_pool, orders) == [b"alive", *[1] * (PAGES_AHEAD - 1)]
    assert impatient_pool.replaced == before + 1
    assert int((tmp_path / "mark").read_text()) not in impatient_pool.pids


def test_nothing_waits_behind_a_page_that_is_tried_again(impatient_pool: Pool) -> None:
    before = impatient_pool.replaced
    for place in range(PAGES_AHEAD):
        impatient_pool.submit(place, b"loop" if not place else b"length x", META)
    give_up = time.monotonic() + PATIENCE
    while impatient_pool.replaced == before:
        assert time.monotonic() < give_up
        impatient_pool.results(0.1)
    (child,) = impatient_pool._children
    assert [page.key for page in child.ahead] == [0]
    assert sorted(key for key, _ in run_out(impatient_pool)) == list(range(PAGES_AHEAD))


def test_time_in_which_the_parent_was_paused_too_does_not_count() -> None:
    clock = Jumping()
    with ProcessPool[Any, Any](
        tasks.obedient, RESULT, processes=1, timeout_seconds=5.0, memory_bytes=64 * MIB, clock=clock
    ) as pool:
        assert run(pool, [b"length x"]) == [1]
        pool.submit("sleeper", b"sleep 2", META)
        assert pool.results() == []
        clock.ahead += 100_000.0
        assert run_out(pool) == [("sleeper", b"sleep")]
        assert pool.replaced == 0


class Jumping:
    """The time, plus the time for which the machine is said to have slept."""

    ahead = 0.0

    def __call__(self) -> float:
        return time.monotonic() + self.ahead


def test_the_clock_of_a_page_starts_when_it_is_the_first(impatient_pool: Pool) -> None:
    # Together the pages take longer than one page may; the loop is also away for longer than one page may take.
    for _ in range(5):
        impatient_pool.submit("slow", b"sleep 0.3", META)
    deadline = time.monotonic() + 1.5
    while time.monotonic() < deadline:
        select.select([], [], [], 0.05)
    slow: list[Any] = []
    while len(slow) < 5:
        slow += impatient_pool.results(PATIENCE)
    assert reasons([result for _, result in slow]) == [b"sleep"] * 5
