"""From an item to the record on the topic ``pages``: how each field is read, and how much of a large page is sent.

======================  ================================================================================================
of the item             becomes
======================  ================================================================================================
``url``                 the key in canonical form; the header ``url`` as given, without user name and password
``body``, bytes         the value as it is; ``form`` is ``bytes``
``body``, PageBody      the same
``body``, str           a page that the spider decoded: UTF-8, ``encoding`` says so; ``form`` is ``bytes``
``text``, str           the value in UTF-8, read only where there is no ``body``; ``form`` is ``text``: workers
                        extract nothing from it any more
``status``              a whole number, or text of one
``encoding``            text or ASCII bytes
``content_type``        text or ASCII bytes (``response.headers["Content-Type"]`` is bytes)
``fetched``             a ``datetime``, ISO 8601 text (both taken as UTC where they name no zone), or a number: seconds
                        since 1970 UTC as ``time.time()`` gives them; from 10^11 on milliseconds, since as seconds
                        that would be the year 5138. Without it: the time when the item passed
``dedup``               ``False``: the item is not published. Any other value has no effect
``dedup_scope``         text, or a number: the page is compared only with pages of the same scope
``dedup_store``         ``False``: the header ``dedup-store`` is ``no``, so that no later page is compared with this one
``dedup_pardon``        ``True``: the header ``dedup-pardon`` is ``yes``, so that the page survives
======================  ================================================================================================
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from types import MappingProxyType
from typing import Any, Final, Literal

from crawler_plugin.body import PageBody
from crawler_plugin.wire.moments import since_1970
from crawler_plugin.wire.page_headers import PARDON_HEADER, SCOPE_HEADER, STORE_HEADER, PageMeta
from crawler_plugin.wire.urls import canonical_url, without_userinfo

MILLISECONDS_FROM: Final = 10**11
LOOKED_AT: Final = 10_000
"""Characters of a text that are searched for markup."""
TAGS: Final = 3
"""A text with this many tags is markup: a text about HTML may well have one or two."""
_DOCUMENT: Final = re.compile(r"<(?:!doctype|\?xml|html|head|body)[\s>]", re.IGNORECASE)
_TAG: Final = re.compile(
    r"<(?:/[a-z][a-z0-9:-]{0,30}"
    r"|(?:a|b|br|div|em|h[1-6]|hr|i|img|li|ol|p|script|section|span|strong|style|table|td|th|tr|ul)(?:\s[^<>]{0,300})?/?)>",
    re.IGNORECASE,
)
_FLAGS: Final = {"dedup_store": (False, STORE_HEADER, b"no"), "dedup_pardon": (True, PARDON_HEADER, b"yes")}
"""By our name of a field: the value with which the page gets a header, and the header with its value."""
_LARGEST_STATUS: Final = 999  # three digits (RFC 9110, section 15)
_LATEST_MS: Final = 253_402_300_799_999
"""The end of the year 9999, the last year that a datetime can hold."""


RENDERED: Final = ("rendered", b"playwright")
"""The header of a page that a browser has rendered."""


class Unusable(Exception):
    """An item that is not a page: the item passes on, and ``reason`` is the last word of ``dedup/skipped/…``."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class PageRecord:
    """A record of ``pages`` before it is sent. ``unread`` names the fields whose values could not be used."""

    url: str
    key: bytes
    value: bytes
    headers: tuple[tuple[str, bytes], ...]
    is_text: bool = False
    unread: tuple[str, ...] = ()
    is_markup: bool = False
    """Whether the page is text that looks like markup, which is compared with its tags."""
    overhead: int = field(init=False, repr=False, compare=False)
    """Bytes of key and headers, which cannot be cut."""

    def __post_init__(self) -> None:
        """Compute the size once: it is read ten times per page."""
        overhead = len(self.key) + sum(len(name) + len(value) for name, value in self.headers)
        object.__setattr__(self, "overhead", overhead)

    @property
    def size(self) -> int:
        """Bytes of key, value and headers."""
        return len(self.value) + self.overhead


