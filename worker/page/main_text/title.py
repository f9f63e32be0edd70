"""Whether a text is what its page's title announces.

The text that was taken for a page's content may be that of its template: an appeal, a table of contents, what the site
says of itself. It stands on pages that have nothing else in common. Their titles tell: an article has words of its
title in its sentences, and a template has not.
"""

from __future__ import annotations

import re
from typing import Final

from worker.page.words.folding import evened_out
from worker.page.words.noise import NOISE_WORDS
from worker.page.words.scripts import HAN_RANGE, IDEOGRAPH_RANGES, UNSPACED_RANGES

ANNOUNCED: Final = "announced-3"
"""Name of the rule; a part of the scheme, so change it when the rule changes."""

LEAST_ANNOUNCED: Final = 0.4
"""Share of the title's words that a text must have. With .3, a fifth more templates are taken for content; with .5, a
few more articles are doubted."""

LONGEST_TITLE: Final = 512
"""Characters of a title that are read: each of its words is looked for in all of the text, and each short line of the
text in it. In 6,301 labelled pages the longest has 228."""

_BETWEEN_PARTS: Final = re.compile(r"(?<=\s)[|–—·»«•:-]+(?=\s)|\||(?<=\s)[(\[]|（")
_UNSPACED: Final = f"{HAN_RANGE}{IDEOGRAPH_RANGES}{UNSPACED_RANGES}"
_WORDS: Final = re.compile(rf"[{_UNSPACED}]{{2,3}}|[^\W\d_{_UNSPACED}]{{2,}}")
"""Words of letters, and of scripts without blanks three characters each: two stand together in many a text."""
_OF_SEVERAL_SPELLINGS: Final = re.compile("[\u0131\u015f\u0163\u0219\u021b\u02b0-\u109f\u1780-\u17ff\u1f00-\u1fff]")
"""Letters of scripts of which ``worker.page.words.folding`` makes one of several, or leaves some out."""
_DIGITS: Final = re.compile(r"(?<![\d.])\d+(?!\.?\d)")
"""A number with dots is a version."""
_SAYING_LITTLE: Final = NOISE_WORDS.always.union(*NOISE_WORDS.by_language.values())


def first_part(title: str) -> str:
    """A title without what stands behind it, as the name of the site or "(print)": copies have another one."""
    return _BETWEEN_PARTS.split(title, maxsplit=1)[0].rstrip()


def numbers(title: str) -> list[str]:
    """The numbers of a title, in digits of any script; those behind its first part only where that has none: the name
    of the site has some as well."""
    return [str(int(digits)) for digits in _DIGITS.findall(first_part(title)) or _DIGITS.findall(title)]


def is_announced(text: str, title: str) -> bool:
    """Whether enough words of the title's first part stand in the lines of a text that are no part of the title."""
    title = title.casefold()
    part = first_part(title)
    lines = text.casefold().splitlines()
    sentences = "\n".join(line for line in lines if len(line) > len(title) or line.strip() not in title)
    return _stands_in(part, sentences) or (
        # Few titles are spelled otherwise than their texts, and evening out a text takes longer than all else here.
        _OF_SEVERAL_SPELLINGS.search(part) is not None and _stands_in(evened_out(part), evened_out(sentences))
    )


def _stands_in(part: str, sentences: str) -> bool:
    words = set(_WORDS.findall(part))
    words = {word for word in words if not _says_little(word)} or words
    return bool(words) and sum(word in sentences for word in words) >= LEAST_ANNOUNCED * len(words)


def _says_little(word: str) -> bool:
    return word in _SAYING_LITTLE or (
        _OF_SEVERAL_SPELLINGS.search(word) is not None and evened_out(word) in _SAYING_LITTLE
    )
