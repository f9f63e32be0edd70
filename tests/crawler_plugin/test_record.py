"""From an item to a record: how each field is used, and how a large page is cut."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import hypothesis
import pytest
from hypothesis import strategies as st

from crawler_plugin import PageBody
from crawler_plugin.config.kinds import OUR_FIELDS
from crawler_plugin.record import Origin, PageRecord, Unusable, cut_to
from crawler_plugin.wire.page_headers import PARDON_HEADER, STORE_HEADER, PageMeta

URL = "https://Example.com/b?z=1&a=2#top"
NOW_MS = 1_763_700_000_123
ORIGIN = Origin({name: name for name in OUR_FIELDS}, spider="books", job="monday")


def page(**item: Any) -> PageRecord:
    return ORIGIN.page({"url": URL, "body": b"<p>x</p>"} | item, NOW_MS)


def meta(**item: Any) -> PageMeta:
    return PageMeta.from_headers(page(**item).headers)


def test_the_key_is_canonical_and_the_header_is_as_the_spider_gave_it() -> None:
    assert page().key == b"https://example.com/b?a=2&z=1"
    assert meta().url == URL


def test_user_names_and_passwords_do_not_travel() -> None:
    sent = page(url="https://user:secret@Example.com/b?z=1&a=2#top")
    assert (sent.key, sent.url, meta(url=sent.url).url) == (page().key, URL, URL)
    with pytest.raises(Unusable) as refused:
        page(url="user:secret@example.com")
    assert "secret" not in str(refused.value)


def test_what_the_item_does_not_say_has_no_header_but_the_time() -> None:
    assert meta() == PageMeta(url=URL, fetched=NOW_MS, spider="books", job="monday")


@pytest.mark.parametrize("body", [b"\xff\x00page", bytearray(b"\xff\x00page"), memoryview(b"\xff\x00page")])
def test_bytes_travel_as_they_are(body: object) -> None:
    assert page(body=body).value == b"\xff\x00page"
    assert meta(body=body, encoding="gbk").encoding == "gbk"


def test_a_page_body_is_its_bytes() -> None:
    assert page(body=PageBody(b"\xff\x00page")).value == b"\xff\x00page"


@pytest.mark.parametrize(("dedup", "is_published"), [(False, False), (True, True), (None, True), (0, True), ("", True)])
def test_an_item_is_published_unless_it_says_false(dedup: object, is_published: bool) -> None:
    if is_published:
        assert page(dedup=dedup) == page()
    else:
        with pytest.raises(Unusable) as raised:
            page(dedup=dedup)
        assert raised.value.reason == "switched_off"


@pytest.mark.parametrize(
    ("text", "is_markup"),
    [
        ("<html><body>x", True),
        ("\n <!DOCTYPE html>\n<p>x", True),
        ('<?xml version="1.0"?><a>x</a>', True),
        ("<p>One paragraph</p>\n", True),
        ('<div class="a">one<br>two<BR/>three', True),
        ("a<br>b<br>c<br>d", True),
        ("Words, then <b>bold</b> ones and <i>others</i>.", True),
        ("<my-element>x</my-element> <x>y</x> <y>z</y>", True),
        ("In HTML a <div> is an element, closed by </div>.", False),
        ("a < b and b > c, so List<String> and Map<K, V> and <T> and vector<int>", False),
        ("<3 <3 <3 >", False),
        ("", False),
        ("<" * 100_000, False),
        ("<p " * 100_000, False),
        ("</" + "a" * 100_000, False),
    ],
)
def test_text_that_looks_like_markup_is_noted_and_sent_as_it_is(text: str, is_markup: bool) -> None:
    sent = page(body=None, text=text)
    assert (sent.is_markup, sent.is_text, sent.value) == (is_markup, True, text.encode())
    assert not page(body=text).is_markup


def test_a_response_becomes_a_page_as_the_server_sent_it() -> None:
    sent = ORIGIN.response_page(url=URL, status=203, content_type=b"text/html", body=b"<p>", now_ms=NOW_MS)
    assert sent.value == b"<p>"
    expected = PageMeta(url=URL, status=203, content_type="text/html", fetched=NOW_MS, spider="books", job="monday")
    assert PageMeta.from_headers(sent.headers) == expected


def test_a_response_whose_url_is_none_of_a_page_is_told_apart() -> None:
    with pytest.raises(Unusable, match="its URL") as raised:
        ORIGIN.response_page(url="data:,page", status=200, content_type=None, body=b"page", now_ms=NOW_MS)
    assert raised.value.reason == "bad_url"


@pytest.mark.parametrize(
    ("said", "headers"),
    [
        ({}, []),
        ({"dedup_store": True, "dedup_pardon": False}, []),
        ({"dedup_store": None, "dedup_pardon": None}, []),
        ({"dedup_store": False}, [(STORE_HEADER, b"no")]),
        ({"dedup_pardon": True}, [(PARDON_HEADER, b"yes")]),
        ({"dedup_pardon": True, "dedup_store": False}, [(STORE_HEADER, b"no"), (PARDON_HEADER, b"yes")]),
    ],
)
def test_how_a_page_is_to_be_judged_is_said_by_its_item_or_by_its_request(
    said: dict[str, Any], headers: list[tuple[str, bytes]]
) -> None:
    plain: dict[str, Any] = {"url": URL, "status": 200, "content_type": None, "body": b"", "now_ms": NOW_MS}
    captured = ORIGIN.response_page(**plain, said={"dedup": True, "url": "no"} | said)
    assert list(captured.headers) == [*ORIGIN.response_page(**plain).headers, *headers]
    assert list(page(**said).headers) == [*page().headers, *headers]


@pytest.mark.parametrize("value", ["no", 0, 1, b"", [], "x" * 10**6], ids=repr)
@pytest.mark.parametrize("name", ["dedup_store", "dedup_pardon"])
def test_what_is_neither_true_nor_false_of_it_sends_nothing(name: str, value: object) -> None:
    with pytest.raises(Unusable, match=f"{name} is .*: give True or False") as raised:
        page(**{name: value})
    assert raised.value.reason == "bad_flag"
    assert len(str(raised.value)) < 200


def test_an_empty_body_is_a_page_that_is_empty() -> None:
    assert page(body=b"").value == b""


def test_a_body_of_text_is_a_page_in_utf8_whatever_it_was_fetched_in() -> None:
    sent = page(body="<p>天气</p>", encoding="gbk")
    assert sent.value.decode() == "<p>天气</p>"
    read = PageMeta.from_headers(sent.headers)
    assert (read.form, read.encoding) == ("bytes", "utf-8")


def test_text_is_read_only_where_there_is_no_body() -> None:
    assert meta(body=None, text="天气").form == "text"
    assert page(body=None, text="天气").value.decode() == "天气"
    assert meta(text="天气").form == "bytes"


def test_half_of_a_surrogate_pair_costs_itself_only() -> None:
    assert page(body=None, text="a\ud800b").value == b"a?b"


@pytest.mark.parametrize(
    ("item", "reason"),
    [
        ({"body": None}, "no_body"),
        ({"body": 17}, "bad_body"),
        ({"body": ["<p>"]}, "bad_body"),
        ({"body": None, "text": b"bytes"}, "bad_body"),
        ({"url": None}, "bad_url"),
        ({"url": b"https://example.com/"}, "bad_url"),
        ({"url": ""}, "bad_url"),
        ({"url": "/relative"}, "bad_url"),
        ({"url": "https://example.com/#\ud800"}, "bad_url"),
        ({"url": "https://example.com/\ud800"}, "bad_url"),
        ({"url": "https://[::1/"}, "bad_url"),
    ],
)
def test_an_item_that_is_no_page_is_told_apart(item: dict[str, Any], reason: str) -> None:
    with pytest.raises(Unusable) as raised:
        page(**item)
    assert raised.value.reason == reason


@pytest.mark.parametrize("item", [None, "text", 3, object()])
def test_an_object_that_is_no_item_is_told_apart(item: object) -> None:
    with pytest.raises(Unusable) as raised:
        ORIGIN.page(item, NOW_MS)
    assert raised.value.reason == "no_item"


@pytest.mark.parametrize(
    ("field", "value", "read_as"),
    [
        ("status", 404, 404),
        ("status", "404", 404),
        ("encoding", b"gbk", "gbk"),
        ("content_type", b"text/html; charset=gbk", "text/html; charset=gbk"),
        ("fetched", 1_763_700_000, 1_763_700_000_000),
        ("fetched", 1_763_700_000.5, 1_763_700_000_500),
        ("fetched", 1_763_700_000_123, 1_763_700_000_123),
        ("fetched", 99_999_999_999, 99_999_999_999_000),
        ("fetched", 100_000_000_000, 100_000_000_000),
        ("fetched", "2025-11-21T04:40:00Z", 1_763_700_000_000),
        ("fetched", "2025-11-21T12:40:00+08:00", 1_763_700_000_000),
        ("fetched", "2025-11-21T04:40:00", 1_763_700_000_000),
        ("fetched", datetime(2025, 11, 21, 4, 40), 1_763_700_000_000),
        ("fetched", datetime(2025, 11, 21, 4, 40, tzinfo=UTC), 1_763_700_000_000),
        ("fetched", datetime(2025, 11, 21, 12, 40, tzinfo=timezone(timedelta(hours=8))), 1_763_700_000_000),
    ],
)
def test_a_field_is_read(field: str, value: object, read_as: object) -> None:
    assert getattr(meta(**{field: value}), field) == read_as
    assert page(**{field: value}).unread == ()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("status", "in stock"),
        ("status", True),
        ("status", 10**30),
        ("status", -1),
        ("status", 200.0),
        ("encoding", 8),
        ("encoding", "a\ud800"),
        ("content_type", "天气".encode()),
        ("fetched", "yesterday"),
        ("fetched", True),
        ("fetched", 0),
        ("fetched", -5),
        ("fetched", float("nan")),
        ("fetched", float("inf")),
        ("fetched", 10**20),
        ("fetched", [2025]),
    ],
)
def test_a_value_that_cannot_be_used_is_noted_and_left_out(field: str, value: object) -> None:
    assert page(**{field: value}).unread == (field,)
    assert getattr(meta(**{field: value}), field) == (NOW_MS if field == "fetched" else None)


def test_fields_go_by_the_projects_names_and_those_that_are_not_named_are_not_read() -> None:
    origin = Origin({"url": "link", "text": "story"}, spider=None, job=None)
    sent = origin.page({"link": URL, "story": "news", "status": 200}, NOW_MS)
    assert PageMeta.from_headers(sent.headers) == PageMeta(url=URL, fetched=NOW_MS, form="text")
    with pytest.raises(Unusable, match="neither 'story'"):
        origin.page({"link": URL, "body": b"x"}, NOW_MS)


def test_the_size_is_that_of_key_value_and_headers() -> None:
    sent = page(body=b"12345")
    headers = sum(len(name) + len(value) for name, value in sent.headers)
    assert sent.size == len(sent.key) + 5 + headers


@hypothesis.given(text=st.text(), limit=st.integers(0, 400))
def test_text_is_cut_between_characters_and_fills_what_there_is(text: str, limit: int) -> None:
    sent = page(body=None, text=text)
    cut = cut_to(sent, limit)
    if cut is None:
        assert sent.overhead > limit
        return
    assert cut.size <= max(limit, sent.overhead)
    assert text.encode(errors="replace").decode().startswith(cut.value.decode())
    if len(cut.value) < len(sent.value):
        assert limit - cut.size < 4, "a character has at most four bytes"


@hypothesis.given(body=st.binary(max_size=300), room=st.integers(-1, 400))
def test_bytes_are_cut_where_the_limit_is(body: bytes, room: int) -> None:
    sent = page(body=body)
    cut = cut_to(sent, sent.overhead + room)
    assert cut is None if room < 0 else cut is not None and cut.value == body[:room]


@pytest.mark.parametrize(
    ("of_crawl", "of_page", "header"),
    [
        (None, "shop", "shop"),
        (None, 7, "7"),
        (None, 0, "0"),
        ("news@1", None, "news@1"),
        ("news@1", "天气", "news@1\n天气"),
        (None, None, None),
        (None, "", None),
    ],
)
def test_a_scope_stands_in_a_header_that_of_a_page_within_that_of_its_crawl(
    of_crawl: str | None, of_page: object, header: str | None
) -> None:
    origin = dataclasses.replace(ORIGIN, scope=of_crawl)
    told = {"url": URL, "status": 200, "content_type": None, "body": b"x", "now_ms": NOW_MS}
    of_response = origin.response_page(**told, said={"dedup_scope": of_page})  # type: ignore[arg-type]
    of_item = origin.page({"url": URL, "status": 200, "body": b"x", "dedup_scope": of_page}, NOW_MS)
    assert of_response == of_item
    assert dict(of_item.headers).get("dedup-scope") == (None if header is None else header.encode())


@pytest.mark.parametrize("scope", [True, 1.5, b"\xff", ["shop"], "half of a \ud800"])
def test_a_scope_that_is_none_is_noted(scope: object) -> None:
    assert page(dedup_scope=scope).unread == ("dedup_scope",)
