"""A crawl's memory of its groups, and its decisions."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler_plugin.feedback.decision import FeedbackPolicy, RequestDecision
from crawler_plugin.feedback.template_memory import TemplateMemory

SITE = "https://a.example"


def memory(**policy: Any) -> TemplateMemory:
    """A memory that explores nothing, so that its decisions are certain."""
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


def fetch(known: TemplateMemory, path: str, same_as: str | None = None) -> None:
    """Request the page and learn from its verdict."""
    known.let_go(SITE + path)
    known.learn(SITE + path, "duplicate" if same_as else "unique", SITE + same_as if same_as else None)


@pytest.mark.parametrize("variation", ["{}?sid=9f8e7d6c{}", "{}?utm_medium=b&utm_source=c{}", "/print{}", "{}/print"])
def test_what_varies_pages_in_one_section_varies_them_in_another_and_only_where_the_page_was_asked_for(
    variation: str,
) -> None:
    """It does not matter which of the two was fetched first, nor how many other pages of the template were new."""
    known = memory()
    for section in "abcde":
        for number in range(5):
            page = f"/{section}/{number}"
            both = [page, variation.format(page, number)]
            for place, path in enumerate(both if number % 2 else both[::-1]):
                fetch(known, path, both[number % 2 == 0] if place else None)
    known.let_go(f"{SITE}/z/1")
    assert known.decide(SITE + variation.format("/z/1", 8)) is RequestDecision.POSTPONED
    assert known.decide(SITE + variation.format("/z/2", 8)) is RequestDecision.LET_GO
    known.let_go(SITE + variation.format("/z/2", 8))
    assert known.decide(f"{SITE}/z/2") is RequestDecision.LET_GO, "the page itself is made in any case"


def test_several_variations_of_one_page_are_left_out_one_after_the_other() -> None:
    known = memory()
    for letter in "abcdefghijklmnopqrstuvwxy":
        for page, variation in ((f"/{letter}a/", "?sid=1"), (f"/{letter}b/", "?sort=up")):
            fetch(known, page)
            fetch(known, page + variation, page)
    known.let_go(f"{SITE}/c/")
    assert known.decide(f"{SITE}/c/?page=2&sid=7&sort=down") is RequestDecision.LET_GO
    known.let_go(f"{SITE}/c/?page=2&sid=7&sort=down")
    assert known.decide(f"{SITE}/c/?page=2&sid=8&sort=up") is RequestDecision.POSTPONED
    assert known.decide(f"{SITE}/c/?page=3&sid=8&sort=up") is RequestDecision.LET_GO


def test_a_variation_is_dropped_only_where_its_page_has_a_verdict() -> None:
    known = memory(action="drop")
    for number in range(60):
        both = [f"/a/{number}", f"/a/{number}?sid=1"]
        fetch(known, both[number % 2])
        fetch(known, both[1 - number % 2], both[number % 2])
    known.let_go(f"{SITE}/a/77")
    assert known.decide(f"{SITE}/a/77?sid=3") is RequestDecision.POSTPONED
    assert known.decide(f"{SITE}/a/77?sid=3", RequestDecision.POSTPONED) is RequestDecision.LET_GO
    known.learn(f"{SITE}/a/77?sid=3", "duplicate", f"{SITE}/a/1")  # explored: from now on some may be dropped
    assert known.decide(f"{SITE}/a/1?sid=4") is RequestDecision.DROPPED
    known.let_go(f"{SITE}/a/78")
    assert known.decide(f"{SITE}/a/78?sid=4") is RequestDecision.POSTPONED, "that page may have failed"


def test_of_a_parameter_that_leads_to_other_pages_on_one_template_this_goes_by_its_own() -> None:
    known = memory()
    for number in range(40):
        fetch(known, f"/a{'bcdefg'[number % 6]}/{number}")
        fetch(known, f"/a{'bcdefg'[number % 6]}/{number}?order=1", f"/a{'bcdefg'[number % 6]}/{number}")
        fetch(known, f"/found/{number}")
        fetch(known, f"/found/{number}?order=1")
    known.let_go(f"{SITE}/ab/99")
    known.let_go(f"{SITE}/found/99")
    assert known.decide(f"{SITE}/ab/99?order=2") is RequestDecision.DOUBTED
    assert known.decide(f"{SITE}/found/99?order=2") is RequestDecision.LET_GO


def test_while_little_is_known_requests_are_put_back_once_for_each_reason() -> None:
    known = memory()
    for number in range(4):
        assert known.decide(f"{SITE}/news/{number}") is RequestDecision.LET_GO
        known.let_go(f"{SITE}/news/{number}")
    assert known.decide(f"{SITE}/news/5") is RequestDecision.WAITED
    assert known.decide(f"{SITE}/news/5", RequestDecision.WAITED) is RequestDecision.LET_GO
    learn(known, numbered("/news/", 4), "duplicate")
    assert known.decide(f"{SITE}/news/5", RequestDecision.WAITED) is RequestDecision.DOUBTED
    assert known.decide(f"{SITE}/news/5", RequestDecision.DOUBTED) is RequestDecision.LET_GO
    learn(known, numbered("/news/", 2, first=4), "unique")
    assert known.decide(f"{SITE}/news/6") is RequestDecision.LET_GO


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
    assert known.decide(f"{SITE}/shop?d=1&e=2", RequestDecision.POSTPONED) is RequestDecision.OVER_BUDGET
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
