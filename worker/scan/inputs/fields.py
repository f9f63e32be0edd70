"""The meaning of a row's fields, or columns, and the page that a row is."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from urllib.parse import quote

from crawler_plugin.wire.errors import UsageError
from crawler_plugin.wire.moments import since_1970
from crawler_plugin.wire.urls import url_of_id, without_userinfo
from worker.local.page import FetchedPage
from worker.page.decode import UndecodableError, decode
from worker.scan.inputs.records import ArchivedPage, BrokenRecord, RecordPlace

GUESSES: Final[Mapping[str, tuple[str, ...]]] = {
    "url": (
        "url",
        "uri",
        "link",
        "page_url",
        "source_url",
        "warc_target_uri",
        "target_uri",
        "original_url",
        "canonical_url",
        "final_url",
        "href",
        "webpage_url",
        "permalink",
    ),
    "body": ("html", "body", "raw_html", "raw_content", "page_html", "html_content", "page_source", "response_body"),
    "text": ("text", "main_text", "article", "plain_text", "body_text", "article_text", "full_text", "maintext"),
    "id": ("id", "doc_id", "docid", "document_id", "uuid", "_id", "warc_record_id", "page_id", "record_id"),
    "fetched": (
        "fetched",
        "fetched_at",
        "fetch_time",
        "crawled_at",
        "crawl_time",
        "crawl_date",
        "warc_date",
        "timestamp",
        "date",
    ),
    "content_type": ("content_type", "mime_type", "mimetype", "mime"),
    "encoding": ("encoding", "charset"),
    "spider": ("spider", "spider_name"),
}
"""Possible names of a field, in any case and with ``-`` for ``_``; the first that is there counts."""
EITHER: Final = ("content", "page", "document", "data", "response")
"""Fields that hold HTML in one file and a text in the next; their values show which."""
_PARENTS: Final = ("meta", "metadata", "warc_headers", "headers", "page", "document", "attributes", "_source")
"""Objects within a row whose fields describe the row itself."""
_MARKUP: Final = re.compile(r"<(?:!doctype|html|head|body|div|p|a|span|table|title|meta)\b[^>]*>", re.IGNORECASE)

_ID_BITS: Final = 256
"""Bits of a number that is an id; Python refuses to print numbers of thousands of digits."""

Row = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Fields:
    """The user's choice of fields; None for a field that is to be guessed. A dot leads into an object within the row.

    ``file_encoding`` is that of files of rows.
    """

    url: str | None = None
    body: str | None = None
    text: str | None = None
    id: str | None = None
    file_encoding: str | None = None

    @classmethod
    def of(cls, by_role: Mapping[str, str]) -> Fields:
        """An archive's earlier choice; fields that the user does not name are guessed again."""
        return cls(**{role: column for role, column in by_role.items() if role in cls.__slots__})


class Chosen:
    """The fields of one file: chosen once, from its columns and its first rows, and the same for all its rows.

    Values may be bytes. Those of a body are handed on; for other values that are not UTF-8, ``encoding`` is tried
    first.

    Raises:
        UsageError: a column that the user named is not there, or there is none with a body or a text.
    """

    def __init__(
        self, name: str, given: Fields, columns: Sequence[str], rows: Sequence[Row], encoding: str | None = None
    ) -> None:
        self._encoding: Final = encoding
        named = {role: getattr(given, role) for role in ("url", "body", "text", "id")}
        chosen = {role: column for role, column in named.items() if column is not None}
        for role, column in chosen.items():
            if column not in columns:
                raise UsageError(f"{name} has no column {column!r} (--{role}-field): {_there_are(columns)}")
        for role in GUESSES:
            if role in ("body", "text"):
                continue
            if role not in chosen and (found := _guess(GUESSES[role], columns)):
                chosen[role] = found
        if "body" not in chosen and "text" not in chosen:
            role, found = _content(columns, rows)
            if found is None:
                raise UsageError(
                    f"{name} has no column that seems to hold a page: {_there_are(columns)}; name one of them with "
                    "--body-field (HTML) or --text-field (text without markup)"
                )
            chosen[role] = found
        self.by_role: Final[Mapping[str, str]] = {role: chosen[role] for role in GUESSES if role in chosen}
        self._ways: Final = {role: _way(column, columns) for role, column in self.by_role.items()}

    @property
    def columns(self) -> list[str]:
        """The columns that are read, each once."""
        return list(dict.fromkeys(self.by_role.values()))

    def page(self, row: Row, place: RecordPlace) -> ArchivedPage | BrokenRecord:
        """The page that a row is."""
        said = {role: row.get(way[0]) if len(way) == 1 else _reach(row, way) for role, way in self._ways.items()}
        body, unread = said.get("body"), said.get("text")
        if isinstance(body, memoryview | bytearray):
            body = bytes(body)
        said = {
            role: self._characters(value) if isinstance(value, bytes) and role != "body" else value
            for role, value in said.items()
        }
        text = said.get("text")
        if isinstance(text, list) and all(isinstance(paragraph, str) for paragraph in text):
            text = "\n".join(text)
        id_, url = _word(said.get("id")), _word(said.get("url"))
        body = body if isinstance(body, str | bytes) else None
        text = text if isinstance(text, str) else None
        if body is None and text is None:
            known = id_ or (without_userinfo(url) if url else None)
            if isinstance(unread, bytes):
                why = f"{self.by_role['text']} is text in an unknown encoding: name it with --encoding"
                return BrokenRecord(place, "no-body", why, known)
            where = " nor in ".join(self.by_role[role] for role in ("body", "text") if role in self.by_role)
            return BrokenRecord(place, "no-body", f"no characters or bytes in {where}", known)
        if not url:
            url = _stand_in(id_, place)
        spider = _word(said.get("spider"))
        page = FetchedPage(
            url=url,
            body=body,
            text=text if body is None else None,
            encoding=_word(said.get("encoding")),
            content_type=_word(said.get("content_type")),
            fetched=milliseconds(said.get("fetched")),
            headers={"spider": spider} if spider else {},
        )
        return ArchivedPage(place, id_ or url, page)

    def _characters(self, value: bytes) -> str | None:
        """None for bytes that are text in no encoding."""
        with suppress(UndecodableError):
            return decode(value, [self._encoding]).text
        return None


