"""Reads MHTML (RFC 2557), a page with its pictures as browsers save it: a mail of several parts, one of them the page.

Other mail with an HTML part is read the same way. Parts are split here, without recursion; heads and encodings of parts
have the meaning that Python's ``email`` gives them.
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Iterator
from datetime import UTC
from email.message import Message
from email.utils import parsedate_to_datetime
from itertools import chain, islice
from typing import Final, NamedTuple

from crawler_plugin.wire.media_types import kind_of_type
from worker.scan.inputs.fields import milliseconds
from worker.scan.inputs.header_lines import Headers, headers_at

_FIELD: Final = re.compile(rb"\s{0,64}[A-Za-z][A-Za-z0-9-]{0,63}:")
_VERSION: Final = re.compile(rb"^mime-version[ \t]*:", re.IGNORECASE | re.MULTILINE)
_WEB: Final = re.compile(r"(?:https?|ftp|file)://", re.IGNORECASE)
_MOST_DEPTH: Final = 8
_MOST_PARTS: Final = 10_000
_MOST_TYPE: Final = 4096
"""Characters of a Content-Type that are looked at."""


class SavedPage(NamedTuple):
    """``url`` is None if the file does not name one of the web; ``fetched`` is in milliseconds since 1970 UTC."""

    url: str | None
    body: bytes
    content_type: str
    fetched: int | None


class _Part(NamedTuple):
    headers: Headers
    said: Message
    """Its Content-Type, for the parameters."""
    body: bytes


def is_mhtml(beginning: bytes) -> bool:
    """Whether a file with this beginning is a mail with parts, or a mail that is HTML."""
    if not _FIELD.match(beginning) or not _VERSION.search(beginning):
        return False
    top = _part(beginning.lstrip())
    return top.headers.get("MIME-Version") is not None and (
        top.said.get_content_maintype() == "multipart" or _is_html(top)
    )


def saved_page(content: bytes) -> SavedPage | None:
    """The page in such a file: the part that it says it starts with, or the part at the address of the whole, or the
    first one of HTML, or otherwise of text. None if there is none.
    """
    top = _part(content.lstrip())
    parts = list(islice(_parts(top), _MOST_PARTS))
    pages = [part for part in parts if _is_html(part)]
    pages = pages or [part for part in parts if part.said.get_content_type() == "text/plain"]
    if not pages:
        return None
    location, start = _location(top, "Snapshot-Content-Location"), top.said.get_param("start")
    page = next(
        chain(
            (part for part in pages if start and part.headers.get("Content-ID") == start),
            (part for part in pages if location and _location(part) == location),
            pages,
        )
    )
    places = (location, _location(page), _location(top))
    return SavedPage(
        url=next((place for place in places if _WEB.match(place)), None),
        body=_decoded(page),
        content_type=page.headers.get("Content-Type") or "text/plain",
        fetched=_date(top.headers.get("Date")),
    )


def _is_html(part: _Part) -> bool:
    said = part.said.get_content_type()
    return kind_of_type(said) == "html" or said == "application/xhtml+xml"


def _part(content: bytes) -> _Part:
    headers, end = headers_at(content, 0)
    said = Message()
    said["Content-Type"] = " ".join((headers.get("Content-Type") or "text/plain")[:_MOST_TYPE].split())
    return _Part(headers, said, b"" if end is None else content[end:])


def _parts(top: _Part) -> Iterator[_Part]:
    """The parts that have no parts, in their order."""
    waiting = [(top, 0)]
    while waiting:
        part, depth = waiting.pop()
        boundary = part.said.get_boundary()
        if part.said.get_content_maintype() != "multipart":
            yield part
        elif boundary and depth < _MOST_DEPTH:
            inner = islice(_split(part.body, boundary.encode(errors="replace")), _MOST_PARTS)
            waiting += [(one, depth + 1) for one in reversed(list(inner))]


def _split(body: bytes, boundary: bytes) -> Iterator[_Part]:
    begin: int | None = None
    for line in re.finditer(rb"(?:\A|\r?\n)--" + re.escape(boundary) + rb"(--)?[ \t]{0,64}(?=\r?\n|\Z)", body):
        if begin is not None:
            yield _part(body[begin : line.start()])
        begin = None if line[1] else body.find(b"\n", line.end()) + 1 or len(body)
    if begin is not None:
        yield _part(body[begin:])


def _location(part: _Part, name: str = "Content-Location") -> str:
    return "".join((part.headers.get(name) or "").split()).strip("<>")


def _decoded(part: _Part) -> bytes:
    match (part.headers.get("Content-Transfer-Encoding") or "").lower():
        case "quoted-printable":
            return binascii.a2b_qp(part.body)
        case "base64":
            letters = re.sub(rb"[^A-Za-z0-9+/]", b"", part.body)
            letters = letters[: len(letters) - (len(letters) % 4 == 1)]
            return binascii.a2b_base64(letters + b"=" * (-len(letters) % 4))
    return part.body


def _date(said: str | None) -> int | None:
    try:
        time = parsedate_to_datetime((said or "")[:_MOST_TYPE])
    except (ValueError, TypeError, OverflowError):
        return None
    return milliseconds(time if time.tzinfo else time.replace(tzinfo=UTC))
