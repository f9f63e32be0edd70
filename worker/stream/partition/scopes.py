"""What a page is compared within (setting near.scope): the 64 bits of a claim that stand for it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from ipaddress import ip_address
from typing import Final, TypeAlias
from urllib.parse import urlsplit

from worker.fingerprint.hashing import hash_bytes
from worker.messages import Headers

ALL_PAGES: Final = 0
"""The scope of all pages where there is one only, and of those that have none: no host, or no such header."""

ScopeOf: TypeAlias = Callable[[str, Headers], int]
"""From a page's canonical URL and the headers of its record to its scope. Pure: all workers come to the same."""

RegistrableDomain: TypeAlias = Callable[[str], str | None]
"""From a host's name to the domain that somebody registered; None for a public suffix and for a single label."""


def everywhere(url: str, headers: Headers) -> int:
    """All pages are compared with each other."""
    return ALL_PAGES


def of_host(key: bytes | None = None) -> ScopeOf:
    """By the host, without its port. With a ``key``, here as below, nobody who lacks it finds a name of equal bits."""
    return lambda url, headers: _scope(_host(url).encode(), key)


def of_site(registrable: RegistrableDomain, key: bytes | None = None) -> ScopeOf:
    """By the registrable domain; by the host where it has none, as an address or ``localhost``."""

    def site(url: str, headers: Headers) -> int:
        host = _host(url)
        return _scope((host if _is_address(host) else registrable(host) or host).encode(), key)

    return site


def of_header(name: str, key: bytes | None = None) -> ScopeOf:
    """By the value of a header of the page's record; of a repeated header the last one counts."""

    def value_of(url: str, headers: Headers) -> int:
        values = [value for header, value in headers if header == name and value is not None]
        return _scope(values[-1], key) if values else ALL_PAGES

    return value_of


def _scope(name: bytes, key: bytes | None) -> int:
    if not name:
        return ALL_PAGES
    if key is None:
        return hash_bytes(name)
    return int.from_bytes(hashlib.blake2b(name, digest_size=8, key=key).digest(), "little")


def _host(url: str) -> str:
    try:
        return (urlsplit(url).hostname or "").rstrip(".")
    except ValueError:  # an address in brackets that is none
        return ""


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
