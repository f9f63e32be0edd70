"""The site of a URL: the registered domain. A leaf.

Public suffixes are those of a list in this folder (publicsuffix.org, without its comments). Its private part counts, so
that each shop of a host of shops is a site of its own, and its version is a part of the scheme. It comes from no
installed package: otherwise workers would agree only with packages of the same day.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from ipaddress import ip_address
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from publicsuffixlist import PublicSuffixList

LIST: Final = Path(__file__).with_name("public_suffix_list.dat")
_VERSION: Final = re.compile(r"^// VERSION: (\S+)$", re.MULTILINE)
OF_AN_ID: Final = "record://"
"""A URL that stands for an id (crawler_plugin.wire.urls.url_of_id) has no host."""
_HOSTS: Final = 1 << 14


@cache
def version() -> str:
    """The version of the list of public suffixes: when it was made, in UTC."""
    found = _VERSION.search(LIST.read_text("utf-8")[:2000])
    assert found is not None
    return found[1]


@lru_cache(8)  # for one page several callers ask
def host_of(url: str) -> str:
    """The host without its port and trailing dot; empty if there is none."""
    if url.startswith(OF_AN_ID):
        return ""
    try:
        parts = urlsplit(url)
        return "" if parts.scheme == "record" else (parts.hostname or "").rstrip(".")
    except ValueError:  # an address in brackets that is invalid
        return ""


def server_or_site(url: str) -> str:
    """The registered domain of a URL's host; if it has none, the host with its port: another port of an address is
    another server. Empty if there is no host."""
    host = host_of(url)
    return host and (_registered(host) or urlsplit(url).netloc.rpartition("@")[2])


def site_of(host: str) -> str:
    """The registered domain of a host, or the host if it has none, such as an address or ``localhost``.

    >>> site_of("news.bbc.co.uk"), site_of("127.0.0.1")
    ('bbc.co.uk', '127.0.0.1')
    """
    return _registered(host) or host


@lru_cache(_HOSTS)
def _registered(host: str) -> str | None:
    return None if _is_address(host) else _suffixes().privatesuffix(host)


@cache
def _suffixes() -> PublicSuffixList:
    with LIST.open("rb") as source:
        return PublicSuffixList(source)


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
