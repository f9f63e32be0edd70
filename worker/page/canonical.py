"""The URL that a page calls its own: ``<link rel="canonical" href="…">`` (RFC 6596), else Open Graph's ``og:url``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final
from urllib.parse import urljoin

from worker.page.references import unescaped
from worker.urls import without_userinfo

_VALUE: Final = rb"\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]+))"
_LINK_TAG: Final = b"<link"
_LINK_WORD: Final = b"canonical"
_CANONICAL: Final = re.compile(rb"\brel\s*=\s*[\"']?[^\"'>]{0,50}\bcanonical\b", re.IGNORECASE)
_HREF: Final = re.compile(rb"\bhref" + _VALUE, re.IGNORECASE)
_META_TAG: Final = b"<meta"
_META_WORD: Final = b"og:url"
_OG_URL: Final = re.compile(rb"\b(?:property|name)\s*+=\s*+[\"']?+\s*+og:url\b", re.IGNORECASE)
_CONTENT: Final = re.compile(rb"\bcontent" + _VALUE, re.IGNORECASE)
_RULES: Final = (
    (_LINK_WORD, _LINK_TAG, _CANONICAL, _HREF),
    (_META_WORD, _META_TAG, _OG_URL, _CONTENT),
)
_LONGEST_TAG: Final = 2000
_HEAD_END: Final = b"</head>"
_MOST: Final = 1 << 17
"""Bytes, or characters, of a page whose head does not end."""


def canonical_link(page: bytes | str, url: str) -> str | None:
    """The absolute URL, or None; only the head of the page is looked at.

    An element within a comment or a script counts as well: this is advice that a page gives about itself.
    """
    head = _head(page)
    lowered = head.lower()
    for word, tag, named, value in _RULES:
        if word not in lowered:  # nearly all of the time goes into looking; so it is done by what is quickest
            continue
        for found in _elements(head, lowered, tag):
            if named.search(found) and (given := value.search(found)):
                link = unescaped((given[1] or given[2] or given[3] or b"").decode(errors="replace").strip())
                try:
                    if link:
                        return without_userinfo(urljoin(url, link))
                except ValueError:
                    pass
                break
    return None


def _elements(head: bytes, lowered: bytes, tag: bytes) -> Iterator[bytes]:
    begin = lowered.find(tag)
    while begin >= 0:
        name_end = begin + len(tag)
        end = head.find(b">", name_end, name_end + _LONGEST_TAG) + 1
        if end and not head[name_end : name_end + 1].isalnum():
            yield head[begin:end]
        begin = lowered.find(tag, end or name_end)


def _head(page: bytes | str) -> bytes:
    """In UTF-8, or as the page has it."""
    if isinstance(page, bytes):
        end = page.find(_HEAD_END, 0, _MOST)
        return page[: end if end >= 0 else _MOST]
    end = page.find(_HEAD_END.decode(), 0, _MOST)
    return page[: end if end >= 0 else _MOST].encode(errors="replace")
