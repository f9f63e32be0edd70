"""What a crawl knows of its groups, and how it decides by it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler_plugin.feedback.decision import FeedbackPolicy, RequestDecision
from crawler_plugin.feedback.template_memory import TemplateMemory

SITE = "https://a.example"


def memory(**policy: Any) -> TemplateMemory:
    """One that explores nothing, so that what it decides is certain."""
    return TemplateMemory(FeedbackPolicy(**{"explore": 1e-12} | policy))


def learn(known: TemplateMemory, paths: list[str], verdict: str) -> None:
    for path in paths:
        known.learn(SITE + path, verdict)


def numbered(start: str, count: int, first: int = 0) -> list[str]:
    return [f"{start}{number}" for number in range(first, first + count)]


@pytest.mark.parametrize(
    ("verdict", "decision"), [("duplicate", RequestDecision.POSTPONED), ("refetch", RequestDecision.LET_GO)]
)
def test_only_duplicates_speak_against_a_template(verdict: str, decision: RequestDecision) -> None:
    known = memory()
    learn(known, numbered("/calendar/", 20), verdict)
    assert known.decide(f"{SITE}/calendar/99") is decision


def test_pages_that_cannot_be_read_say_nothing() -> None:
    known = memory()
    learn(known, numbered("/paper/", 100), "dead")
    assert len(known) == 0


def test_a_template_that_gives_copies_is_postponed_and_one_beside_it_goes_on() -> None:
    known = memory()
    learn(known, numbered("/news/", 40), "unique")
    learn(known, numbered("/calendar/2026/", 40), "duplicate")
    assert known.decide(f"{SITE}/calendar/2027/1") is RequestDecision.POSTPONED
    assert known.decide(f"{SITE}/news/77") is RequestDecision.LET_GO
    assert known.decide(f"{SITE}/about") is RequestDecision.LET_GO
    assert known.decide("data:,x") is RequestDecision.LET_GO


@pytest.mark.parametrize(
    "traps",
    [
        [f"/shop?{one}=1&{other}=2" for one in "abcdefgh" for other in "ijk"],
        [f"/{section}/{page}?sid=9f8e7d6c{page:04}" for page in range(6) for section in ("news", "sea", "wood", "go")],
        [f"/s/{session * 3}/{page}" for session in "abcdefgh" for page in ("news", "wood", "sport")],
        [f"/print/{section}/{page}" for page in range(6) for section in ("news", "sea", "wood", "go")],
    ],
    ids=["facets", "session in the query", "session that looks like a word", "print views"],
)
def test_traps_of_which_each_template_has_few_pages_are_seen_by_a_wider_group(traps: list[str]) -> None:
    known = memory()
    learn(known, numbered("/news/", 40), "unique")
    learn(known, traps[:22], "duplicate")
    assert known.decide(SITE + traps[-1]) is RequestDecision.POSTPONED
    assert known.decide(f"{SITE}/news/77") is RequestDecision.LET_GO
    assert known.decide(f"{SITE}/news/77?page=2") is RequestDecision.LET_GO


def test_one_trap_alone_says_nothing_of_the_rest_of_its_host() -> None:
    known = memory()
    learn(known, numbered("/calendar/2026/", 500), "duplicate")
    assert known.decide(f"{SITE}/calendar/2027/1") is RequestDecision.POSTPONED
    for path in ("/news/7", "/", "/about?id=7", "/calendar/about"):
        assert known.decide(SITE + path) is RequestDecision.LET_GO


def test_new_content_in_what_is_explored_brings_a_template_back() -> None:
    known = memory()
    learn(known, numbered("/calendar/", 500), "duplicate")
    assert known.decide(f"{SITE}/calendar/501") is RequestDecision.POSTPONED
    learn(known, ["/calendar/502", "/calendar/503"], "unique")
    assert known.decide(f"{SITE}/calendar/504") is RequestDecision.LET_GO


def test_a_budget_is_that_of_a_template_and_of_all_combinations_at_a_path() -> None:
    known = memory(budget=3)
    for path in ("/calendar/1", "/calendar/2", "/shop?a=1&b=2", "/shop?a=1&c=2"):
        assert known.decide(SITE + path) is RequestDecision.LET_GO
        known.let_go(SITE + path)
    for path in ("/calendar/3", "/shop?b=1&c=2", "/shop?page=2"):
        assert known.decide(SITE + path) is RequestDecision.LET_GO
        known.let_go(SITE + path)
    assert known.decide(f"{SITE}/calendar/4") is RequestDecision.OVER_BUDGET
    assert known.decide(f"{SITE}/shop?d=1&e=2", was_postponed=True) is RequestDecision.OVER_BUDGET
    assert known.decide(f"{SITE}/shop?page=3") is RequestDecision.LET_GO
    assert known.decide(f"{SITE}/other/4") is RequestDecision.LET_GO


def test_what_was_decided_is_told_by_the_group_that_knew_the_most_first() -> None:
    known = memory()
    learn(known, numbered("/calendar/", 20), "duplicate")
    learn(known, [f"/shop?{one}=1&b=2" for one in "cdefghijklmnopqrstuvw"], "duplicate")
    for number in range(3):
        known.decide(f"{SITE}/calendar/{number}")
    known.decide(f"{SITE}/shop?x=1&y=1")
    told = [(group, counts.verdicts, dict(decisions)) for group, counts, decisions in known.decisions()]
    assert told == [
        ("a.example/calendar/{number}", 20, {RequestDecision.POSTPONED: 3}),
        ("a.example/shop?…", 21, {RequestDecision.POSTPONED: 1}),
    ]


@given(st.lists(st.tuples(st.sampled_from(["learn", "decide", "let_go"]), st.integers(0, 30)), max_size=200))
def test_the_memory_is_bounded_and_what_was_used_last_stays(calls: list[tuple[str, int]]) -> None:
    known = TemplateMemory(FeedbackPolicy(), most=12)
    for name, place in calls:
        url = f"{SITE}/{'abcdefghijklmnopqrstuvwxyzABCDE'[place]}/page"
        known.learn(url, "unique") if name == "learn" else getattr(known, name)(url)
        assert len(known) <= 12
        if name != "decide":
            assert known.get(url.removeprefix("https://")) is not None