def columns_of(rows: Sequence[Row]) -> list[str]:
    """Every name by which a value in these rows can be reached, in the order in which they come, outer ones first."""
    outer = dict.fromkeys(name for row in rows for name in row)
    inner = dict.fromkeys(name for row in rows for name in _within(row, ""))
    return list(outer | inner)


def milliseconds(said: object) -> int | None:
    """A time as milliseconds since 1970 UTC: ISO 8601, or seconds, milliseconds, microseconds or nanoseconds since
    then, told apart by their size. None for a value that is no time. A time without a zone counts as UTC.
    """
    if isinstance(said, str):
        text = said.strip()
        said = float(text) if re.fullmatch(r"-?\d{9,19}(\.\d+)?", text) else text
    if isinstance(said, datetime | str):
        try:
            return since_1970(said)
        except ValueError:
            return None
    if isinstance(said, bool) or not isinstance(said, int | float):
        return None
    size = abs(said)
    for bound, factor in ((1e11, 1000), (1e14, 1), (1e17, 1e-3), (1e20, 1e-6)):
        if size < bound:
            return round(said * factor)
    return None


def _within(row: Row, before: str) -> Iterator[str]:
    for name, value in row.items():
        if isinstance(value, Mapping) and before.count(".") < 3:
            for inner in value:
                yield f"{before}{name}.{inner}"
            yield from _within(value, f"{before}{name}.")


def _guess(names: Sequence[str], columns: Sequence[str]) -> str | None:
    """The column with the first of these names; one within an object only if there is none outside."""
    for is_within in (False, True):
        for name in names:
            for column in columns:
                parents, _, last = _spelling(column).rpartition(".")
                if last == name and bool(parents) == is_within and (not parents or parents in _PARENTS):
                    return column
    return None


def _spelling(column: str) -> str:
    return column.lower().replace("-", "_").replace(" ", "_")


def _content(columns: Sequence[str], rows: Sequence[Row]) -> tuple[str, str | None]:
    if found := _guess(GUESSES["body"], columns):
        return "body", found
    if found := _guess(GUESSES["text"], columns):
        return "text", found
    for name in EITHER:
        if found := _guess((name,), columns):
            values = [value for row in rows if isinstance(value := _reach(row, _way(found, columns)), str | bytes)]
            if not values:
                continue
            is_html = any(isinstance(value, bytes) or _MARKUP.search(value[:4096]) for value in values)
            return ("body" if is_html else "text"), found
    return "body", None


def _way(column: str, columns: Sequence[str]) -> tuple[str, ...]:
    """The names that lead to it: a name with a dot in it may be a column of its own."""
    parts = column.split(".")
    return tuple(parts) if len(parts) > 1 and parts[0] in columns else (column,)


def _reach(row: object, way: tuple[str, ...]) -> object:
    if isinstance(row, Mapping) and (whole := row.get(".".join(way))) is not None:
        return whole
    for name in way:
        if not isinstance(row, Mapping):
            return None
        row = row.get(name)
    return row


def _word(said: object) -> str | None:
    """As a word that can be printed: halves of surrogate pairs, which JSON may hold, are replaced. None for nothing,
    and for a value that is neither characters nor a whole number."""
    if said is None:
        return None
    if isinstance(said, bytes):
        said = said.decode(errors="replace")
    if isinstance(said, str):
        return (said if said.isascii() else said.encode(errors="replace").decode()).strip() or None
    if isinstance(said, int) and not isinstance(said, bool) and said.bit_length() <= _ID_BITS:
        return str(said)
    return None


def _stand_in(id_: str | None, place: RecordPlace) -> str:
    """A URL for a page that has none: two pages have the same one only if they have the same id, or place."""
    if id_ is not None:
        return id_ if re.match(r"[a-z][a-z0-9+.-]*://[^/]", id_) else url_of_id(id_)
    return f"{file_url(place.file)}?record={place.offset}"


def file_url(name: str) -> str:
    """A URL for a file of this name, which may be one already."""
    if "://" in name:
        return name
    return "file:///" + quote(name.lstrip("/"), errors="surrogateescape")


def _there_are(columns: Sequence[str]) -> str:
    shown = ", ".join(columns[:40]) + (", ..." if len(columns) > 40 else "")
    return f"there are {shown or 'none'}"