@dataclass(frozen=True)
class Origin:
    """The values that all pages of a crawl share: the item's field names by ours, spider, name of the crawl, scope."""

    fields: Mapping[str, str]
    spider: str | None
    job: str | None
    scope: str | None = None
    """The scope in which the spider began anew; scopes of single pages lie in it."""

    def page(self, item: Any, now_ms: int) -> PageRecord:
        """The record of an item that passed at ``now_ms`` (milliseconds since 1970 UTC).

        Raises:
            Unusable: the item says that it is not to be published (``switched_off``), has neither body nor text
                (``no_body``), has a body that is neither bytes nor str (``bad_body``), has no absolute URL
                (``bad_url``), has a flag for its judging that is neither yes nor no (``bad_flag``), or is of a type
                that itemadapter does not know (``no_item``).
        """
        # Imported here, since it imports pydantic where that is installed; a crawl has it loaded, other programs need
        # not.
        from itemadapter import ItemAdapter

        if not ItemAdapter.is_item(item):
            raise Unusable("no_item", f"an object of type {type(item).__name__} is not an item for itemadapter")
        adapter = ItemAdapter(item)
        found = {ours: adapter.get(theirs) for ours, theirs in self.fields.items()}
        if found.get("dedup") is False:
            raise Unusable("switched_off", f"its field {self.fields['dedup']!r} is False")
        return self._page(found, now_ms)

    def response_page(
        self,
        *,
        url: str,
        status: int,
        content_type: bytes | None,
        body: bytes,
        now_ms: int,
        rendered: bool = False,
        said: Mapping[str, Any] = MappingProxyType({}),
    ) -> PageRecord:
        """The record of a response that came at ``now_ms`` (milliseconds since 1970 UTC).

        The reader of the page finds out its encoding: the server's word on it is in the content type. A page that a
        browser has ``rendered`` says so in a header, which workers pass on. ``said`` is the ``meta`` of the request;
        ``dedup_scope``, ``dedup_store`` and ``dedup_pardon`` are read from it, as from an item.

        Raises:
            Unusable: a page cannot have this URL, for example one of ``data:`` (``bad_url``), or ``bad_flag`` as for an
                item.
        """
        found: dict[str, Any] = {name: said.get(name) for name in ("dedup_scope", *_FLAGS)}
        found |= {"url": url, "status": status, "content_type": content_type, "body": body}
        page = self._page(found, now_ms)
        return replace(page, headers=(*page.headers, RENDERED)) if rendered else page

    def _page(self, found: Mapping[str, Any], now_ms: int) -> PageRecord:
        """The record of the values found, by our names."""
        value, form, encoding = _content(found, self.fields)
        flags = _flags(found)
        unread: list[str] = []
        try:
            url = without_userinfo(_text_url(found.get("url")))
            meta = PageMeta(
                url=url,
                status=_read(_status, found, "status", unread),
                content_type=_read(_label, found, "content_type", unread),
                encoding=encoding or _read(_label, found, "encoding", unread),
                fetched=_read(_milliseconds, found, "fetched", unread) or now_ms,
                spider=self.spider,
                job=self.job,
                form=form,
            )
            key, headers = canonical_url(url).encode(), (*meta.to_headers(), *flags)
            scope = "\n".join(filter(None, (self.scope, _read(_scope, found, "dedup_scope", unread))))
            if scope:
                headers += ((SCOPE_HEADER, scope.encode()),)
        except ValueError as error:  # also UnicodeEncodeError: half of a surrogate pair
            raise Unusable("bad_url", f"its URL: {error}") from error
        is_text = form == "text"
        is_markup = is_text and looks_like_markup(found["text"])
        return PageRecord(url, key, value, headers, is_text=is_text, unread=tuple(unread), is_markup=is_markup)


