"""Requests → pages to be judged. What is wrong with one is said with its HTTP status, before anything is judged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from urllib.parse import parse_qsl

import msgspec

from worker.local.page import FetchedPage

JSON: Final = "application/json"
JSON_LINES: Final = "application/x-ndjson"
_NOT_SAID: Final = "application/x-www-form-urlencoded"
"""What curl says of any body unless it is told; no page that was fetched is of this type."""
_MOST_PARAMETERS: Final = 100
_ONCE: Final = ("url", "id", "encoding", "fetched", "form")
PARAMETERS: Final = (*_ONCE, "header")
"""Of the query of a page that comes as it was fetched."""


class RequestRefused(Exception):
    """A request, or a line of one, that is not judged. ``message`` ends with the reader's next move."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message

    @property
    def row(self) -> dict[str, object]:
        """What is answered."""
        return {"status": self.status, "error": self.message}


class AskedPage(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A page as JSON, alone or on a line; see ``worker.local.FetchedPage``. ``body`` is text, ``body_base64`` bytes."""

    url: str | None = None
    id: str | int | None = None
    body: str | None = None
    body_base64: bytes | None = None
    text: str | None = None
    encoding: str | None = None
    content_type: str | None = None
    fetched: int | str | None = None
    headers: dict[str, str] = {}


_decode: Final = msgspec.json.Decoder(AskedPage).decode


def is_json(content_type: str, query: str) -> str | None:
    """``JSON`` or ``JSON_LINES`` where the body holds pages as JSON; None where it is a page, which has a query."""
    essence = content_type.partition(";")[0].strip().lower()
    return essence if essence in (JSON, JSON_LINES) and not query else None


def page_of_json(content: bytes) -> FetchedPage:
    """The page that a JSON object is.

    Raises:
        RequestRefused: it is none.
    """
    try:
        asked = _decode(content)
        if asked.body is not None and asked.body_base64 is not None:
            raise ValueError("body and body_base64 are both given: leave out one of them")
        page = FetchedPage(
            url=asked.url,
            id=asked.id,
            body=asked.body if asked.body_base64 is None else asked.body_base64,
            text=asked.text,
            encoding=asked.encoding,
            content_type=asked.content_type,
            fetched=asked.fetched,
            headers=asked.headers,
        )
    except (msgspec.DecodeError, ValueError, TypeError, RecursionError) as error:
        raise RequestRefused(400, f"not a page: {error}; its fields are in /openapi.json") from error
    if page.body is None and page.text is None:
        raise RequestRefused(400, "not a page: it has none of body, body_base64 and text: give one of them")
    return page


def about_page(query: str) -> Mapping[str, object]:
    """What the query of ``POST /judge`` says of the page, as arguments of ``FetchedPage``, and ``form``.

    Raises:
        RequestRefused: it cannot be read.
    """
    said: dict[str, object] = {}
    headers: dict[str, str] = {}
    for name, value in _pairs(query):
        if name == "header":
            header, colon, content = value.partition(":")
            if not colon:
                raise RequestRefused(400, f"header={value!r} has no colon: give NAME:VALUE")
            headers[header] = content
        elif name not in _ONCE:
            raise RequestRefused(400, f"there is no parameter {name!r}, there are {', '.join(PARAMETERS)}")
        elif name in said:
            raise RequestRefused(400, f"{name} is given twice: encode & within a URL as %26")
        else:
            said[name] = value
    if said.get("form", "text") != "text":
        raise RequestRefused(400, f"form is {said['form']!r}: leave it out, or give text for a text taken out already")
    if not said.keys() & {"url", "id"}:
        raise RequestRefused(
            400,
            "there is no url: POST /judge?url=… with the page as body, its URL percent-encoded; or JSON, as "
            f"/openapi.json says, with Content-Type: {JSON}",
        )
    fetched = str(said.get("fetched", ""))
    if fetched.isdecimal() and fetched.isascii() and len(fetched) < 20:
        said["fetched"] = int(fetched)
    return said | ({"headers": headers} if headers else {})


def page_of_body(about: Mapping[str, object], content_type: str | None, body: bytes) -> FetchedPage:
    """A page that comes as it was fetched; ``about`` is ``about_page`` of its query.

    Raises:
        RequestRefused: what is said of it cannot be.
    """
    said = dict(about)
    if said.pop("form", None):
        said["text"] = body.decode(errors="replace")
    else:
        is_said = content_type and content_type.partition(";")[0].strip().lower() != _NOT_SAID
        said |= {"body": body, "content_type": content_type if is_said else None}
    try:
        return FetchedPage(**said)  # type: ignore[arg-type]  # it looks at each of them
    except (ValueError, TypeError) as error:
        raise RequestRefused(400, str(error)) from error


def url_asked(query: str) -> str:
    """The URL of ``GET /seen``.

    Raises:
        RequestRefused: there is none.
    """
    said = dict(_pairs(query))
    if said.keys() != {"url"}:
        raise RequestRefused(400, "GET /seen?url=… takes one URL, percent-encoded, and nothing else")
    return said["url"]


def _pairs(query: str) -> list[tuple[str, str]]:
    """``query`` as it came, each byte a character."""
    if query.count("&") >= _MOST_PARAMETERS:
        raise RequestRefused(
            400,
            f"the query has more than {_MOST_PARAMETERS} parameters: encode & within a URL as %26, and send a page "
            "with more headers as JSON",
        )
    try:
        text = query.encode("latin-1").decode()
        return parse_qsl(text, keep_blank_values=True, errors="strict")
    except ValueError as error:
        raise RequestRefused(400, f"the query cannot be read ({error}): percent-encode it as UTF-8") from error
