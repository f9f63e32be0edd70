"""What the declarations of a ``style`` say about whether its element is seen (CSS Syntax 3, Cascade 5).

The last declaration of each property counts, or the last important one; comments, strings and brackets hold no end of a
declaration. Three kinds of declarations are ignored. Scripts undo two of them while a page is read: ``opacity: 0``,
with which they fade articles in, and blocks without a height, which they unfold. The third hides the text that a
picture stands for, as ``text-indent`` does.
"""

from __future__ import annotations

from typing import Any, Final

from worker.page.elements.vocabulary import (
    EMPTY,
    MARKED_FOLDED,
    MARKED_HIDDEN,
    MARKED_SIZED,
    MARKED_SIZELESS,
    bits_of,
    grown,
    lean,
    named_table,
)

_DISPLAY, _VISIBILITY, _CONTENT_VISIBILITY, _SIZE, _FONT, _POSITION, _OVERFLOW = (1 << bit for bit in range(7))
_LEFT, _TOP, _RIGHT, _BOTTOM, _WIDTH, _HEIGHT, _MOST_WIDTH, _MOST_HEIGHT, _OPACITY = (1 << bit for bit in range(7, 16))
_OFFSETS: Final = _LEFT | _TOP | _RIGHT | _BOTTOM
_EXTENTS: Final = _WIDTH | _HEIGHT | _MOST_WIDTH | _MOST_HEIGHT
_PROPERTIES: Final = named_table(
    {
        "display": _DISPLAY,
        "visibility": _VISIBILITY,
        "content-visibility": _CONTENT_VISIBILITY,
        "font-size": _SIZE,
        "font": _FONT,
        "position": _POSITION,
        "overflow": _OVERFLOW,
        "left": _LEFT,
        "top": _TOP,
        "right": _RIGHT,
        "bottom": _BOTTOM,
        "width": _WIDTH,
        "height": _HEIGHT,
        "max-width": _MOST_WIDTH,
        "max-height": _MOST_HEIGHT,
        "opacity": _OPACITY,
    }
)
_HIDING: Final = named_table(
    {
        "none": _DISPLAY,
        "hidden": _VISIBILITY | _CONTENT_VISIBILITY | _OVERFLOW,
        "collapse": _VISIBILITY,
        "clip": _OVERFLOW,
        "absolute fixed": _POSITION,
    }
)
"""Words of a value, and the properties that they hide by, alone or with another."""

FAR: Final = 999
"""Pixels or letters to the left or above, from which on a place cannot be seen."""

_SEMICOLON, _COLON, _SLASH, _STAR, _BACKSLASH, _BANG, _MINUS, _DOT, _PERCENT, _V = b";:/*\\!-.%v"
_QUOTE, _APOSTROPHE = b"\"'"


@lean("boolean(int64)")
def _is_of_name(character: int) -> bool:
    return 97 <= (character | 0x20) <= 122 or character == _MINUS or character == 95 or character >= 128


@lean("int64(uint8[::1], int64, int64)")
def _after_blanks(body: Any, place: int, end: int) -> int:
    """The place of the first character that is neither a blank nor within a comment."""
    while place < end:
        if body[place] == 32 or 9 <= body[place] <= 13:
            place += 1
        elif body[place] == _SLASH and place + 1 < end and body[place + 1] == _STAR:
            place += 2
            while place + 1 < end and not (body[place] == _STAR and body[place + 1] == _SLASH):
                place += 1
            place += 2
        else:
            break
    return min(place, end)


@lean("UniTuple(int64, 2)(uint8[::1], int64, int64)")
def _end_of_value(body: Any, place: int, end: int) -> tuple[int, int]:
    """The place of the semicolon after a value, or the end; and 1 if the value is important."""
    depth = important = 0
    while place < end:
        character = int(body[place])
        if character == _BACKSLASH:
            place += 1
        elif character in (_QUOTE, _APOSTROPHE):
            place += 1
            while place < end and body[place] != character:
                place += 2 if body[place] == _BACKSLASH else 1
        elif character == _SLASH and place + 1 < end and body[place + 1] == _STAR:
            place = _after_blanks(body, place, end)
            continue
        elif character in (40, 91, 123):
            depth += 1
        elif character in (41, 93, 125):
            depth = max(depth - 1, 0)
        elif character == _SEMICOLON and not depth:
            break
        elif character == _BANG and not depth:
            important = 1
        place += 1
    return min(place, end), important


