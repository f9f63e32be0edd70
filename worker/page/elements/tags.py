"""Where a token of markup ends, and what a tag opens and closes.

Comments, declarations, scripts and other raw text hold no markup and end by rules of their own (HTML Living Standard,
section 13.2.5). Sections 13.1.2.4 and 13.2.6 say which element a tag opens in, and which ones it closes.

Elements are rows in the order of their start tags, each with the row of its parent; the open ones are ``current`` and
the elements around it. As far as text and its place are concerned the tree is that of browsers, with these exceptions:
content of a table outside its cells stays there, formatting that a block's end has cut off is not resumed after it, and
the end of a hidden element is believed wherever it stands.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from worker.page.elements.search import place_of
from worker.page.elements.vocabulary import (
    BLOCK,
    BUTTON,
    CELL,
    HEADING,
    ITEM,
    LINK,
    LIST,
    NOT_HTML,
    PARAGRAPH,
    ROW,
    SCOPE,
    SIBLING,
    TABLE,
    TERM,
    TITLE,
    UNSEEN,
    WHOLE,
    hash_of,
    lean,
)

LESS, GREATER, SLASH, BANG, QUESTION, EQUALS, QUOTE, APOSTROPHE = b"<>/!?=\"'"
_DASH, _OPEN, _CLOSE = b"-[]"
CASE: Final = 0x20

CDATA: Final = 9
"""Bytes of ``<![CDATA[``."""
_CDATA_KEYWORD: Final = b"CDATA"
_SCRIPT: Final = b"script"
_AS_DATA, _ESCAPED, _TWICE_ESCAPED = range(3)


@lean("boolean(int64)")
def is_space(character: int) -> bool:
    """Blank, tab, line feed, vertical tab, form feed, carriage return."""
    return character == 32 or 9 <= character <= 13


@lean("boolean(int64)")
def is_blank(character: int) -> bool:
    """The same without the vertical tab, which is part of a name."""
    return character == 32 or (9 <= character <= 13 and character != 11)


@lean("boolean(int64)")
def is_letter(character: int) -> bool:
    return 97 <= (character | CASE) <= 122


@lean("boolean(int64)")
def ends_name(character: int) -> bool:
    return is_blank(character) or character in (GREATER, SLASH)


@lean("int64(int64)")
def lower(character: int) -> int:
    return character + CASE if 65 <= character <= 90 else character


NOT_IN_NAME: Final = 256
IN_NAME: Final = np.arange(256, dtype=np.int64)
"""Each byte of a name in lower case; for a byte that ends a name, ``NOT_IN_NAME``."""
IN_NAME[65:91] += CASE
IN_NAME[[*b"\t\n\f\r />"]] = NOT_IN_NAME


@lean("int64(uint8[::1], int64, int64)")
def find(body: Any, character: int, place: int) -> int:
    """The place of the character from ``place`` on, or the end of the page."""
    return place_of(body, character, place, len(body)) if place < len(body) else place


@lean("int64(uint8[::1], int64, int64)")
def find_twice(body: Any, character: int, place: int) -> int:
    """The place of ``--`` or ``]]`` right before a ``>``, from ``place`` on, or the end of the page."""
    while place + 2 < len(body):
        if body[place + 2] == GREATER and body[place] == character and body[place + 1] == character:
            return place
        place += 1
    return len(body)


@lean("boolean(uint8[::1], int64)")
def begins_comment(body: Any, place: int) -> bool:
    """Whether ``<!--`` stands there."""
    if place + 3 >= len(body) or body[place + 1] != BANG:
        return False
    return bool(body[place + 2] == _DASH and body[place + 3] == _DASH)


@lean("boolean(uint8[::1], int64)")
def begins_cdata(body: Any, place: int) -> bool:
    """Whether ``<![CDATA[`` stands there."""
    if place + CDATA > len(body) or body[place + 1] != BANG or body[place + 2] != _OPEN or body[place + 8] != _OPEN:
        return False
    different = 0
    for number in range(len(_CDATA_KEYWORD)):
        different |= body[place + 3 + number] ^ _CDATA_KEYWORD[number]
    return different == 0


@lean("int64(uint8[::1], int64)")
def end_of_cdata(body: Any, place: int) -> int:
    """The place of the ``]]>`` of a section whose text begins at ``place``, or the end of the page."""
    return find_twice(body, _CLOSE, place)


@lean("int64(uint8[::1], int64)")
def after_declaration(body: Any, place: int) -> int:
    """The end of the comment, declaration or instruction that begins at ``place``."""
    length = len(body)
    if not begins_comment(body, place):
        return min(find(body, GREATER, place + 2) + 1, length)
    end = place + 4
    if end < length and body[end] == GREATER:
        return end + 1
    if end + 1 < length and body[end] == _DASH and body[end + 1] == GREATER:
        return end + 2
    while end + 2 < length:
        if body[end] == _DASH and body[end + 1] == _DASH:
            if body[end + 2] == GREATER:
                return end + 3
            if body[end + 2] == BANG and end + 3 < length and body[end + 3] == GREATER:
                return end + 4
        end += 1
    return length


@lean("int64(uint8[::1], int64)")
def after_xml_declaration(body: Any, place: int) -> int:
    """The same by the rules of XML (1.0, sections 2.5, 2.6, 2.8)."""
    length = len(body)
    if begins_comment(body, place):
        return min(find_twice(body, _DASH, place + 4) + 3, length)
    end = place + 2
    if body[place + 1] == QUESTION:
        while end < length and not (body[end] == GREATER and body[end - 1] == QUESTION):
            end += 1
        return min(end + 1, length)
    inside = 0
    while end < length and (inside or body[end] != GREATER):
        inside += 1 if body[end] == _OPEN else -1 if body[end] == _CLOSE else 0
        end += 1
    return min(end + 1, length)


@lean("boolean(uint8[::1], int64)")
def _is_script(body: Any, place: int) -> bool:
    """Whether the whole name stands there, in any case."""
    if place + len(_SCRIPT) >= len(body) or not ends_name(int(body[place + len(_SCRIPT)])):
        return False
    different = 0
    for number in range(len(_SCRIPT)):
        different |= (body[place + number] | CASE) ^ _SCRIPT[number]
    return different == 0


@lean("int64(uint8[::1], int64)")
def end_of_script(body: Any, place: int) -> int:
    """The place of a script's end tag, or the end of the page.

    Within ``<!--`` and ``-->`` a script may hold scripts, which end by tags of their own.
    """
    state = _AS_DATA
    dashes = 0
    while place < len(body):
        if state == _AS_DATA:
            place = find(body, LESS, place)
            if place == len(body):
                break
        character = int(body[place])
        if character == LESS:
            dashes = 0
            ending = place + 1 < len(body) and body[place + 1] == SLASH
            if _is_script(body, place + 2 if ending else place + 1):
                if state == _TWICE_ESCAPED:
                    state = _ESCAPED if ending else state
                elif ending:
                    return place
                elif state == _ESCAPED:
                    state = _TWICE_ESCAPED
            elif state == _AS_DATA and begins_comment(body, place):
                state, dashes = _ESCAPED, 2
                place += 3
        elif state != _AS_DATA:
            if character == GREATER and dashes >= 2:
                state = _AS_DATA
            dashes = dashes + 1 if character == _DASH else 0
        place += 1
    return len(body)


@lean("int64(uint8[::1], int64, int64, int64)")
def end_of_raw(body: Any, name: int, length: int, place: int) -> int:
    """The place of the end tag of a raw element, whose name is ``length`` bytes at ``name``; or the end of the page."""
    last = len(body) - length - 3
    while place <= last:
        if body[place] == LESS and body[place + 1] == SLASH and ends_name(int(body[place + 2 + length])):
            same = 0
            while same < length and (body[place + 2 + same] | CASE) == (body[name + same] | CASE):
                same += 1
            if same == length:
                return place
        place += 1
    return len(body)


Rows = npt.NDArray[np.int32]

# Columns of elements; row 0 is the document itself.
NAME, KIND, MARK, PARENT, SHAPE = 0, 1, 2, 3, 4

MAX_STEPS: Final = 256
"""How many open elements a tag looks through for its own. A page in which none is found in this many is broken on
purpose; without a limit each tag of such a page would look through all of it."""

_DIV, _ADDRESS, _SELECT, _INPUT, _TEXTAREA = map(hash_of, ("div", "address", "select", "input", "textarea"))
_HEAD_ROWS, _BODY_ROWS, _FOOT_ROWS = map(hash_of, ("thead", "tbody", "tfoot"))

_IN_TABLE: Final = CELL | ROW
_WALLS: Final = SCOPE | CELL | TABLE | WHOLE
"""Elements that the end tag of a block does not reach through."""
_SPECIAL: Final = BLOCK | BUTTON | SCOPE
"""Elements that the end tag of an element within a line does not reach through."""
_IN_PARAGRAPHS: Final = _IN_TABLE | WHOLE | SIBLING | TITLE
"""Blocks that do not end a paragraph."""


@lean("boolean(int32[:, ::1], int64)")
def is_foreign(elements: Rows, element: int) -> bool:
    """Whether its direct content is SVG or MathML; HTML stands in SVG's ``foreignObject`` and its like."""
    return bool(elements[element, KIND] & (NOT_HTML | SCOPE) == NOT_HTML)


