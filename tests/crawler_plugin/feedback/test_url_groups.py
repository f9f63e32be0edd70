"""The groups that a URL belongs to, the narrowest first."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler_plugin.feedback.url_groups import UrlGroups, groups_of


@pytest.mark.parametrize(
    ("url", "own", "wider"),
    [
        ("https://a.example", ("a.example",), ()),
        ("https://a.example/", ("a.example/",), ("a.example/…",)),
        (
            "https://a.example/print/news/7",
            ("a.example/print/news/{number}",),
            ("a.example/print/news/…", "a.example/print/…", "a.example/…"),
        ),
        (
            "https://a.example/news/7?sid=1f0c99aa8e",
            ("a.example/news/{number}?sid={id}",),
            ("a.example/…?sid={id}", "a.example/news/…", "a.example/…"),
        ),
        (
            "https://a.example/shop?size=xl&colour=red",
            ("a.example/shop?colour&size", "a.example/shop?…"),
            ("a.example/…?colour&size", "a.example/…"),
        ),
        ("data:text/html,x", (), ()),
    ],
)
def test_a_url_belongs_to_its_template_and_to_all_that_is_around_it(
    url: str, own: tuple[str, ...], wider: tuple[str, ...]
) -> None:
    assert groups_of(url) == UrlGroups(own, wider)


@given(st.lists(st.text("ab1/?&=", max_size=5), max_size=6).map("/".join))
def test_no_group_is_named_twice_and_the_host_is_the_widest(path: str) -> None:
    groups = groups_of("https://a.example/" + path).all
    assert len(set(groups)) == len(groups)
    assert groups[-1] == "a.example/…"


@given(st.text("abc", min_size=1), st.text("abc", min_size=1))
def test_session_ids_and_pages_under_a_folder_share_it(session: str, page: str) -> None:
    assert "a.example/s/…" in groups_of(f"https://a.example/s/{session}/{page}").wider


def test_no_link_holds_up_the_crawl() -> None:
    for count in (26, 100_000):
        assert "a.example/…" in groups_of(f"https://a.example/a{'%20' * count}-?a{'%20' * count}-=1").all
