"""The spelling that tokens, "equal normalised text" and the hash of a text rest on.

1. Compatibility forms become plain (NFKC), case is folded, and characters that nobody sees go (controls, zero width,
   soft hyphen, direction marks, variation selectors, halves of surrogate pairs). Of more than thirty marks in a row the
   first thirty stay: no language has so many (UAX #15, section 13, stream-safe text), and NFKC sorts them in a time
   that grows with their square.
2. Greek loses its accents, and traditional Chinese characters become simplified ones: writers leave out the first, and
   a site shows one text in both of the second.
3. A word of Latin letters and of Greek or Cyrillic ones that look like them is spelled in one script: of those that it
   can be spelled in, the one that it has most letters of. Nothing is done to a word of one script.
4. Each run of white space becomes one blank, and none is left between two characters of scripts that are written
   without blanks: lines of Chinese may break anywhere.

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

from worker.page.words.scripts import (
    HAN_RANGE,
    IDEOGRAPH_RANGES,
    TABLE_END,
    UNSPACED_RANGES,
    code_points,
)
from worker.page.words.word_tables import SIMPLIFIED

NORMALISER: Final = "nfkc-casefold-3"
"""Name of the rule; a part of the scheme, so change it when the rule changes."""

_BLANK: Final = 0x20
_UNSEEN: Final = 0
EXPANDS: Final = 0x110000
_COMPOSES: Final = 0x110001

# Default_Ignorable_Code_Point of Unicode that are letters or marks; controls and formats are found by category.
_IGNORABLE_LETTERS: Final = (
    "\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef"
)

GREEK_AND_CYRILLIC: Final = (0x370, 0x530)
_GREEK_RANGE: Final = "\u0370-\u03ff"
_CYRILLIC_RANGE: Final = "\u0400-\u052f"
LATIN: Final = ((0x61, 0x7B), (0xDF, 0x250))
"""Lower case, accents included; of what lies between, two signs are no letters, which does not matter here."""
_LATIN_RANGE: Final = "a-z\u00df-\u024f"
_MARKS: Final = "\u0300-\u036f"
_LETTERS: Final = f"[{_LATIN_RANGE}{_GREEK_RANGE}{_CYRILLIC_RANGE}{_MARKS}]"
_GREEK_OR_CYRILLIC: Final = re.compile(f"[{_GREEK_RANGE}{_CYRILLIC_RANGE}]")
_WITH_GREEK_OR_CYRILLIC: Final = re.compile(
    f"(?<!{_LETTERS})[{_LATIN_RANGE}{_MARKS}]*+{_GREEK_OR_CYRILLIC.pattern}{_LETTERS}*+"
)
"""A word with such a letter. It is looked for only where a word begins, so the time does not grow with its square."""
_MOST_MARKS: Final = 30
_BETWEEN: Final = f"[{HAN_RANGE}{IDEOGRAPH_RANGES}{UNSPACED_RANGES}]"
_BLANK_BETWEEN: Final = re.compile(f"(?<={_BETWEEN}) (?={_BETWEEN})")

# Of the letters that Unicode calls confusable (Unicode Technical Standard 39) those that look alike in lower case, or
# else in upper case. Greek μ is left out: it looks like no Latin letter, and μm is not mm.
_CYRILLIC_TWINS: Final = dict(zip("аеорсхуіјѕԁԛԝһвкмтнёї", "aeopcxyijsdqwhbkmthëï", strict=True))
_GREEK_TWINS: Final = dict(zip("αορνυιγϲβεζηκτχ", "aopvuiycbezhktx", strict=True))
_SCRIPTS: Final = (
    (_LATIN_RANGE, _CYRILLIC_TWINS | _GREEK_TWINS),
    (_CYRILLIC_RANGE, {twin: letter for letter, twin in _CYRILLIC_TWINS.items()}),
    (_GREEK_RANGE, {twin: letter for letter, twin in _GREEK_TWINS.items()}),
)
"""Letters of each, and what else is spelled with them."""
_RESPELLINGS: Final = tuple(
    (re.compile(f"[{letters}]"), str.maketrans(twins), re.compile(f"[{letters}{_MARKS}]+"))
    for letters, twins in _SCRIPTS
)


def normalise(text: str, *, fold_traditional: bool = True) -> str:
    """The normalised text; normalising it again changes nothing.

    Takes one table look-up a character where none interacts with its neighbours, as in Chinese, Japanese, Korean and
    most Western text; else ``normalise_by_definition``, with the same result.
    """
    table = _table(fold_traditional)
    codes = code_points(text)
    spelled = table.take(codes, mode="clip")
    highest = spelled.max(initial=0)
    if highest == EXPANDS:
        several = np.unique(codes[spelled == EXPANDS]).tolist()
        text = text.translate({code: _simple(chr(code), fold_traditional) for code in several})
        spelled = table.take(code_points(text), mode="clip")
    elif highest == _COMPOSES:
        return normalise_by_definition(text, fold_traditional=fold_traditional)
    if spelled.min(initial=_BLANK) == _UNSEEN:
        spelled = spelled[spelled != _UNSEEN]
    blank = spelled == _BLANK
    again = blank[1:] & blank[:-1]
    if again.any():
        spelled = spelled[np.concatenate(([True], ~again))]
    return _BLANK_BETWEEN.sub("", in_one_script(spelled.tobytes().decode("utf-32-le").strip(" ")))


def normalise_by_definition(text: str, *, fold_traditional: bool = True) -> str:
    """What ``normalise`` promises, step by step."""
    unseen = _unseen()
    text = _few_marks(unseen.sub("", text))
    for _ in range(2):  # folding can make what composes, composing what folds (Unicode, definition D145)
        text = unicodedata.normalize("NFKC", text).casefold()
    text = unseen.sub("", unicodedata.normalize("NFKC", text))
    text = _marked_greek().sub(r"\1", text.translate(_folded(fold_traditional)))
    text = unicodedata.normalize("NFC", in_one_script(_few_marks(text)))  # of one mark there may be three by now
    return _BLANK_BETWEEN.sub("", " ".join(text.split()))


def in_one_script(text: str) -> str:
    """The text, its words of several scripts spelled in one where that can be: step 3."""
    return _WITH_GREEK_OR_CYRILLIC.sub(_respelled, text) if _GREEK_OR_CYRILLIC.search(text) else text


def table(*, fold_traditional: bool = True) -> tuple[npt.NDArray[np.uint32], dict[int, str]]:
    """The table of ``normalise``, for a kernel, and the spelling of each character that it calls ``EXPANDS``.

    An entry is a code point, 0 where a character is left out, or ``EXPANDS``; above that, characters interact.
    """
    codes = _table(fold_traditional)
    several = np.flatnonzero(codes == EXPANDS).tolist()
    return codes.copy(), {code: _simple(chr(code), fold_traditional) for code in several}


@cache
def _unseen() -> re.Pattern[str]:
    formats = (
        character
        for character in map(chr, (*range(TABLE_END), *range(0xE0000, 0xE0080)))
        if unicodedata.category(character) in ("Cc", "Cf") and not character.isspace()
    )
    return re.compile(f"[{re.escape(''.join(formats))}{_IGNORABLE_LETTERS}\ud800-\udfff]+")


def _simple(character: str, fold_traditional: bool) -> str:
    plain = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", character).casefold())
    return plain.translate(_folded(fold_traditional))


def _respelled(word: re.Match[str]) -> str:
    letters = word[0]
    counted = [len(script.findall(letters)) for script, _, _ in _RESPELLINGS]
    if counted[0] == 0 or counted[0] == len(letters):
        return letters
    for number in sorted(range(len(counted)), key=lambda number: -counted[number]):
        _, twins, whole = _RESPELLINGS[number]
        if counted[number] and whole.fullmatch(spelled := letters.translate(twins)):
            return spelled
    return letters


@cache
def _folded(fold_traditional: bool) -> dict[int, int]:
    """Step 2 of each character."""
    greek = map(chr, (*range(0x370, 0x400), *range(0x1F00, 0x2000)))
    bases = ((letter, unicodedata.normalize("NFD", letter)[0]) for letter in greek if letter.isalpha())
    accented = {ord(letter): ord(base) for letter, base in bases if base != letter}
    return accented | SIMPLIFIED if fold_traditional else accented


@cache
def _marked_greek() -> re.Pattern[str]:
    return re.compile(f"([{_GREEK_RANGE}])[{_all_marks()}]+")


def _few_marks(text: str) -> str:
    """The text with the first ``_MOST_MARKS`` marks of each row."""
    codes = code_points(text)
    places = np.arange(len(codes))
    before = np.maximum.accumulate(np.where(_is_mark().take(codes, mode="clip"), -1, places))
    kept = places - before <= _MOST_MARKS
    return text if kept.all() else codes[kept].tobytes().decode("utf-32-le")


@cache
def _is_mark() -> npt.NDArray[np.bool_]:
    marks = np.zeros(TABLE_END + 1, dtype=bool)
    marks[list(map(ord, _all_marks()))] = True
    marks[[0xFF9E, 0xFF9F]] = True  # of half width: letters that NFKC turns into marks
    return marks


def _all_marks() -> str:
    return "".join(character for character in map(chr, range(TABLE_END)) if unicodedata.category(character)[0] == "M")


@cache
def _table(fold_traditional: bool) -> npt.NDArray[np.uint32]:
    """Code point → its spelling as one code point, or _UNSEEN, EXPANDS or _COMPOSES."""
    table = np.arange(TABLE_END + 1, dtype=np.uint32)
    unseen = _unseen()
    alone = (unseen.sub("", character) for character in map(chr, range(TABLE_END)))
    spellings = _simple("\n".join(alone), fold_traditional).split("\n")
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