def looks_like_markup(text: str) -> bool:
    """Whether text begins as a document does, stands between tags, or has more tags than a text that only mentions
    some."""
    start = text[:LOOKED_AT].lstrip("\ufeff \t\r\n\f")
    if _DOCUMENT.match(start) or (_TAG.match(start) and text[-LOOKED_AT:].rstrip().endswith(">")):
        return True
    return sum(1 for _ in itertools.islice(_TAG.finditer(start), TAGS)) == TAGS


def cut_to(page: PageRecord, limit: int) -> PageRecord | None:
    """The page, with the end of its value cut off so that it has at most ``limit`` bytes.

    Text ends before a character that would be split. None where key and headers alone are too large.
    """
    room = limit - page.overhead
    if room < 0:
        return None
    if page.is_text:
        while 0 < room < len(page.value) and page.value[room] & 0xC0 == 0x80:
            room -= 1
    return replace(page, value=page.value[:room])


def _content(found: Mapping[str, Any], names: Mapping[str, str]) -> tuple[bytes, Literal["bytes", "text"], str | None]:
    """Value, form, and the encoding if we encoded the value."""
    body, text = found.get("body"), found.get("text")
    match body:
        case bytes():
            return body, "bytes", None
        case PageBody():
            return body.content, "bytes", None
        case bytearray() | memoryview():
            return bytes(body), "bytes", None
        case str():
            return body.encode(errors="replace"), "bytes", "utf-8"
        case None if isinstance(text, str):
            return text.encode(errors="replace"), "text", None
        case None if text is None:
            wanted = " nor ".join(repr(names[name]) for name in ("body", "text") if name in names)
            raise Unusable("no_body", f"it has neither {wanted}")
    what = "text" if body is None else "body"
    raise Unusable("bad_body", f"field {names[what]!r} holds a {type(found[what]).__name__}, neither bytes nor str")


def _flags(found: Mapping[str, Any]) -> list[tuple[str, bytes]]:
    """The headers that say how the page is to be judged."""
    headers = []
    for name, (flagging, header, value) in _FLAGS.items():
        said = found.get(name)
        if said is not None and not isinstance(said, bool):
            raise Unusable("bad_flag", f"{name} is {said!r:.100}: give True or False")
        if said is flagging:
            headers.append((header, value))
    return headers


def _text_url(url: object) -> str:
    if not isinstance(url, str):
        raise ValueError(f"a {type(url).__name__} is no URL; give it as str with its scheme, as https://host/path")
    return url


def _read(reader: Callable[[Any], Any], found: Mapping[str, Any], name: str, unread: list[str]) -> Any:
    """The field's value as the header wants it, or None; a value that cannot be used is noted."""
    value = found.get(name)
    if value is None:
        return None
    try:
        return reader(value)
    except (ValueError, OverflowError, TypeError):
        unread.append(name)
        return None


def _status(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, str, bytes)):
        raise ValueError(f"{value!r} is no status")
    status = int(value)
    if not 0 <= status <= _LARGEST_STATUS:
        raise ValueError(f"{value!r} is no status")
    return status


def _label(value: object) -> str:
    if isinstance(value, bytes):
        return value.decode("ascii")
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is no text")
    value.encode()  # half of a surrogate pair cannot travel
    return value


def _scope(value: object) -> str:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else _label(value)


def _milliseconds(value: object) -> int:
    match value:
        case bool():
            raise ValueError(f"{value!r} is no time")
        case datetime() | str():
            milliseconds: float = since_1970(value)
        case int() | float():
            milliseconds = value if abs(value) >= MILLISECONDS_FROM else value * 1000
        case _:
            raise ValueError(f"{value!r} is no time")
    if not (math.isfinite(milliseconds) and 0 < milliseconds <= _LATEST_MS):
        raise ValueError(f"{value!r} is out of range")
    return round(milliseconds)
