"""Tests of the definition of a standstill."""

from __future__ import annotations

import pytest

from benchmarks.failover import longest_gap


@pytest.mark.parametrize(
    ("times", "longest"),
    [
        ([], 10.0),
        ([1.0, 2.0, 3.0], 7.0),
        ([1.0, 5.0, 9.0], 4.0),
        ([-3.0, 4.0, 9.0], 7.0),
        ([-3.0, -1.0, 1.0, 4.0, 7.0, 9.0, 30.0], 3.0),
    ],
    ids=["nothing", "nothing any more", "in between", "the last one was before", "later ones do not count"],
)
def test_the_longest_gap_reaches_back_to_the_last_one_before_and_ends_with_the_time_looked_at(
    times: list[float], longest: float
) -> None:
    assert longest_gap(times, 0.0, 10.0) == longest
