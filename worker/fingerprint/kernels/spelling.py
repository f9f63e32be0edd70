"""Code points to their normalised spelling, and the scripts they are of, in compiled steps."""

from __future__ import annotations

from typing import Final

import numpy as np
from numba import types

from worker.fingerprint.kernels.native import Array, kernel

TOO_LONG: Final = -2
"""What ``spell`` returns where the spelling does not fit."""
COMPOSES: Final = -1
"""What ``spell`` returns for a text in which characters interact: ``normalise_by_definition`` has to spell it."""


@kernel(
    types.int64(
        types.Array(types.uint32, 1, "C", readonly=True),
        types.uint32[::1],
        types.uint32[::1],
        types.int64[::1],
        types.uint32[::1],
        types.uint32[::1],
    )
)
def spell(codes: Array, table: Array, expanding: Array, bounds: Array, expansions: Array, spelled: Array) -> int:
    """The normalised spelling of ``codes``: writes it into ``spelled`` and returns its length, or ``COMPOSES``.

    ``table`` is that of ``normalise``; ``expanding`` are its characters of several, ascending, which are spelled
    ``expansions[bounds[i]:bounds[i + 1]]``. Where these have no room in ``spelled``, beyond as many characters as
    ``codes`` has, it returns ``TOO_LONG``.
    """
    last = table.size - 1
    length = 0
    blank = True  # at the beginning none is written
    for place in range(codes.size):
        code = codes[place]
        spelling = table[min(np.int64(code), last)]
        if spelling < np.uint32(0x110000):
            # Where words end is what a processor guesses worst: so the character is written either way, and whether
            # it stays there is arithmetic.
            spelled[length] = spelling
            is_blank = spelling == np.uint32(0x20)
            length += (spelling != np.uint32(0)) & ~(is_blank & blank)
            blank = is_blank | (blank & (spelling == np.uint32(0)))
        elif spelling == np.uint32(0x110001):
            return COMPOSES
        else:
            number = np.searchsorted(expanding, code)
            if length + bounds[number + 1] - bounds[number] + codes.size - place > spelled.size:
                return TOO_LONG
            for at in range(bounds[number], bounds[number + 1]):
                part = expansions[at]
                if part == np.uint32(0x20) and blank:
                    continue
                blank = part == np.uint32(0x20)
                spelled[length] = part
                length += 1
    if length > 0 and blank:
        length -= 1
    return length


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
