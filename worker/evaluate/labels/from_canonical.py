"""Labels from the pages themselves: pages that name one canonical URL are copies of one page, by their own word.

Each page is paired with the first that names the same URL (label 1). Pages of one host that name different URLs, one
after the other in the file, are pairs of different pages (label 0): as far as the site is right about itself. A page
that names no URL is in no pair.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from crawler_plugin.wire.errors import UsageError
from crawler_plugin.wire.urls import canonical_url
from worker.evaluate.labels.labelled import Document, Field, Labelled, Pair, read_objects, url_of
from worker.page.canonical import canonical_link

CLASS: Final = "canonical"


def read_canonical(path: Path, compared: Field) -> Labelled:
    """Documents with ``id``, ``url``, ``html`` and the field that is compared, and the pairs that their links make.

    Raises:
        UsageError: the file cannot be read, or no two pages say anything about each other.
    """
    documents: dict[str, Document] = {}
    first_of: dict[str, Document] = {}
    last_of_host: dict[str, tuple[str, Document]] = {}
    pairs: list[Pair] = []
    left_out = 0
    for row in read_objects(path):
        named = _named(row)
        if named is None:
            continue
        body = row.get(compared)
        if not isinstance(body, str) or str(row["id"]) in documents:
            left_out += 1
            continue
        document = Document(row["id"], body, str(row.get("lang") or ""), url_of(row))
        pairs.extend(_pairs(document, named, first_of, last_of_host))
        documents[str(document.id)] = document
    if not pairs:
        raise UsageError(
            f"{path} holds no two pages that name the same canonical URL, or different ones on the same host: "
            f"--from-canonical needs the fields id, url, html and {compared}"
        )
    used = {key for pair in pairs for key in pair.keys}
    return Labelled(compared, {key: documents[key] for key in used}, tuple(pairs), left_out)


def _pairs(
    document: Document, named: str, first_of: dict[str, Document], last_of_host: dict[str, tuple[str, Document]]
) -> Iterator[Pair]:
    host = urlsplit(named).netloc
    before = last_of_host.get(host)
    if before is not None and before[0] != named:
        yield _pair(before[1], document, 0)
    if named in first_of:
        yield _pair(first_of[named], document, 1)
    first_of.setdefault(named, document)
    last_of_host[host] = named, document


def _pair(a: Document, b: Document, label: int) -> Pair:
    language = a.language if a.language == b.language else "mixed"
    return Pair(a.id, b.id, 1 if label else 0, language or "mixed", None, {"class": CLASS})


def _named(row: dict[str, object]) -> str | None:
    """The URL that a page names, in one spelling."""
    url, html = row.get("url"), row.get("html")
    if isinstance(url, str) and isinstance(html, str) and isinstance(row.get("id"), str | int):
        with suppress(ValueError):
            link = canonical_link(html, url)
            return None if link is None else canonical_url(link)
    return None
