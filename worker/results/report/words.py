"""A text in words with the text between them, so that a difference can be shown in the text as it is written."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from itertools import accumulate, pairwise
from typing import Final, NamedTuple

from worker.fingerprint.text_reader import TextReader
from worker.page.words.normalise import normalise
from worker.page.words.scripts import HAN_RANGE, IDEOGRAPH_RANGES, UNSPACED_RANGES

_SPECIAL: Final = HAN_RANGE + IDEOGRAPH_RANGES + UNSPACED_RANGES
_PIECE: Final = re.compile(
    rf"(?P<chinese>[{HAN_RANGE}]+)"
    rf"|(?P<character>[{IDEOGRAPH_RANGES}{UNSPACED_RANGES}])"
    rf"|(?P<word>[^\W_{_SPECIAL}]+(?:['’][^\W_{_SPECIAL}]+)*)"
    r"|(?P<between>.)",
    re.DOTALL,
)


class Word(NamedTuple):
    """A word as it is written, the form in which it is compared, and the text between it and the next one."""

    text: str
    key: str
    behind: str


_key: Final = lru_cache(1 << 16)(normalise)

Cut = Callable[[str], list[str]]
"""Chinese text in words."""


def cut_by(reader: Callable[[], TextReader]) -> Cut:
    """Words as fingerprints have them, in the spelling of the text; where that is not possible, characters.

    The reader, which loads a dictionary for half a second, is made when the first Chinese text comes.
    """
    made = cache(reader)

    def cut(text: str) -> list[str]:
        tokens = made().tokens(text).words
        if sum(map(len, tokens)) != len(text):
            return list(text)
        ends = accumulate(map(len, tokens), initial=0)
        return [text[begin:end] for begin, end in pairwise(ends)]

    return cut


def words(text: str, cut: Cut) -> Iterator[Word]:
    """All of the text. The text before the first word belongs to a word without letters."""
    waiting, behind = "", ""
    began = False
    for piece in _PIECE.finditer(text):
        if piece.lastgroup == "between":
            behind += piece[0]
            continue
        for found in cut(piece[0]) if piece.lastgroup == "chinese" else (piece[0],):
            if began or behind:
                yield Word(waiting, _key(waiting), behind)
            waiting, behind, began = found, "", True
    if began or behind:
        yield Word(waiting, _key(waiting), behind)
