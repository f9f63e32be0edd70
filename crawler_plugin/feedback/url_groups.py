"""The groups of requests that a URL belongs to, from its own template to its whole host. Pure.

A template alone is often too narrow: with facets each choice of filters is a template of its own, and print views and
session ids have one template for each section of the site. So a URL belongs to these groups, the narrowest first:

1. its template, as ``a.example/shop?color&size``;
2. where it has two parameters or more: its path with any such query, ``a.example/shop?…``. One parameter alone often
   names the page (``?id=7``), and is not grouped with filters;
3. where it has parameters: any path of the host with these parameters, ``a.example/…?sid={id}``;
4. each folder above it, ``a.example/print/…``, and at last the host, ``a.example/…``.
"""

from __future__ import annotations

from typing import NamedTuple

from crawler_plugin.wire.url_templates import address_of


class UrlGroups(NamedTuple):
    """Names of groups, the narrowest first; there are none where a URL has no host."""

    own: tuple[str, ...] = ()
    """The template, and the combinations of parameters: these groups have budgets."""
    wider: tuple[str, ...] = ()

    @property
    def all(self) -> tuple[str, ...]:
        return self.own + self.wider


def groups_of(url: str) -> UrlGroups:
    """The groups of a URL."""
    address = address_of(url)
    if not address.host:
        return UrlGroups()
    path = [address.host + "/".join(address.path[:length]) for length in range(1, len(address.path) + 1)]
    combinations = (path[-1] + "?…",) if len(address.query) > 1 else ()
    anywhere = (f"{address.host}/…?{'&'.join(address.query)}",) if address.query else ()
    folders = tuple(folder + "/…" for folder in reversed(path[:-1]))
    wider = tuple(group for group in anywhere + folders if group != address.template)  # a long path ends like a folder
    return UrlGroups((address.template, *combinations), wider)
