"""Which verdicts say that two URLs show the same page."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler_plugin.feedback import same_pages
from crawler_plugin.feedback.same_pages import SamePages

PAGE, OTHER = "https://a.example/7", "https://a.example/8"
VARIED = [f"{PAGE}?sid={number}" for number in range(3)]


def told(pages: SamePages, url: str, survivor: str) -> list[tuple[str, str, bool]]:
    return [(each.variation.kind, each.url, each.is_same) for each in pages.learn(url, survivor)]


@pytest.mark.parametrize("survivor", [PAGE, OTHER, "https://b.example/"])
def test_two_pages_with_one_survivor_are_the_same_in_any_order_and_are_told_once(survivor: str) -> None:
    for order in itertools.permutations([PAGE, *VARIED]):
        pages = SamePages()
        found = [each for url in order for each in told(pages, url, survivor)]
        assert [(kind, is_same) for kind, _, is_same in found] == [("?sid", True)], order


@pytest.mark.parametrize("order", [(PAGE, VARIED[0]), (VARIED[0], PAGE), (VARIED[0], VARIED[1])])
def test_two_pages_with_a_survivor_each_differ_and_that_is_told_each_time(order: tuple[str, str]) -> None:
    pages = SamePages()
    found = [each for url in (*order, VARIED[2]) for each in told(pages, url, url)]
    assert found and not any(is_same for _, _, is_same in found)


def test_a_page_says_nothing_of_itself_fetched_again() -> None:
    pages = SamePages()
    assert [told(pages, VARIED[0], survivor) for survivor in (VARIED[0], OTHER)] == [[], []]


def test_a_difference_is_told_however_many_kinds_a_page_has() -> None:
    pages = SamePages()
    told(pages, PAGE, PAGE)
    for number in range(100):
        told(pages, f"{PAGE}?a{number}=1", PAGE)
    assert told(pages, f"{PAGE}?page=2", OTHER) == [("?page", f"{PAGE}?page=2", False)]


def test_a_page_is_asked_for_where_a_variation_of_it_is() -> None:
    pages = SamePages()
    pages.ask(VARIED[0])
    assert pages.is_asked(PAGE) and not pages.is_seen(PAGE) and not pages.is_asked(OTHER)
    told(pages, VARIED[0], OTHER)
    assert pages.is_seen(PAGE)


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 9), st.integers(0, 9)), max_size=60))
def test_what_is_remembered_is_bounded(calls: list[tuple[bool, int, int]]) -> None:
    pages = SamePages(most=10)
    for asks, number, sid in calls:
        url = f"https://a.example/{number}?sid={sid}"
        pages.ask(url) if asks else told(pages, url, url)
        assert len(pages._pages) <= 10
    assert same_pages.MOST_PAGES == 50_000
