"""The script of a character: which characters words are made of, and the language of a text.

Tables over code points are made once; they depend on Python's Unicode only for characters newer than that.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from typing import Final

import numpy as np
import numpy.typing as npt

TABLE_END: Final = 0x20000
"""Tables over code points hold an entry for each one below, and a last one for all from here on."""

SEPARATOR, HAN, PLAIN, LETTER, MARK, UNSPACED, IDEOGRAPH, APOSTROPHE = 0, 1, 2, 4, 8, 16, 32, 64
FOLLOWS, LEADS = 1, 128
"""Classes of characters. In addition to ``UNSPACED`` the last two say that a character is written with the one before
it, or with the one after it."""

HAN_RANGE: Final = "\u4e00-\u9fd5"
IDEOGRAPH_RANGES: Final = (
    "\u3005-\u3007\u3021-\u3029\u3038-\u303b\u3400-\u4dbf\u9fd6-\u9fff\uf900-\ufaff\U00020000-\U0010ffff"
)
UNSPACED_RANGES: Final = (
    "\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0eb9\u0ebb-\u0ecd\u0edc-\u0edf\u1000-\u103f\u1050-\u109d\u1780-\u17d3\u17dc\u17dd"
)
_LEADING: Final = "\u0e40\u0e41\u0e42\u0e43\u0e44\u0ec0\u0ec1\u0ec2\u0ec3\u0ec4\u1039\u17d2"
"""Vowels of Thai and Lao that are written before their consonant, and the signs that stack two consonants of Burmese or
Khmer."""
_VOWELS_BEHIND: Final = "\u0e30\u0e32\u0e33\u0e45\u0eb0\u0eb2\u0eb3"
"""Signs of Thai and Lao: letters for Unicode, but written with their consonant as marks are."""


def language_of(counts: npt.NDArray[np.int64]) -> str:
    """zh, ja, ko, latin, cyrillic, arabic, thai, other or none: the language with the most characters, from the number
    of characters in each of the scripts that ``tables`` numbers.

    A Chinese or Korean character counts six times: it says as much as a short word, and Chinese pages quote far more
    Latin than Latin ones quote Chinese (of real Chinese pages one in twenty has fewer than a seventh of its letters in
    Chinese). Chinese characters count as Japanese if at least a tenth of them and the kana is kana.
    """
    _, han, kana, *others = counts.tolist()
    others[0] *= 6
    most = max(others)
    if 6 * (han + kana) > most:
        return "zh" if 10 * kana < han + kana else "ja"
    return _SCRIPTS[3 + others.index(most)] if most else "none"


def tables() -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]]:
    """Class and script of each code point below ``TABLE_END``, and in a last entry of all from there on."""
    return classes().copy(), _scripts().copy()


@cache
def classes() -> npt.NDArray[np.uint8]:
    """Code point → class; the last entry stands for all from ``TABLE_END`` on."""
    table = np.zeros(TABLE_END + 1, dtype=np.uint8)
    for category, kind in (("L", LETTER), ("N", LETTER), ("M", MARK), ("Me", SEPARATOR)):
        table[_of_category(category)] = kind
    table[TABLE_END] = IDEOGRAPH
    for ranges, kind in (
        ("a-zA-Z0-9", PLAIN),
        ("'", APOSTROPHE),
        (UNSPACED_RANGES, UNSPACED),
        (IDEOGRAPH_RANGES, IDEOGRAPH),
        (HAN_RANGE, HAN),
    ):
        _paint(table, ranges, kind)
    for character in map(chr, np.flatnonzero(table == UNSPACED).tolist()):
        if unicodedata.category(character)[0] == "M" or character in _VOWELS_BEHIND:
            table[ord(character)] |= FOLLOWS
        if character in _LEADING:
            table[ord(character)] |= LEADS
    table.flags.writeable = False
    return table


def of_category(category: str) -> list[str]:
    """The characters below ``TABLE_END`` of a general category, or of all that begin with its letter."""
    return list(map(chr, _of_category(category).tolist()))


def _of_category(category: str) -> npt.NDArray[np.int64]:
    letters = _categories()[:, : len(category)]
    return np.flatnonzero((letters == list(map(ord, category))).all(axis=1))


@cache
def _categories() -> npt.NDArray[np.uint32]:
    """The two letters of the category of each code point."""
    return code_points("".join(map(unicodedata.category, map(chr, range(TABLE_END))))).reshape(TABLE_END, 2)


def code_points(text: str) -> npt.NDArray[np.uint32]:
    """One uint32 a character, read-only."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)


_SCRIPTS: Final = ("none", "han", "kana", "ko", "latin", "cyrillic", "arabic", "thai", "other")
SCRIPTS: Final = len(_SCRIPTS)


@cache
def _scripts() -> npt.NDArray[np.uint8]:
    letters = np.isin(classes(), (SEPARATOR, APOSTROPHE), invert=True)
    table = (letters * _SCRIPTS.index("other")).astype(np.uint8)
    for script, ranges in (
        ("none", "0-9"),
        ("latin", "a-zA-Z\u00aa\u00ba\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02af\u1e00-\u1eff"),
        ("cyrillic", "\u0400-\u052f\u1c80-\u1c8f\u2de0-\u2dff\ua640-\ua69f"),
        ("arabic", "\u0620-\u065f\u066e-\u06d3\u06d5-\u06dc\u06fa-\u06ff\u0750-\u077f\u08a0-\u08ff"),
        ("thai", "\u0e01-\u0e3a\u0e40-\u0e4e"),
        ("ko", "\u1100-\u11ff\u3131-\u318e\uac00-\ud7a3"),
        ("kana", "\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"),
        ("han", HAN_RANGE + IDEOGRAPH_RANGES),
    ):
        _paint(table, ranges, _SCRIPTS.index(script))
    table.flags.writeable = False
    return table


def _paint(table: npt.NDArray[np.uint8], ranges: str, value: int) -> None:
    """``ranges`` as in a regular expression's brackets, without escapes."""
    for low, high in re.findall("(.)(?:-(.))?", ranges, re.DOTALL):
        table[ord(low) : ord(high or low) + 1] = value
