"""A page becomes the record that a crawler would have published."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta, timezone
from typing import Any

import numpy as np
import pytest

from crawler_plugin.record import Origin
from crawler_plugin.wire.page_headers import PageMeta
from crawler_plugin.wire.urls import canonical_url, id_of_url
from worker.local import FetchedPage

NOW = 1_700_000_000_000
FIELDS = {name: name for name in ("url", "body", "text", "status", "encoding", "content_type", "fetched", "dedup")}
FIELDS |= {"dedup_store": "store", "dedup_pardon": "pardon"}


@pytest.mark.parametrize(
    "item",
    [
        {"url": "http://a.example/b?z=1&a=2#c", "body": b"<p>a</p>", "encoding": "gb18030"},
        {"url": "http://a.example/", "body": "<p>\u4e00 \ud800</p>", "encoding": "gb18030"},
        {"url": "http://a.example/", "body": b"", "content_type": "text/html; charset=utf-8"},
        {"url": "http://a.example/", "text": "\u4e00"},
        {"url": "HTTP://A.example", "text": "", "fetched": NOW - 5},
        {"url": "http://a.example/", "text": "", "store": False, "pardon": True},
        {"url": "http://a.example/", "text": "", "store": True, "pardon": False},
    ],
)
def test_it_is_the_record_of_an_item_with_these_fields(item: dict[str, object]) -> None:
    published = Origin(FIELDS, spider=None, job=None).page(item, NOW)
    record = FetchedPage(**({"fetched": NOW} | item)).record(7, NOW + 9)  # type: ignore[arg-type]
    assert (record.key, record.value, tuple(record.headers)) == (published.key, published.value, published.headers)
    assert (record.partition, record.offset, record.timestamp) == (0, 7, NOW + 9)


def test_headers_of_its_own_cannot_take_the_place_of_what_is_said_of_the_page() -> None:
    page = FetchedPage("http://a.example/", b"", headers={"spider": "news", "url": "http://b.example/"})
    meta = PageMeta.from_headers(page.record(0, NOW).headers)
    assert (meta.url, meta.spider) == ("http://a.example/", "news")


@pytest.mark.parametrize(
    "fetched",
    [
        datetime(2023, 11, 14, 22, 13, 20),
        datetime(2023, 11, 14, 23, 13, 20, tzinfo=timezone(timedelta(hours=1))),
        "2023-11-14T22:13:20Z",
        "2023-11-14 22:13:20",
        np.int64(NOW),
    ],
)
def test_a_time_is_a_datetime_iso_8601_or_milliseconds(fetched: Any) -> None:
    assert FetchedPage("http://a.example/", b"", fetched=fetched).fetched == NOW


@pytest.mark.parametrize("id_", ["doc-17", "a/b", "a%2Fb", " ", "..", "record://id/a", "天", "http://a.example/#1", 7])
def test_an_id_stands_for_the_url_that_is_not_there(id_: str | int) -> None:
    page = FetchedPage(id=id_, text="")
    assert id_of_url(canonical_url(page.url)) == page.id == str(id_)
    assert replace(page, fetched=NOW).id == page.id
    assert FetchedPage("http://a.example/", b"", id=id_).url == "http://a.example/"


def test_any_bytes_are_a_body() -> None:
    assert [FetchedPage("http://a.example/", form(b"a")).body for form in (bytearray, memoryview)] == [b"a"] * 2


def test_without_body_and_text_the_record_has_no_value() -> None:
    assert FetchedPage("http://a.example/").record(0, NOW).value is None


@pytest.mark.parametrize(
    "page",
    [
        FetchedPage("http://a.example/\ud800", b""),
        FetchedPage("http://a.example/", b"", encoding="\ud800"),
        FetchedPage("http://a.example/", b"", headers={"spider": "\ud800"}),
    ],
)
def test_what_is_no_text_makes_the_record_unreadable(page: FetchedPage) -> None:
    assert "no text" in (page.record(0, NOW).unreadable or "")