@lean("UniTuple(int64, 2)(uint8[::1], int64, int64)")
def _word(body: Any, place: int, end: int) -> tuple[int, int]:
    """Hash of the word that begins here, and where it ends."""
    name = EMPTY
    while place < end and _is_of_name(int(body[place])):
        character = int(body[place])
        name = grown(name, character | 0x20 if 65 <= character <= 90 else character)
        place += 1
    return name, place


@lean("UniTuple(int64, 3)(uint8[::1], int64, int64)")
def _number(body: Any, place: int, end: int) -> tuple[int, int, int]:
    """The whole part of the number that begins here, -1 if none does; 1 if the number is not zero; its end."""
    whole, digits, other = 0, 0, 0
    fraction = False
    while place < end and (48 <= body[place] <= 57 or (body[place] == _DOT and not fraction)):
        if body[place] == _DOT:
            fraction = True
        else:
            digits += 1
            other = 1 if other or body[place] != 48 else 0
            if not fraction:
                whole = min(whole * 10 + int(body[place]) - 48, 1 << 20)
        place += 1
    return whole if digits else -1, other, place


@lean("int64(uint8[::1], int64, int64)")
def _size_of_font(body: Any, place: int, end: int) -> int:
    """In the values of ``font``: 0 if its size is zero, 1 if it is another, -1 if there is no size."""
    while place < end:
        whole, other, after = _number(body, place, end)
        if whole >= 0:
            unit = after < end and (_is_of_name(int(body[after])) or body[after] == _PERCENT)
            if not other or unit or (after < end and body[after] == _SLASH):
                return other  # a number without a unit that is not zero is a weight
            place = after
            continue
        while place < end and body[place] != 32:
            place += 1
        place = _after_blanks(body, place, end)
        if place < end and body[place] == _SLASH:
            place += 1
    return -1


@lean("boolean(uint8[::1], int64, int64, int64)")
def _hides(body: Any, which: int, place: int, end: int) -> bool:
    """Whether this value of a property hides, alone or with another."""
    if which == _FONT:
        return _size_of_font(body, place, end) == 0
    if which & (_SIZE | _EXTENTS | _OPACITY):
        whole, other, _ = _number(body, place, end)
        return bool(whole >= 0 and not other)
    if which & _OFFSETS:
        if not (place < end and body[place] == _MINUS):
            return False
        whole, _, after = _number(body, place + 1, end)
        relative = after < end and (body[after] == _PERCENT or (body[after] | 0x20) == _V)
        return bool(whole >= FAR and not relative)
    word, _ = _word(body, place, end)
    return bool(bits_of(_HIDING, word) & which)


@lean("int64(uint8[::1], int64, int64)")
def mark_of_style(body: Any, place: int, end: int) -> int:
    """``MARKED_HIDDEN``, ``MARKED_FOLDED``, ``MARKED_SIZELESS`` or ``MARKED_SIZED``, or 0."""
    hiding = important = said = 0
    while place < end:
        place = _after_blanks(body, place, end)
        name, place = _word(body, place, end)
        place = _after_blanks(body, place, end)
        which = bits_of(_PROPERTIES, name) if place < end and body[place] == _COLON else 0
        begin = _after_blanks(body, place + 1, end)
        place, weighs = _end_of_value(body, place, end)
        if which and (weighs or not important & which):
            kinds = _SIZE | _FONT if which & (_SIZE | _FONT) else which
            hiding &= ~kinds
            if _hides(body, which, begin, place):
                hiding |= which
            said |= which
            important |= kinds if weighs else 0
        place += 1
    if hiding & (_DISPLAY | _CONTENT_VISIBILITY) or (hiding & _POSITION and hiding & _OFFSETS):
        return MARKED_HIDDEN
    if hiding & _VISIBILITY:
        return MARKED_FOLDED if hiding & (_OPACITY | _EXTENTS) else MARKED_HIDDEN
    if hiding & (_SIZE | _FONT):
        return MARKED_SIZELESS
    if hiding & _OVERFLOW and hiding & _EXTENTS:
        return MARKED_FOLDED
    return MARKED_SIZED if said & (_SIZE | _FONT) else 0
