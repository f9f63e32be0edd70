"""Servers' names for the types of pages, and the beginnings of pages without a type."""

from __future__ import annotations

import pytest

from crawler_plugin.wire.media_types import Kind, begins_binary, essence, kind_of_text, kind_of_type, may_be_json


@pytest.mark.parametrize(
    ("content_type", "said"),
    [
        ("text/html", "text/html"),
        (" TEXT/HTML ;charset=utf-8", "text/html"),
        ("text/html;;charset=utf-8", "text/html"),
        ("text/html charset=utf-8", "text/html"),
        ("text/html, text/html; charset=utf-8", "text/html"),
        ("text/plain, text/html", "text/html"),
        ("text/html, */*", "text/html"),
        ("text/html; a=b, unknown/unknown", "text/html"),
        ("application/xhtml+xml", "application/xhtml+xml"),
        ("*/*", ""),
        ("unknown/unknown", ""),
        ("application/x-unknown", ""),
        ("application/unknown;x=y", ""),
        ("html", ""),
        ("text/", ""),
        ("charset=utf-8", ""),
        ("", ""),
        (None, ""),
    ],
)
def test_the_type_of_a_header_is_the_last_one_that_says_something(content_type: str | None, said: str) -> None:
    assert essence(content_type) == said


@pytest.mark.parametrize(
    ("kind", "content_types"),
    [
        (
            "html",
            "text/html text/xhtml text/x-html text/htm text/shtml text/x-server-parsed-html application/html "
            "application/xhtml application/x-html application/htm TEXT/HTML;q=1",
        ),
        (
            "xml",
            "text/xml application/xml application/xhtml+xml application/rss+xml application/atom+xml "
            "application/vnd.wap.xhtml+xml application/x-xml message/imdn+xml "
            "application/vnd.openxmlformats-officedocument.drawing+xml",
        ),
        (
            "json",
            "application/json text/json application/ld+json application/activity+json text/x-json application/x-json "
            "application/x-ndjson application/jsonl application/geo+json application/json-seq",
        ),
        (
            "text",
            "text/plain text/markdown text/css text/javascript application/javascript application/x-javascript "
            "application/ecmascript application/yaml application/x-sh",
        ),
        (
            "binary",
            "image/png image/svg+xml video/mp4 audio/ogg font/woff2 model/stl application/pdf application/zip "
            "application/x-tar application/msword application/vnd.ms-excel application/vnd.oasis.opendocument.text "
            "application/vnd.openxmlformats-officedocument.wordprocessingml.document application/x-shockwave-flash",
        ),
        ("unknown", "*/* unknown/unknown application/octet-stream application/x-httpd-php message/rfc822 html x/y"),
    ],
)
def test_a_type_says_what_the_body_is(kind: Kind, content_types: str) -> None:
    assert {name: kind_of_type(name) for name in content_types.split()} == dict.fromkeys(content_types.split(), kind)


@pytest.mark.parametrize(
    "body",
    [
        b"%PDF-1.7",
        b"%!PS-Adobe-3.0",
        b"\x89PNG\r\n\x1a\n",
        b"GIF87a",
        b"\xff\xd8\xff\xe0",
        b"BM\x36\x10\0\0\0\0\0\0",
        b"RIFF\0\0\0\0WEBPVP8",
        b"\0\0\x01\0\x01\0",
        b"ID3\x03",
        b"\x1a\x45\xdf\xa3",
        b"\0\0\0\x20ftypmp42",
        b"PK\x03\x04",
        b"\x1f\x8b\x08",
        b"Rar!\x1a\x07\0",
        b"wOF2",
        b"OTTO\0",
        b"\0\x01\0\0",
        b"\0asm",
    ],
)
def test_what_begins_as_no_text_is_binary(body: bytes) -> None:
    assert begins_binary(body)


@pytest.mark.parametrize("body", [b"", b"BMW and others", b"OTTO is here", b"<html>", b"MThd", b"RIFF raff", b"GIF"])
def test_words_that_begin_as_a_file_does_are_text(body: bytes) -> None:
    assert not begins_binary(body)


@pytest.mark.parametrize(
    ("said", "text", "kind"),
    [
        ("unknown", "  <!DOCTYPE HTML><p>a", "html"),
        ("unknown", "\ufeff<html lang=en>", "html"),
        ("unknown", "a <b>fragment</b>", "html"),
        ("unknown", "a < b > c", "text"),
        ("unknown", '<?xml version="1.0"?><rss><item/></rss>', "xml"),
        ("unknown", '<?xml version="1.0"?>\n<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN"><html>', "html"),
        ("unknown", '<rss version="2.0"><channel>', "xml"),
        ("unknown", "<!-- made by hand --><feed xmlns='x'>", "xml"),
        ("text", "<!doctype html><title>a</title>", "html"),
        ("text", "<!-- saved --> <!-- twice -->\n<HTML>", "html"),
        ("text", "<html>", "html"),
        ("text", "<p>shown as it is</p>", "text"),
        ("text", "<htmlelement>", "text"),
        ("text", "the first tag of a page is <!doctype html>", "text"),
        ("text", '<?xml version="1.0"?><project>', "text"),
        ("json", "<!DOCTYPE html><p>not found", "html"),
        ("json", "not found", "text"),
        ("html", "{}", "html"),
        ("html", "<html><rss>", "html"),
        ("html", "<feeds>", "html"),
        ("html", '<?xml version="1.0"?><?xml-stylesheet href="a"?>\n<rss version="2.0">', "xml"),
        ("html", "<!-- cached --> <feed xmlns='x'>", "xml"),
        ("html", "<rdf:RDF xmlns='x'>", "xml"),
        ("xml", "plain", "xml"),
    ],
)
def test_a_document_is_one_whatever_it_is_called(said: Kind, text: str, kind: Kind) -> None:
    assert kind_of_text(said, text) == kind


@pytest.mark.parametrize("said", ["text", "unknown"])
def test_what_begins_as_json_may_be_json(said: Kind) -> None:
    assert may_be_json(said, ' {"a": 1}')
    assert may_be_json(said, "[1]")
    assert not may_be_json(said, "a [1]")
    assert not may_be_json("html", "{}")
    assert may_be_json("json", '"a"')