@lean("int64(int32[:, ::1], int64)")
def out_of_foreign(elements: Rows, current: int) -> int:
    """The HTML element around SVG or MathML."""
    while is_foreign(elements, current):
        current = int(elements[current, PARENT])
    return current


@lean("boolean(int32[:, ::1], int64)", entry=True)
def is_in_unseen(elements: Rows, element: int) -> bool:
    """Whether this element, or an element around it, is not shown."""
    for _ in range(MAX_STEPS):
        if element <= 0:
            break
        if elements[element, KIND] & UNSEEN:
            return True
        element = elements[element, PARENT]
    return False


@lean("int64(int32[:, ::1], int64, int64, int64)")
def _around(elements: Rows, current: int, kind: int, walls: int) -> int:
    """The open element of this kind, unless a wall stands before it; 0 for none."""
    for _ in range(MAX_STEPS):
        if elements[current, KIND] & kind:
            return current
        if current == 0 or elements[current, KIND] & walls:
            return 0
        current = elements[current, PARENT]
    return 0


@lean("int64(int32[:, ::1], int64, int64)")
def _after_link(elements: Rows, current: int, link: int) -> int:
    """The element that is open after a link ends.

    The end of a link closes no block that was opened in it: the block's content so far is in a link of its own, and the
    following content is not. So the blocks take the places of the elements that they stand in, and the link takes the
    place of the last one (the adoption agency of section 13.2.6.4.7).
    """
    last, blocks = current, 0
    while last != link:
        blocks |= elements[last, KIND] & _SPECIAL
        last = elements[last, PARENT]
    if not blocks:
        return int(elements[link, PARENT])
    last = current
    name, kind, mark, shape = elements[link, NAME], elements[link, KIND], elements[link, MARK], elements[link, SHAPE]
    while True:
        own = elements[last, NAME], elements[last, KIND], elements[last, MARK], elements[last, SHAPE]
        elements[last, NAME], elements[last, KIND], elements[last, MARK] = name, kind, mark
        elements[last, SHAPE] = shape
        if last == link:
            return int(elements[current, PARENT])
        name, kind, mark, shape = own
        last = elements[last, PARENT]


