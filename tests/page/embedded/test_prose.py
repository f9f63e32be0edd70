"""Prose is distinguished from other strings, and lists of names are read."""

from __future__ import annotations

import pytest

from worker.page.embedded.prose import as_markup, as_page, is_prose, names, openings, plain, without_repetitions

LONG = "The council has voted to rebuild the old ferry landing before winter."


@pytest.mark.parametrize(
    "text",
    [
        LONG,
        "Совет проголосовал за то, чтобы восстановить старую паромную пристань до зимы.",
        "港口委员会昨天投票决定在冬天之前重建旧渡轮码头。",
        "“It’s late,” she said – and nobody in the old hall answered her.",
        f"1 | 2 | 3\n{LONG}",
        f"{LONG}\n1 | A | 37% / 40% | $1 | B | 37% / 40% | $2 | C\n" * 3,
    ],
)
def test_sentences_are_prose(text: str) -> None:
    assert is_prose(text)


@pytest.mark.parametrize(
    "text",
    [
        "Load more",
        "",
        "flex items-center justify-between px-4 py-2 md:flex-row gap-4 text-sm",
        ".a { color: red; margin: 0 auto; } .b { color: blue; padding: 1px; }",
        "query Post($id: ID!) { post(id: $id) { id title body author { name } } }",
        "https://a.example/one/two/three/four/five/six/seven/eight?nine=ten&eleven=twelve",
        "https://a.example/v2/sports/football/leagues/seasons/2002/types?lang=en®ion=us",
        "M12 3 L4 5 C6 7 8 9 10 11 Z M1 2 L3 4 Z",
        "iVBORw0KGgoAAAANSUhEUgAAABQAAAAWCAYAAADAQbwGAAAACXBIWXMAAAsTAAALEwEAmpwYAA==" * 3,
        "2024-01-01 2024-01-02 2024-01-03 2024-01-04 2024-01-05 2024-01-06 2024-01-07 2024-01-08",
    ],
)
def test_names_programs_addresses_and_numbers_are_none(text: str) -> None:
    assert not is_prose(text)


@pytest.mark.parametrize(
    ("text", "shown", "is_html"),
    [
        ("<p>One &amp; <b>two</b></p>", "One & two", True),
        ("&lt;p&gt;One&lt;/p&gt;", "One", True),
        ("It&#39;s a < b and <repo url>", "It's a < b and <repo url>", False),
        ("plain", "plain", False),
    ],
)
def test_html_is_shown_without_its_tags(text: str, shown: str, is_html: bool) -> None:
    assert plain(text) == shown
    assert (as_markup(text) is not None) == is_html


def test_what_begins_like_a_longer_text_is_left_out() -> None:
    whole = f"<p>{LONG}</p><p>Then it went home. And slept.</p>"
    assert without_repetitions([LONG[:-1] + " …", whole, "Another sentence.", whole]) == [whole, "Another sentence."]


def test_sentences_are_told_by_their_beginnings() -> None:
    assert openings("One, two. THREE! 四。五") == ["one two", "three", "四", "五"]


def test_strings_are_a_page_of_their_own() -> None:
    page = as_page("A & b", ["One <x\n\nTwo", "<p>Three</p><p>Four <a hre"])
    assert page == ("<main><h1>A &amp; b</h1><p>One &lt;x</p><p>Two</p><div><p>Three</p><p>Four </div></main>")


def test_a_list_of_names_is_a_set_of_them() -> None:
    assert names("one two  one") == {"one", "two"}
