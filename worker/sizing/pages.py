"""The pages for measurements: those of a folder of documents, as often as wanted."""

from __future__ import annotations

import json
import lzma
from collections.abc import Iterator, Sequence
from pathlib import Path

from crawler_plugin.wire.errors import UsageError
from crawler_plugin.wire.page_headers import PageMeta

Page = tuple[PageMeta, bytes]


def pages_of(folder: Path, most: int | None) -> list[Page]:
    """The HTML pages of ``docs.jsonl.xz`` in a folder of labelled pages, in the file's order.

    Raises:
        UsageError: no such file.
    """
    file = folder / "docs.jsonl.xz"
    if not file.is_file():
        raise UsageError(f"{file} is not there: give --docs a folder with docs.jsonl.xz (id, url, html a line)")
    found: list[Page] = []
    with lzma.open(file, "rt", encoding="utf-8") as lines:
        for line in lines:
            document = json.loads(line)
            if document.get("html"):
                meta = PageMeta(url=document["url"], status=200, content_type="text/html; charset=utf-8")
                found.append((meta, document["html"].encode()))
            if most is not None and len(found) >= most:
                break
    return found


def repeated(pages: Sequence[Page], times: int) -> Iterator[Page]:
    """The pages several times over, under a new URL each time."""
    for lap in range(times):
        for meta, body in pages:
            yield PageMeta(url=f"{meta.url}?lap={lap}", status=200, content_type=meta.content_type), body
