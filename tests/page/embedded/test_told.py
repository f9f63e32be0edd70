"""Text in a page's scripts, in JSON-LD and in their initial state, and when it is the page's text."""

from __future__ import annotations

import json

import pytest

from worker.page.elements.markup import parse
from worker.page.embedded.scripts import literals
from worker.page.embedded.told import MOST_OF_A_SHELL, is_wanted, linked_data, things, told_instead

PUBLISHER = {"@type": "Organization", "name": "Press", "description": "It brings news of the coast."}


def told_by_data(value: object) -> tuple[list[tuple[str | None, list[str]]], list[tuple[str | None, list[str]]]]:
    found = linked_data(literals([json.dumps(value)]))
    bodies, others = ([(each.title, list(each.texts)) for each in part] for part in found)
    return bodies, others


def test_of_an_article_its_body_counts() -> None:
    article = {"@type": "NewsArticle", "headline": "A", "description": "S", "articleBody": "B", "author": {"name": "N"}}
    assert told_by_data({"@graph": [PUBLISHER, article | {"publisher": PUBLISHER}]}) == ([("A", ["B"])], [])


@pytest.mark.parametrize(
    ("thing", "texts"),
    [
        (
            {"@type": "Product", "name": "A", "description": "D", "review": [{"@type": "Review", "description": "R"}]},
            ["D"],
        ),
        ({"@type": ["Thing", "https://schema.org/Product"], "name": "A", "description": "D"}, ["D"]),
        (
            {
                "@type": "Recipe",
                "name": "A",
                "recipeIngredient": ["flour", "an egg"],
                "recipeInstructions": [{"@type": "HowToStep", "name": "Mix", "text": "Mix both."}, "Bake."],
                "nutrition": {"@type": "NutritionInformation", "description": "no"},
            },
            ["flour", "an egg", "Mix", "Mix both.", "Bake."],
        ),
        (
            {
                "@type": "FAQPage",
                "name": "A",
                "mainEntity": [{"@type": "Question", "name": "Q?", "acceptedAnswer": {"text": "X."}}],
            },
            ["Q?", "X."],
        ),
        ({"@type": "JobPosting", "title": "A", "description": "D", "hiringOrganization": PUBLISHER}, ["D"]),
        ({"@type": "Event", "name": "A", "description": "D", "location": {"description": "P"}}, ["D"]),
        (
            {"@type": "DiscussionForumPosting", "headline": "A", "text": "P.", "comment": [{"text": "C."}]},
            ["P.", "C."],
        ),
        (
            {"@type": "WebPage", "description": "no", "mainEntity": {"@type": "Event", "name": "A", "text": "D"}},
            ["D"],
        ),
    ],
)
def test_of_each_kind_of_thing_its_own_texts_count(thing: object, texts: list[str]) -> None:
    assert told_by_data(thing) == ([], [("A", texts)])


@pytest.mark.parametrize(
    "thing", [PUBLISHER, {"@type": "WebSite", "description": "S"}, {"@type": "BreadcrumbList", "name": "A"}, {}, []]
)
def test_what_is_said_of_the_site_is_no_text(thing: object) -> None:
    assert told_by_data(thing) == ([], [])


def test_a_thread_keeps_its_replies_behind_its_body() -> None:
    reply = {"@type": "Comment", "text": "C."}
    thread = {"@type": "DiscussionForumPosting", "headline": "A", "articleBody": "P.", "comment": [reply]}
    assert told_by_data(thread) == ([("A", ["P.", "C."])], [])


ONE = "The council has voted to rebuild the old ferry landing before winter."
TWO = "Engineers found that most of the oak is sound below the tide line."
OTHER = "The lighthouse on the northern head is for sale after the last keeper retired."


def told_by_state(value: object) -> list[tuple[str | None, list[str]]]:
    found = things(literals([json.dumps(value)], is_wanted))
    assert found == things(literals([json.dumps(value)])), "what is not wanted makes no difference"
    return [(each.title, list(each.texts)) for each in found]


