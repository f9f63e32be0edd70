"""Steps of time, or of the input."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.results.report.tally import UNKNOWN
from worker.results.report.timeline import timeline

DAY = 86_400_000
BEGUN = 1_700_000_000_000


@given(
    st.lists(
        st.tuples(st.one_of(st.just(UNKNOWN), st.integers(0, (1 << 43) - 1)), st.integers(0, 3)),
        min_size=1,
        max_size=99,
    )
)
def test_each_page_is_in_one_step_or_its_time_is_unknown(rows: list[tuple[int, int]]) -> None:
    fetched, kinds = np.array([row[0] for row in rows]), np.array([row[1] for row in rows], np.uint8)
    found = timeline(fetched, kinds)
    assert sum(step.pages for step in found.steps) + found.unknown == len(rows)
    assert len(found.steps) <= 48
    assert len({step.name for step in found.steps}) == len(found.steps)


@pytest.mark.parametrize(
    ("span", "first", "steps"),
    [
        (0, "2023-11-14 22:13", 1),
        (20 * 60_000, "2023-11-14 22:13", 21),
        (DAY, "2023-11-14 22:00", 25),
        (30 * DAY, "2023-11-14", 31),
        (3650 * DAY, "2023-09-20", 42),
    ],
)
def test_steps_are_as_long_as_people_count(span: int, first: str, steps: int) -> None:
    times = np.linspace(BEGUN, BEGUN + span, 500).astype(np.int64)
    found = timeline(times, np.zeros(500, np.uint8))
    assert (found.steps[0].name, len(found.steps), found.by_time) == (first, steps, True)


def test_a_few_wrong_clocks_do_not_stretch_the_axis() -> None:
    times = np.linspace(BEGUN, BEGUN + DAY, 1000).astype(np.int64)
    times[:2] = 0, 1 << 42
    found = timeline(times, np.ones(1000, np.uint8))
    assert len(found.steps) > 20
    assert sum(step.duplicates for step in found.steps) == 1000


def test_without_times_steps_are_parts_of_the_input() -> None:
    kinds = np.array([0] * 60 + [1] * 40, np.uint8)
    found = timeline(np.full(100, UNKNOWN), kinds)
    assert not found.by_time
    assert [found.steps[0].name, found.steps[-1].name] == ["page 1", "page 99"]
    assert (found.steps[0].duplicates, found.steps[-1].unique) == (0, 0)
    assert timeline(np.empty(0, np.int64), np.empty(0, np.uint8)).steps == ()
