"""Workers that keep near-duplicate pages out of a crawl while it runs."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import Final

DISTRIBUTION: Final = "crawl-dedup"
"""The name of this package for pip."""


def _version() -> str:
    try:
        return version(DISTRIBUTION)
    except PackageNotFoundError:
        return "0+not-installed"


__version__: Final = _version()
"""The version in pyproject.toml; unknown in a checkout that pip has not installed."""
