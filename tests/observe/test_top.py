"""The values that occurred most lately have names, a bounded number of them, and keep them until others are far
ahead."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from worker.observe import top
from worker.observe.top import HALF_LIFE_SECONDS, MARGIN, TopValues


def named_by(values: TopValues[str], *occurrences: str) -> list[bool]:
    return [values.name(value)[0] for value in occurrences]


def test_the_first_values_are_named_as_they_come_and_further_ones_are_not() -> None:
    assert named_by(TopValues(2), "a", "b", "c", "a", "c") == [True, True, False, True, False]


def test_a_value_that_occurs_more_than_twice_as_often_takes_the_place_of_the_rarest() -> None:
    values = TopValues[str](2)
    named_by(values, "a", "a", "b")
    assert [values.name("c") for _ in range(3)] == [(False, None), (False, None), (True, "b")]
    assert named_by(values, "a", "b", "c") == [True, False, True]


def test_none_is_named_where_none_may_be() -> None:
    assert not any(named_by(TopValues(0), *("a" * 100)))


def test_what_occurred_long_ago_gives_way_to_what_occurs_now() -> None:
    values = TopValues[str](1)
    named_by(values, *("yesterday" for _ in range(1000)))
    values.at(24 * HALF_LIFE_SECONDS)
    assert values.name("today") == (True, "yesterday")


def test_weights_stay_numbers_over_years_and_the_order_with_them() -> None:
    values = TopValues[str](1)
    for year in range(20):
        values.at(year * 365 * 86400.0)
        assert values.name("old" if year == 0 else f"year {year}")[0]
    assert not values.name("another")[0]


def test_a_clock_that_goes_back_takes_nobodys_name() -> None:
    values = TopValues[str](1)
    values.at(1e9)
    values.name("a")
    values.at(1e9 - 5000)
    assert values.name("a") == (True, None)


def test_values_outside_are_forgotten_the_lighter_half_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(top, "REMEMBERED", 10)
    values = TopValues[str](1)
    named_by(values, *("big" for _ in range(5)))
    named_by(values, *("second" for _ in range(9)))
    named_by(values, *(f"once {number}" for number in range(50)))
    assert named_by(values, "second", "second") == [False, True]


@given(st.lists(st.sampled_from("abcdefgh"), max_size=200), st.integers(1, 4))
@settings(max_examples=50)
def test_no_more_are_named_than_may_be_and_none_outside_is_far_ahead(occurrences: list[str], most: int) -> None:
    values, named, seen = TopValues[str](most), set[str](), Counter[str]()
    for value in occurrences:
        seen[value] += 1
        is_named, loser = values.name(value)
        if loser is not None:
            named.remove(loser)
        if is_named:
            named.add(value)
        assert is_named == (value in named)
        assert len(named) == min(most, len(seen))
        assert seen[value] <= MARGIN * min(seen[other] for other in named) or value in named
