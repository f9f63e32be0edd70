"""Decisions on a request."""

from __future__ import annotations

import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler_plugin.feedback.decision import FeedbackAction, FeedbackPolicy, RequestDecision, decide, draw_of
from crawler_plugin.feedback.evidence import LOW, Evidence

ACTIONS: tuple[FeedbackAction, ...] = ("deprioritise", "sample", "drop")


@pytest.mark.parametrize(
    ("action", "upper_bound", "draw", "decision"),
    [
        ("deprioritise", LOW, 0.05, RequestDecision.POSTPONED),
        ("deprioritise", LOW, 0.0499, RequestDecision.EXPLORED),
        ("deprioritise", LOW + 0.001, 0.99, RequestDecision.LET_GO),
        ("drop", LOW, 0.05, RequestDecision.DROPPED),
        ("drop", 0.01, 0.0499, RequestDecision.EXPLORED),
        ("sample", 0.15, 0.149, RequestDecision.EXPLORED),
        ("sample", 0.15, 0.15, RequestDecision.DROPPED),
        ("sample", 0.01, 0.0499, RequestDecision.EXPLORED),
    ],
)
def test_what_becomes_of_a_request_whose_template_gives_copies(
    action: FeedbackAction, upper_bound: float, draw: float, decision: RequestDecision
) -> None:
    assert decide(Evidence(0, upper_bound), FeedbackPolicy(action), draw, may_drop=True) is decision


@given(st.sampled_from(ACTIONS), st.floats(0, 0.999))
def test_without_evidence_every_request_is_let_go(action: FeedbackAction, draw: float) -> None:
    assert decide(None, FeedbackPolicy(action), draw, may_drop=True) is RequestDecision.LET_GO


@pytest.mark.parametrize("action", ACTIONS)
def test_what_may_not_be_dropped_is_postponed_once(action: FeedbackAction) -> None:
    for may_drop in (True, False):
        drops = may_drop and action != "deprioritise"
        decided = [
            decide(Evidence(0, LOW), FeedbackPolicy(action), 0.9, may_drop=may_drop, was_postponed=was_postponed)
            for was_postponed in (False, True)
        ]
        assert decided == (
            [RequestDecision.DROPPED] * 2 if drops else [RequestDecision.POSTPONED, RequestDecision.LET_GO]
        )


def test_draws_are_even_and_the_same_for_a_url_and_a_seed() -> None:
    draws = [draw_of(f"https://a.example/{number}", seed=7) for number in range(4000)]
    assert all(0 <= draw < 1 for draw in draws)
    assert statistics.mean(draw < 0.05 for draw in draws) == pytest.approx(0.05, abs=0.01)
    assert draws[3] == draw_of("https://a.example/3", seed=7) != draw_of("https://a.example/3", seed=8)
