"""The gain from one more worker."""

from __future__ import annotations

import json
import os

import pytest

from worker.sizing.scaling import Scaling, cpu_of, scaling_lines


def scaling(workers: int, wall: float) -> Scaling:
    """A run of 600 pages that took 4 CPU seconds, one of which is the broker's."""
    steps = {"read": 0.1, "answer": 0.15, "decide": 0.05, "claim": 0.4}
    return Scaling(workers, 600, wall, loops=1.0, parsers=2.0, broker=1.0, busy=0.9, steps=steps)


def test_rates_are_by_the_wall_and_by_all_cpu_time_and_the_protocol_is_a_share_of_the_workers() -> None:
    run = scaling(1, wall=3.0)
    assert run.pages_a_second == pytest.approx(200)
    assert run.pages_a_cpu_second == pytest.approx(150)
    assert run.protocol == pytest.approx(0.3 / 3.0)
    assert json.loads(run.as_json())["pages_a_second"] == pytest.approx(200)


def test_each_number_of_workers_has_a_line_of_its_run_in_the_middle_beside_the_fewest() -> None:
    runs = [scaling(1, 3.0), scaling(2, 1.0), scaling(1, 4.0), scaling(2, 1.5), scaling(1, 2.0), scaling(2, 9.0)]
    lines = [line.split() for line in scaling_lines(runs)]
    assert lines[2][:3] == ["1", "200", "1.00"]
    assert lines[3][:3] == ["2", "400", "2.00"]


def test_the_cpu_time_of_a_process_is_what_its_clock_says() -> None:
    before = os.times()
    measured = cpu_of(os.getpid())
    after = os.times()
    tick = 2 / os.sysconf("SC_CLK_TCK")
    assert before.user + before.system - tick <= measured <= after.user + after.system + tick
