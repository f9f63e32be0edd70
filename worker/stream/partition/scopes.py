"""Which pages a page is compared with (setting near.scope, and a header of its own): the 64 bits of a claim for it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Final, TypeAlias

from crawler_plugin.wire.page_headers import SCOPE_HEADER, Headers
from worker.fingerprint.hashing import hash_bytes
from worker.sites import host_of, site_of

ALL_PAGES: Final = 0
"""The scope of all pages where there is only one scope, and of pages that have none: no host, or no such header."""

ScopeOf: TypeAlias = Callable[[str, Headers], int]
"""Gives the scope for a page's canonical URL and the headers of its record. Pure: all workers get the same scope."""


def everywhere(url: str, headers: Headers) -> int:
    """All pages are compared with each other."""
    return ALL_PAGES


def of_host(key: bytes | None = None) -> ScopeOf:
    """By the host, without its port. With a ``key``, here as below, no one who lacks it finds a name of equal bits."""
    return lambda url, headers: scope_named(host_of(url).encode(), key)


def of_site(key: bytes | None = None) -> ScopeOf:
    """By the registered domain (``worker.sites``)."""
    return lambda url, headers: scope_named(site_of(host_of(url)).encode(), key)


def of_header(name: str, key: bytes | None = None) -> ScopeOf:
    """By the value of a header of the page's record; of a repeated header the last one counts."""

    def value_of(url: str, headers: Headers) -> int:
        values = [value for header, value in headers if header == name and value is not None]
        return scope_named(values[-1], key) if values else ALL_PAGES

    return value_of


def within(scope_of: ScopeOf, key: bytes | None = None) -> ScopeOf:
    """``scope_of``, but pages with the header ``dedup-scope`` have a part of their own, with all pages that name the
    same."""
    named = of_header(SCOPE_HEADER, key)

    def part_of(url: str, headers: Headers) -> int:
        own, whole = named(url, headers), scope_of(url, headers)
        return whole if own == ALL_PAGES else scope_named(own.to_bytes(8, "little") + whole.to_bytes(8, "little"), key)

    return part_of


def scope_named(name: bytes, key: bytes | None) -> int:
    """The 64 bits of a scope by its host, site or header's value."""
    if not name:
        return ALL_PAGES
    if key is None:
        return hash_bytes(name)
    return int.from_bytes(hashlib.blake2b(name, digest_size=8, key=key).digest(), "little")
