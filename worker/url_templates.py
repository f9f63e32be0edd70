"""Which template of a site a URL comes from: path and query, with the name of a kind in place of what differs.

Reports group pages by it, and crawls that learn from verdicts do (``crawler_plugin.feedback``). A leaf.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, NamedTuple
from urllib.parse import parse_qsl, urlsplit

_DATE: Final = re.compile(r"(?:19|20)\d\d[-_.]?(?:0[1-9]|1[0-2])(?:[-_.]?(?:0[1-9]|[12]\d|3[01]))?")
_UUID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_HASH: Final = re.compile(r"(?=.*\d)(?=.*[a-f])[0-9a-f]{8,}", re.IGNORECASE)
_ID: Final = re.compile(r"(?=(?:.*\d){2})(?=.*[a-z])[a-z0-9]{8,}", re.IGNORECASE)
_NUMBER: Final = re.compile(r"\d+")
_KINDS: Final = ((_UUID, "{id}"), (_DATE, "{date}"), (_NUMBER, "{number}"), (_HASH, "{id}"), (_ID, "{id}"))
_ENDING: Final = re.compile(r"\.[a-z][a-z0-9]{1,4}$", re.IGNORECASE)
_SEVERAL_WORDS: Final = re.compile(r"[^-_+ ]+(?:(?:[-_+ ]|%20)+[^-_+ ]+){2,}")
_LONGEST_WORD: Final = 24
_MOST_SEGMENTS: Final = 8
_MOST_NAMES: Final = 8
_MOST_READ: Final = 4096
"""Characters of a query that are read: what a trap appends without end is no reason to read it without end."""


class Address(NamedTuple):
    """A URL by its kinds. ``host`` is empty where a URL has none."""

    host: str
    path: tuple[str, ...]
    """The path between its slashes; the first one is empty where it begins with a slash."""
    query: tuple[str, ...] = ()
    """Names of the parameters in their order, with the kind of the value where it has one."""

    @property
    def template(self) -> str:
        """All of it as text, which begins with the host."""
        return self.host + "/".join(self.path) + ("?" + "&".join(self.query) if self.query else "")


def address_of(url: str) -> Address:
    """Host and template of a URL; of what is no URL the text itself is taken for a path."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        return Address("", ("(no URL)",))
    segments = parts.path.split("/")
    path = tuple(map(segment_template, segments[: _MOST_SEGMENTS + 1])) + ("…",) * (len(segments) > _MOST_SEGMENTS + 1)
    if not parts.query:
        return Address(host, path)
    pairs = parse_qsl(parts.query[:_MOST_READ], keep_blank_values=True, max_num_fields=None)
    names = sorted({_parameter(name, value) for name, value in pairs})
    return Address(host, path, (*names[:_MOST_NAMES], *("…",) * (len(names) > _MOST_NAMES)))


@lru_cache(1 << 16)
def segment_template(segment: str) -> str:
    """The kind in place of what differs, an ending such as .html behind it; of ``;name=value`` the name alone."""
    segment, *parameters = segment.split(";")
    ending = _ENDING.search(segment)
    stem, end = (segment[: ending.start()], ending[0]) if ending else (segment, "")
    end += "".join(f";{parameter.partition('=')[0]}" for parameter in parameters)
    kind = _kind(stem)
    if kind is not None:
        return kind + end
    if _SEVERAL_WORDS.fullmatch(stem) or len(stem) > _LONGEST_WORD:
        return "{words}" + end
    return _NUMBER.sub("{number}", stem) + end


def _parameter(name: str, value: str) -> str:
    kind = _kind(value)
    return segment_template(name) if kind is None else f"{segment_template(name)}={kind}"


def _kind(text: str) -> str | None:
    """``{date}``, ``{id}`` or ``{number}``."""
    return next((name for pattern, name in _KINDS if pattern.fullmatch(text)), None)
