"""Parts that differ from page to page are replaced by the names of their kinds."""

from __future__ import annotations

import re
import string
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler_plugin.wire.url_templates import Address, address_of
from crawler_plugin.wire.urls import url_of_id

VARIABLES: Final = {
    "{number}": st.integers(0, 10**7).map(str).filter(lambda text: not re.fullmatch(r"(19|20)\d{4}(\d\d)?", text)),
    "{date}": st.dates().filter(lambda date: 1900 <= date.year < 2100).map(str),
    "{id}": st.uuids().map(str) | st.binary(min_size=16, max_size=20).map(lambda data: "a1" + data.hex()),
    "{words}": st.lists(st.text(string.ascii_lowercase, min_size=1), min_size=3, max_size=6).map("-".join),
}
"""The values that a kind's name stands for in a path."""
HANGING: Final = [
    *(
        "https://a.example/" + segment
        for segment in (
            *(f"a{'%20' * count}-" for count in (26, 1_000, 100_000)),
            "a" + "-%20" * 100_000,
            "a-" * 100_000 + "_",
            ("a" * 30 + "-") * 50_000 + ".",
            "f" * 300_000 + "!",
            "1" * 300_000 + "!",
            ";a=b" * 100_000,
            "/" * 300_000,
            "x?" + "a=1&" * 100_000,
            "x?a=" + "1a" * 100_000,
        )
    ),
    "https://" + "a." * 100_000 + "/x",
]
"""Paths on which a pattern hung, or could hang."""
LITERALS: Final = ("shop", "about-us", "Calendar", "b")


@pytest.mark.parametrize(
    ("url", "template"),
    [
        ("https://a.example", "a.example"),
        ("https://A.example:8080/Shop/4711", "a.example/Shop/{number}"),
        (
            "https://a.example/2023/11/14/some-long-title-of-news.html",
            "a.example/{number}/{number}/{number}/{words}.html",
        ),
        ("https://a.example/2023-11-14/x", "a.example/{date}/x"),
        ("https://a.example/20231114.html", "a.example/{date}.html"),
        ("https://a.example/item/3f2504e0-4f89-11d3-9a0c-0305e82c3301", "a.example/item/{id}"),
        ("https://a.example/c/deadbeef01/", "a.example/c/{id}/"),
        ("https://a.example/v/dQw4w9WgXcQ2", "a.example/v/{id}"),
        ("https://a.example/page12.html?b=2&a=x&b=3#top", "a.example/page{number}.html?a&b={number}"),
        ("https://a.example/cal?day=2026-05-01&sid=9f8e7d6c5b4a", "a.example/cal?day={date}&sid={id}"),
        ("https://a.example/list?f[0]=red&f[1]=xl&empty=", "a.example/list?empty&f[{number}]"),
        ("https://a.example/list?1699999999", "a.example/list?{number}"),
        ("https://a.example/?" + "&".join("abcdefghij"), "a.example/?a&b&c&d&e&f&g&h&…"),
        ("https://a.example/news.html;jsessionid=4F1C", "a.example/news.html;jsessionid"),
        ("https://a.example/about-us", "a.example/about-us"),
        ("https://a.example/%E5%A4%A9%E5%9C%B0%E7%8E%84%E9%BB%84", "a.example/{words}"),
        ("https://a.example/" + "x/" * 20, "a.example/x/x/x/x/x/x/x/x/…"),
        ("not a url", "{words}"),
        ("http://[broken/", "(no URL)"),
    ],
)
def test_a_template_is_host_path_and_names_of_the_query(url: str, template: str) -> None:
    assert address_of(url).template == template


@pytest.mark.parametrize("url", HANGING, ids=lambda url: url[18:40])
def test_no_url_takes_longer_than_it_is_long(url: str) -> None:
    assert len(address_of(url).template) < 5_000


def test_what_is_longer_than_any_segment_is_words_and_is_not_remembered() -> None:
    assert address_of(f"https://a.example/{'1' * 10_000}?x={'1' * 600}").template == "a.example/{words}?x"


def test_the_host_is_told_apart() -> None:
    assert address_of("https://a.example/1") == Address("a.example", ("", "{number}"))
    assert address_of("mail").host == ""
    assert address_of(url_of_id("doc-17")) == Address("", ("", "doc-{number}"))


@given(st.lists(st.sampled_from([*LITERALS, *VARIABLES]), min_size=1, max_size=8), st.data())
def test_pages_of_one_template_have_it_whatever_stands_in_the_place_of_a_kind(
    parts: list[str], data: st.DataObject
) -> None:
    written = [data.draw(VARIABLES[part]) if part in VARIABLES else part for part in parts]
    assert address_of("https://a.example/" + "/".join(written)).template == "a.example/" + "/".join(parts)


@given(st.dictionaries(st.sampled_from("abcd"), st.sampled_from(["{number}", "{date}", "{id}"])), st.data())
def test_a_parameter_is_known_by_its_name_and_its_values_kind_and_the_order_says_nothing(
    query: dict[str, str], data: st.DataObject
) -> None:
    pairs = data.draw(st.permutations([(name, data.draw(VARIABLES[kind])) for name, kind in query.items()]))
    address = address_of("https://a.example/x?" + "&".join(f"{name}={value}" for name, value in pairs))
    assert address.query == tuple(sorted(f"{name}={kind}" for name, kind in query.items()))


@given(st.text())
def test_any_text_has_a_template_of_bounded_length(text: str) -> None:
    address = address_of("https://a.example/" + text)
    assert len(address.path) <= 10
    assert len(address.query) <= 9


@pytest.mark.parametrize(
    ("url", "shelf"),
    [
        ("http://a.example/products/blue-lamp", "a.example/products/{name}"),
        ("http://a.example/products/lamp/", "a.example/products/{name}/"),
        ("http://a.example/products/17", "a.example/products/{number}"),
        ("http://a.example/", "a.example/"),
        ("http://a.example/index.php?route=item&id=17", "a.example/{name}?id={number}&route"),
    ],
)
def test_a_shelf_holds_pages_that_differ_in_a_name(url: str, shelf: str) -> None:
    assert address_of(url).shelf == shelf
