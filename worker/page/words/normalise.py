"""The spelling that tokens, "equal normalised text" and the hash of a text rest on.

1. Compatibility forms become plain (NFKC), case is folded, and invisible characters go (controls, zero width,
   soft hyphen, direction marks, variation selectors, halves of surrogate pairs). Of more than thirty marks in a row the
   first thirty stay: no language has so many (UAX #15, section 13, stream-safe text), and NFKC sorts them in a time
   that grows with their square.
2. Signs that writers leave out go: the vowels of Arabic and Hebrew, the accents of Greek, the stress of Cyrillic.
   Characters that are one to readers, by the tables in ``worker.page.words.folding``, become one: digits, dashes,
   quotation marks and apostrophes of all scripts, the letters that two keyboards have for one; traditional Chinese
   characters become simplified ones, for a site shows one text in both.
3. A word that mixes Latin letters with Greek or Cyrillic ones that look like them is spelled in one script: among the
   scripts that it can be spelled in, the one of most of its letters. A word of one script stays as it is.
4. Each run of white space becomes one blank, and none is left between two characters of scripts that are written
   without blanks: lines of Chinese may break anywhere.

NFKC and case folding never change for a character once assigned (Unicode stability policy), so Pythons of different
Unicode versions agree on all text except characters newer than the older version.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from worker.page.words import folding
from worker.page.words.folding import CYRILLIC_RANGE, GREEK_RANGE
from worker.page.words.scripts import (
    HAN_RANGE,
    IDEOGRAPH_RANGES,
    LETTER,
    MARK,
    PLAIN,
    TABLE_END,
    UNSPACED_RANGES,
    classes,
    code_points,
    of_category,
)
from worker.page.words.word_tables import SIMPLIFIED

NORMALISER: Final = "nfkc-casefold-4"
"""Name of the rule; a part of the scheme, so change it when the rule changes."""

_BLANK: Final = 0x20
_UNSEEN: Final = 0
EXPANDS: Final = 0x110000
COMPOSES: Final = 0x110001
JOINS: Final = 1 << 21
"""Mark of a character that its neighbours may change: its own spelling is in the bits below."""
ORDER: Final = 22
"""Where its combining class begins, of 8 bits: a mark of a lower class, if any, goes before it."""
PAIRS: Final = 1 << 30
"""It has a part in ``Spellings.pairs``."""
IS_MARK: Final = 1 << 31
KEEPS: Final = 1 << 21
"""Mark of a spelling in ``Spellings.pairs``: the character before stays."""

LATIN: Final = ((0x61, 0x7B), (0xDF, 0x250))
"""Lower case, accents included; of the characters in between, two signs are no letters, which does not matter here."""
_LATIN_RANGE: Final = "a-z\u00df-\u024f"
_MARKS: Final = "\u0300-\u036f"
_LETTERS: Final = f"[{_LATIN_RANGE}{GREEK_RANGE}{CYRILLIC_RANGE}{_MARKS}]"
_GREEK_OR_CYRILLIC: Final = re.compile(f"[{GREEK_RANGE}{CYRILLIC_RANGE}]")
_WITH_GREEK_OR_CYRILLIC: Final = re.compile(
    f"(?<!{_LETTERS})[{_LATIN_RANGE}{_MARKS}]*+{_GREEK_OR_CYRILLIC.pattern}{_LETTERS}*+"
)
"""A word with such a letter. The search begins only where a word begins, so the time does not grow with its square."""
_MOST_MARKS: Final = 30
_BETWEEN: Final = f"[{HAN_RANGE}{IDEOGRAPH_RANGES}{UNSPACED_RANGES}]"
_VIETNAMESE: Final = re.compile(f"[{folding.VIETNAMESE}]")
_TONED: Final = re.compile("|".join(folding.TONES))

# The letters that Unicode calls confusable (Unicode Technical Standard 39) and that look alike in lower case, or else
# in upper case. Greek μ is left out: it looks like no Latin letter, and μm is not mm.
_CYRILLIC_TWINS: Final = dict(
    zip("аеорсхуіјѕԁԛԝһвкмтнїәҫӑӗ", "aeopcxyijsdqwhbkmth\u00ef\u0259\u00e7\u0103\u0115", strict=True)
)
_GREEK_TWINS: Final = dict(zip("αορνυιγβεζηκτχ", "aopvuiybezhktx", strict=True))
_SCRIPTS: Final = (
    (_LATIN_RANGE + "\u0259", _CYRILLIC_TWINS | _GREEK_TWINS),
    (CYRILLIC_RANGE, {twin: letter for letter, twin in _CYRILLIC_TWINS.items()} | {"\u00eb": "е"}),
    (GREEK_RANGE, {twin: letter for letter, twin in _GREEK_TWINS.items()}),
)
"""Letters of each, and other characters that are spelled with them."""
_RESPELLINGS: Final = tuple(
    (re.compile(f"[{letters}]"), str.maketrans(twins), re.compile(f"[{letters}{_MARKS}]+"))
    for letters, twins in _SCRIPTS
)


class Spellings(NamedTuple):
    """The tables by which a kernel spells.

    ``codes`` are code point → spelling: a code point; 0 for a character that is left out; ``EXPANDS`` if ``several``
    has it; ``COMPOSES`` if only ``normalise`` knows; otherwise the bits of ``JOINS``. ``pairs`` are a spelled character
    and one with ``PAIRS`` → the spelling of both.
    """

    codes: npt.NDArray[np.uint32]
    several: dict[int, str]
    pairs: dict[tuple[int, int], int]


def normalise(text: str, *, fold_traditional: bool = True) -> str:
    """The normalised text; normalising it again changes nothing.

    Step by step: for words and titles. ``worker.fingerprint.kernels.spelling`` spells whole texts, by ``table``, and
    calls this where a character's spelling depends on more than its neighbours.
    """
    left_out = folding.left_out()
    text = _few_marks(left_out.sub("", text).translate(folding.signs()))
    if any(joiner in text for joiner in folding.JOINERS):
        text = _few_marks(folding.joined(left_out.sub("", unicodedata.normalize("NFKC", text))))
    for _ in range(2):  # folding can make letters that compose, composing letters that fold (Unicode, definition D145)
        text = unicodedata.normalize("NFKC", text).casefold()
    text = left_out.sub("", unicodedata.normalize("NFKC", text))
    text = _in_context(text.translate(_folded(fold_traditional)))
    text = in_one_script(_few_marks(text))  # by now there may be three of one mark
    return _closed_up(" ".join(toned(text).split()))


def in_one_script(text: str) -> str:
    """The text, with its words of several scripts spelled in one if that is possible: step 3."""
    if not _GREEK_OR_CYRILLIC.search(text):
        return text
    respelled = _WITH_GREEK_OR_CYRILLIC.sub(_respelled, text)
    return text if respelled == text else _in_context(respelled)


def toned(text: str) -> str:
    """The text, and if it is Vietnamese, with the tones at the ends of its words where the newer rule puts them."""
    return _TONED.sub(_toned, text) if _VIETNAMESE.search(text) else text


def table(*, fold_traditional: bool = True) -> Spellings:
    """``normalise`` as a table, for a kernel."""
    codes = _table(fold_traditional)
    several = np.flatnonzero(codes == EXPANDS).tolist()
    return Spellings(codes, {code: _simple(chr(code), fold_traditional) for code in several}, _pairs())


def _simple(character: str, fold_traditional: bool) -> str:
    """The spelling of a character alone, or of several with a line end between them."""
    plain = unicodedata.normalize("NFKC", character.translate(folding.signs())).casefold()
    spelled = folding.left_out().sub("", unicodedata.normalize("NFKC", plain))
    return folding.in_thai(folding.unmarked(spelled.translate(_folded(fold_traditional))))


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


def _toned(end: re.Match[str]) -> str:
    after = end.string[end.end() : end.end() + 1]
    inside = after and classes().take(ord(after), mode="clip") & (PLAIN | LETTER | MARK)
    return end[0] if inside else folding.TONES[end[0]]


def _closed_up(text: str) -> str:
    """The text without blanks inside scripts without them (step 4), where their neighbours may look alike."""
    return folding.in_thai(_blank_between().sub("", text))


@cache
def _blank_between() -> re.Pattern[str]:
    return re.compile(f"(?<={_BETWEEN}) (?={_BETWEEN})(?![{_all_marks()}])")


def _in_context(text: str) -> str:
    return folding.in_context(_marked_greek().sub(r"\1", text))


@cache
def _folded(fold_traditional: bool) -> dict[int, str | int]:
    """Step 2 for each character."""
    return {**folding.letters(), **(SIMPLIFIED if fold_traditional else {})}


@cache
def _marked_greek() -> re.Pattern[str]:
    marks = "".join(mark for mark in _all_marks() if mark not in folding.STACKED)
    return re.compile(f"([{GREEK_RANGE}])[{marks}]+")


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


@cache
def _all_marks() -> str:
    """Marks that change their neighbours, or trade places with them."""
    marks = (mark for mark in of_category("M") if ord(mark) in _joining() or mark != _compatible(mark))
    return "".join({**dict.fromkeys(marks), **folding.STACKED})


def _compatible(character: str) -> str:
    return unicodedata.normalize("NFKC", character).casefold()


@cache
def _joining() -> dict[int, int]:
    """Spelled code point → its entry in the table, for code points that neighbours may change."""
    second = {code for _, code in _pairs()}
    marks = {mark: unicodedata.combining(mark) for mark in of_category("M")} | folding.STACKED
    joining = {ord(mark): IS_MARK | order << ORDER for mark, order in marks.items() if order or ord(mark) in second}
    joining |= dict.fromkeys((*second - joining.keys(), *map(ord, folding.JOINERS)), 0)
    known = {code: JOINS | code | bits | PAIRS * (code in second) for code, bits in joining.items()}
    return known | dict.fromkeys((0xE4D, 0xECD, *range(0x1160, 0x1200)), COMPOSES)


@cache
def _pairs() -> dict[tuple[int, int], int]:
    """See ``Spellings``."""
    decomposed = filter(unicodedata.decomposition, map(chr, range(TABLE_END)))
    composites = [c for c in decomposed if _parts(c) and c == unicodedata.normalize("NFC", c)]
    spelled = _simple("\n".join("\n".join((*_parts(c), c)) for c in composites), True).split("\n")
    pairs: dict[tuple[int, int], int] = {}
    for first, second, both in zip(spelled[::3], spelled[1::3], spelled[2::3], strict=True):
        if len(first) == len(second) == len(both) == 1 and not 0x370 <= ord(first) < 0x400:
            pairs[ord(first), ord(second)] = ord(both)
    for letters, marks in folding.UNSEEN_MARKS:
        for letter in folding.expand(letters):
            for mark in marks:
                pairs.setdefault((ord(letter), ord(mark)), ord(letter))
    pairs |= {
        (ord(letter), ord(folding.TWO_EYED_HEH)): KEEPS | ord(folding.TWO_EYED_HEH) for letter in folding.ASPIRATED
    }
    pairs |= {(ord(two[0]), ord(two[1])): ord(one) for two, one in folding.TWICE.items()}
    pairs |= {(ord(nta[0]), ord(nta[1])): COMPOSES for nta in folding.NTA[1:]}
    pairs |= {(ord(two[0]), 0x200D): ord(two[1]) for two in folding.WITH_JOINER}
    return pairs


def _parts(composite: str) -> list[str]:
    """The two parts that Unicode makes a character of, if it does."""
    parts = unicodedata.decomposition(composite).split()
    return [chr(int(part, 16)) for part in parts] if len(parts) == 2 and parts[0][0] != "<" else []


def _ends_with_mark(character: str, spelling: str) -> bool:
    """Whether a character that is no mark is spelled as another one with a mark, which is none for Unicode."""
    is_mark = [bool(_joining().get(ord(part), 0) & IS_MARK) for part in spelling]
    return is_mark == [False, True] and unicodedata.category(character)[0] != "M"


def _table(fold_traditional: bool) -> npt.NDArray[np.uint32]:
    """Code point → its spelling, see ``Spellings``."""
    table = np.arange(TABLE_END + 1, dtype=np.uint32)
    asked = _spelled_anew()
    text = _simple(folding.left_out().sub("", "\n".join(map(chr, asked))), fold_traditional)
    joining = _joining()
    for code, spelling in zip(asked, text.split("\n"), strict=True):
        if len(spelling) == 1:
            table[code] = _BLANK if spelling.isspace() else joining.get(ord(spelling), ord(spelling))
        else:
            is_simple = not joining.keys() & set(map(ord, spelling)) or _ends_with_mark(chr(code), spelling)
            table[code] = _UNSEEN if not spelling else EXPANDS if is_simple else COMPOSES
        if unicodedata.combining(chr(code)) and not any(map(unicodedata.combining, spelling)) and spelling:
            table[code] = COMPOSES
    table[ord("\n")] = _BLANK
    table[TABLE_END] = COMPOSES
    return table


def _spelled_anew() -> list[int]:
    """Code points whose spelling may be another one: without unassigned ones, Korean syllables and, except traditional
    characters, Chinese, two of three; and without the line end, which stands between them when they are spelled."""
    asked = np.ones(TABLE_END, dtype=bool)
    for unchanged in ((0x3400, 0xA000), (0xAC00, 0xD7A4)):
        asked[slice(*unchanged)] = False
    asked[[code for code in SIMPLIFIED if code < TABLE_END]] = True
    asked[[ord(character) for character in (*of_category("Cn"), *of_category("Co"), "\n")]] = False
    found: list[int] = np.flatnonzero(asked).tolist()
    return found
