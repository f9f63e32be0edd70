"""Records with marks, and revisits, as other programs read them."""

from __future__ import annotations

import io
from typing import Any

import pytest
from warcio.archiveiterator import ArchiveIterator

from tests.scan.inputs.written import Warc, html, url
from worker.scan.inputs.records import Fate, Original
from worker.scan.inputs.warc.written_records import PROFILE, marked, revisit

PAGE = html(1).encode()


def record(kind: str = "response", **headers: Any) -> bytes:
    warc = Warc()
    warc.add(url(1), PAGE, kind, content_type="text/html" if kind == "resource" else None, **headers)
    return warc.content.removesuffix(b"\r\n\r\n")


def read(content: bytes) -> tuple[Any, dict[str, str], bytes]:
    """Read with warcio: the record, its fields, and its content without HTTP's header."""
    (one,) = [
        (each, dict(each.rec_headers.headers), each.content_stream().read())
        for each in ArchiveIterator(io.BytesIO(content + b"\r\n\r\n"), check_digests="raise")
    ]
    return one


def test_a_mark_is_two_fields_and_changes_nothing_else() -> None:
    content = record()
    fate = Fate(True, verdict="duplicate", original=Original("http://a.example/"))
    found = marked(content, fate)
    _, before, page = read(content)
    _, after, same = read(found)
    assert same == page == PAGE
    assert after == before | {"Dedup-Verdict": "duplicate", "Dedup-Duplicate-Of": "http://a.example/"}
    assert marked(found, fate) == found
    _, unmarked, _ = read(marked(found, Fate(True, verdict="unique")))
    assert unmarked == before | {"Dedup-Verdict": "unique"}


def test_a_revisit_names_what_stays_and_keeps_its_id_and_the_header_of_http() -> None:
    content = record(WARC_Record_ID="<urn:page:1>", WARC_IP_Address="10.0.0.1")
    found, fields, body = read(revisit(content, Original("http://a.example/", "urn:page:0", 1_767_323_045_000)))
    assert found.rec_type == "revisit" and body == b"" and found.http_headers.get_statuscode() == "200"
    assert found.http_headers.get_header("Content-Type") == "text/html; charset=utf-8"
    named = {name: value for name, value in fields.items() if name not in ("Content-Length", "Content-Type")}
    assert named == {
        "WARC-Type": "revisit",
        "WARC-Record-ID": "<urn:page:1>",
        "WARC-Target-URI": url(1),
        "WARC-Date": "2026-01-02T03:04:05Z",
        "WARC-IP-Address": "10.0.0.1",
        "WARC-Profile": PROFILE,
        "WARC-Refers-To": "<urn:page:0>",
        "WARC-Refers-To-Target-URI": "http://a.example/",
        "WARC-Refers-To-Date": "2026-01-02T03:04:05Z",
        "WARC-Truncated": "length",
    }


@pytest.mark.parametrize(
    ("original", "named"),
    [
        (Original("http://a.example/", "http://a.example/", None), {}),
        (Original("http://a.example/", "n1", None), {}),
        (Original("http://a.example/", None, 10**18), {}),
        (Original("http://a.example/", "urn:a b", -1000), {"WARC-Refers-To-Date": "1969-12-31T23:59:59Z"}),
        (Original("http://a.example/", "x:1", 1234), {"WARC-Refers-To": "<x:1>", "WARC-Refers-To-Date": "T"}),
    ],
)
def test_of_what_stays_only_what_is_known_and_can_be_said_is_named(original: Original, named: dict[str, str]) -> None:
    for version, time in ((b"1.0", "1970-01-01T00:00:01Z"), (b"1.1", "1970-01-01T00:00:01.234Z")):
        content = record().replace(b"WARC/1.0", b"WARC/" + version)
        _, fields, _ = read(revisit(content, original))
        found = {name: value for name, value in fields.items() if name.startswith("WARC-Refers-To")}
        expected = {name: time if value == "T" else value for name, value in named.items()}
        assert found == expected | {"WARC-Refers-To-Target-URI": "http://a.example/"}


def test_a_revisit_of_a_resource_has_no_block() -> None:
    found, fields, body = read(revisit(record("resource"), Original("http://a.example/")))
    assert (found.rec_type, fields["Content-Length"], body) == ("revisit", "0", b"")
    assert "Content-Type" not in fields and "WARC-Truncated" not in fields


def test_no_name_makes_another_field_or_another_record() -> None:
    bad = "http://a.example/\r\nWARC-Type: warcinfo\r\n\r\nWARC/1.0 \x00"
    for content in (marked(record(), Fate(True, "duplicate", Original(bad))), revisit(record(), Original(bad, bad))):
        found, fields, _ = read(content)
        assert found.rec_type in ("response", "revisit")
        (value,) = [value for value in fields.values() if "%0D%0A" in value]
        assert value == "http://a.example/%0D%0AWARC-Type:%20warcinfo%0D%0A%0D%0AWARC/1.0%20%00"


def test_folded_fields_and_lines_that_end_with_lf_are_kept_or_dropped_as_a_whole() -> None:
    content = b"WARC/1.0\nWARC-Type:\n response\nWARC-Target-URI: http://a/\nX-More: a\n b\nContent-Length: 3\n\nabc"
    assert revisit(content, Original("http://b/")) == (
        b"WARC/1.0\nWARC-Type: revisit\r\nWARC-Target-URI: http://a/\nX-More: a\n b\nWARC-Profile: "
        + PROFILE.encode()
        + b"\r\nWARC-Refers-To-Target-URI: http://b/\r\nContent-Length: 0\r\n\r\n"
    )
