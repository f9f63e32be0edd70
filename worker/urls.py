"""The one spelling of a URL that identity, keys and partitions rely on. A leaf, shared with crawler_plugin."""

from __future__ import annotations

from typing import Final

from w3lib.url import canonicalize_url

CANONICALIZATION: Final = "w3lib-canonicalize-1"
"""Name of the rule below; a part of the scheme id, so change it when the rule changes."""


def canonical_url(url: str) -> str:
    """Lower-case scheme and host, sorted query, percent-encoding made even, no fragment (w3lib's rule).

    Raises:
        ValueError: not an absolute URL.
    """
    canonical: str = canonicalize_url(url.strip())
    scheme, separator, rest = canonical.partition("://")
    if not (scheme and separator and rest):
        raise ValueError(f"not an absolute URL: {url[:200]!r}; give it with its scheme, as https://host/path")
    return canonical
