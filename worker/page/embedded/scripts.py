"""The scripts of a page that hold data: JSON, and programs that assign or push it.

JSON and the object literals of scripts → strings, each with its key and the object that holds it.

It reads leniently and skips all that is no literal, so that an assignment, a call around the literal, a comma too many
or a cut end do no harm, and nothing raises. Time and memory grow with the length, however deep the JSON is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple

from worker.page.elements.parsed import Parsed
from worker.page.elements.vocabulary import EMPTY, hash_of
from worker.page.references import unescaped_value

MOST_ROWS: Final = 1 << 17
"""Most rows that are read. The largest state of a shop among the labelled pages has 7,000."""
MOST_LEVELS: Final = 3
"""JSON in a string of JSON is read, and once more: forums and frameworks encode it twice."""

MOST_DEPTH: Final = 1000
"""Nested objects and arrays. Deeper ones are read as if they stood at this depth."""

_TOKEN: Final = re.compile(
    r'"([^"\\]*+(?:\\.[^"\\]*+)*+)"?+(\s*+:)?+'
    r"|'([^'\\\n]*+(?:\\.[^'\\\n]*+)*+)'?+(\s*+:)?+"
    r"|(?<![\w$])([A-Za-z_$][\w$]*+)\s*+:"
    r"|//[^\n]*+|[{}\[\]]",
    re.DOTALL,
)
_STRINGS: Final = (1, 3)
_KEYS: Final = {2: 1, 4: 3, 5: 5}
"""The groups of ``_TOKEN``: the strings that are values, and by the last group that matched, those that are keys."""
_ESCAPE: Final = re.compile(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(.))", re.DOTALL)
_CONTROLS: Final = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f", "v": "\v", "0": "\0", "\n": ""}
_REFERENCE: Final = re.compile(r"_[0-9]{1,7}")
_QUOTED_BEGINNINGS: Final = ("%7B", "%5B", "%7b", "%5b")
"""Of JSON that a script hands to ``decodeURIComponent``."""
_QUOTED: Final = re.compile(r"(?:%[0-9a-fA-F]{2})++")


class Literals:
    """Rows in the order of the text; row 0 is the text itself, and the parent of each is an earlier one.

    ``keys`` are the names that values have in their objects; an item of an array has that of the array. ``texts`` are
    the strings, None for objects and arrays, and ``arrays`` says which of these a row is. ``named`` are (object, key)
    of all values, including numbers, which have no row.
    """

    def __init__(self, wanted: Callable[[str, str], bool]) -> None:
        self.wanted: Final = wanted
        self.parents: Final = [-1]
        self.keys: Final = [""]
        self.texts: Final[list[str | None]] = [None]
        self.arrays: Final = [False]
        self.named: Final[set[tuple[int, str]]] = set()

    def add(self, parent: int, key: str, text: str | None, array: bool) -> int:
        """Add a row and return it."""
        self.parents.append(parent)
        self.keys.append(key or (self.keys[parent] if self.arrays[parent] else ""))
        self.texts.append(text)
        self.arrays.append(array)
        return len(self.parents) - 1

    def name(self, row: int, keys: Iterable[str]) -> None:
        """Note these keys for the row, if there is one."""
        if row >= 0:
            self.named.update((row, key) for key in keys)


def literals(sources: Iterable[str], wanted: Callable[[str, str], bool] = lambda key, text: True) -> Literals:
    """The strings of scripts, or of JSON, that are ``wanted`` by their key and text. Objects and arrays that hold no
    such string, at any depth, have no row."""
    found = Literals(wanted)
    for source in sources:
        _read(found, source, 0, MOST_LEVELS)
    return found


class _Open:
    """An object or array that is being read; it gets a row once it holds a wanted string."""

    def __init__(self, key: str, array: bool) -> None:
        self.key: Final = key
        self.array: Final = array
        self.row = -1
        self.names: Final[list[str]] = []


def _read(found: Literals, source: str, parent: int, levels: int, key: str = "") -> None:
    if len(found.parents) >= MOST_ROWS:
        return
    outer = _Open("", True)
    outer.row = parent
    path = [outer]
    last = outer
    deeper = 0
    for token in _TOKEN.finditer(resolved(source) or source):
        kind = token.lastindex
        if kind in _STRINGS:
            text = token[kind]
            if "\\" in text:
                text = unescaped(text)
            if levels > 1 and text[:3] in _QUOTED_BEGINNINGS and "%22" in text:
                text = _unquoted(text)
            own = key or (last.key if last.array else "")
            nested = levels > 1 and text[:1] in ("{", "[") and '"' in text
            if nested or found.wanted(own, text) or found.wanted(last.key, text):
                _give_rows(found, path)
                if nested:
                    _read(found, text, last.row, levels - 1, own)
                else:
                    found.add(last.row, own, text, False)
                if len(found.parents) >= MOST_ROWS:
                    return
        elif kind:
            key = token[_KEYS[kind]]
            last.names.append(key)
            continue
        else:
            sign = token[0]
            if sign in "{[" and len(path) > MOST_DEPTH:
                deeper += 1
            elif sign in "}]" and deeper:
                deeper -= 1
            elif sign in "{[":
                last = _Open(key or (last.key if last.array else ""), sign == "[")
                path.append(last)
            elif sign in "}]" and len(path) > 1:
                closed = path.pop()
                found.name(closed.row, closed.names)
                last = path[-1]
        key = ""
    for each in path:
        found.name(each.row, each.names)


def _give_rows(found: Literals, path: list[_Open]) -> None:
    """Give rows to the open objects and arrays that have none: they stand at the end."""
    first = len(path)
    while path[first - 1].row < 0:
        first -= 1
    for place in range(first, len(path)):
        path[place].row = found.add(path[place - 1].row, path[place].key, None, path[place].array)


def unescaped(text: str) -> str:
    """The characters of a string between its quotes. Half of a surrogate pair is U+FFFD."""
    if "\\" not in text:
        return text
    return _ESCAPE.sub(_character, text).encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _character(escape: re.Match[str]) -> str:
    code = escape[1] or escape[2]
    return chr(int(code, 16)) if code else _CONTROLS.get(escape[3], escape[3])


def _unquoted(text: str) -> str:
    """Percent-encoded text as it was; the function of the standard library takes some 70 times its size."""
    return _QUOTED.sub(lambda run: bytes.fromhex(run[0].replace("%", "")).decode("utf-8", "replace"), text)


def resolved(source: str) -> str | None:
    """An array of values that name each other by their places, as JSON without them; None for anything else.

    devalue and turbo-stream write a state in this form: the first item is the whole, ``{"title": 3}`` has the fourth
    item as its title, and ``{"_4": 3}`` the fifth as its key. Each item is put where it is named first.
    """
    if source.lstrip()[:1] != "[":
        return None
    try:
        items = json.loads(source)
    except (ValueError, RecursionError):
        return None
    if not isinstance(items, list) or not items or not _is_of_places(items[0]):
        return None
    whole = _put_together(items)
    try:
        return json.dumps(whole, ensure_ascii=False)
    except RecursionError:
        return None


def _is_of_places(item: Any) -> bool:
    values = item.values() if isinstance(item, dict) else item if isinstance(item, list) else ()
    places = [value for value in values if type(value) is int]
    return bool(places) and all(type(value) in (int, str) for value in values)


def _put_together(items: list[Any]) -> Any:
    made: list[Any] = [{} if isinstance(item, dict) else [] if isinstance(item, list) else item for item in items]
    waiting, named = [0], {0}
    for row in waiting:  # it grows
        item = items[row]
        for key, place in item.items() if isinstance(item, dict) else enumerate(item):
            if type(place) is not int or not 0 < place < len(items) or place in named:
                continue
            named.add(place)
            if isinstance(key, str):
                name = items[int(key[1:])] if _REFERENCE.fullmatch(key) and int(key[1:]) < len(items) else key
                made[row][name if isinstance(name, str) else key] = made[place]
            else:
                made[row].append(made[place])
            if isinstance(items[place], dict | list):
                waiting.append(place)
    return made[0]


_TYPE: Final = hash_of("type")
_STATES: Final = tuple(map(hash_of, ("data-page", "data-preloaded", "props")))
"""Attributes in which Inertia, Discourse and Astro keep a state."""
_MARKDOWN: Final = re.compile(r"\s*+text/(?:x-)?markdown\b", re.IGNORECASE)
_LINKED_DATA: Final = re.compile(r"\s*+application/ld\+json\b", re.IGNORECASE)
_JSON: Final = re.compile(r"\s*+(?:application|text)/(?:[a-z0-9.-]++\+)?json\b", re.IGNORECASE)
_PROGRAM: Final = re.compile(r"\s*+(?:$|module\b|(?:text|application)/(?:x-)?(?:java|ecma)script\b)", re.IGNORECASE)
_DATA: Final = re.compile(r"\s*+(?:\{(?!\{)|\[)")
"""The beginning of JSON in a script of another type; a template begins with two braces."""
_ATTRIBUTE: Final = re.compile(rb"=\s*+(?:\"(\s*+[{\[][^\"]{300,}+)\"|'(\s*+[{\[][^']{300,}+)')")
"""JSON in an attribute of any name, as components of Vue, React, Alpine and Livewire have."""
_STREAMED: Final = re.compile(r'\.push\(\[[0-9],\s?"([^"\\]*+(?:\\.[^"\\]*+)*+)"\]\)', re.DOTALL)
_TEXT_ROW: Final = re.compile(rb"([0-9a-f]{1,8}):T([0-9a-f]{1,7}),")
_NAMED_ROW: Final = re.compile(rb'"\$([0-9a-f]{1,8})"')


class Scripts(NamedTuple):
    """``linked_data``: JSON-LD; ``states``: all others that may hold data."""

    linked_data: list[str]
    states: list[str]


def scripts_of(page: Parsed) -> Scripts:
    """The data in the page's scripts, and in attributes like ``data-page``, in its order; after these, data in other
    attributes, and data that is streamed in pieces, put together."""
    found = Scripts([], [])
    streamed = []
    kind, kind_of = "", 0
    for row, (of, attribute, begin, end) in enumerate(page.values.tolist()):
        if attribute == _TYPE:
            kind, kind_of = page.value(row), of
        elif attribute in _STATES and (state := page.value(row)).startswith("{"):
            found.states.append(state)
        if attribute != EMPTY or begin == end:
            continue
        own = kind if kind_of == of else ""
        text = bytes(page.body[begin:end]).decode("utf-8", "replace")
        if _LINKED_DATA.match(own):
            found.linked_data.append(text)
        elif _MARKDOWN.match(own):
            found.states.append(json.dumps([text]))
        elif _JSON.match(own) or (_DATA.match(text) and not _PROGRAM.match(own)):
            found.states.append(_without_references(text) if text.startswith("{&q;") else text)
        elif _PROGRAM.match(own):
            piece = _STREAMED.search(text)
            if piece:
                streamed.append(unescaped(piece[1]))
            else:
                found.states.append(text)
    attributes = (b"".join(value).decode("utf-8", "replace") for value in _ATTRIBUTE.findall(bytes(page.body)))
    found = Scripts(found.linked_data, list(dict.fromkeys([*found.states, *map(unescaped_value, attributes)])))
    if streamed:
        found.states.append(put_together("".join(streamed)))
    return found


def _without_references(text: str) -> str:
    """The JSON that Angular before version 16 escaped in a way of its own."""
    for name, character in zip("qslga", "\"'<>&", strict=True):
        text = text.replace(f"&{name};", character)
    return text


def put_together(rows: str) -> str:
    """React's rows as one text of literals: long strings, which stand in rows of their own, go where they are named."""
    data = rows.encode("utf-8", "replace")
    texts: dict[bytes, bytes] = {}
    others = []
    place = 0
    while place < len(data):
        text_row = _TEXT_ROW.match(data, place)
        if text_row:
            begin, place = text_row.end(), min(text_row.end() + int(text_row[2], 16), len(data))
            texts[text_row[1]] = data[begin:place]
        else:
            end = data.find(b"\n", place) + 1 or len(data)
            others.append(data[place:end])
            place = end
    told = _NAMED_ROW.sub(lambda name: _quoted(texts.pop(name[1])) if name[1] in texts else name[0], b"".join(others))
    return (told + b"\n[" + b",".join(map(_quoted, texts.values())) + b"]").decode("utf-8", "replace")


def _quoted(text: bytes) -> bytes:
    return json.dumps(text.decode("utf-8", "replace")).encode()
