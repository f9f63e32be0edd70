"""Where the tokens of markup end that hold no markup: comments, declarations, scripts, and other raw text
(HTML Living Standard, section 13.2.5)."""

from __future__ import annotations

from typing import Any, Final

from worker.page.elements.vocabulary import lean

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
    """The same but for the vertical tab, which is part of a name."""
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


@lean("int64(uint8[::1], int64, int64)")
def find(body: Any, character: int, place: int) -> int:
    """Where the character stands from ``place`` on, or the end of the page."""
    while place < len(body) and body[place] != character:
        place += 1
    return place


@lean("int64(uint8[::1], int64, int64)")
def find_twice(body: Any, character: int, place: int) -> int:
    """Where ``--`` or ``]]`` stands right before a ``>``, from ``place`` on, or the end of the page."""
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
    """Where the ``]]>`` of a section stands whose text begins at ``place``, or the end of the page."""
    return find_twice(body, _CLOSE, place)


@lean("int64(uint8[::1], int64)")
def after_declaration(body: Any, place: int) -> int:
    """Where the comment, declaration or instruction ends that begins at ``place``."""
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
    """Where the end tag of a script stands, or the end of the page.

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
    """Where the end tag of a raw element stands, whose name is ``length`` bytes at ``name``; or the end of the page."""
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
