"""Finds the URLs that a URL may be a variation of: the same without a parameter, or without a segment of its path.
Pure.

A session id, an order, a mark of where the reader comes from, a print view, a mirror: the same page often exists under
another URL in which that part is left out. Each way to leave a part out is a *kind*, and has a name:

- ``?sid``: without a parameter; ``?dir&sort``: without all parameters, where there are several;
- ``/print/…``, ``/s/{id}/…``: without the first segment, or the first two;
- ``…/print``: without the last segment, where the segment before it is a number, a date, an id or many words.

Whether a kind gives the same pages is counted per site, and per template of the URLs without it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final, NamedTuple

from crawler_plugin.wire.url_templates import address_of, segment_template
from crawler_plugin.wire.urls import canonical_url

LONGEST: Final = 1000
"""The longest URL, in characters, whose variations are searched."""
MOST_NAMES: Final = 6
"""The most parameters of a URL whose variations are searched."""
MOST_FIRST: Final = 2
"""The most segments that are left out at the beginning of a path."""


class Variation(NamedTuple):
    """A URL that another URL may be a variation of."""

    kind: str
    base: str
    """The URL without the part, in its canonical spelling."""
    site: str
    """The host, and the port where it is not the scheme's default."""
    names: tuple[str, ...] = ()
    """The parameters that are left out; none where a part of the path is."""

    @property
    def wide_group(self) -> str:
        """The group in which the kind is counted for its whole site."""
        return f"{self.site}/… ({self.kind})"

    @property
    def groups(self) -> tuple[str, str]:
        """The groups in which the kind is counted, the narrower one first."""
        return f"{address_of(self.base).template} ({self.kind})", self.wide_group


@lru_cache(4096)
def variations_of(url: str) -> tuple[Variation, ...]:
    """The variations of a URL in its canonical spelling; those that leave out the least come first."""
    scheme, is_url, rest = url.partition("://")
    if not is_url or len(url) > LONGEST:
        return ()
    address, _, query = rest.partition("?")
    site, _, path = address.partition("/")
    start, tail = f"{scheme}://{site}/", f"?{query}" * bool(query)
    found = []
    pieces = [(piece.partition("=")[0], piece) for piece in query.split("&")] if query else []
    names = tuple(dict.fromkeys(name for name, _ in pieces))
    if len(names) <= MOST_NAMES:
        for name in names:
            left = "&".join(piece for of, piece in pieces if of != name)
            found.append(Variation(f"?{name}", start + path + f"?{left}" * bool(left), site, (name,)))
        if len(names) > 1:
            found.append(Variation("?" + "&".join(names), start + path, site, names))
    segments = path.split("/")
    for count in range(1, min(MOST_FIRST, len(segments) - 1) + 1):
        if not segments[count]:  # every folder would be a variation of the site's first page
            break
        kind = "/" + "/".join(map(segment_template, segments[:count])) + "/…"
        found.append(Variation(kind, start + "/".join(segments[count:]) + tail, site))
    ending = "/" * (len(segments) > 1 and not segments[-1])
    kept = segments[: len(segments) - bool(ending)]
    if len(kept) > 1 and "{" in segment_template(kept[-2]):  # beneath a page, and not beneath a folder
        found.append(Variation("…/" + segment_template(kept[-1]), start + "/".join(kept[:-1]) + ending + tail, site))
    return tuple(found)


def spelt(url: str) -> str:
    """The URL as verdicts spell it."""
    try:
        return canonical_url(url)
    except ValueError:
        return url
