"""The parts that may be left out of a URL."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler_plugin.feedback.variations import LONGEST, spelt, variations_of

SITE = "https://a.example"


@pytest.mark.parametrize(
    ("path", "left_out"),
    [
        ("/", {}),
        ("/about", {}),
        ("/?sid=1", {"?sid": "/"}),
        ("/news/7", {"/news/…": "/7"}),
        ("/news/", {}),
        ("/news/7?sid=1", {"?sid": "/news/7", "/news/…": "/7?sid=1"}),
        ("/a?b=1&b=2&c=3", {"?b": "/a?c=3", "?c": "/a?b=1&b=2", "?b&c": "/a"}),
        ("/print/news/7", {"/print/…": "/news/7", "/print/news/…": "/7"}),
        ("/s/1f0c99aa8e/news/7", {"/s/…": "/1f0c99aa8e/news/7", "/s/{id}/…": "/news/7"}),
        ("/news/7/print", {"/news/…": "/7/print", "/news/{number}/…": "/print", "…/print": "/news/7"}),
        ("/news/7/print/", {"/news/…": "/7/print/", "/news/{number}/…": "/print/", "…/print": "/news/7/"}),
        ("/topics/sea/about", {"/topics/…": "/sea/about", "/topics/sea/…": "/about"}),
    ],
)
def test_a_url_without_each_part_that_may_be_left_out(path: str, left_out: dict[str, str]) -> None:
    assert {each.kind: each.base.removeprefix(SITE) for each in variations_of(SITE + path)} == left_out


def test_a_port_makes_another_site_and_the_scheme_stays() -> None:
    (variation,) = variations_of("http://a.example:8080/?sid=1")
    assert (variation.site, variation.base, variation.names) == ("a.example:8080", "http://a.example:8080/", ("sid",))
    assert variation.groups == ("a.example/ (?sid)", "a.example:8080/… (?sid)")


@given(st.text(max_size=40))
def test_whatever_is_no_url_or_too_long_has_none_and_bases_are_of_the_same_site(text: str) -> None:
    assert variations_of(text.replace("://", "")) == ()
    assert variations_of(f"{SITE}/{'a' * LONGEST}?b=1") == ()
    url = spelt(f"{SITE}/{text}")
    for variation in variations_of(url):
        assert variation.site == "a.example"
        assert variation.base.startswith(f"{SITE}/") and len(variation.base) < len(url)
        assert spelt(variation.base) == variation.base
