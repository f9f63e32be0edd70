"""The headers of a page: written and read back, and left out or refused where they cannot be read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler_plugin.wire.errors import UnreadableRecord
from crawler_plugin.wire.page_headers import PageMeta, text_headers

TEXT = st.text(st.characters(exclude_categories=["Cs"]))


@given(
    st.builds(
        PageMeta,
        url=TEXT,
        status=st.none() | st.integers(100, 599),
        content_type=st.none() | TEXT,
        encoding=st.none() | TEXT,
        fetched=st.none() | st.integers(-(2**62), 2**62),
        spider=st.none() | TEXT,
        job=st.none() | TEXT,
        form=st.sampled_from(["bytes", "text"]),
    )
)
def test_a_page_s_headers_read_back_are_the_same(meta: PageMeta) -> None:
    assert PageMeta.from_headers(meta.to_headers()) == meta


def test_absent_values_have_no_header() -> None:
    assert PageMeta(url="https://a.example/").to_headers() == [("url", b"https://a.example/"), ("form", b"bytes")]


def test_headers_that_are_not_ours_are_left_alone_and_of_repeated_ones_the_last_counts() -> None:
    headers = [("url", b"a"), ("traceparent", b"\xff"), ("url", b"b"), ("status", b"200")]
    assert PageMeta.from_headers(headers) == PageMeta(url="b", status=200)


@pytest.mark.parametrize(
    "headers",
    [
        [],
        [("status", b"200")],
        [("url", b"\xff")],
        [("url", b"\xff"), ("status", b"fine")],
        [("url", None)],
    ],
)
def test_headers_without_a_url_that_can_be_read_are_refused(headers: list[tuple[str, bytes]]) -> None:
    with pytest.raises(UnreadableRecord, match="headers of a page: url"):
        PageMeta.from_headers(headers)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("status", b"200 OK"),
        ("status", b""),
        ("status", b"-" + b"9" * 19),
        ("fetched", b"1704067200.5"),
        ("fetched", b"yesterday"),
        ("fetched", b"9" * 5000),
        ("form", b"video"),
        *((name, b"\xff") for name in ("status", "fetched", "form", "encoding", "content_type", "spider", "job")),
    ],
)
def test_an_optional_header_that_cannot_be_read_is_left_out_and_named(name: str, value: bytes) -> None:
    others = [("url", b"a"), ("content_type", b"text/html"), ("fetched", b"5"), ("spider", b"s")]
    left = {header: said for header, said in others if header != name}
    meta, unread = PageMeta.read([*left.items(), (name, value)])
    assert (meta, unread) == (PageMeta.from_headers(list(left.items())), (name,))


@pytest.mark.parametrize("others", [[], [("status", b"200 OK")]])
@pytest.mark.parametrize("said", [b"2024-01-01T00:00:00Z", b"2024-01-01 01:00+01:00", b"2024-01-01", b"1704067200000"])
def test_a_fetch_time_is_a_number_of_milliseconds_or_iso_8601(said: bytes, others: list[tuple[str, bytes]]) -> None:
    assert PageMeta.from_headers([("url", b"a"), ("fetched", said), *others]).fetched == 1_704_067_200_000


def test_headers_are_shown_even_when_they_are_no_text() -> None:
    assert text_headers([("a", b"\xff"), ("b", "页".encode())]) == {"a": "\ufffd", "b": "页"}
