"""The scripts of a page that hold data: JSON, and programs that assign or push it."""

from __future__ import annotations

import json
import re
from typing import Final, NamedTuple

from worker.page.elements.markup import Parsed
from worker.page.elements.vocabulary import EMPTY, hash_of
from worker.page.embedded.literals import unescaped

_TYPE: Final = hash_of("type")
_LINKED_DATA: Final = re.compile(r"\s*+application/ld\+json\b", re.IGNORECASE)
_JSON: Final = re.compile(r"\s*+(?:application|text)/(?:[a-z0-9.-]++\+)?json\b", re.IGNORECASE)
_PROGRAM: Final = re.compile(r"\s*+(?:$|module\b|(?:text|application)/(?:x-)?(?:java|ecma)script\b)", re.IGNORECASE)
_STREAMED: Final = re.compile(r'\.push\(\[[0-9],\s?"([^"\\]*+(?:\\.[^"\\]*+)*+)"\]\)', re.DOTALL)
_TEXT_ROW: Final = re.compile(rb"([0-9a-f]{1,8}):T([0-9a-f]{1,7}),")
_NAMED_ROW: Final = re.compile(rb'"\$([0-9a-f]{1,8})"')


class Scripts(NamedTuple):
    """``linked_data``: JSON-LD; ``states``: all others that may hold data."""

    linked_data: list[str]
    states: list[str]


def scripts_of(page: Parsed) -> Scripts:
    """What stands in the page's scripts, in its order; what is streamed in pieces is put together, behind the rest."""
    found = Scripts([], [])
    streamed = []
    kind, kind_of = "", 0
    for row, (of, attribute, begin, end) in enumerate(page.values.tolist()):
        if attribute == _TYPE:
            kind, kind_of = page.value(row), of
        if attribute != EMPTY or begin == end:
            continue
        own = kind if kind_of == of else ""
        text = bytes(page.body[begin:end]).decode("utf-8", "replace")
        if _LINKED_DATA.match(own):
            found.linked_data.append(text)
        elif _JSON.match(own):
            found.states.append(text)
        elif _PROGRAM.match(own):
            piece = _STREAMED.search(text)
            if piece:
                streamed.append(unescaped(piece[1]))
            else:
                found.states.append(text)
    if streamed:
        found.states.append(put_together("".join(streamed)))
    return found


def put_together(rows: str) -> str:
    """React's rows as one text of literals: long strings, which stand in rows of their own, where they are named."""
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
