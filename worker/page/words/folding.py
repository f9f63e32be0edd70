"""Characters that are one to a reader and several to Unicode, by tables of the Unicode Consortium where these say it.

``docs/benchmarks/spelling.md`` shows each with words of a language that has it, ``docs/explanation/spelling.md`` says
what stays apart.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from typing import Final, NamedTuple

from worker.page.words.scripts import of_category


class Alike(NamedTuple):
    """``others`` are spelled as ``spelling``, by ``source``. A hyphen between two means all from one to the other."""

    spelling: str
    others: str
    source: str


_CONFUSABLE: Final = "UTS #39, confusables"
_SEARCH: Final = "CLDR, collation for search"
_NUMBERS: Final = "CLDR, numbering systems"
_CEDILLA: Final = "Unicode, comma below is what fonts draw for a cedilla"

ALIKE: Final = (
    Alike(
        "'",
        "`\u00b4\u02b9\u02bb-\u02bf\u0384\u055a\u05f3\u1fbd\u1fbf\u1fef\u1ffd\u1ffe\u2018-\u201b\u2032\u2035\ua78b\ua78c",
        _CONFUSABLE,
    ),
    Alike(
        '"',
        "\u00ab\u00bb\u02ba\u05f4\u201c-\u201f\u2033\u2036\u2039\u203a\u2e42\u300c-\u300f\u301d-\u301f",
        "Unicode, Quotation_Mark",
    ),
    Alike("-", "\u02d7\u2043\u2212", _CONFUSABLE),
    Alike("~", "\u223c\u301c", _CONFUSABLE),
    Alike(",", "\u060c\u066c", _NUMBERS),
    Alike(".", "\u066b\u06d4", _NUMBERS),
    Alike("%", "\u066a", _NUMBERS),
    Alike(";", "\u061b", "Unicode, Arabic semicolon"),
    Alike("?", "\u061f", "Unicode, Arabic question mark"),
    Alike(" ", "\u1361", "Unicode, Ethiopic wordspace"),
    Alike("\u0627", "\u0671", "Unicode, the alef of the Koran"),
    Alike("\u0643", "\u06a9", "Lucene, PersianNormalizer"),
    Alike("\u0647", "\u0629\u06c1\u06c3\u06d5", f"{_SEARCH}; Lucene, PersianNormalizer"),
    Alike("\u064a", "\u0649\u06cc", f"{_SEARCH}; Lucene, PersianNormalizer"),
    Alike("\u05d5\u05d5", "\u05f0", _CONFUSABLE),
    Alike("\u05d5\u05d9", "\u05f1", _CONFUSABLE),
    Alike("\u05d9\u05d9", "\u05f2", _CONFUSABLE),
    Alike("i", "\u0130\u0131", "Unicode, CaseFolding: I is the capital of two letters, i of two others"),
    Alike("\u0111", "\u00f0\u0256", f"{_CONFUSABLE} of their capitals"),
    Alike("\u0259", "\u01dd", _CONFUSABLE),
    Alike("\u0435", "\u0401\u0451", "CLDR, root collation: no primary difference"),
    Alike("\u015f", "\u0219", _CEDILLA),
    Alike("\u0163", "\u021b", _CEDILLA),
    Alike("\u0327", "\u0326", _CEDILLA),
    Alike("\u0323", "\u0329", "Yoruba, which writes either"),
)

_WITHOUT_MARKS: Final = ("ARABIC", "HEBREW", "SYRIAC")
"""Scripts whose marks are vowels and the like, which most texts do without."""

# Characters with Unicode's Default_Ignorable_Code_Point that are letters or marks; categories find controls and
# formats.
_IGNORABLE_LETTERS: Final = (
    "\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef"
)
_TATWEEL: Final = "\u0640"
_ODD_DASHES: Final = ("DOUBLE", "WAVE", "WAVY")

GREEK_RANGE: Final = "\u0370-\u03ff"
CYRILLIC_RANGE: Final = "\u0400-\u052f"
JOINED: Final = (0x620, 0x900)
"""Arabic and its neighbours, whose letters join: between two of them the non-joiner is a half-space."""

JOINERS: Final = "\u200c\u200d"
WITH_JOINER: Final = {
    **{f"{letter}\u0d4d": chillu for letter, chillu in zip("ണനരലളക", "ൺൻർൽൾൿ", strict=True)},
    "\u09a4\u09cd": "\u09ce",
    "\u0930\u094d": "\u0931\u094d",
}
"""A consonant with a virama, and what both are with a joiner after them by the Unicode Standard (chapter 12)."""

HEH, TWO_EYED_HEH = "\u0647", "\u06be"
ASPIRATED: Final = "\u0628\u067e\u062a\u0679\u062c\u0686\u062f\u0688\u0691\u0643\u06af"
"""Letters after which two-eyed heh is the breath of Urdu and Sindhi; elsewhere it is another shape of heh."""

UNSEEN_MARKS: Final = (("ij", "\u0307"), ("\u0435", "\u0300\u0301\u0308"), (CYRILLIC_RANGE, "\u0300\u0301"))
"""Letters, and marks that say nothing after them: the dot of i, the stress of Cyrillic, and the dots of ё."""

VIETNAMESE: Final = "\u1ea0-\u1ef9"
"""Letters that hardly any other language has, and hardly a sentence of this one lacks."""
_TONED: Final = "\u0300\u0301\u0303\u0309\u0323"
TONES: Final = {
    unicodedata.normalize("NFC", first + tone + last): unicodedata.normalize("NFC", first + last + tone)
    for first, last in ("oa", "oe", "uy")
    for tone in _TONED
}
"""Ends of Vietnamese words: with the tone where it was once written, and where it is now taught to stand."""

STACKED: Final = {
    **dict.fromkeys("\u0e38\u0e39\u0e3a", 103),
    **dict.fromkeys("\u0e31\u0e34\u0e35\u0e36\u0e37\u0e47", 105),
    **dict.fromkeys("\u0e48\u0e49\u0e4a\u0e4b\u0e4c\u0e4e", 107),
    "\u0e4d": 108,
    "\u0e33": 109,
    **dict.fromkeys("\u0eb8\u0eb9\u0eba", 118),
    **dict.fromkeys("\u0eb1\u0eb4\u0eb5\u0eb6\u0eb7\u0ebb", 120),
    **dict.fromkeys("\u0ec8\u0ec9\u0eca\u0ecb\u0ecc", 122),
    "\u0ecd": 123,
    "\u0eb3": 124,
}
"""Order of the signs that Thai and Lao write above and below a consonant: combining classes, including signs that
Unicode leaves in the order in which they were typed."""
_CIRCLES: Final = {"\u0e4d\u0e32": "\u0e33", "\u0ecd\u0eb2": "\u0eb3"}
TWICE: Final = {"\u0e40\u0e40": "\u0e41", "\u0ec0\u0ec0": "\u0ec1"}
"""Two of one vowel of Thai and Lao look like another one (UTS #39)."""

NTA: Final = ("\u0d28\u0d4d\u0d31", "\u0d7b\u0d4d\u0d31", "\u0d7b\u0d31")
"""Three ways to write one stack of Malayalam; the first is the commonest."""


@cache
def left_out() -> re.Pattern[str]:
    """Invisible characters other than joiners, and characters that writers leave out."""
    tags = (tag for tag in map(chr, range(0xE0000, 0xE0080)) if unicodedata.category(tag) == "Cf")
    formats = (
        character
        for character in (*of_category("Cc"), *of_category("Cf"), *tags)
        if not character.isspace() and character not in JOINERS
    )
    vowels = (mark for mark in of_category("Mn") if unicodedata.name(mark).startswith(_WITHOUT_MARKS))
    return re.compile(f"[{re.escape(''.join((*formats, *vowels)))}{_IGNORABLE_LETTERS}{_TATWEEL}\ud800-\udfff]+")


@cache
def signs() -> dict[int, str]:
    """The characters of ``ALIKE`` that compatibility forms and marks would turn into something else: they are spelled
    first."""
    first = ("'", '"', "\u0327", "\u0323", "i", "\u0435")
    return {ord(other): alike.spelling for alike in ALIKE if alike.spelling in first for other in expand(alike.others)}


@cache
def letters() -> dict[int, str]:
    """Characters of compatibility forms, and the spelling of each."""
    digits = {ord(digit): str(unicodedata.decimal(digit)) for digit in of_category("Nd")}
    dashes = (dash for dash in of_category("Pd") if not any(odd in unicodedata.name(dash) for odd in _ODD_DASHES))
    alike = {ord(other): alike.spelling for alike in ALIKE for other in expand(alike.others)}
    marked = filter(str.isalpha, map(chr, (*range(0x370, 0x400), *range(0x1F00, 0x2000), *range(*JOINED))))
    bases = {ord(letter): unicodedata.normalize("NFD", letter)[0] for letter in marked}
    bases = {code: alike.get(ord(base), base) for code, base in bases.items() if ord(base) != code}
    return digits | dict.fromkeys(map(ord, dashes), "-") | bases | alike


def evened_out(text: str) -> str:
    """The text without ``left_out``, and spelled by ``letters``: all that can be done without a look at neighbours."""
    return left_out().sub("", text).translate(letters())


def joined(text: str) -> str:
    """The text without joiners: each becomes the letter that it makes, or a blank for the half-space of letters that
    join."""
    text = _WITH_JOINER.sub(lambda found: WITH_JOINER[found[1]], text)
    return _JOINER.sub("", _half_space().sub(" ", text))


def unmarked(text: str) -> str:
    """The text without ``UNSEEN_MARKS``, composed; the composed letters may then have further ones."""
    while True:
        composed = unicodedata.normalize("NFC", text)
        text = composed.replace("\u0451", "\u0435")
        for pattern in _UNSEEN_MARKS:
            text = pattern.sub(r"\1", text)
        if text == composed:
            return text


def in_context(text: str) -> str:
    """The spelled text, ``unmarked``, with the spellings that depend on the letter before."""
    text = _TWO_EYED.sub(HEH, unmarked(text))
    return _NTA.sub(NTA[0], text)


def in_thai(text: str) -> str:
    """The spelled text, with one spelling for its Thai and Lao sequences that look alike."""
    if not _THAI_OR_LAO.search(text):
        return text
    stacked = _stack().sub(_in_order, text)
    circled = _stack().sub(_in_order, _CIRCLE.sub(lambda found: _CIRCLES[found[0]], stacked))
    return _TWICE.sub(lambda found: TWICE[found[0]], circled)


def _in_order(marks: re.Match[str]) -> str:
    return "".join(sorted(marks[0], key=lambda mark: STACKED.get(mark, unicodedata.combining(mark))))


@cache
def _stack() -> re.Pattern[str]:
    marks = filter(unicodedata.combining, of_category("M"))
    return re.compile(f"[{''.join((*marks, *STACKED))}]{{2,}}")


def expand(ranges: str) -> str:
    """Each of the characters that a bracket of a regular expression would stand for."""
    found = re.findall("(.)(?:-(.))?", ranges)
    return "".join(chr(code) for low, high in found for code in range(ord(low), ord(high or low) + 1))


@cache
def _half_space() -> re.Pattern[str]:
    return re.compile(f"(?<=[{''.join(filter(str.isalpha, map(chr, range(*JOINED))))}])\u200d*\u200c")


_WITH_JOINER: Final = re.compile(f"({'|'.join(WITH_JOINER)})\u200c*\u200d")
_JOINER: Final = re.compile(f"[{JOINERS}]+")
_UNSEEN_MARKS: Final = tuple(re.compile(f"([{letters}])[{marks}]+") for letters, marks in UNSEEN_MARKS)
_TWO_EYED: Final = re.compile(f"(?<![{ASPIRATED}]){TWO_EYED_HEH}")
_NTA: Final = re.compile("|".join(NTA[1:]))
_THAI_OR_LAO: Final = re.compile("[\u0e01-\u0eff]")
_CIRCLE: Final = re.compile("|".join(_CIRCLES))
_TWICE: Final = re.compile("|".join(TWICE))
