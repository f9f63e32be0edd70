"""The spelling that tokens, "equal normalised text" and the hash of a text rest on.

Compatibility forms become plain (NFKC), case is folded, characters that nobody sees go (controls, zero width, soft
hyphen, direction marks, variation selectors, halves of surrogate pairs), and each run of white space becomes one blank.
NFKC and case folding never change for a character once assigned (Unicode stability policy), so Pythons of different
Unicode versions agree on all text but characters newer than the older one.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from typing import Final

import numpy as np
import numpy.typing as npt

NORMALISER: Final = "nfkc-casefold-1"
"""Name of the rule; a part of the scheme, so change it when the rule changes."""

TABLE_END: Final = 0x20000
"""Tables over code points hold an entry for each one below, and a last one for all from here on."""

_BLANK: Final = 0x20
_UNSEEN: Final = 0
EXPANDS: Final = 0x110000
_COMPOSES: Final = 0x110001

# Default_Ignorable_Code_Point of Unicode that are letters or marks; controls and formats are found by category.
_IGNORABLE_LETTERS: Final = (
    "\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef"
)


def normalise(text: str) -> str:
    """The normalised text; normalising it again changes nothing.

    Takes one table look-up a character where none interacts with its neighbours, as in Chinese, Japanese, Korean and
    most Western text; else ``normalise_by_definition``, with the same result.
    """
    table = _table()
    codes = code_points(text)
    spelled = table.take(codes, mode="clip")
    highest = spelled.max(initial=0)
    if highest == EXPANDS:
        for character in np.unique(codes[spelled == EXPANDS]).tolist():
            text = text.replace(chr(character), _simple(chr(character)))
        spelled = table.take(code_points(text), mode="clip")
    elif highest == _COMPOSES:
        return normalise_by_definition(text)
    if spelled.min(initial=_BLANK) == _UNSEEN:
        spelled = spelled[spelled != _UNSEEN]
    blank = spelled == _BLANK
    again = blank[1:] & blank[:-1]
    if again.any():
        spelled = spelled[np.concatenate(([True], ~again))]
    return spelled.tobytes().decode("utf-32-le").strip(" ")


def normalise_by_definition(text: str) -> str:
    """What ``normalise`` promises, step by step."""
    unseen = _unseen()
    text = unseen.sub("", text)
    for _ in range(2):  # folding can make what composes, composing what folds (Unicode, definition D145)
        text = unicodedata.normalize("NFKC", text).casefold()
    text = unseen.sub("", unicodedata.normalize("NFKC", text))
    return " ".join(text.split())


def table() -> tuple[npt.NDArray[np.uint32], dict[int, str]]:
    """The table of ``normalise``, for a kernel, and the spelling of each character that it calls ``EXPANDS``.

    An entry is a code point, 0 where a character is left out, or ``EXPANDS``; above that, characters interact.
    """
    codes = _table()
    several = np.flatnonzero(codes == EXPANDS).tolist()
    return codes.copy(), {code: _simple(chr(code)) for code in several}


def code_points(text: str) -> npt.NDArray[np.uint32]:
    """One uint32 a character, read-only."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)


@cache
def _unseen() -> re.Pattern[str]:
    formats = (
        character
        for character in map(chr, (*range(TABLE_END), *range(0xE0000, 0xE0080)))
        if unicodedata.category(character) in ("Cc", "Cf") and not character.isspace()
    )
    return re.compile(f"[{re.escape(''.join(formats))}{_IGNORABLE_LETTERS}\ud800-\udfff]+")


def _simple(character: str) -> str:
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", character).casefold())


@cache
def _table() -> npt.NDArray[np.uint32]:
    """Code point → its spelling as one code point, or _UNSEEN, EXPANDS or _COMPOSES."""
    table = np.arange(TABLE_END + 1, dtype=np.uint32)
    unseen = _unseen()
    alone = (unseen.sub("", character) for character in map(chr, range(TABLE_END)))
    spellings = _simple("\n".join(alone)).split("\n")
    # "\n" stands between the spellings, so its own entry came out as two empty ones.
    spellings[ord("\n") : ord("\n") + 2] = [" "]
    for code, spelling in enumerate(spellings):
        if len(spelling) != 1:
            table[code] = EXPANDS if spelling else _UNSEEN
        elif spelling.isspace():
            table[code] = _BLANK
        else:
            table[code] = ord(spelling)
        if any(map(_interacts, spelling)):
            table[code] = _COMPOSES
    table[TABLE_END] = _COMPOSES
    table.flags.writeable = False
    return table


def _interacts(character: str) -> bool:
    """Whether it may join the character before it, or trade places with it: marks, and the later parts of Hangul."""
    return unicodedata.category(character)[0] == "M" or "\u1160" <= character <= "\u11ff"
