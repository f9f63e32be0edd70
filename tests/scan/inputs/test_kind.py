"""The kind of a file, from its content."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from tests.scan.inputs.written import csv_of, html, jsonl, put, rows, warc_of
from worker.scan.inputs.kind import Kind, contradiction, kind_of, kind_of_content
from worker.scan.inputs.opening import stored
from worker.scan.inputs.unpacking import GZIP


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (warc_of(1), "warc"),
        (b"\r\n\r\nWARC/1.1\r\nWARC-Type: warcinfo\r\n", "warc"),
        (b"a damaged beginning\r\nWARC/1.0\r\nWARC-Type: response\r\n", "warc"),
        (b"\x00\x01" + warc_of(1)[100:] + warc_of(1), "warc"),
        (b"<pre>\nWARC/1.0\r\nWARC-Type: response\r\n</pre>", "html"),
        (b'{"text": "how a record begins:\nWARC/1.0\r\nWARC-Type: response\r\n"}', "jsonl"),
        (b"filedesc://a.arc 0.0.0.0 20010203040506 text/plain 9\n1 0 a\nURL\n", "arc"),
        (b"cut\nhttp://a.example/ 1.2.3.4 20010203040506 text/html 5\nHTTP/1.1", "arc"),
        (b"\xef\xbb\xbf\n" + warc_of(1), "warc"),
        (b"MIME-Version: 1.0\r\nContent-Type: multipart/related; boundary=a\r\n\r\n--a", "mhtml"),
        (b"MIME-Version: 1.0\nContent-Type: text/plain\n\nHello", "text"),
        (jsonl(rows(1)), "jsonl"),
        (b'\xef\xbb\xbf{"a": 1}\n', "jsonl"),
        (b'\n {"text": "' + b"a" * 70_000, "jsonl"),
        (b'{"text": "a, url, b"}\n', "jsonl"),
        (b'\x00\xff{"a"\n{"a": 1}\n{"a": 2}\n', "jsonl"),
        (b'[{"url": "a"}, {"url": "b"}]', "array"),
        (b'\xef\xbb\xbf [\n{"url": "a"},\n{"url": "b"}\n]', "array"),
        (b'[["url", "text"]]', "array"),
        (b"[\n]\n", "array"),
        (b'[{"url": "a"}]\n{"url": "b"}\n{"url": "c"}\n', "jsonl"),
        (b"[] is what stays to be done", "text"),
        (b"[[wiki]] text", "text"),
        (b'{\n  "url": "a"\n}', "json"),
        (csv_of(rows(2)), "csv"),
        (csv_of(rows(2), "\t"), "csv"),
        (csv_of(rows(2), ";"), "csv"),
        (b"url,text\n", "csv"),
        (html(1).encode(), "html"),
        (b"\n<?xml version='1.0'?><a/>", "html"),
        (b"\xef\xbb\xbf<!-- text, url -->", "html"),
        (b"Once, there was a url, and a text, and body.\n", "text"),
        (b"text, text\nmore text", "text"),
        (b"[1] is a footnote", "text"),
        ("Ein Satz über \x1b$B".encode("latin-1"), "text"),
        ("中文".encode("utf-16"), "text"),
        (b"", "empty"),
        (b" \n\r\n", "empty"),
        (b"\x89PNG\r\n\x1a\n\0\0\0", "unknown"),
        (b"%PDF-1.4 \x00\x01", "unknown"),
    ],
)
def test_content_says_it(content: bytes, kind: Kind) -> None:
    assert kind_of_content(content) == kind


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-be"])
def test_rows_in_wide_characters_are_rows_and_pages_in_them_are_left_as_they_are(encoding: str, tmp_path: Path) -> None:
    for content, kind in ((jsonl(rows(2)), "jsonl"), (csv_of(rows(2)), "csv"), (b'[\n{"a": 1}]', "array")):
        path = put(tmp_path, "a", content.decode().encode(encoding))
        assert kind_of(stored(str(path))) == (kind, None)
    assert kind_of(stored(str(put(tmp_path, "a", "\ufeff<p>中文".encode("utf-16-le"))))) == ("text", None)


def test_a_table_in_an_encoding_that_was_named_is_one(tmp_path: Path) -> None:
    path = put(tmp_path, "a", csv_of(rows(2)).decode().encode("cp500"))
    assert kind_of(stored(str(path)), (), "cp500") == ("csv", None)


@pytest.mark.parametrize("name", ["a", "a.html", "a.warc.gz", "a.csv"])
def test_a_name_does_not_overrule_the_content(name: str, tmp_path: Path) -> None:
    assert kind_of(stored(str(put(tmp_path, name, gzip.compress(jsonl(rows(1))))))) == ("jsonl", GZIP)
    assert kind_of(stored(str(put(tmp_path, name, b"PAR1...")))) == ("parquet", None)


def test_a_name_counts_where_the_content_is_damaged(tmp_path: Path) -> None:
    damaged = b"\0" + warc_of(2, packed=True)[1:]
    assert kind_of(stored(str(put(tmp_path, "a.warc.gz", damaged)))) == ("warc", GZIP)
    assert kind_of(stored(str(put(tmp_path, "a", damaged)))) == ("unknown", None)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("a.warc", "WARC"), ("A.WARC.GZ", "WARC"), ("a.wet", "WARC"), ("a.arc.gz", "ARC"), ("a.wacz", "WACZ"),
        ("a.jsonl", "JSON lines"), ("a.jl.zst", "JSON lines"), ("a.json", "JSON"), ("a.parquet", "Parquet"),
        ("b/c.d/a.csv", "CSV"),
    ],
)  # fmt: skip
def test_one_page_in_a_file_whose_name_says_that_it_holds_many_contradicts_it(name: str, said: str) -> None:
    for kind, is_ in (("html", "HTML"), ("mhtml", "MHTML"), ("text", "text")):
        why = contradiction(name, kind)  # type: ignore[arg-type]
        assert why.startswith(f"{name} has the name of {said}, but its content is one page of {is_}:")
    for kind in ("warc", "arc", "jsonl", "csv", "parquet", "empty", "damaged", "unknown", "zip"):
        assert not contradiction(name, kind)  # type: ignore[arg-type]
    assert not contradiction(f"{name}.html", "html") and not contradiction("warc", "text")
