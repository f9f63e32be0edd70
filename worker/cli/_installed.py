"""Whether an extra of this package is installed."""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, distribution, requires
from typing import Final

from crawler_plugin.wire.errors import UsageError
from worker import DISTRIBUTION

_REQUIREMENT: Final = re.compile(r"(?P<name>[\w.-]++)[^;]*;\s*extra\s*==\s*['\"](?P<extra>[\w-]+)['\"]")
"""A line of the package's metadata that belongs to an extra and to no other condition."""


def missing_of(extra: str) -> list[str]:
    """Packages of this extra that are not installed; none in a checkout that pip has not installed."""
    try:
        lines = requires(DISTRIBUTION) or []
    except PackageNotFoundError:
        return []
    found = [match for line in lines if (match := _REQUIREMENT.fullmatch(line)) and match["extra"] == extra]
    return [match["name"] for match in found if not _is_installed(match["name"])]


def require(extra: str, why: str) -> None:
    """Check that all packages of this extra are installed; ``why`` begins the sentence that names missing ones.

    Raises:
        UsageError: some are not.
    """
    if missing := missing_of(extra):
        raise UsageError(
            f"{why}, missing here: {', '.join(missing)}. Install it: pip install '{DISTRIBUTION}[{extra}]'"
        )


def _is_installed(package: str) -> bool:
    try:
        distribution(package)
    except PackageNotFoundError:
        return False
    return True
