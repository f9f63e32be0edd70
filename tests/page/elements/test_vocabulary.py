"""The meanings of the names of elements and of parts."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from worker.page.elements import vocabulary
from worker.page.elements.vocabulary import (
    BREAK,
    CELL,
    ELEMENTS,
    EMPTY,
    HEADING,
    LINK,
    PARAGRAPH,
    RAW,
    VOID,
    bits_of,
    grown,
    hash_of,
)


def names_of(lists: Mapping[str, int]) -> dict[str, int]:
    """Name → bits, of lists of names."""
    found: dict[str, int] = {}
    for names, bits in lists.items():
        for name in names.split():
            found[name] = found.get(name, 0) | bits
    return found


TABLES = {
    "elements": (vocabulary.ELEMENTS, vocabulary._ELEMENTS),
    "words": (vocabulary.WORDS, vocabulary._WORDS),
    "roles": (vocabulary.ROLES, vocabulary._ROLES),
}


@pytest.mark.parametrize("name", TABLES)
def test_each_name_is_found_with_its_bits(name: str) -> None:
    table, lists = TABLES[name]
    named = names_of(lists)
    assert {each: bits_of(table, hash_of(each)) for each in named} == named
    assert bits_of(table, hash_of("no-such-name")) == 0
    assert bits_of(table, EMPTY) == 0


@pytest.mark.parametrize(
    ("element", "kind"),
    [("p", PARAGRAPH), ("h1", HEADING), ("a", LINK), ("script", RAW), ("br", VOID | BREAK), ("td", CELL)],
)
def test_elements_are_what_html_says(element: str, kind: int) -> None:
    assert bits_of(ELEMENTS, hash_of(element)) & kind == kind


def test_the_hash_of_a_name_grows_by_character() -> None:
    assert grown(grown(EMPTY, ord("h")), ord("1")) == hash_of("h1")


@pytest.mark.parametrize("name", TABLES)
def test_no_two_names_have_one_hash_and_most_rows_are_free(name: str) -> None:
    table, lists = TABLES[name]
    named = names_of(lists)
    assert len({hash_of(each) for each in named}) == len(named)
    assert 4 * len(named) <= len(table)
