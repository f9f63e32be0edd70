"""The number of dropped requests, by the verdicts on explored pages; and attacks on that rule."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterable

import pytest

from crawler_plugin.components.feedback import BEHIND
from crawler_plugin.feedback.decision import FeedbackAction, FeedbackPolicy, RequestDecision
from crawler_plugin.feedback.explored import MOST_AHEAD, ExploredPages
from crawler_plugin.feedback.template_memory import TemplateMemory

SITE = "https://a.example/news/{}"
COPIES, HONEST = "copy", "honest"


def crawl(pages: Iterable[tuple[str, str]], policy: FeedbackPolicy, late: int) -> dict[str, list[str]]:
    """URLs by the decision on them; verdicts come ``late`` requests late. Waiting requests are made at the end."""
    known = TemplateMemory(policy)
    coming: deque[tuple[int, str, str]] = deque()
    waiting = {each: deque[tuple[str, str]]() for each in (None, *BEHIND)}  # the better ones first
    waiting[None].extend(pages)
    became: dict[str, list[str]] = {"dropped": [], "made": []}
    for number in itertools.count():
        while coming and (coming[0][0] <= number - late or not waiting[None]):  # the rest waits longer than verdicts
            known.learn(*coming.popleft()[1:])
        was = next((each for each, queue in waiting.items() if queue), None)
        if not waiting[was]:
            return became
        url, kind = waiting[was].popleft()
        decision = known.decide(url, was)
        if decision in BEHIND:
            waiting[decision].append((url, kind))
        elif decision is RequestDecision.DROPPED:
            became["dropped"].append(url)
        else:
            became["made"].append(url)
            known.let_go(url)
            coming.append((number, url, "duplicate" if kind == COPIES else "unique"))
    raise AssertionError("the queue ends")


def attack(copies: int, honest: int) -> list[tuple[str, str]]:
    """Copies under a template first, then honest pages of the same template."""
    return [(SITE.format(n), COPIES if n < copies else HONEST) for n in range(copies + honest)]


def lost(became: dict[str, list[str]], copies: int) -> int:
    return sum(int(url.rpartition("/")[2]) >= copies for url in became["dropped"])


@pytest.mark.parametrize("action", ["drop", "sample"])
@pytest.mark.parametrize("seed", range(10))
def test_copies_that_are_laid_out_first_have_no_honest_page_dropped_however_late_verdicts_come(
    action: FeedbackAction, seed: int
) -> None:
    pages = [*attack(20, 0), *((f"https://b.example/{n}", HONEST) for n in range(200)), *attack(20, 500)[20:]]
    became = crawl(pages, FeedbackPolicy(action, seed=seed), late=200)
    assert lost(became, 20) == 0
    assert len(became["made"]) == len(pages)


@pytest.mark.parametrize(("copies", "times"), [(20, 1), (40, 1), (100, 1), (300, 2), (1000, 2)])
@pytest.mark.parametrize("late", [0, 20, 200, 400])
def test_with_more_copies_no_more_is_dropped_than_is_stated_from_one_explored_page_to_the_next(
    copies: int, times: int, late: int
) -> None:
    """Many of the hundreds of copies wait, and are fetched before the honest pages that wait."""
    policy = FeedbackPolicy("drop")
    most = ExploredPages(policy.explore).most
    assert most == 40
    for seed in range(5):
        became = crawl(attack(copies, 500), FeedbackPolicy("drop", seed=seed), late)
        assert lost(became, copies) <= times * most, seed


def test_a_trap_is_dropped_all_the_same_but_for_the_exploring_share() -> None:
    became = crawl(attack(4000, 0), FeedbackPolicy("drop"), late=20)
    assert 0.85 <= len(became["dropped"]) / 4000 <= 0.95


def test_the_first_explored_copy_allows_drops_and_a_new_page_takes_them_back() -> None:
    explored = ExploredPages(0.05)
    assert not explored.may_drop("g")
    explored.learn("https://a.example/?b=1&a=2", is_copy=True)
    assert not explored.may_drop("g"), "nobody asked for that page in spite of anything"
    explored.ask("https://a.example/?b=1&a=2", "g")
    explored.ask("https://a.example/early", "g")
    explored.ask("https://a.example/new", "g")
    explored.ask("https://a.example/late", "g")
    explored.learn("https://a.example/?a=2&b=1", is_copy=True)
    for _ in range(40):
        assert explored.may_drop("g")
        explored.drop("g")
    assert not explored.may_drop("g")
    explored.learn("https://a.example/early", is_copy=True)
    assert not explored.may_drop("g"), "it was asked for before all that was dropped"
    explored.ask("https://a.example/now", "g")
    explored.learn("https://a.example/now", is_copy=True)
    assert explored.may_drop("g")
    explored.learn("https://a.example/new", is_copy=False)
    assert not explored.may_drop("g")
    explored.forget("g")
    explored.learn("https://a.example/late", is_copy=True)
    assert not explored.may_drop("g")


@pytest.mark.parametrize(("explore", "most"), [(1.0, 2), (0.05, 40), (0.001, MOST_AHEAD), (1e-12, MOST_AHEAD)])
def test_what_may_be_dropped_ahead_is_bounded_whatever_is_explored(explore: float, most: int) -> None:
    explored = ExploredPages(explore)
    for number in range(50):
        explored.ask(f"https://a.example/{number}", "g")
        explored.learn(f"https://a.example/{number}", is_copy=True)
    dropped = 0
    while explored.may_drop("g"):
        explored.drop("g")
        dropped += 1
    assert dropped == explored.most == most
