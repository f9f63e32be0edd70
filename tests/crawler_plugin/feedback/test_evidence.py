"""Counts that fade, verdicts that groups pass on, and the bound."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler_plugin.feedback.evidence import (
    LOW,
    MEMORY,
    PASSED_ON,
    GroupCounts,
    Z,
    count_verdict,
    weigh,
    wilson_upper_bound,
)

LEAST = 20
HISTORY = st.lists(st.booleans(), max_size=120)


def counts_of(history: list[bool]) -> GroupCounts:
    counts = GroupCounts()
    for is_new in history:
        counts.count(is_new=is_new)
    return counts


@given(HISTORY)
def test_a_verdict_fades_with_those_after_it_and_a_copy_with_each_new_page_besides(history: list[bool]) -> None:
    new = copies = Fraction()
    for place, is_new in enumerate(history):
        weight = Fraction(MEMORY - 1, MEMORY) ** (len(history) - 1 - place)
        if is_new:
            new += weight
        else:
            copies += weight / 2 ** sum(history[place + 1 :])
    counts = counts_of(history)
    assert counts.new == pytest.approx(float(new))
    assert counts.copies == pytest.approx(float(copies))
    assert (counts.verdicts, counts.found) == (len(history), sum(history))


@given(st.floats(0, 1), st.floats(0.5, 500))
def test_the_bound_is_the_larger_share_that_is_as_far_from_what_was_seen_as_chance_allows(
    share: float, count: float
) -> None:
    bound = wilson_upper_bound(share, count)
    assert share - 1e-9 <= bound <= 1
    if bound < 1:  # Wilson's definition: |share - bound| = z sqrt(bound (1 - bound) / count)
        assert bound - share == pytest.approx(Z * math.sqrt(bound * (1 - bound) / count), abs=1e-6)


def test_nineteen_copies_say_nothing_and_twenty_do() -> None:
    assert weigh([counts_of([False] * 19)], LEAST) is None
    evidence = weigh([counts_of([False] * 20)], LEAST)
    assert evidence is not None
    assert evidence.depth == 0
    assert evidence.upper_bound < LOW


@given(HISTORY.filter(lambda history: sum(history[-20:]) >= 4))
def test_a_template_of_which_a_fifth_of_the_last_twenty_pages_is_new_is_never_low(history: list[bool]) -> None:
    evidence = weigh([counts_of(history)], LEAST)
    assert evidence is None or evidence.upper_bound > LOW


@pytest.mark.parametrize("copies", [20, 60, 5000])
def test_two_new_pages_in_a_row_bring_a_template_back(copies: int) -> None:
    counts = counts_of([False] * copies)
    before = weigh([counts], LEAST)
    assert before is not None and before.upper_bound <= LOW
    for _ in range(2):
        counts.count(is_new=True)
    evidence = weigh([counts], LEAST)
    assert evidence is not None and evidence.upper_bound > LOW


def test_a_group_passes_on_its_first_verdicts_only() -> None:
    wide = GroupCounts()
    for child in range(3):
        narrow = GroupCounts()
        for _ in range(100):
            count_verdict([narrow, wide], LEAST, is_new=child == 2)
        assert narrow.verdicts == 100
    assert (wide.verdicts, wide.found) == (3 * LEAST / PASSED_ON, LEAST / PASSED_ON)
    assert weigh([None, wide], LEAST) is None, "three groups are too few"


def test_a_young_group_borrows_from_the_next_wider_one_what_it_has_not_seen_itself() -> None:
    copies = counts_of([False] * 30)
    for narrow in (None, GroupCounts(), counts_of([False] * 3)):
        evidence = weigh([narrow, copies], LEAST)
        assert evidence is not None
        assert (evidence.depth, evidence.upper_bound < LOW) == (1, True)
    one_new = weigh([counts_of([False, True]), copies], LEAST)
    assert one_new is not None and one_new.upper_bound > LOW


def test_a_wider_group_that_had_new_pages_earlier_does_not_speak_against_young_ones() -> None:
    turned = counts_of([True] * 200 + [False] * 200)
    own, wider = weigh([turned], LEAST), weigh([None, turned], LEAST)
    assert own is not None and own.upper_bound < LOW
    assert wider is not None and wider.upper_bound > LOW


@given(st.lists(st.none() | HISTORY.map(counts_of), max_size=5))
def test_nothing_is_said_on_fewer_verdicts_than_are_asked_for_and_the_narrowest_group_that_can_speaks(
    groups: list[GroupCounts | None],
) -> None:
    evidence = weigh(groups, LEAST)
    able = [depth for depth, counts in enumerate(groups) if counts is not None and counts.verdicts >= LEAST]
    assert (None if evidence is None else evidence.depth) == (able[0] if able else None)
    assert evidence is None or 0 <= evidence.upper_bound <= 1
