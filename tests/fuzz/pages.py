"""From a page's bytes to its main text: unreadable bytes raise ``PageError``, and nothing else is raised."""

from __future__ import annotations

from collections.abc import Iterator

from crawler_plugin.wire.errors import PageError
from worker.page.extract import extract
from worker.page.words.normalise import normalise

TYPES = (
    None,
    "text/html",
    "text/html; charset=gb18030",
    "application/xhtml+xml; charset=utf-16",
    "text/plain",
    "x/y;;=",
)
ENCODINGS = (None, "utf-8", "shift_jis", "iso-2022-jp", "hz", "no such", "utf-7")
LIMITS = (1 << 22, 64)


def attack(data: bytes) -> None:
    """The first byte selects the declared type and encoding."""
    if not data:
        return
    way, body = data[0], data[1:]
    try:
        found = extract(
            body,
            content_type=TYPES[way % len(TYPES)],
            encoding=ENCODINGS[way % len(ENCODINGS)],
            max_bytes=LIMITS[way % len(LIMITS)],
        )
    except PageError as error:
        assert error.reason in ("not-text", "unparsable")
        return
    found.text.encode()
    normalise(found.text)


def seeds() -> Iterator[bytes]:
    """Pages of several shapes and encodings."""
    page = (
        '<!DOCTYPE html><html lang="zh"><head><meta charset="gbk"><title>标题 a title</title>'
        "<script>if (a < b) {}</script><style>p{}</style></head><body>"
        '<nav class="menu"><a href="/">Home</a></nav><!-- c --><article id="content">'
        "<h1>标题 a title</h1><p>第一段文字，很长的一段。<b>And</b> some more words in it &amp; an entity &#x4e2d;.</p>"
        "<ul><li>x<table><tr><td>y</table></article><div hidden role=dialog>z</div>"
        "<textarea>&lt;p></textarea><![CDATA[x]]>"
    )
    for way, codec in enumerate(("utf-8", "gb18030", "utf-16", "shift_jis", "utf-16-be", "iso-2022-jp", "hz")):
        yield bytes([way]) + page.encode(codec, "ignore")
    yield b"\x00" + b"<div>" * 500
    yield b"\x01%PDF-1.7"
