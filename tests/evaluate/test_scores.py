"""Shares, intervals and the groups in which pairs are counted."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.evaluate.labels.labelled import Pair
from worker.evaluate.scores import EDITED, OVERALL, Z95, Share, false_positives, groups, recall, tally


def pair(label: int | None, band: str = "0.8-0.9", language: str = "en") -> Pair:
    assert label in (0, 1, None)
    return Pair("x", "y", label, language, None, {"band": band})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("hits", "of", "low", "high"),
    [
        (0, 10, 0.0, 0.2775),  # published tables of Wilson's interval
        (1, 10, 0.0179, 0.4042),
        (5, 10, 0.2366, 0.7634),
        (10, 10, 0.7225, 1.0),
        (81, 263, 0.2553, 0.3662),
        (0, 0, 0.0, 1.0),
    ],
)
def test_the_interval_is_the_one_of_the_tables(hits: int, of: int, low: float, high: float) -> None:
    assert Share(hits, of).interval == pytest.approx((low, high), abs=6e-5)


@given(st.integers(1, 10_000).flatmap(lambda of: st.tuples(st.integers(0, of), st.just(of))))
def test_the_bounds_are_where_the_share_is_z_deviations_away(counted: tuple[int, int]) -> None:
    hits, of = counted
    for bound in Share(hits, of).interval:
        if 0.0 < bound < 1.0:
            deviations = abs(hits / of - bound) / math.sqrt(bound * (1 - bound) / of)
            assert deviations == pytest.approx(Z95, rel=1e-6)


def test_a_share_of_nothing_is_no_number() -> None:
    assert math.isnan(Share(0, 0).value)


@pytest.mark.parametrize(
    ("tokens", "lengths"),
    [
        (0, ["< 5", "< 30"]),
        (4, ["< 5", "< 30"]),
        (5, ["5-29", "< 30"]),
        (29, ["5-29", "< 30"]),
        (30, ["30-199"]),
        (199, ["30-199"]),
        (200, ["200-999"]),
        (1000, [">= 1000"]),
    ],
)
def test_lengths_meet_at_their_edges(tokens: int, lengths: list[str]) -> None:
    assert [name for dimension, name in groups(pair(1), tokens) if dimension == "length"] == lengths


def test_pairs_of_identical_text_are_not_among_the_edited_ones() -> None:
    assert EDITED in set(groups(pair(1), 9))
    assert EDITED not in set(groups(pair(1, band="identical_text"), 9))


def test_calls_are_counted_by_label_and_group() -> None:
    pairs = [pair(1), pair(1, "identical_text"), pair(1, language="zh"), pair(0, "neg"), pair(0, "neg"), pair(None)]
    counts = tally(pairs, [3, 50, 3, 3, 3, 3], [True, True, False, True, False, True])
    assert recall(counts) == Share(2, 3)
    assert recall(counts, EDITED) == Share(1, 2)
    assert recall(counts, ("language", "zh")) == Share(0, 1)
    assert recall(counts, ("length", "< 5")) == Share(1, 2)
    assert recall(counts, ("language and length", "en < 5")) == Share(1, 1)
    assert false_positives(counts) == Share(1, 2)
    assert counts[OVERALL][None] == Share(1, 1)
    assert recall(counts, ("band", "neg")) == Share(0, 0)


def test_groups_are_listed_overall_first_and_lengths_by_length() -> None:
    tokens = [2000, 3, 40, 300, 12]
    listed = list(tally([pair(1)] * 5, tokens, [True] * 5))
    assert listed[:2] == [OVERALL, EDITED]
    assert [name for dimension, name in listed if dimension == "length"] == [
        "< 5", "5-29", "< 30", "30-199", "200-999", ">= 1000",
    ]  # fmt: skip
