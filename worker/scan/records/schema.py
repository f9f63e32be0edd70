"""A record: all that judging a page asks of it, and where it stands, as a row of Arrow columns.

A row without a ``url`` is a place of an archive that no page could be read from; ``dead`` says why. A row with both is
a page that could not be read. Records of one ``scheme`` (``parts.reading``) are equal whoever made them. Numbers are
signed, since Spark, Iceberg and most databases know no others: 64 bits are kept as they are, in two's complement.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from crawler_plugin.wire.errors import Refused, UsageError
from crawler_plugin.wire.messages import SKETCH_BYTES, Claim
from crawler_plugin.wire.urls import without_userinfo
from worker.fingerprint.scheme import Scheme, in_words
from worker.page.canonical import canonical_link
from worker.scan.inputs.records import ArchivedPage, BrokenRecord

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
"""``file`` and ``offset`` as of ``RecordPlace``; ``id`` what its owner calls the page. ``url`` is the canonical one, of
a dead page that has none the one that was given; ``dead`` is ``reason`` or ``reason: detail``. ``fetched`` is in
milliseconds since 1970 UTC, null where nobody knows; ``canonical`` the URL that the page calls its own. ``language`` is
empty where it is not known. ``fingerprint`` is null for a page of too few features; ``sketch`` and ``bands`` are 32
bytes each, zeros for a page that has none. ``scheme`` are 16 hex digits for all that reading depends on. The others are
those of ``messages.Claim``."""

_OF_CLAIM: Final = tuple(name for name in SCHEMA.names[SCHEMA.names.index("language") :] if name != "scheme")
_MAY_LACK: Final = frozenset(("id", "url", "dead", "fetched", "spider", "canonical", "fingerprint"))
_SCHEME: Final = b"crawl-dedup.scheme"
_ZEROS: Final = bytes(SKETCH_BYTES)
_BEYOND: Final = 1 << 63


def stamped(scheme: Scheme) -> pa.Schema:
    """``SCHEMA`` with the words of the scheme, for whoever judges records of another one."""
    return SCHEMA.with_metadata({_SCHEME: scheme.encode()})


def words_of(schema: pa.Schema) -> Scheme | None:
    """What ``stamped`` says that records depend on; None where another program wrote them."""
    words = (schema.metadata or {}).get(_SCHEME)
    return None if words is None else Scheme.decode(words)


def refuse_others(name: str, schema: pa.Schema, found: Iterable[str], scheme: Scheme) -> None:
    """See that records are of this scheme; ``found`` are those that rows of the file of this name have.

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
        why = "; ".join(differs) or f"their scheme is {others[0]}, that of the settings in force {scheme.id.hex()}"
        raise Refused(
            f"the records of {name} were made with other settings: {why}. Judge them with the settings that they were "
            "made with, or make them anew with `python -m worker fingerprint`"
        )


def refuse_incomplete(name: str, records: pa.RecordBatch) -> None:
    """See that records say what every record says; the file of this name holds them.

    Raises:
        UsageError: one of them does not.
    """
    lacking = [each for each in SCHEMA.names if each not in _MAY_LACK and records.column(each).null_count]
    if lacking:
        raise UsageError(f"{name} holds a record without {lacking[0]}: make its records anew")
    if pc.any(pc.and_(pc.is_null(records.column("url")), pc.is_null(records.column("dead")))).as_py():
        raise UsageError(f"{name} holds a record with neither a URL nor a reason why: make its records anew")


def row_of(page: ArchivedPage, claim: Claim) -> dict[str, Any]:
    """The record of a page, without its scheme."""
    asked = page.page
    row: dict[str, Any] = {name: getattr(claim, name) for name in _OF_CLAIM}
    return row | {
        "file": page.place.file,
        "offset": page.place.offset,
        "id": page.id,
        "url": claim.url or without_userinfo(asked.url),
        "dead": claim.dead,
        "fetched": asked.fetched,
        "spider": asked.headers.get("spider"),
        "canonical": canonical_link(asked.body, asked.url) if asked.body else None,
        "fingerprint": None if claim.fingerprint is None else _signed(claim.fingerprint),
        "text_hash": _signed(claim.text_hash),
        "scope": _signed(claim.scope),
        "title_words": _signed(claim.title_words),
        "sketch": claim.sketch or _ZEROS,
        "bands": claim.bands or _ZEROS,
    }


_BLANK: Final[Mapping[str, Any]] = {
    name: getattr(Claim(partition=0, offset=0, clock=0, url=""), name) for name in _OF_CLAIM
} | {"sketch": _ZEROS, "bands": _ZEROS}


def pageless_row(record: BrokenRecord) -> dict[str, Any]:
    """The record of a place that no page could be read from, without its scheme."""
    dead = f"{record.reason}: {record.detail}" if record.detail else record.reason
    file, offset = record.place
    return {**_BLANK, "file": file, "offset": offset, "id": record.id, "dead": dead}


def as_batch(rows: Sequence[Mapping[str, Any]], schema: pa.Schema) -> pa.RecordBatch:
    """Rows as columns; what a row does not have is null. Of a text that is none, half of a surrogate pair becomes a
    question mark."""

    def column(field: pa.Field) -> pa.Array:
        values = [row.get(field.name) for row in rows]
        try:
            return pa.array(values, field.type)
        except UnicodeEncodeError:
            return pa.array([v if v is None else v.encode(errors="replace").decode() for v in values], field.type)

    return pa.RecordBatch.from_arrays([column(field) for field in schema], schema=schema)


def _signed(bits: int) -> int:
    return bits - 2 * _BEYOND if bits >= _BEYOND else bits
