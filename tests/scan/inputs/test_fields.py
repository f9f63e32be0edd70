"""The meaning of each field."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta, timezone

import pytest

from crawler_plugin.wire.errors import UsageError
from crawler_plugin.wire.urls import canonical_url
from worker.scan.inputs.fields import Chosen, Fields, Row, columns_of, file_url, milliseconds
from worker.scan.inputs.records import ArchivedPage, BrokenRecord, RecordPlace

PLACE = RecordPlace("folder/a.jsonl", 7)
AT = 1_767_323_045_000


def chosen(row: Row, **given: str) -> Mapping[str, str]:
    return Chosen("a", Fields(**given), columns_of([row]), [row]).by_role


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({"text": "", "id": "", "dump": "", "url": "", "date": ""}, ("url", "text", "id", "date")),
        ({"text": "", "timestamp": "", "url": "", "source": ""}, ("url", "text", "timestamp")),
        ({"text": "", "meta": {"url": "", "timestamp": ""}}, ("meta.url", "text", "meta.timestamp")),
        ({"content": "words", "warc_headers": {"warc-target-uri": ""}}, ("warc_headers.warc-target-uri", "content")),
        ({"content": "<html><p>words", "URI": ""}, ("URI", "content")),
        ({"WARC-Target-URI": "", "raw_html": b"", "text": ""}, ("WARC-Target-URI", "raw_html")),
        ({"_id": "", "page_url": "", "body": "", "spider": ""}, ("page_url", "body", "_id", "spider")),
        ({"author": {"id": "", "url": ""}, "html": ""}, ("html",)),
    ],
)
def test_fields_of_known_data_sets_are_found(row: Row, expected: tuple[str, ...]) -> None:
    assert tuple(chosen(row).values()) == expected


def test_content_is_html_where_it_looks_like_it() -> None:
    assert "text" in chosen({"content": "a < b and words"})
    assert "body" in chosen({"content": "<!DOCTYPE html><p>a"})
    assert "body" in chosen({"content": b"bytes"})
    assert "text" in chosen({"page": "the words of a page"})


def test_what_was_named_counts_and_nothing_is_guessed_beside_it() -> None:
    assert chosen({"html": "", "text": "", "url": "", "u": ""}, text="text", url="u") == {"url": "u", "text": "text"}
    with pytest.raises(UsageError, match=r"a has no column 'x' \(--url-field\): there are html"):
        chosen({"html": ""}, url="x")
    with pytest.raises(UsageError, match="no column that seems to hold a page: there are title; name one of them"):
        chosen({"title": ""})


def test_a_name_with_a_dot_in_it_may_be_a_column_of_its_own() -> None:
    row = {"meta.url": "http://a.example/", "meta": {"url": "http://b.example/"}, "html": ""}
    page = Chosen("a", Fields(url="meta.url"), columns_of([row]), [row]).page(row, PLACE)
    assert isinstance(page, ArchivedPage) and page.page.url == "http://a.example/"


@pytest.mark.parametrize(
    ("row", "url", "id_"),
    [
        ({"url": "http://a.example/", "id": 7}, "http://a.example/", "7"),
        ({"url": "http://a.example/"}, "http://a.example/", "http://a.example/"),
        ({"id": "a b/ü"}, "record://id/a%20b%2F%C3%BC", "a b/ü"),
        ({"id": "\ud800"}, "record://id/%3F", "?"),
        ({"id": "https://b.example/x"}, "https://b.example/x", "https://b.example/x"),
        ({"url": None, "id": 10**500}, "file:///folder/a.jsonl?record=7", "file:///folder/a.jsonl?record=7"),
        ({}, "file:///folder/a.jsonl?record=7", "file:///folder/a.jsonl?record=7"),
    ],
)
def test_a_page_without_a_url_gets_one_that_stands_for_its_id_or_its_place(row: Row, url: str, id_: str) -> None:
    page = Chosen("a", Fields(), ["url", "id", "text"], [row]).page({**row, "text": ""}, PLACE)
    assert isinstance(page, ArchivedPage)
    assert (page.page.url, page.id) == (url, id_)
    assert canonical_url(url) == url


def test_a_text_that_is_no_utf_8_is_read_in_the_encoding_that_it_seems_to_be_in() -> None:
    def page(text: bytes, encoding: str | None = None) -> ArchivedPage | BrokenRecord:
        return Chosen("a", Fields(), ["text", "id"], [], encoding).page({"text": text, "id": text[:9]}, PLACE)

    for encoding, text in (
        ("cp1252", "Zürich, Genève"),
        ("cp1251", "Москва и Тверь " * 9),
        ("gb18030", "我们的中国" * 9),
    ):
        found = page(text.encode(encoding))
        assert isinstance(found, ArchivedPage) and found.page.text == text
    found = page("Łódź".encode("cp1250"), "cp1250")
    assert isinstance(found, ArchivedPage) and (found.page.text, found.id) == ("Łódź", "Łódź")


def test_a_text_in_no_encoding_is_no_body_and_a_body_in_any_bytes_is_one() -> None:
    text = Chosen("a", Fields(), ["text", "id"], []).page({"text": bytes(range(1, 32)) + b"\xff", "id": 7}, PLACE)
    body = Chosen("a", Fields(), ["html"], []).page({"html": b"\xff"}, PLACE)
    assert isinstance(text, BrokenRecord) and (text.reason, text.id) == ("no-body", "7")
    for value in (1.5, ["words", None], [["words"]], {"words": 1}):
        none = Chosen("a", Fields(), ["text", "id"], []).page({"text": value, "id": "a/b"}, PLACE)
        assert isinstance(none, BrokenRecord) and (none.reason, none.id) == ("no-body", "a/b")
    assert isinstance(body, ArchivedPage) and body.page.body == b"\xff"


@pytest.mark.parametrize(("text", "expected"), [(["one", "two\n", "three"], "one\ntwo\n\nthree"), (["one"], "one")])
def test_a_list_of_strings_is_a_text_of_as_many_lines(text: list[str], expected: str) -> None:
    found = Chosen("a", Fields(), ["text"], []).page({"text": text}, PLACE)
    assert isinstance(found, ArchivedPage) and found.page.text == expected
    assert isinstance(Chosen("a", Fields(), ["html"], []).page({"html": text}, PLACE), BrokenRecord)


@pytest.mark.parametrize(
    ("row", "id_"),
    [
        ({"id": 17, "url": "http://a.example/"}, "17"),
        ({"url": "http://user:secret@a.example/"}, "http://a.example/"),
        ({"id": "http://user:secret@a.example/", "url": "http://b.example/"}, "http://a.example/"),
        ({}, None),
    ],
)
def test_a_row_without_a_page_keeps_the_id_that_the_page_would_have(row: dict[str, object], id_: str | None) -> None:
    columns = ["id", "url", "text"]
    found = Chosen("a", Fields(), columns, []).page({"text": None, **row}, RecordPlace("a", 0))
    assert isinstance(found, BrokenRecord) and (found.reason, found.id) == ("no-body", id_)


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("2026-01-02T03:04:05Z", AT),
        ("2026-01-02T03:04:05", AT),
        ("2026-01-02 04:04:05+01:00", AT),
        ("2026-01-02", AT - AT % 86_400_000),
        (AT, AT),
        (AT // 1000, AT),
        (AT / 1000, AT),
        (str(AT), AT),
        (str(AT // 1000), AT),
        (AT * 1000, AT),
        (AT * 1_000_000, AT),
        (datetime(2026, 1, 2, 3, 4, 5), AT),
        (datetime(2026, 1, 2, 4, 4, 5, tzinfo=timezone(timedelta(hours=1))), AT),
        ("yesterday", None),
        ("", None),
        (None, None),
        (True, None),
        (float("nan"), None),
        (float("inf"), None),
        (10**400, None),
        ([], None),
    ],
)
def test_times_are_told_apart_by_form_and_size(said: object, expected: int | None) -> None:
    assert milliseconds(said) == expected


def test_a_file_has_a_url_that_stays() -> None:
    assert file_url("pages/a b#ü.html") == "file:///pages/a%20b%23%C3%BC.html"
    assert file_url("/pages/\udcff") == "file:///pages/%FF"
    assert file_url("s3://bucket/a") == "s3://bucket/a"
