"""Reports of scans, and an HTML parser for them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Final

import msgspec

from crawler_plugin.wire.outcomes import Verdict
from tests.local.crawled import crawl
from tests.results.groups.scanned import SETTINGS, claims_of, crawled, scan, written
from worker.results.report.report import write_report
from worker.results.report.samples import TextKey, TextsOf, key_of

HOSTILE: Final = (
    "</script><script>alert(1)</script>",
    "\"'><img src=x onerror=alert(1)>",
    "<!--",
    "\u202egnp.exe\u2066\u200f",
    "&lt;b&gt;\x00\x1b[31m",
    "\ud800",
)


class Parsed(HTMLParser):
    """Elements with their attributes, and the text of all elements except style and script."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: Final[list[tuple[str, dict[str, str | None]]]] = []
        self.words = ""
        self._inside: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._inside.append(tag)

    def handle_endtag(self, tag: str) -> None:
        while self._inside and self._inside.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if not {"style", "script"} & set(self._inside):
            self.words += data

    def count(self, name: str) -> int:
        """Elements of this name."""
        return sum(tag == name for tag, _ in self.elements)


@cache
def real_rows() -> tuple[Verdict, ...]:
    """A crawl of some hosts, spiders and languages, one page an hour."""
    rows = crawled(5, 400).rows
    return tuple(msgspec.structs.replace(row, spider="ab"[n % 2]) for n, row in enumerate(rows))


@cache
def real_texts() -> Mapping[TextKey, str]:
    """The texts of the crawl's pages, as they came."""
    bodies = [page.text or str(page.body) for page, _ in crawl(5, 400)]
    return {key_of(row): body for row, body in zip(real_rows(), bodies, strict=True)}


def texts_of(rows: Sequence[Verdict]) -> dict[TextKey, str]:
    """The texts in the form that ``write_report`` takes."""
    return {key_of(row): real_texts()[key_of(row)] for row in rows}


def hostile_rows() -> list[Verdict]:
    """Pages in which every value that a site may choose is an attack."""
    pages = [page for page, _ in crawl(6, 60)]
    rows = scan(claims_of(pages)).rows
    found = []
    for number, row in enumerate(rows):
        evil = HOSTILE[number % 5]
        fields = {"url": f"{row.url}/{evil}", "spider": evil, "language": evil, "file": evil}
        if row.duplicate_of:
            fields |= {"duplicate_of": f"{row.duplicate_of}/{evil}"}
        else:
            fields |= {"reason": evil}
        found.append(msgspec.structs.replace(row, **fields))
    names = {row.id: row.url for row in found}
    return [
        msgspec.structs.replace(row, duplicate_of=names[row.duplicate_of_id]) if row.duplicate_of_id else row
        for row in found
    ] + [msgspec.structs.replace(rows[0], id="script", url="javascript:alert(1)", verdict="unique")]


def report(rows: Iterable[Verdict], folder: Path, texts: TextsOf | None = None) -> str:
    """The text of the written report."""
    out = folder / "report.html"
    write_report(written(rows, folder), out, SETTINGS, texts)
    return out.read_text(encoding="utf-8")
