"""Which strings of a state are meant for people, and how they are written as markup."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape
from typing import Final

import numpy as np

from worker.compiling import COMPILED
from worker.page.main_text.tally import LONG_LINE, words_in
from worker.page.references import unescaped

MOST_LINES: Final = 20
MOST_TOKENS: Final = 200
"""Lines at the beginning of a string, and tokens at the beginning of a line, that the judgement reads."""
LEAST_PLAIN: Final = 0.6
"""Share of plain words in prose. Lists of class names, style sheets, queries and programs have fewer."""
_OPENING: Final = 40
"""Two sentences with this many equal first characters count as one."""

_TAG: Final = re.compile(r"<[^<>]*>")
_MARKUP: Final = re.compile(
    r"</?(?:p|br|div|span|a|b|i|u|em|strong|small|sub|sup|h[1-6]|ul|ol|li|dl|d[td]|table|tbody|t[rdh]|hr|img|figure|section"
    r"|article|blockquote|pre|code|iframe|font|center)[\s/>]",
    re.IGNORECASE,
)
_PLAIN: Final = re.compile(r"[(\"'¿¡]*+[a-z]++(?:['-][a-z]++)*+[.,;:!?)\"'…]*+", re.IGNORECASE)
_OF_PROGRAMS: Final = frozenset("/=<>{}\\")
_SENTENCE_END: Final = re.compile(r"[.!?…。！？।\n]\s*+")
_NO_LETTERS: Final = re.compile(r"[\W_]+")


def number_of_words(text: str) -> int:
    """The number of words, counted as in a page."""
    body = bytearray(text.encode("utf-8", "replace"))
    return words_in(np.frombuffer(body, dtype=np.uint8) if COMPILED else body, 0, len(body)) if body else 0


def as_markup(text: str) -> str | None:
    """A string that is HTML, as it is or with its signs written as references; None for plain text."""
    if _MARKUP.search(text):
        return text
    resolved = unescaped(text) if "&" in text else ""
    return resolved if _MARKUP.search(resolved) else None


def plain(text: str) -> str:
    """A string as it would be shown, without tags, references resolved."""
    markup = as_markup(text)
    return unescaped(text) if markup is None else " ".join(unescaped(_TAG.sub(" ", markup)).split())


def may_be_prose(text: str) -> bool:
    """Whether it is worth a look: most strings of a state are names and addresses."""
    return not text.isascii() or text.count(" ") >= LONG_LINE - 1


def is_prose(shown: str) -> bool:
    """Whether a string, as shown, has a sentence in one of its first lines: the words of a long line, most of them
    plain. A word that is not ASCII is plain: no name, address or program looks like that."""
    return any(map(_is_sentence, shown.split("\n", MOST_LINES)[:MOST_LINES]))


def _is_sentence(line: str) -> bool:
    if number_of_words(line) < LONG_LINE:
        return False
    tokens = line.split(maxsplit=MOST_TOKENS)[:MOST_TOKENS]
    found = sum(_is_plain(token) for token in tokens)
    return found >= LEAST_PLAIN * len(tokens)


def _is_plain(token: str) -> bool:
    if token.isascii():
        return _PLAIN.fullmatch(token) is not None
    return _OF_PROGRAMS.isdisjoint(token)


def openings(shown: str) -> list[str]:
    """The beginnings of the sentences of a string, each without case and signs."""
    sentences = (_NO_LETTERS.sub(" ", sentence[: 2 * _OPENING]).strip() for sentence in _SENTENCE_END.split(shown))
    return [sentence[:_OPENING].casefold() for sentence in sentences if sentence]


def without_repetitions(texts: Iterable[str]) -> list[str]:
    """The strings without those whose first sentence stands in a longer one: summaries, and the same in another
    form."""
    given = list(texts)
    said: set[str] = set()
    kept = set()
    for place in sorted(range(len(given)), key=lambda place: -len(given[place])):
        sentences = openings(plain(given[place]))
        if sentences and sentences[0] not in said:
            kept.add(place)
            said.update(sentences)
    return [text for place, text in enumerate(given) if place in kept]


def as_page(title: str | None, texts: Iterable[str]) -> str:
    """Strings as a page of their own, for the rules by which pages are read. A string cut within a tag ends before
    it."""
    heading = f"<h1>{escape(title)}</h1>" if title else ""
    return f"<main>{heading}{''.join(map(_block, texts))}</main>"


def _block(text: str) -> str:
    markup = as_markup(text)
    if markup is None:
        return "".join(f"<p>{escape(line)}</p>" for line in unescaped(text).splitlines() if line.strip())
    cut = markup.rfind("<")
    return f"<div>{markup[:cut] if cut > markup.rfind('>') else markup}</div>"


def names(spelled: str) -> frozenset[str]:
    """The names in a list of names."""
    return frozenset(spelled.split())
