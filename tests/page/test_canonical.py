"""The URL that a page calls its own."""

from __future__ import annotations

import pytest

from worker.page.canonical import canonical_link

AT = "https://a.example/news/1?id=2"


@pytest.mark.parametrize(
    ("page", "found"),
    [
        (b'<link rel="canonical" href="https://b.example/1">', "https://b.example/1"),
        (b"<LINK HREF='/1' REL='canonical'/>", "https://a.example/1"),
        (b"<link rel=canonical href=2>", "https://a.example/news/2"),
        (b'<link rel="alternate canonical" href="?a=1&amp;b=2">', "https://a.example/news/1?a=1&b=2"),
        (b'<link rel="stylesheet" href="/s"><link rel="canonical" href=" /1 ">', "https://a.example/1"),
        (b'<link rel="canonical-ish" href="">', None),
        (b'<link rel="canonical">', None),
        (b'<link rel="canonical" href="http://[">', None),
        (b'<a rel="canonical" href="/1">', None),
        (b"<link <link rel=canonical href=3>", "https://a.example/news/3"),
        (b"<links rel=canonical href=/1><link rel=canonical href=/2>", "https://a.example/2"),
        (b"<link " * 100_000, None),
        (b"<link " * 10_000 + b"canonical", None),
        (b"<head></head><link rel=canonical href=/1>", None),
        (b"<link rel=canonical href=/1><head></head>", "https://a.example/1"),
        (bytes(1 << 17) + b'<link rel="canonical" href="/1">', None),
        (b'<meta property="og:url" content="https://b.example/1">', "https://b.example/1"),
        (b"<META CONTENT='/1' PROPERTY='og:url'>", "https://a.example/1"),
        (b"<meta name=og:url content=2>", "https://a.example/news/2"),
        (b'<meta property="og:url:x" content="">', None),
        (b'<meta property="og:title" content="og:url"><meta property="og:url" content="/1">', "https://a.example/1"),
        (b'<meta property="og:url" content="/1"><link rel="canonical" href="/2">', "https://a.example/2"),
        (b'<link rel="canonical" href=""><meta property="og:url" content="/1">', "https://a.example/1"),
        (b"<meta " * 10_000 + b"og:url", None),
    ],
)
def test_it_is_the_first_that_the_head_names(page: bytes, found: str | None) -> None:
    assert canonical_link(page, AT) == found
    assert canonical_link(page.decode(), AT) == found


def test_half_of_a_surrogate_pair_is_no_obstacle() -> None:
    assert canonical_link("\ud800<link rel=canonical href=/1>", AT) == "https://a.example/1"


def test_no_password_is_taken_over_from_a_link_or_from_the_page_s_own_url() -> None:
    assert canonical_link("<link rel=canonical href=//u:p@b.example/1>", AT) == "https://b.example/1"
    assert canonical_link("<link rel=canonical href=/1>", "https://u:p@b.example/") == "https://b.example/1"
