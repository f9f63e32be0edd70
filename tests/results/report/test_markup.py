"""Nothing but markup becomes markup."""

from __future__ import annotations

import html
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler_plugin.wire.urls import url_of_id
from tests.results.report.reports import HOSTILE, Parsed
from worker.results.report.markup import Markup, address, breakable, escaped, joined, percent, shortened, table, tag


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_text_in_content_and_attributes(text: str) -> None:
    made = tag("p", text, tag("b", text), title=text, data_x=None)
    page = Parsed(made)
    assert [name for name, _ in page.elements] == ["p", "b"]
    assert page.elements[0][1].keys() == {"title"}
    made.encode()


@given(st.text())
def test_what_is_escaped_reads_as_it_was_but_for_what_nobody_sees(text: str) -> None:
    read = html.unescape(escaped(text))
    assert len(read) == len(text)
    assert all(a in (b, "\ufffd") for a, b in zip(read, text, strict=True))
    assert html.unescape(breakable(text).replace("<wbr>", "")) == read


def test_markup_stays_as_it_is() -> None:
    assert joined(Markup("<b>"), "<b>", 3) == "<b>&lt;b&gt;3"
    assert tag("meta", charset="utf-8", http_equiv="x") == '<meta charset="utf-8" http-equiv="x">'
    assert tag("p", class_="a") == '<p class="a"></p>'


@pytest.mark.parametrize(
    ("url", "followed"),
    [
        ("https://a.example/x?y=1", True),
        ("http://a.example/\u202e", True),
        ("javascript:alert(1)", False),
        ("JaVaScRiPt:alert(1)", False),
        ("data:text/html,x", False),
        ("//a.example/", False),
        ("https://a.example/" + "x" * 999, False),
    ],
)
def test_only_addresses_of_the_web_can_be_followed(url: str, followed: bool) -> None:
    page = Parsed(address(url))
    assert (page.count("a") == 1) == followed
    assert Parsed(address(url, followed=False)).count("a") == 0
    assert len(page.words) <= 300


@pytest.mark.parametrize("id_", ["a/b", "doc 17", "https://a.example/"])
def test_a_page_without_a_url_is_shown_by_its_id_and_is_no_link(id_: str) -> None:
    shown = address(url_of_id(id_))
    assert re.sub("<[^>]*>", "", shown) == id_
    assert "record:" not in shown and "href" not in shown


def test_a_table_names_its_columns_and_rows() -> None:
    page = Parsed(table(["host", "pages"], [["<a>", 3]], "Pages by host"))
    scopes = [attributes.get("scope") for name, attributes in page.elements if name == "th"]
    assert scopes == ["col", "col", "row"]
    assert "Pages by host" in page.words
    assert Parsed(table(["host"], [], "none")).words == "None."


def test_columns_of_numbers_are_told_from_columns_of_words() -> None:
    rows = [["1", "1,234", tag("b", "3.1 %"), "12 <3"], ["2", "–", "61 %", "a"]]
    page = Parsed(table(["a", "b", "c", "d"], rows, "said"))
    kinds = [attributes.get("class") for name, attributes in page.elements if name in ("th", "td")]
    assert kinds == [None, "number", "number", None] * 3


def test_shares_are_short() -> None:
    assert [percent(1, 3), percent(1, 30), percent(0, 0)] == ["33 %", "3.3 %", "–"]
    assert shortened("abcdef", 4) == "abc…"
