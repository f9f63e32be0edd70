"""Decides by status and content type which responses are pages."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final

from crawler_plugin.wire.errors import UsageError
from crawler_plugin.wire.media_types import essence, kind_of_type

_USUAL: Final = {"html": "text/html", "json": "application/json", "xml": "application/xml"}
"""Servers also send other names for each of these, such as ``application/html``."""
_TYPE: Final = re.compile(r"[a-z0-9!#$&^_.*-]+/[a-z0-9!#$&^_.+*-]+")
_STATUSES: Final = re.compile(r"([1-9][0-9]{2})(?:-([1-9][0-9]{2}))?")


@dataclass(frozen=True)
class Wanted:
    """``types`` may hold ``*`` for any letters, as in ``text/*``; ``statuses`` are ranges that include both ends."""

    types: tuple[str, ...]
    statuses: tuple[tuple[int, int], ...]

    def has_status(self, status: int) -> bool:
        """Whether a response with this status is wanted."""
        return any(first <= status <= last for first, last in self.statuses)

    def has_type(self, content_type: str) -> bool:
        """Whether a response with this header ``Content-Type`` is wanted, by its name or the usual one of its kind."""
        names = {essence(content_type), _USUAL.get(kind_of_type(content_type), "")}
        return any(fnmatchcase(name, pattern) for name in names for pattern in self.types)


def media_types(told: object) -> tuple[str, ...]:
    """Patterns of media types, from a list or from text with commas.

    Raises:
        UsageError: one of the patterns is wrong, or there is no pattern.
    """
    types = tuple(part.lower() for part in _parts(told))
    for part in types:
        if not _TYPE.fullmatch(part):
            raise UsageError(f"{part!r} is no media type")
    return types


def status_ranges(told: object) -> tuple[tuple[int, int], ...]:
    """Ranges of statuses, from a list or from text with commas; ``404`` is the range from 404 to 404.

    Raises:
        UsageError: one of the ranges is wrong, or there is no range.
    """
    ranges = []
    for part in _parts(told):
        found = _STATUSES.fullmatch(part)
        if found is None or int(found[1]) > int(found[2] or found[1]):
            raise UsageError(f"{part!r} is neither a status nor a range")
        ranges.append((int(found[1]), int(found[2] or found[1])))
    return tuple(ranges)


def _parts(told: object) -> list[str]:
    """A number by itself is a list of one."""
    parts = told.split(",") if isinstance(told, str) else told if isinstance(told, (list, tuple, set)) else [told]
    found = [str(part).strip() for part in parts]
    if not any(found):
        raise UsageError("there is none")
    return found
