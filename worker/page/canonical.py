"""The URL that a page names as its own: ``<link rel="canonical" href="…">`` (RFC 6596), otherwise Open Graph's
``og:url``; and the name of its site: ``og:site_name``, and HTML's ``application-name``.

They count where they are elements of the document's head, as for search engines: not in its body, a comment, a script,
a ``<template>`` or ``<noscript>``. The first one with an address of the web counts; ``{{url}}`` and ``null`` are none.

A short page's text loses the address that it repeats: "The page /old/press.html does not exist".

Otherwise, error pages that name the address, and are sent with status 200, would be as many pages as there are dead
addresses. The repeated address is the page's own address or its path, unless that is one word as in ``/about``. Or it
is the only address that the text names, since many pages are known by another address than the server was asked for: a
URL, or a path of two names and more, or of one with a suffix or a query. The last name of a path alone does not count:
it may be what the page is about, such as a product.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from typing import Any, Final, NamedTuple
from urllib.parse import unquote, urljoin, urlsplit

from crawler_plugin.wire.media_types import begins_binary
from crawler_plugin.wire.urls import ALREADY, without_userinfo
from worker.page.decode import UndecodableError, decode, is_plain_utf8
from worker.page.elements.markup import MARK, NAME, PARENT, Rows, parse_head
from worker.page.elements.parsed import ATTRIBUTE, OF, VALUE_FROM, VALUE_TO, Parsed
from worker.page.elements.tags import CASE, is_in_unseen
from worker.page.elements.vocabulary import EMPTY, HREF, IN_HEAD, hash_of, lean
from worker.sites import host_of

_BASE, _LINK, _META = map(hash_of, ("base", "link", "meta"))
_REL, _PROPERTY, _NAME, _CONTENT = map(hash_of, ("rel", "property", "name", "content"))
_CANONICAL: Final = "canonical"
_OG_URL: Final = "og:url"
_SITE: Final = ("og:site_name", "application-name")
_WORDS: Final = tuple(word.encode() for word in (_CANONICAL, _OG_URL, *_SITE))
"""In links the first attribute, in metadata the others."""
_MOST: Final = 100
"""Elements that are looked at; no serious head names more."""
_LONGEST_NAME: Final = 200
"""Characters of a site's name."""
_AMPERSAND: Final = 0x26
_UNFILLED: Final = re.compile(r"\A\s*+(?:undefined|null)\s*+\Z|\{\{|\$\{|<%")
_LOCAL: Final = ("localhost", "127.0.0.1")
_OF_THE_WEB: Final = ("http", "https")
_SPACE: Final = re.compile(r"[ \t\n\f\r]++")
_BEFORE_QUERY: Final = re.compile(r"\A[^?#]++")
_SLASHES: Final = re.compile(r"\A((?:https?:)?)/{3,}", re.IGNORECASE)
_BEGINNING: Final = 1024
"""Bytes in which a page in UTF-16 has a NUL, as markup is ASCII."""


class NamedByHead(NamedTuple):
    """The names in the head of a page: the address that others are relative to, the addresses that may be its own, the
    best ones first, and names of its site."""

    base: str | None = None
    own: tuple[str, ...] = ()
    site: tuple[str, ...] = ()


def canonical_link(page: bytes | str, url: str) -> str | None:
    """The absolute URL, or None; reads only the head of the page, and decodes it where its bytes may mislead."""
    body = page if isinstance(page, bytes) else page.encode("utf-8", "replace")
    found = resolved(named_by(parse_head(body)), url)
    is_doubtful = b"\0" in body[:_BEGINNING] or not (found or "").isascii()
    if isinstance(page, str) or not is_doubtful or begins_binary(body) or is_plain_utf8(body):
        return found
    with suppress(UndecodableError):
        return canonical_link(decode(body).text, url)
    return found


def resolved(named: NamedByHead, url: str) -> str | None:
    """The absolute URL of the first address of the web, for the page at ``url``; or None. An address that a template
    left unfilled is none, and neither is one of the machine itself, unless the page is there, too."""
    base = (_joined(url, named.base) if named.base else None) or url
    joined = filter(None, (_joined(base, own) for own in named.own if not _UNFILLED.search(own)))
    found = next((each for each in joined if host_of(each) not in _LOCAL or host_of(url) in _LOCAL), None)
    return None if found is None else without_userinfo(found)


def named_by(page: Parsed) -> NamedByHead:
    """The names in the head of a page."""
    base: str | None = None
    links, metas, site = list[str](), list[str](), list[str]()
    for element, attributes in islice(_candidates(page), _MOST):
        if element == _BASE:
            base = attributes.get(HREF) if base is None else base
        elif element == _LINK:
            if _CANONICAL in _SPACE.split(attributes.get(_REL, "").lower()):
                links.append(attributes.get(HREF, ""))
        else:
            called = _SPACE.split(attributes.get(_PROPERTY, "").lower())
            called.append(attributes.get(_NAME, "").strip().lower())
            said = attributes.get(_CONTENT, "")
            if _OG_URL in called:
                metas.append(said)
            elif any(name in called for name in _SITE):
                site.append(said[:_LONGEST_NAME])
    return NamedByHead(base, tuple(each for each in (*links, *metas) if each.strip()), tuple(site))


