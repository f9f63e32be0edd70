"""The URL that a page calls its own, and addresses that an error page repeats."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.page.canonical import MOST_WORDS, canonical_link, named_by, resolved, without_echo
from worker.page.elements.markup import parse

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
        (b"<links rel=canonical href=/1><link rel=canonical href=/2>", None),
        (b"<link " * 100_000, None),
        (b"<link " * 10_000 + b"canonical", None),
        (b"<head></head><link rel=canonical href=/1>", "https://a.example/1"),
        (b"<head></head><body><link rel=canonical href=/1>", None),
        (b"<head></head>text<link rel=canonical href=/1>", None),
        (b"<head><div></div><link rel=canonical href=/1>", None),
        # other elements, other attributes, other words
        (b"<link rel=canonical data-href=/1 href=/2>", "https://a.example/2"),
        (b"<link data-rel=canonical href=/1>", None),
        (b"<link rel=non-canonical href=/1><link rel='a\tCANONICAL\nb' href=/2>", "https://a.example/2"),
        (b"<link title=\"rel='canonical'\" href=/1>", None),
        (b"<link title='>' rel=canonical href='/1?a>b'>", "https://a.example/1?a>b"),
        (b"<link rel='&#99;anonical' href='/1?a=1&copy=2&amp;b'>", "https://a.example/1?a=1&copy=2&b"),
        (b"<link rel=canonical href=/1 href=/2><link rel=canonical href=/3>", "https://a.example/1"),
        (b"<link rel=x rel=canonical href=/1>", None),
        (b"<link rel='alternate&nbsp;canonical' href=/1>", None),
        (b"<meta property=og:title name=OG:URL content=/1>", "https://a.example/1"),
        (b"<meta http-equiv=og:url content=/1>", None),
        # places where no element can be
        (b"<!-- <link rel=canonical href=/1> --!><link rel=canonical href=/2>", "https://a.example/2"),
        (b"<script>'<link rel=canonical href=/1>'</script>", None),
        (b"<script><!--<script></script><link rel=canonical href=/1>--></script>", None),
        (b"<title><link rel=canonical href=/1></title>", None),
        (b"<style></head></style><link rel=canonical href=/1>", "https://a.example/1"),
        (b"<template><link rel=canonical href=/1></template>", None),
        (b"<noscript><link rel=canonical href=/1></noscript><link rel=canonical href=/2>", "https://a.example/2"),
        (b"<svg><link rel=canonical href=/1></svg>", None),
        (b"<![CDATA[<link rel=canonical href=/1>]]>", None),
        # the base of relative URLs
        (b"<base href=/b/><link rel=canonical href=1>", "https://a.example/b/1"),
        (b"<link rel=canonical href=1><base target=x><base href=//b.example/><base href=/c/>", "https://b.example/1"),
        (b"<base href=data:,x><link rel=canonical href=1>", "https://a.example/news/1"),
        (b"<base href='http://['><link rel=canonical href=1>", "https://a.example/news/1"),
        (b"<link rel=canonical href=1><body><base href=/b/>", "https://a.example/news/1"),
        (b"<noscript><base href=/b/></noscript><meta property=og:url content=1>", "https://a.example/news/1"),
        # slashes as browsers read them
        (b"<link rel=canonical href=https:///b.example/1>", "https://b.example/1"),
        (b"<link rel=canonical href=////b.example//1>", "https://b.example//1"),
        (b"<link rel=canonical href='HTTPS:\\\\b.example\\1?a=\\'>", "https://b.example/1?a=\\"),
        (b"<link rel=canonical href='\\1\\2#\\'>", "https://a.example/1/2#\\"),
        (b"<link rel=canonical href='?a=///\\'>", "https://a.example/news/1?a=///\\"),
        (b"<base href='\\\\\\b.example\\c\\'><link rel=canonical href=1>", "https://b.example/c/1"),
        # not an address of the web
        (b"<link rel=canonical href=mailto:a@b.example><link rel=canonical href=/1>", "https://a.example/1"),
        (b"<link rel=canonical href='javascript:1'><meta property=og:url content=/1>", "https://a.example/1"),
        (b"<link rel=canonical href=' '><link rel=canonical>", None),
        # left unfilled, or of the author's machine
        (b"<link rel=canonical href='{{canonical_url}}'><meta property=og:url content=/1>", "https://a.example/1"),
        (b"<link rel=canonical href='https://a.example/${path}'>", None),
        (b"<link rel=canonical href=undefined><link rel=canonical href=' null '>", None),
        (b"<link rel=canonical href=/null>", "https://a.example/null"),
        (b"<link rel=canonical href=http://localhost:3000/1><link rel=canonical href=/2>", "https://a.example/2"),
        (b"<base href=http://127.0.0.1/><link rel=canonical href=1>", None),
        (b"<link rel=canonical href='/1", None),
        (b"<base href=x>" * 100_000 + b"<link rel=canonical href=/1>", None),
        (b"<link rel=canonical href=/1><head></head>", "https://a.example/1"),
        (b"\1" * (1 << 17) + b'<link rel="canonical" href="/1">', None),
        (b'<meta property="og:url" content="https://b.example/1">', "https://b.example/1"),
        (b"<META CONTENT='/1' PROPERTY='og:url'>", "https://a.example/1"),
        (b"<meta name=og:url content=2>", "https://a.example/news/2"),
        (b'<meta property="og:url:x" content="">', None),
        (b'<meta property="al:web:url\tOG:url" content="/1">', "https://a.example/1"),
        (b'<meta property="al:web:url&nbsp;og:url" content="/1">', None),
        (b'<meta name="al:web:url og:url" content="/1">', None),
        (b'<meta property="og:title" content="og:url"><meta property="og:url" content="/1">', "https://a.example/1"),
        (b'<meta property="og:url" content="/1"><link rel="canonical" href="/2">', "https://a.example/2"),
        (b'<link rel="canonical" href=""><meta property="og:url" content="/1">', "https://a.example/1"),
        (b"<meta " * 10_000 + b"og:url", None),
    ],
)
def test_it_is_the_first_that_the_head_names(page: bytes, found: str | None) -> None:
    assert canonical_link(page, AT) == found
    assert canonical_link(page.decode(), AT) == found


def test_on_a_machine_of_its_own_a_page_may_name_that_machine() -> None:
    page = "<link rel=canonical href=http://localhost:3000/1>"
    assert canonical_link(page, "http://127.0.0.1:3000/2") == "http://localhost:3000/1"


def test_a_page_in_utf_16_is_read_by_its_mark() -> None:
    page = "<link rel=canonical href=/页>"
    assert canonical_link(page.encode("utf-16"), AT) == "https://a.example/页"
    assert canonical_link(b"\xfe\xff" + page.encode("utf-16-be"), AT) == "https://a.example/页"


@pytest.mark.parametrize("codec", ["gbk", "gb18030", "utf-16-le", "utf-16-be", "utf-8"])
def test_a_page_is_decoded_before_its_link_is_read(codec: str) -> None:
    page = "<html><head><meta charset=gbk><link rel=canonical href=/图书馆></head><body>市图书馆周一闭馆</body></html>"
    assert canonical_link(page.encode(codec), AT) == "https://a.example/图书馆"


def test_nuls_are_no_part_of_a_link_and_data_names_nothing() -> None:
    assert canonical_link(b"<link rel=canonical href=/o\0wn>", AT) == "https://a.example/own"
    assert canonical_link(bytes(range(256)) * 9, AT) is None
    assert canonical_link(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", AT) is None


@pytest.mark.parametrize("page", ["<link rel=canonical href=/1><base href=/b/>", "<body><link rel=canonical href=/1>"])
def test_the_head_alone_names_what_the_page_names(page: str) -> None:
    assert resolved(named_by(parse(page)), AT) == canonical_link(page, AT)


@pytest.mark.parametrize("before", ["<style>", "<script>", "<!--", "<meta content='<body>"])
def test_a_long_head_is_read_to_its_end(before: str) -> None:
    end = {"<style>": "</style>", "<script>": "</script>", "<!--": "-->"}.get(before, "'>")
    page = f"<head>{before}{'a > b <' * 9_000}{end}<link rel=canonical href=/a></head><body>text"
    assert canonical_link(page.encode(), "https://a.example/") == "https://a.example/a"


def test_half_of_a_surrogate_pair_is_no_obstacle() -> None:
    assert canonical_link("<title>\ud800</title><link rel=canonical href=/1>", AT) == "https://a.example/1"


def test_no_password_is_taken_over_from_a_link_or_from_the_page_s_own_url() -> None:
    assert canonical_link("<link rel=canonical href=//u:p@b.example/1>", AT) == "https://b.example/1"
    assert canonical_link("<link rel=canonical href=/1>", "https://u:p@b.example/") == "https://b.example/1"


OWN = "https://a.example/shop/a%20long-name.html?id=7"


@pytest.mark.parametrize(
    "address",
    [
        "/old/press/2009/a-long-name.html",
        "/shop/item.php?id=77",
        "/foo.html",
        "/x?y=1",
        "/über/uns",
        "/%C3%BCber/uns",
        "https://b.example/old/press.html",
        "http://www.b.example/",
        "www.b.example/old",
        "/shop/a%20long-name.html",
        "/shop/a long-name.html?id=7",
        OWN,
    ],
)
@pytest.mark.parametrize(
    "says",
    [
        "The page {} does not exist or has been moved.",
        "Not Found: the requested URL ({}) was not found on this server.",
        "Seite „{}“ wurde hier leider nicht mehr gefunden.",
        "Страница {}, которую вы ищете, не найдена здесь",
        "页面 {} 不存在，请检查地址是否正确。",
        '{{"status": 404, "error": "not found here at all", "path": "{}"}}',
    ],
)
def test_the_address_that_an_error_page_names_is_left_out(says: str, address: str) -> None:
    assert without_echo(says.format(address), OWN) == says.format(" ").replace("{{", "{").replace("}}", "}")


def test_two_spellings_of_one_address_are_one() -> None:
    text = "The page http://www.b.example/old/x.html (/old/x.html) was not found on this server."
    assert without_echo(text) == "The page   ( ) was not found on this server."


@pytest.mark.parametrize(
    "text",
    [
        "The page /about is gone for now.",
        "The page /about/ is gone for now.",
        "We walk 4 km/h and/or 1/2 of it, on 24/12/2025 at 10 / 11.",
        "/etc/passwd",
        "Watch this: https://b.example/video-1",
        "See /one/page and /other/page for all of it.",
        "Read https://b.example/1 and https://b.example/2 as well, both are good.",
        "Nothing was found for a-long-name here.",
        "Model AB-1234 is in stock, five euros each.",
        "A text without any address.",
        "",
        "word " * MOST_WORDS + "and the page /old/press.html",
        "The page /old/press.html " + "x" * 5000,
    ],
)
def test_other_texts_stay_as_they_are(text: str) -> None:
    assert without_echo(text, "https://a.example/about") == text


def test_a_url_that_cannot_be_read_repeats_nothing() -> None:
    assert without_echo("The page /old is gone", "http://[/old-name") == "The page /old is gone"


@given(st.text(alphabet="a/.:?= \n<htps"), st.text(alphabet="a/:?%2"))
def test_nothing_is_added(text: str, url: str) -> None:
    assert len(without_echo(text, url)) <= len(text)
