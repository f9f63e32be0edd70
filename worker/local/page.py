"""A page to be judged, and the record that it would be on the topic ``pages``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from numbers import Integral
from typing import Any, Final, TypeAlias, TypedDict

from crawler_plugin.wire.errors import PageError
from crawler_plugin.wire.moments import since_1970
from crawler_plugin.wire.page_headers import PARDON_HEADER, STORE_HEADER, PageMeta
from crawler_plugin.wire.urls import canonical_url, url_of_id
from worker.local.argument_errors import refuse_unknown, shown, text_or_none, wrong_type
from worker.stream.log import Record
from worker.stream.partition.fingerprint_pool import identity

Body: TypeAlias = bytes | bytearray | memoryview | str | None
"""The types that a page's body may have."""
_NO_HEADERS: Final[Mapping[str, str]] = {}
_MOST_MS: Final = 10**15
"""The year 33658; microseconds and nanoseconds since 1970 are more."""
_ID_BITS: Final = 256
"""Bits of a number that is an id; Python refuses to print numbers of thousands of digits."""


class AboutPage(TypedDict, total=False):
    """Further arguments about a page; see ``FetchedPage``."""

    text: str | None
    encoding: str | None
    content_type: str | None
    fetched: int | datetime | str | None
    headers: Mapping[str, str]
    id: str | int | None
    store: bool
    pardon: bool


@dataclass(frozen=True, slots=True, init=False)
class FetchedPage:
    """A page as it was fetched, or a text with the name that its owner gave it.

    ``body`` is the page's bytes, or a str that was decoded already. Without a body, ``text`` is the main text that the
    caller extracted from the page: the worker leaves nothing out of it. A page has one of the two. ``fetched`` is a
    ``datetime`` or ISO 8601 text (both in UTC if they name no zone), or milliseconds since 1970 UTC, which is the form
    that is kept; without it the page counts as fetched when it is judged. ``near.scope=header:NAME`` reads ``headers``.

    A page has a ``url``, or an ``id``, or both; with a URL the id is only the name of its verdict. Without a URL the
    id, any text or whole number, stands for it: a second page of that id is a refetch. Such pages have no site; with
    ``near.scope=host`` and ``site`` they are compared with each other, as the pages of one site are. ``url`` is then
    ``record://id/`` and the id, as for rows of a scan.

    With ``store=False`` the page is judged, and no later page is compared with it. With ``pardon=True`` it is compared
    with pages of its own URL only: it survives although other pages are near to it.

    Raises:
        TypeError, ValueError: an argument, which the error names, is of another type; there is neither URL nor id, or
            both body and text, or an invalid time.

    >>> FetchedPage("https://a.example/", b"<p>Hello</p>", fetched="1970-01-01T00:00:01.500Z").fetched
    1500
    >>> FetchedPage(id=17, text="Hello").url
    'record://id/17'
    """

    url: str
    body: bytes | str | None
    text: str | None
    encoding: str | None
    content_type: str | None
    fetched: int | None
    headers: Mapping[str, str]
    id: str | None
    store: bool
    pardon: bool

    def __init__(
        self,
        url: str | None = None,
        body: Body = None,
        text: str | None = None,
        encoding: str | None = None,
        content_type: str | None = None,
        fetched: int | datetime | str | None = None,
        headers: Mapping[str, str] = _NO_HEADERS,
        id: str | int | None = None,
        store: bool = True,
        pardon: bool = False,
        **unknown: Any,
    ) -> None:
        refuse_unknown(unknown, self.__slots__)
        url, id = text_or_none("url", url), _id(id)
        if url is None and id is None:
            raise ValueError("url is None, and there is no id: give one of them, or both")
        said = {
            "url": url_of_id(id or "") if url is None else url,
            "body": _body(body),
            "text": text_or_none("text", text),
            "encoding": text_or_none("encoding", encoding),
            "content_type": text_or_none("content_type", content_type),
            "fetched": _milliseconds(fetched),
            "headers": _headers(headers),
            "id": id,
            "store": _yes_or_no("store", store),
            "pardon": _yes_or_no("pardon", pardon),
        }
        if body is not None and text is not None:
            raise ValueError("body and text are both given: leave out text, which is read only if there is no body")
        for name, value in said.items():
            object.__setattr__(self, name, value)

    def record(self, offset: int, now: int) -> Record:
        """The record that a crawler would have published, as received at ``now`` (milliseconds since 1970 UTC)."""
        value, encoding = self.body, self.encoding
        if isinstance(value, str):
            value, encoding = value.encode(errors="replace"), "utf-8"
        is_text = value is None and self.text is not None
        if value is None and self.text is not None:
            value = self.text.encode(errors="replace")
        meta = PageMeta(
            url=self.url,
            content_type=self.content_type,
            encoding=encoding,
            fetched=self.fetched,
            form="text" if is_text else "bytes",
        )
        flags = [(STORE_HEADER, b"no")] * (not self.store) + [(PARDON_HEADER, b"yes")] * self.pardon
        try:
            headers = [(name, content.encode()) for name, content in self.headers.items()] + meta.to_headers() + flags
            return Record(0, offset, _key(self.url), value, headers, now)
        except UnicodeEncodeError as error:  # half of a surrogate pair
            return Record(
                0, offset, None, value, (), now, unreadable=f"a value that describes the page is no text: {error}"
            )


