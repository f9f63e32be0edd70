"""HTTP responses as crawlers stored them: no body is lost because of the form of a header or of chunks."""

from __future__ import annotations

import gzip
import random
import zlib
from collections.abc import Callable

import brotli
import pytest
from backports import zstd

from worker.scan.inputs.header_lines import Headers
from worker.scan.inputs.warc.http_response import HttpResponse, body_of, http_response

PAGE = b"<html><body><p>" + b" ".join(b"w%d" % number for number in range(3000)) + b"</p></body></html>"
MOST = 1_000_000


def raw(content: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(content) + packer.flush()


def chunked(content: bytes, line_end: bytes = b"\r\n", size: int = 1000) -> bytes:
    parts = [content[at : at + size] for at in range(0, len(content), size)]
    chunks = [b"%x%s%s%s" % (len(part), line_end, part, line_end) for part in parts]
    return b"".join(chunks) + b"0" + line_end + line_end


def body(payload: bytes, most: int = MOST, **headers: str) -> bytes:
    fields = tuple((name.replace("_", "-").lower(), value) for name, value in headers.items())
    return body_of(HttpResponse(200, Headers(fields), payload, True), most)


@pytest.mark.parametrize("line_end", [b"\r\n", b"\n"])
def test_a_header_whose_lines_end_with_lf_alone_leaves_the_body_to_the_page(line_end: bytes) -> None:
    found = http_response(line_end.join([b"HTTP/1.1 200 OK", b"Content-Type: text/html", b"", PAGE]))
    assert found == HttpResponse(200, Headers((("content-type", "text/html"),)), PAGE, True)


@pytest.mark.parametrize(
    ("block", "status", "content", "is_whole"),
    [
        (b"HTTP/1.0 404\r\n\r\nx", 404, b"x", True),
        (b"\r\nhttp/1.1 200 OK\n\nx", 200, b"x", True),
        (b"HTTP/2 200\r\n\r\nx", 200, b"x", True),
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\nx", 200, b"x", True),
        (b"HTTP/1.1 200 OK\r\nA: 1\r\n<html>\r\n\r\n", 200, b"<html>\r\n\r\n", True),
        (b"HTTP/1.1 200 OK\r\nA: 1\r\n", 200, b"", False),
        (b"HTTP/1.1 200 OK", 200, b"", False),
        (b"HTTP/1.1 200 OK\rA: 1\r\rx", 200, b"", False),
    ],
)
def test_status_lines_and_ends_of_headers(block: bytes, status: int, content: bytes, is_whole: bool) -> None:
    found = http_response(block)
    assert found is not None and (found.status, found.body, found.is_whole) == (status, content, is_whole)


@pytest.mark.parametrize(
    "block", [b"", b"<html>", b"GET / HTTP/1.1\r\n\r\n", b"HTTP/1.1 2000 OK\n\n", b"ICY 200 OK\n\n"]
)
def test_what_begins_with_no_status_line_is_no_response(block: bytes) -> None:
    assert http_response(block) is None


@pytest.mark.parametrize(
    ("payload", "said"),
    [
        (gzip.compress(PAGE), "gzip"),
        (gzip.compress(PAGE), " X-GZip "),
        (gzip.compress(PAGE), '"gzip"'),
        (gzip.compress(PAGE), "deflate"),
        (zlib.compress(PAGE), "deflate"),
        (zlib.compress(PAGE), "gzip"),
        (raw(PAGE), "deflate"),
        (raw(PAGE), "x-deflate"),
        (brotli.compress(PAGE), "br"),
        (zstd.compress(PAGE), "zstd"),
        (gzip.compress(brotli.compress(PAGE)), "br, gzip"),
        (gzip.compress(gzip.compress(PAGE)), "gzip,gzip"),
        (gzip.compress(PAGE[:500]) + gzip.compress(PAGE[500:]), "gzip"),
        (gzip.compress(PAGE) + b"\0\0 trailing", "gzip"),
        (PAGE, "identity"),
        (PAGE, "utf-8"),
        *[(PAGE, name) for name in ("gzip", "deflate", "br", "zstd", "br, gzip", ", ".join(["gzip"] * 1000))],
        (b'{"a": "k, s, c and { begin what raw deflate may take for its own"}' * 20, "deflate"),
    ],
)
def test_the_body_comes_without_the_codings_that_it_has_whatever_they_are_called(payload: bytes, said: str) -> None:
    expected = PAGE if not payload.startswith(b"{") else payload
    assert body(payload, Content_Encoding=said) == expected
    assert body(chunked(payload), Content_Encoding=said, Transfer_Encoding="Chunked") == expected
    assert body(chunked(payload), Transfer_Encoding=f"{said}, chunked") == expected


@pytest.mark.parametrize("pack", [gzip.compress, zlib.compress, raw, zstd.compress, brotli.compress])
def test_a_body_that_is_cut_short_is_read_as_far_as_it_goes(pack: Callable[[bytes], bytes]) -> None:
    numbers = random.Random(1)
    words = b" ".join(b"%d" % numbers.getrandbits(64) for _ in range(40_000))
    said = {gzip.compress: "gzip", zstd.compress: "zstd", brotli.compress: "br"}.get(pack, "deflate")
    found = body(pack(words)[:-10], Content_Encoding=said)
    assert found and words.startswith(found)


def test_an_empty_page_that_is_packed_is_empty() -> None:
    assert body(gzip.compress(b""), Content_Encoding="gzip") == b"" == body(raw(b""), Content_Encoding="deflate")
    assert body(b"", Content_Encoding="gzip") == b"" == body(b"0\r\n\r\n", Transfer_Encoding="chunked")


@pytest.mark.parametrize(
    ("payload", "expected"),
    [
        (chunked(PAGE, b"\n"), PAGE),
        (chunked(PAGE).replace(b"3e8\r\n", b" 3E8 ; name=value\r\n"), PAGE),
        (chunked(PAGE)[:-5], PAGE),
        (chunked(PAGE)[:2500], PAGE[: 2500 - 5 - 7 - 7]),
        (chunked(PAGE)[:-5] + b"0\r\nTrailer: value\r\n\r\n", PAGE),
        (PAGE, PAGE),
        (b"face to face\nand more", b"face to face\nand more"),
        (b"12\nmonkeys, and more than twelve", b"12\nmonkeys, and more than twelve"),
        (b"0\nis where a list may begin", b"0\nis where a list may begin"),
        (b"5\r\nabcde\r\nzz\r\nwhat follows stays", b"abcdezz\r\nwhat follows stays"),
        (b"5\r\nabcde\r\n3\r\nwhat follows stays", b"abcde3\r\nwhat follows stays"),
        (b"ffffffffffffffff\r\nabc", b"abc"),
        (b"-5\r\nabc", b"-5\r\nabc"),
    ],
)
def test_chunks_that_do_not_fit_cost_nothing_of_the_body(payload: bytes, expected: bytes) -> None:
    assert body(payload, Transfer_Encoding="chunked") == expected


@pytest.mark.parametrize("pack", [gzip.compress, raw, brotli.compress, zstd.compress])
def test_of_a_body_that_unpacks_to_more_than_allowed_little_more_is_held(pack: Callable[[bytes], bytes]) -> None:
    bomb = pack(bytes(50_000_000))
    said = {gzip.compress: "gzip", brotli.compress: "br", zstd.compress: "zstd"}.get(pack, "deflate")
    assert MOST < len(body(bomb, Content_Encoding=said)) < 2 * MOST
    assert MOST < len(body(gzip.compress(bomb), Content_Encoding=f"{said}, gzip")) < 2 * MOST


@pytest.mark.timeout(60)
def test_a_member_every_few_bytes_costs_as_much_as_any_other_body() -> None:
    assert body(gzip.compress(b"a") * 50_000, Content_Encoding="gzip") == b"a" * 50_000
    assert body(chunked(b"a" * 500_000, size=1), Transfer_Encoding="chunked") == b"a" * 500_000
