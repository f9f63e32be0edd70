"""The one spelling of a URL that identity, keys and partitions rely on. A leaf, shared with crawler_plugin."""

from __future__ import annotations

import re
from typing import Final

from w3lib.url import canonicalize_url

CANONICALIZATION: Final = "w3lib-canonicalize-1"
"""Name of the rule below; a part of the scheme id, so change it when the rule changes."""
_LABEL: Final = "[a-z0-9]+(?:-[a-z0-9]+)*"
_SEGMENT: Final = "[A-Za-z0-9_-][A-Za-z0-9._-]*"
ALREADY: Final = re.compile(
    rf"https?://{_LABEL}(?:\.{_LABEL})*/(?:{_SEGMENT}/)*(?:{_SEGMENT})?(?:\?[A-Za-z0-9_-]+=[A-Za-z0-9._-]*)?"
)
"""URLs that the rule leaves as they are, most of a crawl: seeing that takes a tenth of the time of applying it."""


def canonical_url(url: str) -> str:
    """Lower-case scheme and host, sorted query, percent-encoding made even, no fragment (w3lib's rule).

    Raises:
        ValueError: not an absolute URL.
    """
    if ALREADY.fullmatch(url):
        return url
    canonical: str = canonicalize_url(url.strip())
    scheme, separator, rest = canonical.partition("://")
    if not (scheme and separator and rest):
        raise ValueError(f"not an absolute URL: {url[:200]!r}; give it with its scheme, as https://host/path")
    return canonical
