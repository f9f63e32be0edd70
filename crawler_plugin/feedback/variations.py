"""Of which other URLs a URL may be a variation: those without a parameter, or without a segment of its path. Pure.

A session id, an order, a mark of where the reader comes from, a print view, a mirror: the same page stands under
another URL too, from which something is left out. Each way to leave something out is a *kind*, and has a name:

- ``?sid``: without a parameter; ``?dir&sort``: without all of them, where there are several;
- ``/print/…``, ``/s/{id}/…``: without the first segment, or the first two;
- ``…/print``: without the last one, where what is before it is a number, a date, an id or many words.

Whether a kind gives the same pages is counted by the site, and by the template of the URLs without it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final, NamedTuple

from crawler_plugin.wire.url_templates import address_of, segment_template
from crawler_plugin.wire.urls import canonical_url

LONGEST: Final = 1000
"""Characters of a URL whose variations are looked for."""
MOST_NAMES: Final = 6
"""Parameters of a URL whose variations are looked for."""
MOST_FIRST: Final = 2
"""Segments that are left out at the beginning of a path."""


class Variation(NamedTuple):
    """One URL that another one may be a variation of."""

    kind: str
    base: str
    """The URL without it, in its canonical spelling."""
    site: str
    """Host, and port where it is not the scheme's own."""
    names: tuple[str, ...] = ()
    """The parameters that are left out; none where it is a part of the path."""

    @property
    def wide_group(self) -> str:
        """Where it is counted for all of its site."""
        return f"{self.site}/… ({self.kind})"

    @property
    def groups(self) -> tuple[str, str]:
        """Where it is counted, the narrower one first."""
        return f"{address_of(self.base).template} ({self.kind})", self.wide_group


@lru_cache(4096)
def variations_of(url: str) -> tuple[Variation, ...]:
    """Of a URL in its canonical spelling; those that leave out the least are first."""
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
        if not segments[count]:  # the site's first page is what each folder would be a variation of
            break
        kind = "/" + "/".join(map(segment_template, segments[:count])) + "/…"
        found.append(Variation(kind, start + "/".join(segments[count:]) + tail, site))
    ending = "/" * (len(segments) > 1 and not segments[-1])
    kept = segments[: len(segments) - bool(ending)]
    if len(kept) > 1 and "{" in segment_template(kept[-2]):  # beneath a page, and not beneath a folder
        found.append(Variation("…/" + segment_template(kept[-1]), start + "/".join(kept[:-1]) + ending + tail, site))
    return tuple(found)


def spelt(url: str) -> str:
    """As verdicts spell it."""
    try:
        return canonical_url(url)
    except ValueError:
        return url