def _candidates(page: Parsed) -> Iterator[tuple[int, dict[int, str]]]:
    """Names of elements that may name something, and their attributes."""
    behind = 0
    while True:
        row, behind, name = _next_candidate(page.body, page.elements, page.values, behind)
        if row == behind:
            return
        placed = page.values[row:behind, ATTRIBUTE:].tolist()
        yield name, {attribute: page.value_at(attribute, begin, end) for attribute, begin, end in placed}


@lean("boolean(uint8[::1], int64, int64, boolean)")
def _may_say(body: Any, begin: int, end: int, link: bool) -> bool:
    """Whether a word of a link or of metadata stands there, in any case, or a character reference."""
    for place in range(begin, end):
        if body[place] == _AMPERSAND:
            return True
        for number in range(0 if link else 1, 1 if link else len(_WORDS)):
            word = _WORDS[number]
            different = 0 if end - place >= len(word) else 1
            for at in range(len(word) if different == 0 else 0):
                different |= (body[place + at] | CASE) ^ (word[at] | CASE)
            if different == 0:
                return True
    return False


@lean("UniTuple(int64, 3)(uint8[::1], int32[:, ::1], int32[:, ::1], int64)", entry=True)
def _next_candidate(body: Any, elements: Rows, values: Rows, row: int) -> tuple[int, int, int]:
    """The first value from ``row`` on of an element that may name something, the place after its last value, and the
    element's name; if there is none, the number of all values twice.

    The rows are those of whole elements, and nearly all name nothing, so the slower code need not look at them.
    """
    while row < len(values):
        first, element, named = row, values[row, OF], False
        in_head, name = elements[element, MARK] & IN_HEAD, elements[element, NAME]
        while row < len(values) and values[row, OF] == element:
            attribute = values[row, ATTRIBUTE]
            if in_head and not named:
                says = (name == _LINK and attribute == _REL) or (name == _META and attribute in (_PROPERTY, _NAME))
                named = (name == _BASE and attribute == HREF) or (
                    says and _may_say(body, values[row, VALUE_FROM], values[row, VALUE_TO], name == _LINK)
                )
            row += 1
        if named and not is_in_unseen(elements, elements[element, PARENT]):
            return first, row, name
    return row, row, EMPTY


def _joined(base: str, address: str) -> str | None:
    """The absolute URL, or None where it is not one of the web."""
    if ALREADY.fullmatch(address) and ALREADY.fullmatch(base):
        return address  # nearly all, in a tenth of the time
    # Browsers read a backslash as a slash, and pass over more slashes than two (URL standard, special schemes).
    plain = _BEFORE_QUERY.sub(lambda part: _SLASHES.sub(r"\1//", part[0].replace("\\", "/")), address.strip())
    try:
        joined = urljoin(base, plain)
        return joined if urlsplit(joined).scheme in _OF_THE_WEB else None
    except ValueError:
        return None


ECHO: Final = "echo-1"
"""Name of the rule; a part of the scheme, so change it when the rule changes."""

MOST_WORDS: Final = 64
"""Words of a text that may be an error page; longer texts that mention an address are about it."""
LEAST_BESIDE_PATH: Final = 2
LEAST_BESIDE_URL: Final = 6
"""Words in addition to the address; with fewer the address is the page's message, as in "Watch this: https://…"."""

_MOST_CHARACTERS: Final = 1024
_LEAST_OWN: Final = 6
"""Characters of the page's own path that can be told from words."""
_ENDS: Final = r"\s<>\"'`«»“”„‘’‹›「」『』。，；：！？（）"
_ADDRESS: Final = re.compile(
    rf"(?:https?://|www\.)[^{_ENDS}]++|(?<![\w/.:<-])/(?=[^\s/.?=]*+[/.?=][\w%])[^/{_ENDS}][^{_ENDS}]*+",
    re.IGNORECASE,
)
_SIGNS: Final = ".,;:!?)]}…"
_HOST: Final = re.compile(r"\A(?:https?://|www\.)[^/]*+", re.IGNORECASE)
_WORD: Final = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u9fff]|[^\W\u0e00-\u0eff\u3040-\u9fff]+")


def without_echo(text: str, url: str = "") -> str:
    """A short text without the address that it repeats, every other text as it is. ``url`` is the page's own."""
    if len(text) > _MOST_CHARACTERS or "/" not in text:
        return text
    rest, is_url = text, False
    for address in sorted(_own(url) | _the_one_in(text), key=lambda address: (-len(address), address)):
        is_url |= "://" in address and address in rest
        rest = rest.replace(address, " ")
    least = LEAST_BESIDE_URL if is_url else LEAST_BESIDE_PATH
    return rest if rest != text and least <= len(_WORD.findall(rest)) <= MOST_WORDS else text


def _own(url: str) -> set[str]:
    """The page's address and its path, each as it is spelled there and without its percent signs."""
    try:
        told = urlsplit(url)
    except ValueError:
        return set()
    path = told.path.rstrip("/")
    spelled = {url, path, f"{path}?{told.query}" if told.query else path}
    spelled |= {unquote(address) for address in spelled}
    return {address for address in spelled if len(address) >= _LEAST_OWN and not address.removeprefix("/").isalpha()}


def _the_one_in(text: str) -> set[str]:
    """All spellings of the one address that a text names; none where there are several."""
    found = {address.rstrip(_SIGNS) for address in _ADDRESS.findall(text)}
    return found if len({_HOST.sub("", address) for address in found}) == 1 else set()
