"""The URL that a page calls its own: ``<link rel="canonical" href="…">`` (RFC 6596)."""

from __future__ import annotations

import html
import re
from typing import Final
from urllib.parse import urljoin

_LINK: Final = re.compile(rb"<link\b[^>]{0,2000}>", re.IGNORECASE)
_TAG: Final = b"<link"
_WORD: Final = b"canonical"
_CANONICAL: Final = re.compile(rb"\brel\s*=\s*[\"']?[^\"'>]{0,50}\bcanonical\b", re.IGNORECASE)
_HREF: Final = re.compile(rb"\bhref\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]+))", re.IGNORECASE)
_HEAD_END: Final = b"</head>"
_MOST: Final = 1 << 17
"""Bytes, or characters, of a page whose head does not end."""


def canonical_link(page: bytes | str, url: str) -> str | None:
    """The absolute URL, or None; only the head of the page is looked at.

    A link within a comment or a script counts as well: this is advice that a page gives about itself.
    """
    head = _head(page)
    lowered = head.lower()
    if _WORD not in lowered:  # nearly all of the time goes into looking; so it is done by what is quickest
        return None
    begin = lowered.find(_TAG)
    while begin >= 0:
        link = _LINK.match(head, begin)
        end = begin + 1 if link is None else link.end()
        if link and _CANONICAL.search(link[0]) and (href := _HREF.search(link[0])):
            found = html.unescape((href[1] or href[2] or href[3] or b"").decode(errors="replace").strip())
            try:
                return urljoin(url, found) if found else None
            except ValueError:
                return None
        begin = lowered.find(_TAG, end)
    return None


def _head(page: bytes | str) -> bytes:
    """In UTF-8, or as the page has it."""
    if isinstance(page, bytes):
        end = page.find(_HEAD_END, 0, _MOST)
        return page[: end if end >= 0 else _MOST]
    end = page.find(_HEAD_END.decode(), 0, _MOST)
    return page[: end if end >= 0 else _MOST].encode(errors="replace")