def as_asked(page: object) -> FetchedPage:
    """The page, if a caller may ask for a verdict on it: a page from a file or a crawl may be dead instead.

    Raises:
        TypeError: it is no page.
        ValueError: its URL is invalid, it has neither body nor text, or further arguments are no text.
    """
    if not isinstance(page, FetchedPage):
        raise wrong_type("a page", page, "a worker.local.FetchedPage")
    said = {"url": page.url, "encoding": page.encoding, "content_type": page.content_type, "id": page.id}
    said |= {f"headers[{name!r}]": f"{name}{value}" for name, value in page.headers.items()}
    for name, value in said.items():
        try:
            (value or "").encode()
        except UnicodeEncodeError as error:
            raise ValueError(f"{name} is {shown(value)}, half of a surrogate pair: {error}") from error
    try:
        identity(page.url)
    except PageError as error:
        if page.id is not None and page.url == url_of_id(page.id):
            raise ValueError(f"id is {error.detail}: give a shorter one") from error
        raise ValueError(f"url is {error.detail}; a text that has none is given with id= instead") from error
    if page.body is None and page.text is None:
        raise ValueError("body and text are both None: give one of them; an empty page has b''")
    return page


def _yes_or_no(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise wrong_type(name, value, "True or False")
    return value


def _id(value: object) -> str | None:
    if value is None or (isinstance(value, str) and value):
        return value
    if value == "":
        raise ValueError("id is empty: give each page its own, or its URL")
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise wrong_type("id", value, "a str or a whole number")
    if int(value).bit_length() > _ID_BITS:
        raise ValueError(f"id is a number of {int(value).bit_length()} bits, at most {_ID_BITS} are taken: give a str")
    return str(int(value))


def _body(value: object) -> bytes | str | None:
    if isinstance(value, bytearray | memoryview):
        return bytes(value)
    if value is None or isinstance(value, bytes | str):
        return value
    raise wrong_type("body", value, "the page's bytes, or a str that was decoded already")


def _milliseconds(value: object) -> int | None:
    wanted = "a datetime, ISO 8601 text as 2026-05-01T12:30:00Z, or milliseconds since 1970 UTC as int"
    if value is None:
        return None
    try:
        found = since_1970(value) if isinstance(value, datetime | str) else value
    except ValueError as error:
        raise ValueError(f"fetched is {shown(value)}: give {wanted} ({error})") from error
    if isinstance(found, bool) or not isinstance(found, Integral):
        raise wrong_type("fetched", value, wanted)
    if abs(int(found)) > _MOST_MS:
        raise ValueError(f"fetched is {shown(value)}, too much for milliseconds: give {wanted}")
    return int(found)


def _headers(value: object) -> Mapping[str, str]:
    if not isinstance(value, Mapping):
        raise wrong_type("headers", value, "a mapping of names to values, both str")
    for name, content in value.items():
        if not isinstance(name, str):
            raise wrong_type("a name in headers", name, "a str")
        if not isinstance(content, str):
            raise wrong_type(f"headers[{name!r}]", content, "a str")
    return dict(value)


def _key(url: str) -> bytes:
    """The key of the page's record; it counts towards the largest page."""
    try:
        return canonical_url(url).encode()
    except ValueError:
        return url.encode()
