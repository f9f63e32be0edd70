"""JSON-LD: what of it is the page's text."""

from __future__ import annotations

import json

import pytest

from worker.page.embedded.linked_data import linked_data
from worker.page.embedded.literals import literals

PUBLISHER = {"@type": "Organization", "name": "Press", "description": "It brings news of the coast."}


def told(value: object) -> tuple[list[tuple[str | None, list[str]]], list[tuple[str | None, list[str]]]]:
    found = linked_data(literals([json.dumps(value)]))
    bodies, others = ([(each.title, list(each.texts)) for each in part] for part in found)
    return bodies, others


def test_of_an_article_its_body_counts() -> None:
    article = {"@type": "NewsArticle", "headline": "A", "description": "S", "articleBody": "B", "author": {"name": "N"}}
    assert told({"@graph": [PUBLISHER, article | {"publisher": PUBLISHER}]}) == ([("A", ["B"])], [])


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
    assert told(thing) == ([], [("A", texts)])


@pytest.mark.parametrize(
    "thing", [PUBLISHER, {"@type": "WebSite", "description": "S"}, {"@type": "BreadcrumbList", "name": "A"}, {}, []]
)
def test_what_is_said_of_the_site_is_no_text(thing: object) -> None:
    assert told(thing) == ([], [])


def test_a_thread_keeps_its_replies_behind_its_body() -> None:
    reply = {"@type": "Comment", "text": "C."}
    thread = {"@type": "DiscussionForumPosting", "headline": "A", "articleBody": "P.", "comment": [reply]}
    assert told(thread) == ([("A", ["P.", "C."])], [])
