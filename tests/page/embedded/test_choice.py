"""Which of the things in scripts stands for a page."""

from __future__ import annotations

import json

import pytest

from worker.page.elements.markup import parse
from worker.page.embedded.choice import MOST_OF_A_SHELL, told_instead

FERRY = "The council has voted to rebuild the old ferry landing before winter, after storms tore planks from it. " * 5
LIGHT = "The lighthouse on the northern head is for sale after its last keeper retired to a house by the sea. " * 5
SITE = "The Press brings you independent reporting from the coast, and has done so since 1987."


def script(value: object, kind: str = "application/json") -> str:
    return f"<script type='{kind}'>{json.dumps(value)}</script>"


def linked(value: object) -> str:
    return script(value, "application/ld+json")


def chosen(markup: str, title: str | None = "The Press", visible: str = "", words: int = 10) -> str | None:
    """The first words of what is told."""
    told = told_instead(parse(markup), title, visible, words)
    return told and " ".join(told.texts[0].split()[:2])


THING = {"title": "Ferry", "slug": "f", "body": FERRY}
LONGER = {"title": "Lighthouse", "slug": "l", "body": f"{LIGHT} {LIGHT[:60]}"}


@pytest.mark.parametrize("things", [[THING, LONGER], [LONGER, THING]])
def test_the_thing_that_the_title_names_is_the_pages_own(things: list[object]) -> None:
    assert chosen(script(things), "Ferry | The Press") == "The council"
    assert chosen(script(things), "The ferry landing before winter") == "The council"
    assert chosen(script(things)) == "The lighthouse"


def test_a_visible_sentence_tells_the_pages_own_thing() -> None:
    assert chosen(script([THING, LONGER]), visible=FERRY.split(". ")[0]) == "The council"


def test_what_the_site_says_of_itself_is_not_taken_for_the_page() -> None:
    site = {"name": "The Press", "description": SITE, "url": "/"}
    assert chosen(script({"site": site, "post": THING})) == "The council"
    assert chosen(script({"site": site})) is None


def test_the_body_of_an_article_comes_before_all_else() -> None:
    body = {"@type": "Article", "headline": "Ferry", "articleBody": FERRY}
    assert chosen(script(LONGER) + linked(body), "Lighthouse") == "The council"
    assert (
        chosen(linked([body, body | {"headline": "Lighthouse", "articleBody": LIGHT}]), "Lighthouse")
        == "The lighthouse"
    )


def test_linked_data_comes_before_things_that_nothing_announces() -> None:
    product = {"@type": "Product", "name": "Ferry", "description": FERRY}
    assert chosen(script(LONGER) + linked(product)) == "The council"


def test_messages_of_programs_without_a_title_are_none() -> None:
    messages = {f"m{n}": f"Something went wrong with step {n}, please try it again in a moment." for n in range(9)}
    assert chosen(script({"texts": [messages]})) is None
    assert chosen(script({"texts": [{"body": FERRY}]})) == "The council"


@pytest.mark.parametrize("words", [len(FERRY.split()), MOST_OF_A_SHELL + 1])
def test_beside_much_visible_text_no_script_counts(words: int) -> None:
    assert chosen(script(THING), words=words) is None


@pytest.mark.parametrize("markup", ["", "<script></script>", "<script src=x></script>", script({}), linked("x")])
def test_without_text_in_scripts_there_is_none(markup: str) -> None:
    assert chosen(markup) is None
