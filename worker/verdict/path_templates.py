"""Which template of a site a URL comes from: its path, with the name of a kind in place of each part that differs."""

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
_ENDING: Final = re.compile(r"\.[a-z][a-z0-9]{1,4}$", re.IGNORECASE)
_SEVERAL_WORDS: Final = re.compile(r"[^-_+ ]+(?:(?:[-_+ ]|%20)+[^-_+ ]+){2,}")
_LONGEST_WORD: Final = 24
_MOST_SEGMENTS: Final = 8
_MOST_NAMES: Final = 8


class Address(NamedTuple):
    """``host`` is empty where a URL has none; ``template`` begins with the host."""

    host: str
    template: str


def address_of(url: str) -> Address:
    """Host and template of a URL; of what is no URL the text itself is taken for a path."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        return Address("", "(no URL)")
    segments = parts.path.split("/")
    shown = "/".join(map(segment_template, segments[: _MOST_SEGMENTS + 1])) + "/…" * (
        len(segments) > _MOST_SEGMENTS + 1
    )
    names = sorted({name for name, _ in parse_qsl(parts.query, keep_blank_values=True, max_num_fields=None)})
    query = "?" + "&".join(names[:_MOST_NAMES]) + "&…" * (len(names) > _MOST_NAMES) if names else ""
    return Address(host, host + shown + query)


@lru_cache(1 << 16)
def segment_template(segment: str) -> str:
    """``{date}``, ``{id}``, ``{number}`` or ``{words}`` in place of what differs, an ending such as .html behind it."""
    ending = _ENDING.search(segment)
    stem, end = (segment[: ending.start()], ending[0]) if ending else (segment, "")
    for pattern, name in ((_UUID, "{id}"), (_DATE, "{date}"), (_NUMBER, "{number}"), (_HASH, "{id}"), (_ID, "{id}")):
        if pattern.fullmatch(stem):
            return name + end
    if _SEVERAL_WORDS.fullmatch(stem) or len(stem) > _LONGEST_WORD:
        return "{words}" + end
    return _NUMBER.sub("{number}", stem) + end
