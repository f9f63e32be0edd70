"""States of programs: which things they tell of."""

from __future__ import annotations

import json

import pytest

from worker.page.embedded.literals import literals
from worker.page.embedded.state import is_wanted, things

ONE = "The council has voted to rebuild the old ferry landing before winter."
TWO = "Engineers found that most of the oak is sound below the tide line."
OTHER = "The lighthouse on the northern head is for sale after the last keeper retired."


def told(value: object) -> list[tuple[str | None, list[str]]]:
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
    assert told(value) == [("A", [f"{ONE} {TWO}"])]


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
    assert told(value) == [("A", [ONE, TWO])]


def test_items_with_a_title_and_an_address_are_things_of_their_own() -> None:
    value = {"title": "A", "body": ONE, "more": [{"title": "B", "slug": "b", "text": OTHER}]}
    assert told(value) == [("A", [ONE]), ("B", [OTHER])]


def test_without_a_title_the_smallest_part_with_most_of_the_prose_is_the_thing() -> None:
    row = ["$", "main", None, {"children": [["$", "p", None, {"children": ONE}], ["$", "p", None, {"children": TWO}]]}]
    assert told([row, ["$", "div", None, {"children": OTHER}]]) == [(None, [ONE, TWO])]


def test_a_main_heading_of_react_is_the_title_of_what_it_stands_above() -> None:
    heading = ["$", "h1", None, {"className": "text-lg", "children": "A"}]
    assert told([["$", "main", None, {"children": [heading, ["$", "p", None, {"children": ONE}]]}]]) == [("A", [ONE])]


@pytest.mark.parametrize("value", [{}, [], {"title": "A"}, {"a": {"b": ["c", 1, None]}}, {"title": ONE}])
def test_without_prose_there_is_no_thing(value: object) -> None:
    assert told(value) == []


def test_strings_of_programs_without_a_name_are_no_text() -> None:
    assert things(literals([f'function f() {{ alert("{ONE}") }}; document.write("{TWO}")'])) == []
