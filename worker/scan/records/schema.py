"""A record: all data that judging a page needs, and the page's place, as a row of Arrow columns.

A row without a ``url`` is a place of an archive that no page could be read from; ``dead`` says why. A row with both is
a page that could not be read. Records of one ``scheme`` (``parts.reading``) are equal whatever program made them.
Numbers are signed, since Spark, Iceberg and most databases know no others: 64 bits are kept as they are, in two's
complement.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from crawler_plugin.wire.errors import PageError, Refused, UsageError
from crawler_plugin.wire.messages import SKETCH_BYTES
from crawler_plugin.wire.urls import without_userinfo
from worker.fingerprint.fingerprinted import Fingerprinted
from worker.fingerprint.scheme import Scheme, in_words
from worker.local.page import FetchedPage
from worker.page.canonical import canonical_link
from worker.scan.inputs.records import ArchivedPage, BrokenRecord
from worker.stream.partition.fingerprint_pool import Source
from worker.stream.partition.record_sizes import MAX_DETAIL

SCHEMA: Final = pa.schema(
    {
        "file": pa.string(),
        "offset": pa.int64(),
        "id": pa.string(),
        "url": pa.string(),
        "dead": pa.string(),
        "fetched": pa.int64(),
        "spider": pa.string(),
        "canonical": pa.string(),
        "language": pa.string(),
        "tokens": pa.int64(),
        "fingerprint": pa.int64(),
        "text_hash": pa.int64(),
        "sketch": pa.binary(),
        "bands": pa.binary(),
        "scope": pa.int64(),
        "site": pa.int64(),
        "title": pa.int64(),
        "title_words": pa.int64(),
        "doubt": pa.int64(),
        "template": pa.int64(),
        "scheme": pa.string(),
    }
)
"""``file`` and ``offset`` as in ``RecordPlace``; ``id`` is the owner's name for the page. ``url`` is the canonical one,
for a dead page without one the URL that was given; ``dead`` is ``reason`` or ``reason: detail``. ``fetched`` is in
milliseconds since 1970 UTC, null if it is not known; ``canonical`` is the URL that the page names as its own.
``language`` is empty if it is not known. ``fingerprint`` is null for a page of too few features; ``sketch`` and
``bands`` are 32 bytes each, zeros for a page that has none. ``scheme`` are 16 hex digits for all that reading depends
on. The others are those of ``messages.Claim``."""

_MAY_LACK: Final = frozenset(("id", "url", "dead", "fetched", "spider", "canonical", "fingerprint"))
_SCHEME: Final = b"crawl-dedup.scheme"
_ZEROS: Final = bytes(SKETCH_BYTES)
_BITS: Final = frozenset(("fingerprint", "text_hash", "scope", "title_words"))
"""Columns whose 64-bit numbers have no sign in their source."""


def stamped(scheme: Scheme) -> pa.Schema:
    """``SCHEMA`` with the words of the scheme, for a judge of records of another scheme."""
    return SCHEMA.with_metadata({_SCHEME: scheme.encode()})


def words_of(schema: pa.Schema) -> Scheme | None:
    """The words that ``stamped`` added; None if another program wrote the records."""
    words = (schema.metadata or {}).get(_SCHEME)
    return None if words is None else Scheme.decode(words)


def refuse_others(name: str, schema: pa.Schema, found: Iterable[str], scheme: Scheme) -> None:
    """Check that records are of this scheme; ``found`` are the schemes of the rows of the file of this name.

    Raises:
        UsageError: they are no records.
        Refused: they were made with other settings, or by another release.
    """
    if missing := [field.name for field in SCHEMA if field.name not in schema.names]:
        raise UsageError(
            f"{name} holds no records, it has no column {missing[0]!r}: make them with `python -m worker fingerprint`"
        )
    if others := sorted(set(found) - {scheme.id.hex()}):
        words = words_of(schema)
        differs = [] if words is None else map(in_words, scheme.differences(words))
        why = "; ".join(differs) or f"their scheme is {others[0]}, the settings in force have {scheme.id.hex()}"
        raise Refused(
            f"the records of {name} were made with other settings: {why}. Judge them with the settings that they were "
            "made with, or make them anew with `python -m worker fingerprint`"
        )


def refuse_incomplete(name: str, records: pa.RecordBatch) -> None:
    """Check that records have all required values; the file of this name holds them.

    Raises:
        UsageError: one of them does not have them.
    """
    lacking = [each for each in SCHEMA.names if each not in _MAY_LACK and records.column(each).null_count]
    if lacking:
        raise UsageError(f"{name} holds a record without {lacking[0]}: make its records anew")
    if pc.any(pc.and_(pc.is_null(records.column("url")), pc.is_null(records.column("dead")))).as_py():
        raise UsageError(f"{name} holds a record with neither a URL nor a reason why: make its records anew")


class RecordRow(NamedTuple):
    """The values of a record by columns, in the order of ``SCHEMA``; numbers of 64 bits have no sign."""

    file: str
    offset: int
    id: str | None
    url: str | None
    dead: str | None
    fetched: int | None = None
    spider: str | None = None
    canonical: str | None = None
    language: str = ""
    tokens: int = 0
    fingerprint: int | None = None
    text_hash: int = 0
    sketch: bytes = _ZEROS
    bands: bytes = _ZEROS
    scope: int = 0
    site: int = 0
    title: int = 0
    title_words: int = 0
    doubt: int = 0
    template: int = 0
    scheme: str = ""


def row_of(page: ArchivedPage, scheme: str, source: Source, read: Fingerprinted | PageError) -> RecordRow:
    """The record of a page, from its input and its result."""
    (file, offset), asked = page.place, page.page
    spider = asked.headers.get("spider")
    if isinstance(read, PageError):
        detail = read.detail[:MAX_DETAIL]
        dead = f"{read.reason}: {detail}" if detail else read.reason
        canonical = canonical_link(asked.body, asked.url) if asked.body else None
        url = source.url or without_userinfo(asked.url)
        row = RecordRow(file, offset, page.id, url, dead, asked.fetched, spider, canonical)
        return row._replace(scope=source.scope, scheme=scheme)
    return RecordRow(
        file,
        offset,
        page.id,
        source.url,
        None,
        asked.fetched,
        spider,
        _canonical(asked, source.url, read.own),
        read.language,
        read.tokens,
        read.fingerprint,
        read.text_hash,
        read.sketch or _ZEROS,
        read.bands or _ZEROS,
        source.scope,
        read.site,
        read.title,
        read.title_words,
        read.doubt,
        read.template,
        scheme,
    )


def _canonical(asked: FetchedPage, url: str, own: str | None) -> str | None:
    """The URL that the page names as its own; a reader under another URL may have found another one."""
    if not asked.body:
        return None
    return canonical_link(asked.body, asked.url) if own is None or asked.url != url else own or None


def pageless_row(record: BrokenRecord, scheme: str) -> RecordRow:
    """The record of a place that no page could be read from."""
    dead = f"{record.reason}: {record.detail}" if record.detail else record.reason
    file, offset = record.place
    return RecordRow(file, offset, record.id, None, dead, scheme=scheme)


def as_records(rows: Sequence[RecordRow], schema: pa.Schema) -> pa.RecordBatch:
    """Rows as columns of ``SCHEMA``, with the metadata of ``schema``."""
    return as_batch(zip(*rows, strict=True) if rows else [()] * len(schema), schema)


def as_batch(columns: Iterable[Sequence[Any]], schema: pa.Schema) -> pa.RecordBatch:
    """Columns of a schema from the values of each. In a text that is invalid, half of a surrogate pair becomes a
    question mark."""
    arrays = [_array(values, field) for values, field in zip(columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _array(values: Sequence[Any], field: pa.Field) -> pa.Array:
    if field.name in _BITS:
        return pa.array(values, pa.uint64()).view(pa.int64())
    try:
        return pa.array(values, field.type)
    except UnicodeEncodeError:
        return pa.array([v if v is None else v.encode(errors="replace").decode() for v in values], field.type)
