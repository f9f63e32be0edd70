"""Normalised text → words and units, by the rules of ``worker.fingerprint.text_reader``, and its language."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import pairwise
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from worker.fingerprint.kernels.cutting import GLUE
from worker.page.words.dictionary import UserWord, _usable, tokenizer, with_beginnings
from worker.page.words.scripts import (
    APOSTROPHE,
    FOLLOWS,
    HAN_RANGE,
    IDEOGRAPH_RANGES,
    LEADS,
    LETTER,
    MARK,
    PLAIN,
    SCRIPTS,
    SEPARATOR,
    UNSPACED,
    UNSPACED_RANGES,
    classes,
    code_points,
    language_of,
    tables,
)


def unspaced(beside: int) -> str:
    """The characters of scripts without blanks whose class says ``FOLLOWS`` or ``LEADS`` as well."""
    wanted = UNSPACED | beside
    return "".join(map(chr, np.flatnonzero(classes() & wanted == wanted).tolist()))


_BLANK: Final = 0x20

_SPECIAL: Final = HAN_RANGE + IDEOGRAPH_RANGES + UNSPACED_RANGES
_NEEDS_PIECES: Final = re.compile(f"[{_SPECIAL}]")
_ASCII_ALONE: Final = rf"(?<![^{_SPECIAL}])[a-z0-9]++(?![^{_SPECIAL}])"
_PIECE: Final = re.compile(
    rf"(?P<dictionary>(?:[{HAN_RANGE}]|{_ASCII_ALONE})+)"
    rf"|(?P<unspaced>[{UNSPACED_RANGES}]+)"
    rf"|(?P<ideograph>[{IDEOGRAPH_RANGES}])"
    rf"|(?P<word>[^{_SPECIAL}]+)"
)
_WRITTEN: Final = rf"[{UNSPACED_RANGES}](?:[{unspaced(FOLLOWS)}]|(?<=[{unspaced(LEADS)}])[{UNSPACED_RANGES}])*+"
_CHARACTER: Final = re.compile(_WRITTEN)
_CHARACTER_OR_WORD: Final = re.compile(rf"{_WRITTEN}|[{HAN_RANGE}{IDEOGRAPH_RANGES}]|[^ {_SPECIAL}]+")
_WORD: Final = re.compile("[^ ]+")
_DIGITS: Final = "0123456789"


@cache
def _frequencies(fold_traditional: bool) -> tuple[dict[str, int], int]:
    return with_beginnings(fold_traditional)


class Segmenter:
    """Cuts normalised text into words, noise words included, by jieba itself."""

    def __init__(self, user_words: Iterable[UserWord] = (), *, fold_traditional: bool = True) -> None:
        usable, _ = _usable(user_words, fold_traditional)
        counts, total = _frequencies(fold_traditional)
        self._tokenizer: Final[Any] = tokenizer(usable, (counts.copy() if usable else counts, total))

    def all_tokens(self, text: str) -> list[str]:
        """The tokens in their order."""
        spaced, _ = _spaced(text)
        return [token for word in spaced.split() for token in self._pieces(word)]

    def _cut(self, text: str) -> list[str]:
        return list(self._tokenizer.cut(text, HMM=False))

    def _pieces(self, word: str) -> list[str]:
        word = word if word[0].isalnum() else _without_leading_marks(word)
        if not _NEEDS_PIECES.search(word):
            return [word] if word else []
        tokens: list[str] = []
        for piece in _PIECE.finditer(word):
            found = piece[0]
            if piece.lastgroup == "dictionary":
                tokens += self._cut(found)
            elif piece.lastgroup == "unspaced":
                characters = _CHARACTER.findall(found)
                tokens += map("".join, pairwise(characters)) if len(characters) > 1 else characters
            elif whole := found if piece.lastgroup != "word" or found[0].isalnum() else _without_leading_marks(found):
                tokens.append(whole)
        return tokens


def said_once(normalised_text: str) -> str:
    """The text in which each number and each part of an address or of code is kept only at its first place."""
    spaced, kinds = _spaced(normalised_text)
    before, behind = f"  {normalised_text}", f"{normalised_text}  "
    plain = np.concatenate(([False, False], kinds == PLAIN, [False, False]))
    words: list[tuple[str, bool, bool]] = []
    for found in _WORD.finditer(spaced):
        word, (begin, end) = found[0], found.span()
        ascii_word = word.isascii() and word.isalnum()
        glued = before[begin + 1] in GLUE and (plain[begin] or before[begin] == "/")
        glued |= behind[end] in GLUE and (plain[end + 3] or behind[end + 1] == "/")
        if ascii_word or _without_leading_marks(word):
            words.append((word, ascii_word, ascii_word and (glued or word[0] in _DIGITS)))
    kept: list[str] = []
    seen: set[str] = set()
    for number, (word, ascii_word, part) in enumerate(words):
        between = 0 < number < len(words) - 1 and words[number - 1][2] and words[number + 1][2]
        if part or (ascii_word and between):
            if word in seen:
                continue
            seen.add(word)
        kept.append(word)
    return " ".join(kept)


def characters_and_words(normalised_text: str) -> list[str]:
    """The units of a text."""
    spaced, kinds = _spaced(normalised_text)
    tokens = _CHARACTER_OR_WORD.findall(spaced)
    if not int(np.bitwise_or.reduce(kinds, initial=0)) & MARK:
        return tokens
    return [whole for token in tokens if (whole := token if token[0].isalnum() else _without_leading_marks(token))]


def _spaced(text: str) -> tuple[str, npt.NDArray[np.uint8]]:
    """The text with one blank for each character that separates, and the class of each character."""
    codes = code_points(text)
    kinds = classes().take(codes, mode="clip")
    spaced = np.where(kinds == SEPARATOR, np.uint32(_BLANK), codes)
    apostrophes = np.flatnonzero(kinds == APOSTROPHE)
    if apostrophes.size:
        # At either end of the text the clipped index points at the apostrophe itself, which is not a letter.
        before = kinds.take(apostrophes - 1, mode="clip") & (PLAIN | LETTER | MARK)
        after = kinds.take(apostrophes + 1, mode="clip") & (PLAIN | LETTER)
        inside = (before != 0) & (after != 0)
        spaced[apostrophes[~inside]] = _BLANK
        kinds[apostrophes] = np.where(inside, LETTER, SEPARATOR)
    return spaced.tobytes().decode("utf-32-le"), kinds


def _without_leading_marks(word: str) -> str:
    marks = classes().take(code_points(word), mode="clip") == MARK
    return word if marks.size == 0 else "" if marks.all() else word[int(marks.argmin()) :].lstrip("'")


def language(text: str | Sequence[str]) -> str:
    """``language_of`` the first characters of a text, or of its tokens."""
    sample = text[:4096] if isinstance(text, str) else "".join(text[:1024])
    scripts = tables()[1].take(code_points(sample), mode="clip")
    return language_of(np.bincount(scripts, minlength=SCRIPTS))
