"""Pages as Arrow batches, for engines that have files of their own: ``worker.records`` is made of these functions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, Final

import pyarrow as pa

from worker.config import Settings
from worker.local.page import FetchedPage
from worker.scan.inputs.fields import Fields
from worker.scan.inputs.find import find_archives
from worker.scan.inputs.records import ArchivedPage, BrokenRecord, RecordPlace
from worker.scan.records.reading import Found, PageReading, reading_here
from worker.scan.records.schema import as_batch, as_records

PAGES: Final = pa.schema(
    {
        "file": pa.string(),
        "offset": pa.int64(),
        "id": pa.string(),
        "url": pa.string(),
        "body": pa.binary(),
        "text": pa.string(),
        "encoding": pa.string(),
        "content_type": pa.string(),
        "fetched": pa.int64(),
        "spider": pa.string(),
        "dead": pa.string(),
    }
)
"""A page as in ``FetchedPage``, and its place. Without a ``url``, and with ``dead``, it is a place of a file that no
page could be read from. All columns may be null or left out: a page needs a URL or an id, and a body or a text."""

_ROWS: Final = 256
_BYTES: Final = 16 << 20
"""Bytes of a batch, about."""


def archived(inputs: Sequence[str], settings: Settings, fields: Fields) -> Iterator[pa.RecordBatch]:
    """The pages of archives, in batches of the schema ``PAGES``; ``inputs`` and ``fields`` as for ``find_archives``.

    Raises:
        UsageError: an input is not there, cannot be read, or has no known form.
        Unavailable: the disk, or the network, fails while it is read.
    """
    rows: list[dict[str, Any]] = []
    held = 0
    for archive in find_archives(inputs, fields, most_bytes=settings.topics.max_message_bytes):
        for one in archive.records():
            row = _row(one)
            rows.append(row)
            held += len(row.get("body") or row.get("text") or "")
            if len(rows) >= _ROWS or held >= _BYTES:
                yield _batch(rows)
                rows, held = [], 0
    if rows:
        yield _batch(rows)


def records_of(batch: pa.RecordBatch, settings: Settings) -> pa.RecordBatch:
    """The records of pages, a row each, in their order, read in this process.

    Raises:
        ValueError: a column is not one of a page's, or has a type that cannot become that of the page's.
    """
    reading = _reading(settings)
    found = [_found(row) for row in _as_pages(batch).to_pylist()]
    made = pa.Table.from_batches(reading.batches(found), reading.schema).combine_chunks()
    return made.to_batches()[0] if found else as_records([], reading.schema)


@lru_cache(maxsize=4)
def _reading(settings: Settings) -> PageReading:
    """Cached: making one takes a second."""
    return reading_here(settings)


def _as_pages(batch: pa.RecordBatch) -> pa.Table:
    columns: dict[str, pa.Array] = {}
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        if name not in PAGES.names:
            raise ValueError(
                f"the column {name!r} is not one of a page's: select {', '.join(PAGES.names)}, or some of them"
            )
        wanted = PAGES.field(name).type
        try:
            if pa.types.is_timestamp(column.type):
                column = column.cast(pa.timestamp("ms"))
            columns[name] = column.cast(wanted)
        except pa.ArrowInvalid as error:
            raise ValueError(f"the column {name!r} is {column.type}, not {wanted}: {error}") from error
    return pa.table(columns)


def _batch(rows: Sequence[dict[str, Any]]) -> pa.RecordBatch:
    """Columns that a row lacks are null."""
    return as_batch([[row.get(name) for row in rows] for name in PAGES.names], PAGES)


def _row(one: Found) -> dict[str, Any]:
    row: dict[str, Any] = {"file": one.place.file, "offset": one.place.offset, "id": one.id}
    if isinstance(one, BrokenRecord):
        return row | {"dead": f"{one.reason}: {one.detail}"}
    page = one.page
    body, encoding = page.body, page.encoding
    if isinstance(body, str):
        body, encoding = body.encode(errors="replace"), "utf-8"
    return row | {
        "url": page.url,
        "body": body,
        "text": page.text,
        "encoding": encoding,
        "content_type": page.content_type,
        "fetched": page.fetched,
        "spider": page.headers.get("spider"),
    }


def _found(row: dict[str, Any]) -> Found:
    place = RecordPlace(row.get("file") or "", row.get("offset") or 0)
    url, name = row.get("url"), row.get("id") or None
    if url is None and row.get("dead"):
        reason, _, detail = row["dead"].partition(": ")
        return BrokenRecord(place, reason, detail, name)
    if url is None and name is None:
        return BrokenRecord(place, "no-page", "it has neither a URL nor an id")
    body = row.get("body")
    page = FetchedPage(
        url,
        body,
        text=None if body is not None else row.get("text"),
        encoding=row.get("encoding"),
        content_type=row.get("content_type"),
        fetched=row.get("fetched"),
        headers={"spider": row["spider"]} if row.get("spider") else {},
        id=name,
    )
    return ArchivedPage(place, name or page.url, page)
