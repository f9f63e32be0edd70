"""What a request says of a page becomes a ``FetchedPage``, or is refused with the reader's next move."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from worker.local import FetchedPage
from worker.serve.asked_pages import (
    JSON,
    JSON_LINES,
    RequestRefused,
    about_page,
    is_json,
    page_of_body,
    page_of_json,
    url_asked,
)


@pytest.mark.parametrize(
    ("content_type", "query", "kind"),
    [
        ("application/x-ndjson", "", JSON_LINES),
        ("Application/JSON; charset=utf-8", "", JSON),
        ("application/json", "url=http://a.example/data.json", None),
        ("text/html", "", None),
        ("", "", None),
    ],
)
def test_json_with_a_query_is_a_page_that_was_fetched_as_json(content_type: str, query: str, kind: str | None) -> None:
    assert is_json(content_type, query) == kind


@pytest.mark.parametrize(
    ("row", "page"),
    [
        ({"url": "http://a.example/", "body": "<p>é"}, FetchedPage("http://a.example/", "<p>é")),
        (
            {"url": "http://a.example/", "body_base64": base64.b64encode(b"\xff\0").decode(), "encoding": "latin-1"},
            FetchedPage("http://a.example/", b"\xff\0", encoding="latin-1"),
        ),
        (
            {"id": 7, "text": "a", "fetched": "2026-05-01T12:30:00Z", "headers": {"spider": "news"}},
            FetchedPage(id=7, text="a", fetched="2026-05-01T12:30:00Z", headers={"spider": "news"}),
        ),
        (
            {"url": "http://a.example/", "body": "", "content_type": "text/html", "fetched": 1},
            FetchedPage("http://a.example/", "", content_type="text/html", fetched=1),
        ),
    ],
)
def test_an_object_has_the_fields_of_a_page(row: dict[str, Any], page: FetchedPage) -> None:
    assert page_of_json(json.dumps(row).encode()) == page


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "not a page"),
        (b"[]", "not a page"),
        (b'{"url": "http://a.example/"', "not a page"),
        (b'{"url": "http://a.example/", "html": "<p>"}', "unknown field `html`"),
        (b'{"url": "http://a.example/"}', "none of body, body_base64 and text"),
        (b'{"body": "<p>"}', "there is no id: give one"),
        (b'{"url": "http://a.example/", "body": "<p>", "body_base64": ""}', "leave out one"),
        (b'{"url": "http://a.example/", "body": "<p>", "text": ""}', "leave out text"),
        (b'{"url": "http://a.example/", "body_base64": "?"}', "base64"),
        (b'{"url": "http://a.example/", "text": "a", "fetched": "soon"}', "fetched"),
        (b'{"url": "http://a.example/", "text": "\xff"}', "not a page"),
        (b'{"url": 1, "text": "a"}', r"\$.url"),
        (b"[" * 100_000, "not a page"),
    ],
)
def test_what_is_no_page_is_refused_and_says_why(content: bytes, why: str) -> None:
    with pytest.raises(RequestRefused, match=why) as refused:
        page_of_json(content)
    assert refused.value.status == 400
    assert refused.value.row == {"status": 400, "error": refused.value.message}


def of(query: str, content_type: str | None = "text/html", body: bytes = b"<p>a") -> FetchedPage:
    return page_of_body(about_page(query), content_type, body)


def test_a_query_says_the_same_of_a_body_as_it_was_fetched() -> None:
    url = "https://a.example/%C3%A9?x=1&y=2"
    query = "url=https%3A%2F%2Fa.example%2F%25C3%25A9%3Fx%3D1%26y%3D2"
    assert of(query) == FetchedPage(url, b"<p>a", content_type="text/html")
    said = "&encoding=latin-1&fetched=1700000000000&header=spider:news&header=x:a:b"
    headers = {"spider": "news", "x": "a:b"}
    page = FetchedPage(
        url, b"<p>a", content_type="text/html", encoding="latin-1", fetched=1700000000000, headers=headers
    )
    assert of(query + said) == page
    many = {f"a{n}": "b" for n in range(99)}
    assert of("url=http://a.example/" + "".join(f"&header={name}:b" for name in many)).headers == many
    assert of("id=doc-1&form=text&fetched=2026-05-01", None, b"a\xff") == FetchedPage(
        id="doc-1", text="a�", fetched="2026-05-01"
    )


def test_what_curl_says_of_any_body_is_no_content_type() -> None:
    assert of("url=http://a.example/", "application/x-www-form-urlencoded").content_type is None
    assert of("url=http://a.example/", "").content_type is None


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("", "there is no url: POST /judge"),
        ("encoding=utf-8", "there is no url"),
        ("url=http://a.example/?x=1&y=2", "no parameter 'y'"),
        ("url=a&url=b", "given twice"),
        ("url=a&form=html", "form is 'html'"),
        ("url=a&header=spider", "NAME:VALUE"),
        ("url=%ff", "percent-encode it as UTF-8"),
        ("url=\xff", "percent-encode it as UTF-8"),
        ("url=a&fetched=soon", "fetched"),
        ("url=a&fetched=" + "9" * 5000, "fetched"),
        ("id=", "id is empty"),
        ("&".join(f"header=a{n}:b" for n in range(101)), "more than 100 parameters: .* as JSON"),
    ],
)
def test_a_query_that_says_something_else_is_refused(query: str, why: str) -> None:
    with pytest.raises(RequestRefused, match=why) as refused:
        of(query)
    assert refused.value.status == 400


def test_one_url_is_asked_for() -> None:
    assert url_asked("url=http%3A%2F%2Fa.example%2F%3Fx%3D1%26y") == "http://a.example/?x=1&y"
    for query in ("", "id=1", "url=a&id=1"):
        with pytest.raises(RequestRefused, match="takes one URL"):
            url_asked(query)
