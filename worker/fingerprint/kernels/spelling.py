"""Code points to their normalised spelling, and their scripts, in compiled steps."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numba import types

from worker.fingerprint.kernels.native import Array, kernel, lean

TOO_LONG: Final = -2
"""The return value of ``spell`` where the spelling does not fit."""
COMPOSES: Final = -1
"""The return value of ``spell`` for a text that only ``normalise`` can spell."""
MIXED, TONED = 1, 2


_PLAIN, _LETTER, _MARK = 2, 4, 8  # of ``worker.page.words.scripts``
_WITHOUT_BLANKS = 1 | 16 | 32  # HAN, UNSPACED, IDEOGRAPH
_FIRST_WITHOUT_BLANKS = np.uint32(0xE01)

# Of the table of ``worker.page.words.normalise``.
_COMPOSES, _JOINS, _KEEPS = np.uint32(0x110001), np.uint32(1 << 21), np.uint32(1 << 21)
_ORDER, _PAIRS, _IS_MARK = np.uint32(22), np.uint32(1 << 30), np.uint32(1 << 31)
_CODE, _CLASS = np.uint32(0x1FFFFF), np.uint32(0xFF)
_MOST_MARKS = 30
_ABOVE = 230  # the class of marks above: no mark that a letter is composed of has a higher one
_NON_JOINER, _JOINER = np.uint32(0x200C), np.uint32(0x200D)
_HEH, _TWO_EYED_HEH = np.uint32(0x647), np.uint32(0x6BE)


@lean("boolean(uint32)", inline=True)
def _is_latin(code: Any) -> Any:
    """See ``worker.page.words.normalise.LATIN``."""
    return code - np.uint32(0x61) < np.uint32(26) or code - np.uint32(0xDF) < np.uint32(0x171)


@lean("boolean(uint32)", inline=True)
def _is_greek_or_cyrillic(code: Any) -> Any:
    return code - np.uint32(0x370) < np.uint32(0x1C0)


@lean("boolean(uint32[::1], int64, uint32, uint8[::1])", inline=True)
def _closes_up(spelled: Array, length: int, code: Any, classes: Array) -> Any:
    """Whether the blank at the end stands between two characters of scripts without blanks."""
    if length < 2 or spelled[length - 1] != np.uint32(0x20):
        return False
    last = classes.size - 1
    before = classes[min(np.int64(spelled[length - 2]), last)]
    return (before & _WITHOUT_BLANKS) != 0 and (classes[min(np.int64(code), last)] & _WITHOUT_BLANKS) != 0


@lean("boolean(uint32)", inline=True)
def _is_composed(code: Any) -> Any:
    """Whether it may be a Latin letter with marks, or a letter without marks that stands among these."""
    return code - np.uint32(0xC0) < np.uint32(0x190) or code - np.uint32(0x1E00) < np.uint32(0x100)


@lean("boolean(uint32)", inline=True)
def _is_vietnamese(code: Any) -> Any:
    """See ``worker.page.words.folding.VIETNAMESE``."""
    return code - np.uint32(0x1EA0) < np.uint32(0x5A)


@lean("int64(uint64[::1], uint32, uint32)", inline=True)
def _find(pairs: Array, before: Any, code: Any) -> Any:
    """The place of a pair among ``pairs``, or -1."""
    key = np.uint64(before) << np.uint64(32) | np.uint64(code)
    at, beyond = 0, pairs.size
    while at < beyond:  # numba takes half a second to compile ``np.searchsorted``
        middle = (at + beyond) >> 1
        if pairs[middle] < key:
            at = middle + 1
        else:
            beyond = middle
    return at if at < pairs.size and pairs[at] == key else -1


@lean("void(uint32[::1], int64, uint64[::1], uint64[::1], uint8[::1])", entry=True)
def move_tones(spelled: Array, length: int, ends: Array, moved: Array, classes: Array) -> None:
    """As ``worker.page.words.normalise.toned``: ``ends`` are its pairs of letters, ascending, and ``moved`` theirs."""
    last = classes.size - 1
    for place in range(length - 1):
        if spelled[place + 1] != 0x61 and spelled[place + 1] != 0x65 and spelled[place + 1] != 0x79:
            continue
        at = _find(ends, spelled[place], spelled[place + 1])
        if at < 0:
            continue
        if place + 2 < length and classes[min(np.int64(spelled[place + 2]), last)] & (_PLAIN | _LETTER | _MARK):
            continue
        spelled[place] = np.uint32(moved[at] >> np.uint64(32))
        spelled[place + 1] = np.uint32(moved[at] & np.uint64(0xFFFFFFFF))


@lean(
    types.UniTuple(types.int64, 2)(
        types.Array(types.uint32, 1, "C", readonly=True),
        types.uint32[::1],
        types.uint32[::1],
        types.int64[::1],
        types.uint32[::1],
        types.uint64[::1],
        types.uint32[::1],
        types.uint8[::1],
        types.uint32[::1],
    ),
    entry=True,
)
def spell(
    codes: Array,
    table: Array,
    expanding: Array,
    bounds: Array,
    expansions: Array,
    pairs: Array,
    paired: Array,
    classes: Array,
    spelled: Array,
) -> tuple[int, int]:
    """The normalised spelling of ``codes``: writes it into ``spelled``, and returns its length, or ``COMPOSES``, and
    the work that is left: ``MIXED`` if Latin and Greek or Cyrillic letters stand side by side in it, ``TONED`` if it is
    Vietnamese, for ``move_tones``.

    ``table`` is that of ``normalise``; ``expanding`` are its characters that become several, ascending, which are
    spelled ``expansions[bounds[i]:bounds[i + 1]]``; ``pairs`` are its pairs, ascending, and ``paired`` their spellings.
    If a spelling does not fit into ``spelled``, beyond as many characters as ``codes`` has, it returns ``TOO_LONG``.
    """
    last = table.size - 1
    length = 0
    blank = True  # no blank is written at the beginning
    other = False  # whether the last written character is Greek or Cyrillic
    left = 0
    # The length after the last mark; how many marks there are up to it in a row, the class of the last one, and whether
    # any mark since the last character of class 0 has not become part of that character.
    marked, row, highest = -1, 0, np.int64(0)
    loose = np.int64(0)
    for place in range(codes.size):
        code = codes[place]
        spelling = table[min(np.int64(code), last)]
        if spelling < np.uint32(0x110000):
            if _is_greek_or_cyrillic(spelling):
                left |= MIXED * (length > 0 and _is_latin(spelled[length - 1]))
                other = True
            elif other and spelling != np.uint32(0):
                left |= _is_latin(spelling)
                other = False
            elif spelling >= _FIRST_WITHOUT_BLANKS:
                left |= TONED * _is_vietnamese(spelling)
                if blank and _closes_up(spelled, length, spelling, classes):
                    length -= 1
            # A processor guesses worst where words end: so the character is written either way, and arithmetic decides
            # whether it stays there.
            spelled[length] = spelling
            is_blank = spelling == np.uint32(0x20)
            length += (spelling != np.uint32(0)) & ~(is_blank & blank)
            blank = is_blank | (blank & (spelling == np.uint32(0)))
        elif spelling >= _JOINS:
            before = spelled[length - 1] if length > 0 else np.uint32(0)
            if code == _NON_JOINER:
                if before - np.uint32(0x620) < np.uint32(0x2E0) and classes[before] == _LETTER:
                    spelled[length] = np.uint32(0x20)
                    length += 1
                    blank, other = True, False
                continue
            if code == _JOINER:
                at = _find(pairs, spelled[length - 2], code) if length > 1 else np.int64(-1)
                if at >= 0 and paired[at] == before:
                    return COMPOSES, 0
                continue
            own = spelling & _CODE
            order = np.int64(spelling >> _ORDER & _CLASS)
            is_mark = spelling & _IS_MARK != np.uint32(0)
            if is_mark:
                if length != marked:
                    highest, row, loose = np.int64(0), 0, np.int64(0)
                row += 1
                if row > _MOST_MARKS or 0 < order < highest:
                    return COMPOSES, 0
                marked = length
                if before - np.uint32(0x370) < np.uint32(0x90):
                    if own - np.uint32(0xE00) >= np.uint32(0x100):
                        continue  # Greek has no marks
                    if row > 1:
                        return COMPOSES, 0
            elif blank and _closes_up(spelled, length, own, classes):
                length -= 1
                before = spelled[length - 1]
            if spelling & _PAIRS != np.uint32(0):
                if loose != 0 and is_mark and order > 0:
                    return COMPOSES, 0
                at = _find(pairs, before, own)
                if at >= 0:
                    both = paired[at]
                    if both == _COMPOSES:
                        return COMPOSES, 0
                    if both < _KEEPS:
                        loose |= both == before
                        highest = order
                        spelled[length - 1] = both
                        blank = False
                        left |= TONED * _is_vietnamese(both)
                        continue
                elif own == _TWO_EYED_HEH:
                    own = _HEH
                elif is_mark and order < _ABOVE and _is_composed(before):
                    return COMPOSES, 0  # this mark may go before one of that letter
            if is_mark:
                highest, loose = order, np.int64(order > 0)
                left |= MIXED * (own - np.uint32(0x300) < np.uint32(0x230))  # it belongs to the word of these scripts
            spelled[length] = own
            length += 1
            if is_mark:
                marked = length
            blank, other = False, False
        elif spelling == _COMPOSES:
            return COMPOSES, 0
        else:
            number, beyond = 0, expanding.size
            while number < beyond:
                middle = (number + beyond) >> 1
                if expanding[middle] < code:
                    number = middle + 1
                else:
                    beyond = middle
            if length + bounds[number + 1] - bounds[number] + codes.size - place > spelled.size:
                return TOO_LONG, 0
            for at in range(bounds[number], bounds[number + 1]):
                part = expansions[at]
                if part == np.uint32(0x20) and blank:
                    continue
                if _closes_up(spelled, length, part, classes):
                    length -= 1
                if length > 0:
                    before = spelled[length - 1]
                    left |= _is_latin(before) and _is_greek_or_cyrillic(part)
                    left |= _is_latin(part) and _is_greek_or_cyrillic(before)
                blank = part == np.uint32(0x20)
                spelled[length] = part
                length += 1
                if table[part] >= _JOINS:  # a mark, and the last part
                    marked, row, loose = length, 1, np.int64(1)
                    highest = np.int64(table[part] >> _ORDER & _CLASS)
                    left |= MIXED * (part - np.uint32(0x300) < np.uint32(0x230))
            other = length > 0 and _is_greek_or_cyrillic(spelled[length - 1])
    if length > 0 and blank:
        length -= 1
    return length, left


@kernel("void(uint32[::1], int64, uint8[::1], int64[::1])", entry=True)
def tally(codes: Array, count: int, scripts: Array, tallies: Array) -> None:
    """Add to ``tallies`` how many of the first ``count`` characters are of each script."""
    last = scripts.size - 1
    lanes = np.zeros((4, tallies.size), np.int64)  # neighbours are mostly of one script, and would wait for each other
    for place in range(count):
        lanes[place & 3, scripts[min(np.int64(codes[place]), last)]] += 1
    for lane in range(4):
        for script in range(tallies.size):
            tallies[script] += lanes[lane, script]
