"""Code points to their normalised spelling, and the scripts they are of, in compiled steps."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numba import types

from worker.fingerprint.kernels.native import Array, kernel

TOO_LONG: Final = -2
"""What ``spell`` returns where the spelling does not fit."""
COMPOSES: Final = -1
"""What ``spell`` returns for a text in which characters interact: ``normalise_by_definition`` has to spell it."""


_WITHOUT_BLANKS = 1 | 16 | 32  # ``worker.page.words.scripts``: HAN, UNSPACED, IDEOGRAPH
_FIRST_WITHOUT_BLANKS = np.uint32(0xE01)


@kernel("boolean(uint32)", inline=True)
def _is_latin(code: Any) -> Any:
    """See ``worker.page.words.normalise.LATIN``."""
    return code - np.uint32(0x61) < np.uint32(26) or code - np.uint32(0xDF) < np.uint32(0x171)


@kernel("boolean(uint32)", inline=True)
def _is_greek_or_cyrillic(code: Any) -> Any:
    return code - np.uint32(0x370) < np.uint32(0x1C0)


@kernel("boolean(uint32[::1], int64, uint32, uint8[::1])", inline=True)
def _closes_up(spelled: Array, length: int, code: Any, classes: Array) -> Any:
    """Whether the blank at the end stands between two characters of scripts without blanks."""
    if length < 2 or spelled[length - 1] != np.uint32(0x20):
        return False
    last = classes.size - 1
    before = classes[min(np.int64(spelled[length - 2]), last)]
    return (before & _WITHOUT_BLANKS) != 0 and (classes[min(np.int64(code), last)] & _WITHOUT_BLANKS) != 0


@kernel(
    types.UniTuple(types.int64, 2)(
        types.Array(types.uint32, 1, "C", readonly=True),
        types.uint32[::1],
        types.uint32[::1],
        types.int64[::1],
        types.uint32[::1],
        types.uint8[::1],
        types.uint32[::1],
    )
)
def spell(
    codes: Array, table: Array, expanding: Array, bounds: Array, expansions: Array, classes: Array, spelled: Array
) -> tuple[int, int]:
    """The normalised spelling of ``codes``: writes it into ``spelled``, and returns its length, or ``COMPOSES``, and
    whether Latin and Greek or Cyrillic letters stand side by side in it, which is left as it is.

    ``table`` is that of ``normalise``; ``expanding`` are its characters of several, ascending, which are spelled
    ``expansions[bounds[i]:bounds[i + 1]]``. Where these have no room in ``spelled``, beyond as many characters as
    ``codes`` has, it returns ``TOO_LONG``.
    """
    last = table.size - 1
    length = 0
    blank = True  # at the beginning none is written
    other = False  # whether what was written last is Greek or Cyrillic
    mixed = 0
    for place in range(codes.size):
        code = codes[place]
        spelling = table[min(np.int64(code), last)]
        if spelling < np.uint32(0x110000):
            if _is_greek_or_cyrillic(spelling):
                mixed |= length > 0 and _is_latin(spelled[length - 1])
                other = True
            elif other and spelling != np.uint32(0):
                mixed |= _is_latin(spelling)
                other = False
            elif spelling >= _FIRST_WITHOUT_BLANKS and blank and _closes_up(spelled, length, spelling, classes):
                length -= 1
            # Where words end is what a processor guesses worst: so the character is written either way, and whether
            # it stays there is arithmetic.
            spelled[length] = spelling
            is_blank = spelling == np.uint32(0x20)
            length += (spelling != np.uint32(0)) & ~(is_blank & blank)
            blank = is_blank | (blank & (spelling == np.uint32(0)))
        elif spelling == np.uint32(0x110001):
            return COMPOSES, 0
        else:
            number = np.searchsorted(expanding, code)
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
                    mixed |= _is_latin(before) and _is_greek_or_cyrillic(part)
                    mixed |= _is_latin(part) and _is_greek_or_cyrillic(before)
                blank = part == np.uint32(0x20)
                spelled[length] = part
                length += 1
            other = length > 0 and _is_greek_or_cyrillic(spelled[length - 1])
    if length > 0 and blank:
        length -= 1
    return length, mixed


@kernel("void(uint32[::1], int64, uint8[::1], int64[::1])")
def tally(codes: Array, count: int, scripts: Array, tallies: Array) -> None:
    """How many of the first ``count`` characters are of each script, added to ``tallies``."""
    last = scripts.size - 1
    lanes = np.zeros((4, tallies.size), np.int64)  # neighbours are mostly of one script, and would wait for each other
    for place in range(count):
        lanes[place & 3, scripts[min(np.int64(codes[place]), last)]] += 1
    for lane in range(4):
        for script in range(tallies.size):
            tallies[script] += lanes[lane, script]