@pytest.mark.parametrize(
    "value",
    [
        {"props": {"title": "A", "body": f"{ONE} {TWO}"}},
        {"title": {"rendered": "A"}, "content": {"rendered": f"{ONE} {TWO}"}},
        {"page": {"html": f"{ONE} {TWO}", "frontmatter": {"title": "A"}}},
        {"name": "A", "description": f"{ONE} {TWO}"},
        {"title": "A", "excerpt": ONE, "body": f"{ONE} {TWO}", "seo": {"description": OTHER}},
        {"title": "A", "body": f"{ONE} {TWO}", "author": {"name": "N", "bio": OTHER}},
        {"title": "A", "body": f"{ONE} {TWO}", "translations": {"cookies": OTHER}, "footerText": OTHER},
        {"title": "A", "body": f"{ONE} {TWO}", "labels": {f"k{n}": f"{OTHER} {n}" for n in range(50)}},
        {"title": "A", "body": f"{ONE} {TWO}", "texts": {f"k{n}": f"{OTHER} {n}" for n in range(50)}},
        {"title": "A", "body": f"{ONE} {TWO}", "relatedPosts": [{"title": "B", "text": OTHER}]},
        {"title": "A", "body": f"{ONE} {TWO}", "comments": [{"text": OTHER}]},
        {"title": "A", "body": f"{ONE} {TWO}", "className": "one two three four five six seven eight nine"},
    ],
)
def test_the_text_stands_under_its_title_and_nothing_else_with_it(value: object) -> None:
    assert told_by_state(value) == [("A", [f"{ONE} {TWO}"])]


@pytest.mark.parametrize(
    "value",
    [
        {"title": "A", "blocks": [{"type": "p", "id": 1, "text": ONE}, {"type": "p", "id": 2, "text": TWO}]},
        {"title": "A", "body": {"content": [{"content": [{"value": ONE}]}, {"content": [{"value": TWO}]}]}},
        {"title": "A", "sections": [{"heading": "Past", "text": ONE}, {"heading": "Now", "text": TWO}]},
        {"title": "A", "posts": [{"id": 1, "name": "Ann", "cooked": ONE}, {"id": 2, "name": "Ben", "cooked": TWO}]},
    ],
)
def test_what_has_no_title_and_address_of_its_own_is_part_of_the_thing(value: object) -> None:
    assert told_by_state(value) == [("A", [ONE, TWO])]


def test_items_with_a_title_and_an_address_are_things_of_their_own() -> None:
    value = {"title": "A", "body": ONE, "more": [{"title": "B", "slug": "b", "text": OTHER}]}
    assert told_by_state(value) == [("A", [ONE]), ("B", [OTHER])]


def test_without_a_title_the_smallest_part_with_most_of_the_prose_is_the_thing() -> None:
    row = ["$", "main", None, {"children": [["$", "p", None, {"children": ONE}], ["$", "p", None, {"children": TWO}]]}]
    assert told_by_state([row, ["$", "div", None, {"children": OTHER}]]) == [(None, [ONE, TWO])]


def test_a_main_heading_of_react_is_the_title_of_what_it_stands_above() -> None:
    heading = ["$", "h1", None, {"className": "text-lg", "children": "A"}]
    assert told_by_state([["$", "main", None, {"children": [heading, ["$", "p", None, {"children": ONE}]]}]]) == [
        ("A", [ONE])
    ]


@pytest.mark.parametrize("value", [{}, [], {"title": "A"}, {"a": {"b": ["c", 1, None]}}, {"title": ONE}])
def test_without_prose_there_is_no_thing(value: object) -> None:
    assert told_by_state(value) == []


def test_strings_of_programs_without_a_name_are_no_text() -> None:
    assert things(literals([f'function f() {{ alert("{ONE}") }}; document.write("{TWO}")'])) == []


FERRY = "The council has voted to rebuild the old ferry landing before winter, after storms tore planks from it. " * 5
LIGHT = "The lighthouse on the northern head is for sale after its last keeper retired to a house by the sea. " * 5
SITE = "The Press brings you independent reporting from the coast, and has done so since 1987."


def script(value: object, kind: str = "application/json") -> str:
    return f"<script type='{kind}'>{json.dumps(value)}</script>"


def linked(value: object) -> str:
    return script(value, "application/ld+json")


def chosen(markup: str, title: str | None = "The Press", visible: str = "", words: int = 10) -> str | None:
    """The first words of the text in the scripts."""
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