@lean("boolean(int64)")
def _has_rows(name: int) -> bool:
    return name in (_HEAD_ROWS, _BODY_ROWS, _FOOT_ROWS)


@lean("int64(int32[:, ::1], int64, int64, int64)")
def after_end_tag(elements: Rows, current: int, name: int, kind: int) -> int:
    """The element that is open after an end tag: the parent of the element that it closes; ``current`` if it closes
    none."""
    if kind & WHOLE:
        return current
    if kind & SCOPE:
        walls = 0
    elif kind & (_IN_TABLE | TABLE) or _has_rows(name):
        walls = TABLE
    elif kind & (UNSEEN | NOT_HTML) and not kind & BUTTON:
        walls = CELL
    elif kind & (_SPECIAL | LINK):
        walls = _WALLS | (BUTTON if kind & PARAGRAPH else LIST if kind & ITEM else 0)
    else:
        walls = _SPECIAL
    candidate = current
    for _ in range(MAX_STEPS):
        if candidate == 0:
            return current
        passing = elements[candidate, KIND]
        if elements[candidate, NAME] == name or passing & kind & HEADING:
            if kind & BUTTON:
                elements[candidate, KIND] = kind
            if kind & LINK:
                return _after_link(elements, current, candidate)
            return int(elements[candidate, PARENT])
        if passing & walls:
            return current
        candidate = elements[candidate, PARENT]
    return current


