"""HTML from values: everything that is not markup already is escaped, so that no text of a page becomes part of this
page."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from typing import Final

from crawler_plugin.wire.urls import id_or_url

_UNSEEN: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufeff]"
)
"""Controls, halves of surrogate pairs, and marks of direction, which would reverse the text next to them."""
_VOID: Final = frozenset({"meta", "link"})


_TAG: Final = re.compile("<[^<>]*>")
_NUMBER: Final = re.compile(r"(?:\d[\d,.]*(?: %)?|–)")
_PARTS: Final = re.compile(r"[^/?&.=]+[/?&.=]*|[/?&.=]+")


class Markup(str):
    """Text that is HTML."""

    __slots__ = ()


def escaped(text: object) -> Markup:
    """Any text as HTML; an invisible character of it is shown as U+FFFD."""
    return text if isinstance(text, Markup) else Markup(html.escape(_UNSEEN.sub("\ufffd", str(text))))


def joined(*parts: object) -> Markup:
    """All of them in order, each escaped unless it is markup."""
    return Markup("".join(map(escaped, parts)))


def tag(name: str, /, *children: object, **attributes: object) -> Markup:
    """An element. An underscore in an attribute's name stands for a hyphen, one at its end for nothing; an attribute
    that is None is left out."""
    named = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escaped(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    inner = "" if name in _VOID else f"{joined(*children)}</{name}>"
    return Markup(f"<{name}{named}>{inner}")


def address(url: str, *, followed: bool = True) -> Markup:
    """A URL, whatever it holds, written from left to right; an address of the web can be a link if wanted. For a page
    without a URL its id stands there."""
    inner = tag("bdi", breakable(shortened(id_or_url(url), _LONGEST_URL)), dir="ltr")
    if not followed or not url.startswith(("http://", "https://")) or len(url) > _LONGEST_URL:
        return tag("span", inner, class_="url")
    return tag("a", inner, class_="url", href=url, rel="noopener noreferrer")


_LONGEST_URL: Final = 300


def breakable(path: str) -> Markup:
    """Text with places at which a line may end: after the signs that separate the parts of a URL."""
    return Markup("<wbr>".join(map(escaped, _PARTS.findall(path))))


def shortened(text: str, most: int = 160) -> str:
    """At most this many characters."""
    return text if len(text) <= most else text[: most - 1] + "…"


def whole(number: int) -> str:
    """1,234"""
    return f"{number:,}"


def percent(part: float, of: float) -> str:
    """A share in per cent; a dash if there is nothing to divide."""
    if not of:
        return "–"
    share = 100 * part / of
    return f"{share:.1f} %" if share < 10 else f"{share:.0f} %"


def table(heads: Sequence[str], rows: Sequence[Sequence[object]], caption: str) -> Markup:
    """A table whose first column names the rows. JavaScript, where it runs, lets people sort it."""
    if not rows:
        return tag("p", "None.", class_="quiet")
    numbers = [all(_NUMBER.fullmatch(_TAG.sub("", str(row[n]))) for row in rows) for n in range(len(heads))]
    classes = ["number" if n and of_numbers else None for n, of_numbers in enumerate(numbers)]

    def cells(row: Sequence[object]) -> Markup:
        rest = (tag("td", cell, class_=kind) for cell, kind in zip(row[1:], classes[1:], strict=True))
        return tag("tr", tag("th", row[0], scope="row"), *rest)

    head = (tag("th", one, scope="col", class_=kind) for one, kind in zip(heads, classes, strict=True))
    return tag(
        "table",
        tag("caption", caption),
        tag("thead", tag("tr", *head)),
        tag("tbody", *map(cells, rows)),
    )
