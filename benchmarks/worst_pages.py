"""``python -m benchmarks worst-pages``: the highest cost of one page of a size, among pages that are made to be costly.

Each kind of page is one or two runs of a unit that is repeated until the page has its size: combining marks, entities,
tags within tags, attributes, a long title over many short lines. The benchmark measures the
CPU time in which a parsing process, or ``worker.local.Deduplicator.judge``, reads a page and makes its fingerprint; all
compiling is done before.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final, Literal, NamedTuple

from crawler_plugin.wire.errors import PageError
from crawler_plugin.wire.page_headers import PageMeta
from worker.compose import parts
from worker.config import Settings
from worker.evaluate.circumstances import machine
from worker.fingerprint.fingerprinter import Fingerprinter

MIB: Final = 1024 * 1024
MEGABYTES: Final = 4
URL: Final = "http://a.example/page"


class Run(NamedTuple):
    """``unit`` as often as it takes, with one beginning before it and one end behind it."""

    unit: bytes
    before: bytes = b""
    behind: bytes = b""

    def of(self, size: int) -> bytes:
        """A run of about ``size`` bytes."""
        times = max(1, (size - len(self.before) - len(self.behind)) // max(1, len(self.unit)))
        return self.before + self.unit * times + self.behind


def pumped(runs: Sequence[Run], size: int) -> bytes:
    """All runs, one behind the other, of about ``size`` bytes together."""
    return b"".join(run.of(size // len(runs)) for run in runs)


_TITLE: Final = Run(b"word ", b"<title>", b"</title>")
_ARTICLE: Final = (
    b"<title>Whales of the cold seas</title><div class=a><h1>Whales of the cold seas</h1><p>"
    + b"words of prose that go on and on " * 15
    + b"</p></div>"
)
_WORDS: Final = b"".join(b"w%d " % number for number in range(5000))
PAGES: Final[Mapping[str, Sequence[Run]]] = {
    "words that all differ": [Run(_WORDS)],
    "one word": [Run(b"x")],
    "one Chinese clause": [Run("网页去重第二版".encode())],
    "combining marks": [Run("\u0345\u0301\u0316".encode(), b"a")],
    "marks on each letter": [Run("a\u0316\u0301\u0345".encode())],
    "marks of all classes": [Run("\u0f39\u0316\u0345\u0301\u05b0\u3099".encode(), b"a")],
    "Hangul in parts": [Run("\u1112\u1161\u11ab".encode())],
    "entities": [Run(b"&#x301;")],
    "one entity": [Run(b"9", b"&#", b";")],
    "no entities": [Run(b"&")],
    "tags within tags": [Run(b"<div>")],
    "tags within tags, closed": [Run(b"<b>x"), Run(b"</b>")],
    "tables within tables": [Run(b"<table><tr><td>x ")],
    "formatting that is never closed": [Run(b"<a><b><i><p>x ")],
    "lists within lists": [Run(b"<ul><li>x ")],
    "ends without begin": [Run(b"</div></p>x ")],
    "one tag of attributes": [Run(b" a=b", b"<p", b">x")],
    "one tag of attributes that differ": [Run(b"".join(b" a%d=b" % n for n in range(5000)), b"<p", b">x")],
    "one attribute": [Run(b"c ", b'<p class="', b'">x')],
    "open quotes": [Run(b'<a href="')],
    "tags that are not closed": [Run(b"<a ")],
    "comments that are not closed": [Run(b"<!--")],
    "declarations": [Run(b"<![CDATA[x")],
    "one long title": [_TITLE],
    "a title over short lines": [_TITLE, Run(b"<p>word\n")],
    "a title over lines like it": [_TITLE, Run(b"<p>word word word word")],
    "a title over one long line": [_TITLE, Run(b"word ", b"<p>")],
    "headings": [Run(b"<h1>word word</h1>")],
    "short lines": [Run(b"x<br>\n")],
    "headings without text under one that says the title": [
        Run(b"<div class=a><h1>x</h1>y</div>", _ARTICLE),
    ],
    "links behind an article": [Run(b"<p><a href=x>one two three four</a></p>", _ARTICLE)],
    "posts with a date each": [
        Run(b"<div class=post><p>1 May 2020</p><p>a few words to the article above</p>", _ARTICLE)
    ],
    "a state of many strings": [Run(b'"k":"a few words of prose, and no end",', b"<script>x={", b"}</script>")],
    "JSON within JSON": [Run(b'{"a":[', b"<script type=application/ld+json>")],
    "frames with documents": [Run(b"<iframe srcdoc='<p>a</p>'></iframe>")],
    "lines with numbers": [Run(b"1 x\n", b"<pre>")],
    "declarations of a style": [Run(b"a:b;", b"<p style='", b"'>x")],
    "shadow roots": [Run(b"<template shadowrootmode=open><slot>x")],
    "blank lines": [Run(b"\n \n\t")],
    "links": [Run(b'<a href="/x">x</a> ')],
    "links that name the page": [Run(b'<link rel="canonical" href="/x">')],
    "metas": [Run(b'<meta property="og:url" content="/x">')],
    "links without end": [Run(b"<link rel=canonical ")],
    "charsets": [Run(b'<meta charset="x">')],
    "menus": [Run(b'<nav class="menu"><ul><li><a href=x>y</a>')],
    "hidden": [Run(b"<div hidden><p>x")],
    "scripts": [Run(b"<script>if (a < b) {}</script>")],
    "frames of text": [Run(b"<textarea><title><style>")],
    "foreign elements": [Run(b"<svg><math><foreignObject>")],
    "templates": [Run(b"<template><p>x")],
    "selects": [Run(b"<select><option>x")],
    "hyphens": [Run(b"a-")],
    "full stops": [Run(b"a.b.")],
    "digits and letters": [Run(b"a1")],
    "addresses": [Run(b"http://a.b/c?d=e&f=g ")],
    "mail addresses": [Run(b"a@b.c ")],
    "control characters": [Run(b"\x00\x08\x1b(B")],
    "broken UTF-8": [Run(b"\xe4\xb8\xe4\xff")],
    "half of UTF-16": [Run(b"\x00\xd8a\x00", b"\xff\xfe")],
    "Shift JIS": [Run("漢字かな".encode("shift_jis"))],
    "ISO 2022": [Run(b"\x1b$B4A;z\x1b(B")],
    "many scripts": [Run("aאبกไ한かア网я😀".encode())],
    "Arabic with signs": [Run("بِسْمِ".encode())],
    "no blanks in Thai": [Run("สวัสดีชาวโลก".encode())],
    "invisible signs": [Run("\u200b\u200d\ufe0f\u00ad".encode(), b"a")],
    "Greek": [Run("Ό\u0301Σ".encode())],
}
"""Pages by the content that fills them."""


def cost(fingerprinter: Fingerprinter, body: bytes, meta: PageMeta) -> float:
    """Seconds of CPU time for a page, whatever the result."""
    begun = time.process_time()
    with contextlib.suppress(PageError):
        fingerprinter(body, meta)
    return time.process_time() - begun


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments: which size, and in which form."""
    parser.add_argument(
        "--megabytes", type=float, default=MEGABYTES, metavar="N", help=f"of the largest page (default: {MEGABYTES})"
    )
    parser.add_argument("--json", action="store_true", help="print a line of JSON for each kind of page")


def run(arguments: argparse.Namespace, load: Callable[[], Settings]) -> int:
    """Measure each kind at a quarter of the size and at all of it, as HTML and as a text; print the costliest first."""
    fingerprinter = Fingerprinter(parts.recipe(load()))
    size = round(arguments.megabytes * MIB)
    found = []
    forms: tuple[Literal["bytes", "text"], ...] = ("bytes", "text")
    for form in forms:
        meta = PageMeta(url=URL, form=form)
        cost(fingerprinter, pumped(PAGES["words that all differ"], 1000), meta)
        for name, runs in PAGES.items():
            quarter, whole = (cost(fingerprinter, pumped(runs, each), meta) for each in (size // 4, size))
            found.append((whole, quarter, form, name))
    for whole, quarter, form, name in sorted(found, reverse=True):
        if arguments.json:
            print(json.dumps({"page": name, "form": form, "bytes": size, "seconds": whole, "quarter": quarter}))
        else:
            print(f"{whole:7.2f} s  {whole / max(quarter, 1e-3):5.1f} × its quarter  {form}  {name}")
    if not arguments.json:
        print(machine([]))
    return 0