@lean("int64(int32[:, ::1], int64, int64)")
def _before_part_of_table(elements: Rows, current: int, kind: int) -> int:
    """Cells end cells, rows cells and rows, and many rows all three."""
    ends = CELL if kind & CELL else _IN_TABLE
    candidate, outermost = current, 0
    for _ in range(MAX_STEPS):
        if candidate == 0 or elements[candidate, KIND] & (TABLE | SCOPE):
            break
        if elements[candidate, KIND] & ends or (not kind & _IN_TABLE and _has_rows(elements[candidate, NAME])):
            outermost = candidate
        candidate = elements[candidate, PARENT]
    if outermost and elements[candidate, KIND] & TABLE:
        return int(elements[outermost, PARENT])
    return current


@lean("int64(int32[:, ::1], int64, int64)")
def _before_item(elements: Rows, current: int, kind: int) -> int:
    """An item ends the one before it, unless it stands in a list or another part of that item."""
    candidate = current
    for _ in range(MAX_STEPS):
        passing = elements[candidate, KIND]
        if candidate == 0:
            break
        if passing & kind & (ITEM | TERM):
            return int(elements[candidate, PARENT])
        passes = passing & PARAGRAPH or elements[candidate, NAME] in (_DIV, _ADDRESS)
        if passing & _SPECIAL and not passes:
            break
        candidate = elements[candidate, PARENT]
    return current


@lean("int64(int32[:, ::1], int64, int64, int64)")
def before_start_tag(elements: Rows, current: int, name: int, kind: int) -> int:
    """The parent of a new element of this kind, after the end tags that may be omitted before it."""
    if kind & _IN_TABLE or _has_rows(name):
        return _before_part_of_table(elements, current, kind)
    if kind & TABLE and (elements[current, KIND] & (TABLE | ROW) or _has_rows(elements[current, NAME])):
        table = _around(elements, current, TABLE, SCOPE)
        if table:
            return int(elements[table, PARENT])
    if kind & SIBLING:
        while elements[current, KIND] & SIBLING:
            current = int(elements[current, PARENT])
        return current
    if name in (_SELECT, _INPUT, _TEXTAREA):
        candidate = current
        while elements[candidate, KIND] & SIBLING:
            candidate = int(elements[candidate, PARENT])
        if elements[candidate, NAME] == _SELECT:
            current = int(elements[candidate, PARENT])
    if kind & (ITEM | TERM):
        current = _before_item(elements, current, kind)
    if kind & BLOCK and not kind & _IN_PARAGRAPHS:
        paragraph = _around(elements, current, PARAGRAPH, _SPECIAL)
        if paragraph:
            current = int(elements[paragraph, PARENT])
        if kind & HEADING and elements[current, KIND] & HEADING:
            current = int(elements[current, PARENT])
    elif kind & LINK:
        link = _around(elements, current, LINK, _WALLS)
        if link:
            current = _after_link(elements, current, link)
    elif kind & BUTTON:
        button = _around(elements, current, BUTTON, _WALLS)
        if button:
            current = int(elements[button, PARENT])
    return current
