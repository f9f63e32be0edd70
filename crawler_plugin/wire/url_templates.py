"""The template of a site that a URL comes from: path and query, with the name of a kind in place of the parts that
differ.

Reports group pages by it, and so do crawls that learn from verdicts (``crawler_plugin.feedback``). A leaf.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, NamedTuple
from urllib.parse import parse_qsl, urlsplit

_DATE: Final = re.compile(r"(?:19|20)\d\d[-_.]?(?:0[1-9]|1[0-2])(?:[-_.]?(?:0[1-9]|[12]\d|3[01]))?")
_UUID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_LETTERS_AND_DIGITS: Final = re.compile(r"[a-z0-9]{8,}", re.IGNORECASE | re.ASCII)
_NUMBER: Final = re.compile(r"\d+")
_WHOLE: Final = frozenset(("{number}", "{date}", "{id}"))
_ENDING: Final = re.compile(r"\.[a-z][a-z0-9]{1,4}$", re.IGNORECASE)
_HEXADECIMAL: Final = "0123456789abcdefABCDEF"
_BETWEEN_WORDS: Final = "-_+ "
_AS_BLANKS: Final = str.maketrans(_BETWEEN_WORDS, " " * len(_BETWEEN_WORDS))
_SEVERAL: Final = 3
_LONGEST_WORD: Final = 24
_MOST_SEGMENTS: Final = 8
_MOST_NAMES: Final = 8
_LONGEST_SEGMENT: Final = 512
"""The longest segment or parameter value, in characters, that is examined: a longer one counts as words."""
_MOST_READ: Final = 4096
"""Characters of a path and of a query that are read: a trap may append to them without end."""
_LONGEST_HOST: Final = 253
"""The most characters of a name in the DNS."""
_LONGEST: Final = 4 * _MOST_READ
"""Characters of a URL that are read at all."""


class Address(NamedTuple):
    """A URL's parts with their kinds. ``host`` is empty where a URL has none."""

    host: str
    path: tuple[str, ...]
    """The path between its slashes; the first one is empty where it begins with a slash."""
    query: tuple[str, ...] = ()
    """Names of the parameters in their order, with the kind of the value where it has one."""

    @property
    def template(self) -> str:
        """The whole address as text, which begins with the host."""
        return self.host + "/".join(self.path) + ("?" + "&".join(self.query) if self.query else "")

    @property
    def shelf(self) -> str:
        """The template, with ``{name}`` for a last segment that is not a number, date or id: pages of one kind often
        differ there in a word or two, which ``template`` takes for a part of the template."""
        last = next((n for n in range(len(self.path) - 1, -1, -1) if self.path[n]), None)
        if last is None or self.path[last] in _WHOLE:
            return self.template
        return self._replace(path=(*self.path[:last], "{name}", *self.path[last + 1 :])).template


def address_of(url: str) -> Address:
    """Host and template of a URL; a text that is not a URL is taken for a path.

    >>> address = address_of("https://news.example/2026/05/flood-17.html?id=4&sid=af3")
    >>> address.host, "/".join(address.path), address.query
    ('news.example', '/{number}/{number}/flood-{number}.html', ('id={number}', 'sid'))
    """
    try:
        parts = urlsplit(url[:_LONGEST])
        # A URL that stands for an id (crawler_plugin.wire.urls.url_of_id) has no host.
        host = "" if parts.scheme == "record" else (parts.hostname or "")[:_LONGEST_HOST]
    except ValueError:
        return Address("", ("(no URL)",))
    segments = parts.path[:_MOST_READ].split("/")
    path = tuple(map(segment_template, segments[: _MOST_SEGMENTS + 1])) + ("…",) * (len(segments) > _MOST_SEGMENTS + 1)
    if not parts.query:
        return Address(host, path)
    pairs = parse_qsl(parts.query[:_MOST_READ], keep_blank_values=True, max_num_fields=None)
    names = sorted({_parameter(name, value) for name, value in pairs})
    return Address(host, path, (*names[:_MOST_NAMES], *("…",) * (len(names) > _MOST_NAMES)))


def segment_template(segment: str) -> str:
    """The segment with a kind in place of the part that differs, and an ending such as .html behind it; of
    ``;name=value`` only the name."""
    return _segment_template(segment) if len(segment) <= _LONGEST_SEGMENT else "{words}"


@lru_cache(1 << 14)
def _segment_template(segment: str) -> str:
    segment, *parameters = segment.split(";")
    ending = _ENDING.search(segment)
    stem, end = (segment[: ending.start()], ending[0]) if ending else (segment, "")
    end += "".join(f";{parameter.partition('=')[0]}" for parameter in parameters)
    kind = _kind(stem)
    if kind is not None:
        return kind + end
    if len(stem) > _LONGEST_WORD or _has_several_words(stem):
        return "{words}" + end
    return _NUMBER.sub("{number}", stem) + end


def _parameter(name: str, value: str) -> str:
    kind = _kind(value)
    return segment_template(name) if kind is None else f"{segment_template(name)}={kind}"


def _kind(text: str) -> str | None:
    """``{date}``, ``{id}`` or ``{number}``; None for other text."""
    if len(text) > _LONGEST_SEGMENT:
        return None
    if _DATE.fullmatch(text):
        return "{date}"
    if _NUMBER.fullmatch(text):
        return "{number}"
    return "{id}" if _UUID.fullmatch(text) or _is_id(text) else None


def _is_id(text: str) -> bool:
    """Whether the text is eight or more letters and digits, with two digits at least; in hexadecimal, with one at
    least."""
    if not _LETTERS_AND_DIGITS.fullmatch(text):
        return False
    digits = sum(map(str.isdigit, text))
    return digits < len(text) and (digits > 1 or (digits == 1 and not text.strip(_HEXADECIMAL)))


def _has_several_words(stem: str) -> bool:
    """Whether the stem is several words with signs or blanks between them, and none before or behind them."""
    words = stem.replace("%20", " ").translate(_AS_BLANKS).split(" ")
    return sum(map(bool, words)) >= _SEVERAL and stem.strip(_BETWEEN_WORDS) == stem
