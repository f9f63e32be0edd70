"""One spelling of a URL."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from w3lib.url import canonicalize_url

from worker.urls import ALREADY, canonical_url


@pytest.mark.parametrize(
    ("given_url", "canonical"),
    [
        ("https://a.example/", "https://a.example/"),
        ("HTTPS://A.Example/Path", "https://a.example/Path"),
        ("https://a.example", "https://a.example/"),
        ("https://a.example/#part", "https://a.example/"),
        ("https://a.example/?b=2&a=1", "https://a.example/?a=1&b=2"),
        ("https://a.example/?b=2&b=1", "https://a.example/?b=1&b=2"),
        ("https://a.example/?q=", "https://a.example/?q="),
        ("  https://a.example/a b \n", "https://a.example/a%20b"),
        ("https://a.example/页", "https://a.example/%E9%A1%B5"),
        ("https://a.example/%e9%a1%b5", "https://a.example/%E9%A1%B5"),
        ("https://a.example:8080/a/../b", "https://a.example:8080/b"),
        ("file:///folder/page.html", "file:///folder/page.html"),
    ],
)
def test_spellings_of_one_page_become_one(given_url: str, canonical: str) -> None:
    assert canonical_url(given_url) == canonical


@pytest.mark.parametrize("url", ["", "a.example", "/path", "//a.example/", "mailto:a@b.example", "页"])
def test_a_url_that_is_not_absolute_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="not an absolute URL"):
        canonical_url(url)


@given(
    host=st.from_regex(r"[a-zA-Z0-9]{1,20}\.example", fullmatch=True),
    path=st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=30),
    query=st.dictionaries(st.text("abcABC%&=+ 页", max_size=5), st.text("abc%+ 页", max_size=5), max_size=4),
)
def test_the_canonical_spelling_is_its_own(host: str, path: str, query: dict[str, str]) -> None:
    url = f"https://{host}/{path}?" + "&".join(f"{name}={value}" for name, value in query.items())
    once = canonical_url(url)
    assert canonical_url(once) == once
    assert once.isascii()


@given(st.from_regex(ALREADY, fullmatch=True))
def test_what_is_taken_for_canonical_is_so(url: str) -> None:
    assert canonicalize_url(url) == url


def test_no_url_is_looked_at_for_long_to_see_that_it_is_canonical() -> None:
    assert ALREADY.fullmatch("https://" + "a-" * 50_000 + "/" + "b/" * 50_000 + "?" + "c" * 100_000 + "#") is None
