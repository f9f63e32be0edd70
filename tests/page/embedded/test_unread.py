"""Prose that a page holds and does not show keeps it apart from pages with the same visible text."""

from __future__ import annotations

import html

import pytest

from worker.local import Deduplicator
from worker.page.main_text.content import main_content

SHELL = "<title>Portal</title><p>Welcome to our portal. Your page is being loaded, please wait a moment.</p>{}"
FERRY = (
    "The old ferry carries cars and letters across the wide bay every morning until the storms of winter begin. " * 6
)
BRIDGE = "A new bridge of steel and stone will open next spring for walkers and cyclists who come from the north. " * 6

PLACES = [
    "<template><p>{}</p></template>",
    "<textarea style='display:none'>{}</textarea>",
    "<script type=text/template><p>{}</p></script>",
    "<script>page.render('{}')</script>",
    '<div data-content="{}"></div>',
    '<input type=hidden value="&quot;{}&quot;">',
    '<!--Blazor:{{"content": "{}"}}-->',
]


@pytest.mark.parametrize("place", PLACES)
def test_shells_that_hold_different_articles_are_not_near(place: str) -> None:
    with Deduplicator() as seen:
        assert seen.judge("https://a.example/1", SHELL.format(place.format(FERRY))).kind == "unique"
        assert seen.judge("https://a.example/2", SHELL.format(place.format(BRIDGE))).kind == "unique"
        assert seen.judge("https://a.example/3", SHELL.format(place.format(FERRY))).kind == "duplicate"


def test_what_differs_in_each_fetch_keeps_no_fetches_apart() -> None:
    changing = (
        "<meta name=csrf value={0}><!-- Generated in 0.{0} seconds at {0} on {0} --><input type=hidden value={0}>"
        '<script nonce={0}>window.token="{0}";window.now={0};</script><template>' + FERRY + "</template>"
    )
    with Deduplicator() as seen:
        seen.judge("https://a.example/1", SHELL.format(changing.format("a81f09c2")))
        assert seen.judge("https://a.example/2", SHELL.format(changing.format("77e0d4b1"))).kind == "duplicate"


def test_unread_prose_counts_only_where_it_is_much_and_little_is_shown() -> None:
    assert main_content(SHELL.format(f"<template>{FERRY}</template>")).pictures
    assert not main_content(SHELL.format(f'<meta name=description content="{FERRY[:200]}">')).pictures
    assert not main_content(SHELL.format(f"<p>{html.escape(BRIDGE)}</p><template>{FERRY}</template>")).pictures
    assert main_content(SHELL.format(f"<template>{'渡船载着汽车和信件。' * 9}</template>")).pictures


@pytest.mark.parametrize("piece", ["a ", "é", "aé", "=\"{'[", "&quot;", "<!--a ", "a " * 18 + "= "])
def test_hostile_pages_are_searched_to_their_end(piece: str) -> None:
    assert main_content(SHELL.format("<!--" + piece * 100_000)).text
