"""The site of a URL: the domain that somebody registered. A leaf.

Public suffixes are those of a list in this folder (publicsuffix.org, without its comments). Its private part counts, so
that each shop of a host of shops is a site of its own, and its version is a part of the scheme. It comes from no
installed package, or workers would have to be of one day to agree.
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
"""What stands for an id (crawler_plugin.wire.urls.url_of_id) has no host."""
_HOSTS: Final = 1 << 14


@cache
def version() -> str:
    """Of the list of public suffixes: when it was made, in UTC."""
    found = _VERSION.search(LIST.read_text("utf-8")[:2000])
    assert found is not None
    return found[1]


@lru_cache(8)  # for one page is asked of several sides
def host_of(url: str) -> str:
    """Without its port and a dot behind it; empty where there is none."""
    if url.startswith(OF_AN_ID):
        return ""
    try:
        parts = urlsplit(url)
        return "" if parts.scheme == "record" else (parts.hostname or "").rstrip(".")
    except ValueError:  # an address in brackets that is none
        return ""


def server_or_site(url: str) -> str:
    """The registered domain of a URL's host; where it has none, the host with its port: another port of an address is
    another server. Empty where there is no host."""
    host = host_of(url)
    return host and (_registered(host) or urlsplit(url).netloc.rpartition("@")[2])


def site_of(host: str) -> str:
    """The registered domain of a host, or the host where it has none, as an address or ``localhost``."""
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
