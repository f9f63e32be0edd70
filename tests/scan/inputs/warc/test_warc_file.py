"""WARC: which records are pages, and how a page is taken out of its HTTP response."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Sequence
from pathlib import Path

import pytest
from backports import zstd

from tests.scan.inputs.written import Warc, archive_of, broken_of, html, pages_of, put, url, warc_of, write_kept
from worker.scan.inputs.records import ArchivedPage, BrokenRecord

HTML = (("Content-Type", "text/html"),)
BODY = html(1).encode()
BROTLI = b"\x1b \x00\xf8\x1d\xa9Q\x9f=\xaey\xe0\xe4\xee\x94\xcf[\x82\x90\xcd\x05?q@\xa1\xd7\x00"


def test_pages_are_responses_of_200_and_resources_that_are_text(tmp_path: Path) -> None:
    warc = Warc()
    warc.info()
    page = warc.add(url(1), BODY)
    warc.add(url(1), b"", "request", WARC_Concurrent_To=page)
    warc.add(url(2), BODY, status="404 Not Found")
    warc.add(url(3), b"\x89PNG", http=[("Content-Type", "image/png")])
    warc.add(url(4), BODY, "resource", content_type="text/html; charset=big5")
    warc.add(url(5), b"\x89PNG", "resource", content_type="image/png")
    warc.add("dns:host.example", b"127.0.0.1", "resource", content_type="text/dns")
    warc.add("metadata://gnu.org/software/wget/warc/wget.log", b"a log", "resource", content_type="text/plain")
    warc.add(url(6), b"a text", "conversion", content_type="text/plain")
    warc.add(url(7), BODY, http=[("Server", "says no type")])
    warc.add(url(8), b"{}", http=[("Content-Type", "application/xhtml+xml")])
    archive = archive_of(put(tmp_path, "a", warc.content))
    pages = [page for page in archive.records() if isinstance(page, ArchivedPage)]
    assert [page.page.url for page in pages] == [url(number) for number in (1, 4, 6, 7, 8)]
    assert [page.page.content_type for page in pages] == [
        "text/html; charset=utf-8", "text/html; charset=big5", None, None, "application/xhtml+xml",
    ]  # fmt: skip
    assert pages[2].page.text == "a text" and pages[2].page.body is None
    assert pages[0].id == page.strip("<>")
    assert pages[0].page.fetched == 1767323045000
    assert archive.passed_over == {"warcinfo": 1, "request": 1, "not-200": 1, "not-text": 2, "not-web": 2}
    assert list(archive.records()) == pages
    assert sum(archive.passed_over.values()) == 7, "counted anew at each call"


def chunks(body: bytes) -> bytes:
    return b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (body[:100], body[100:])) + b"0\r\n\r\n"


@pytest.mark.parametrize(
    ("payload", "http"),
    [
        (gzip.compress(BODY), [("Content-Encoding", "gzip")]),
        (zlib.compress(BODY), [("Content-Encoding", "deflate")]),
        (zstd.compress(BODY), [("Content-Encoding", "zstd")]),
        (chunks(BODY), [("Transfer-Encoding", "chunked")]),
        (chunks(gzip.compress(BODY)), [("Transfer-Encoding", "chunked"), ("Content-Encoding", "gzip")]),
        (BODY, [("Transfer-Encoding", "chunked")]),
        (BODY, [("Content-Encoding", "gzip")]),
        (BODY, [("Transfer-Encoding", "chunked"), ("Content-Encoding", "br")]),
        (chunks(BODY), [("Transfer-Encoding", "chunked"), ("Content-Encoding", "gzip")]),
        (BODY, [("Content-Encoding", "one-of-its-own")]),
    ],
)
def test_the_body_is_what_the_server_meant_whether_or_not_the_crawler_unpacked_it(
    payload: bytes, http: Sequence[tuple[str, str]], tmp_path: Path
) -> None:
    warc = Warc()
    warc.add(url(1), payload, http=[*HTML, *http])
    (page,) = pages_of(archive_of(put(tmp_path, "a", warc.content)))
    assert page.page.body == BODY


def test_brotli_is_unpacked(tmp_path: Path) -> None:
    warc = Warc()
    warc.add(url(1), BROTLI, http=[*HTML, ("Content-Encoding", "br")])
    (page,) = pages_of(archive_of(put(tmp_path, "a", warc.content)))
    assert page.page.body == b"<p>" + b"words " * 5


def test_a_body_that_unpacks_to_more_than_allowed_is_too_large(tmp_path: Path) -> None:
    warc = Warc(packed=True)
    warc.add(url(1), gzip.compress(b"\0" * 50_000_000), http=[*HTML, ("Content-Encoding", "gzip")])
    warc.add(url(2), BODY)
    bomb, page = archive_of(put(tmp_path, "a", warc.content)).records()
    assert isinstance(bomb, BrokenRecord) and bomb.reason == "too-large" and bomb.place.offset == 0
    assert isinstance(page, ArchivedPage)


def test_of_a_body_of_unknown_type_its_beginning_decides_later(tmp_path: Path) -> None:
    warc = Warc()
    for number, kind in enumerate(("application/octet-stream", "x/y", "application/pdf", "application/json")):
        warc.add(url(number), BODY, http=[("Content-Type", kind)])
    archive = archive_of(put(tmp_path, "a", warc.content))
    assert [page.page.url for page in pages_of(archive)] == [url(0), url(1)]
    assert archive.passed_over == {"not-text": 2}


@pytest.mark.parametrize("packed", [False, True])
def test_a_record_that_is_too_large_is_named_and_passed(packed: bool, tmp_path: Path) -> None:
    warc = Warc(packed=packed)
    warc.add(url(1), BODY)
    large = warc.add(url(2), b"<p>" + b"a " * 2_000_000)
    warc.add(url(3), b"\x89PNG" * 1_000_000, http=[("Content-Type", "image/png")])
    warc.add(url(4), BODY)
    archive = archive_of(put(tmp_path, "a", warc.content))
    assert [page.page.url for page in pages_of(archive)] == [url(1), url(4)]
    (broken,) = broken_of(archive)
    assert (broken.reason, broken.id) == ("too-large", large.strip("<>")) and "4000" in broken.detail
    assert archive.passed_over == {"not-text": 1}


def test_an_offset_is_where_the_record_begins_in_the_file_as_it_is_stored(tmp_path: Path) -> None:
    for packed in (False, True):
        path = put(tmp_path, "a", warc_of(5, packed=packed))
        content = path.read_bytes()
        for number, page in enumerate(pages_of(archive_of(path))):
            rest = content[page.place.offset :]
            record = zlib.decompressobj(wbits=31).decompress(rest) if packed else rest
            assert record.startswith(b"WARC/1.") and f"WARC-Target-URI: {url(number)}\r\n".encode() in record[:400]


def test_where_a_warc_is_packed_as_a_whole_an_offset_counts_unpacked_bytes(tmp_path: Path) -> None:
    plain = warc_of(5)
    pages = pages_of(archive_of(put(tmp_path, "a", gzip.compress(plain))))
    for number, page in enumerate(pages):
        assert url(number).encode() in plain[page.place.offset :][:400]


@pytest.mark.parametrize("is_packed", [False, True])
def test_records_that_are_packed_with_a_dictionary_are_read_and_copied(is_packed: bool, tmp_path: Path) -> None:
    plain = warc_of(30)
    records = [b"WARC/1.0\r\n" + rest for rest in plain.split(b"WARC/1.0\r\n")[1:]]
    dictionary = zstd.train_dict(records, 4096)
    frame = zstd.compress(dictionary.dict_content) if is_packed else dictionary.dict_content
    content = b"\x5d\x2a\x4d\x18" + len(frame).to_bytes(4, "little") + frame
    content += b"".join(zstd.compress(record, zstd_dict=dictionary) for record in records)
    archive = archive_of(put(tmp_path, "a", content))
    pages = pages_of(archive)
    assert [page.page.url for page in pages] == [url(number) for number in range(30)]
    assert pages[0].place.offset == 8 + len(frame)
    write_kept(archive, tmp_path / "b", lambda page: page.page.url != url(7))
    assert [page.id for page in pages_of(archive_of(tmp_path / "b"))] == [
        page.id for page in pages if page.page.url != url(7)
    ]
    damaged = bytearray(content)
    damaged[:50] = damaged[:8] + bytes(42)
    assert broken_of(archive_of(put(tmp_path, "a.warc.zst", bytes(damaged))))


@pytest.mark.parametrize("kind", ["response", "resource", "conversion"])
def test_a_segment_of_a_record_is_no_page(kind: str, tmp_path: Path) -> None:
    warc = Warc()
    warc.add(url(1), BODY[:100], kind, content_type="text/html", WARC_Segment_Number="1")
    warc.add(url(2), BODY)
    warc.add(url(1), BODY[100:], "continuation", WARC_Segment_Number="2")
    archive = archive_of(put(tmp_path, "a", warc.content))
    found = list(archive.records())
    assert [one.page.url for one in found if isinstance(one, ArchivedPage)] == [url(2)]
    assert [(one.reason, one.detail) for one in found if isinstance(one, BrokenRecord)] == [
        ("damaged", "the record is one of several segments, which are not joined")
    ]
    assert archive.passed_over == {"continuation": 1}
    assert not write_kept(archive, tmp_path / "kept", lambda page: True)
    assert (tmp_path / "kept").read_bytes() == warc.content


def test_a_response_without_http_and_one_without_url_are_broken(tmp_path: Path) -> None:
    content = warc_of(3).replace(b"HTTP/1.1 200 OK", b"nothing 200 to ", 1)
    content = content.replace(f"WARC-Target-URI: {url(1)}".encode(), f"WARC-Torget-URI: {url(1)}".encode())
    archive = archive_of(put(tmp_path, "a", content))
    assert [(one.reason, one.detail) for one in broken_of(archive)] == [
        ("damaged", "the record's HTTP header cannot be read"),
        ("damaged", "the record has no WARC-Target-URI"),
    ]
    assert [page.page.url for page in pages_of(archive)] == [url(2)]
