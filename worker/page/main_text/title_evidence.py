"""What a page's title says of its text: the name of the thing, and whether the text is what that name announces.

The text that was extracted as a page's content may be that of its template: an appeal, a table of contents, the site's
text about itself. It stands on pages that have nothing else in common. Their titles show it: an article has words of
its title in its sentences, and a template has not.

A title names the thing, often its site as well, and sometimes a view of the page. The page itself gives the name of its
site (``og:site_name``, ``application-name``, its host), and that part goes, wherever it stands; so do parts that are
"print", "AMP" or the number of a page. The rest is compared: within one site copies of a page have it in common.

Headings say the same, or lead to other pages.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple
from unicodedata import normalize

import numpy as np
import numpy.typing as npt

from worker.page.elements.markup import KIND, NAME, Rows, is_space
from worker.page.elements.parsed import FROM, OWNER, TO
from worker.page.elements.vocabulary import (
    EMPTY,
    HEADINGS,
    TITLE,
    compiled,
    grown,
    lean,
)
from worker.page.main_text.tally import ELSEWHERE, GONE, LINKED, TITLED
from worker.page.words.folding import evened_out
from worker.page.words.noise import NOISE_WORDS
from worker.page.words.scripts import HAN_RANGE, IDEOGRAPH_RANGES, UNSPACED_RANGES

ANNOUNCED: Final = "announced-6"
"""Name of all rules here; a part of the scheme, so change it when a rule changes."""

LEAST_ANNOUNCED: Final = 0.4
"""Share of the title's words that a text must have. With .3, a fifth more templates are taken for content; with .5, a
few more articles are doubted."""

LONGEST_TITLE: Final = 512
"""Characters of a title that are read: each of its words is looked for in all of the text, and each short line of the
text in it. In 6,301 labelled pages the longest has 228."""

_UNSPACED: Final = f"{HAN_RANGE}{IDEOGRAPH_RANGES}{UNSPACED_RANGES}"
_BETWEEN_PARTS: Final = re.compile(
    r"[\s|｜│¦—›»«•:：()\[\]（）【】「」『』_–-]"  # all characters that it can begin with, which is quick to find
    r"(?:(?<=\s)[|–—·»«›‹•:/\\><~*_-]{1,64}+(?=\s)|(?<=[|｜│¦—›»«•：（）【】「」『』])|(?<=:)(?=\s)"
    rf"|(?<=\s[(\[])|(?<=[)\]])(?=\s)|(?<=[{_UNSPACED}][-–_])|(?<=[-–_])(?=[{_UNSPACED}]))"
)
"""Sites of scripts without blanks write none around the sign that separates the parts of a title, either."""
_UNREAD_MESSAGES: Final = re.compile(r"\s*\(\d{1,3}\+?(?: ?条消息| ?封私信(?: ?/ ?\d{1,3}\+? ?条消息)?)?\)\s+(?=\S)")
"""The number of the reader's unread messages, which sites put in front of a title."""
_WORDS: Final = re.compile(rf"[^\W\d_{_UNSPACED}]{{2,}}")
"""Words of letters."""
_UNSPACED_RUNS: Final = re.compile(rf"[{_UNSPACED}]{{2,}}")
"""Scripts without blanks, in which each two neighbours count."""
_UNSPACED_ONE: Final = re.compile(rf"[{_UNSPACED}]")
_TOKENS: Final = re.compile(rf"[{_UNSPACED}]|[^\W_{_UNSPACED}]+")
"""Tokens that are compared: numbers count, and single letters."""
_ASCII_TOKENS: Final = re.compile("[a-z0-9]+")
"""The same in lower case, found in a third of the time."""
_OF_SEVERAL_SPELLINGS: Final = re.compile("[\u0131\u015f\u0163\u0219\u021b\u02b0-\u109f\u1780-\u17ff\u1f00-\u1fff]")
"""Letters of scripts in which ``worker.page.words.folding`` merges several letters into one, or leaves some out."""
_DIGITS: Final = re.compile(r"(?<![\d.])\d+(?!\.?\d)")
"""A number with dots is a version."""
_VERSION: Final = re.compile(r"(?<![\d.])\d{1,9}(?:\.\d{1,9}){1,9}")
_INVISIBLE: Final = "\u00ad\u200b\u2060\ufeff"
"""Characters that may stand within a word: soft hyphens and places where a line may break, or may not."""
_TO_NONE: Final = str.maketrans("", "", _INVISIBLE)
_SAYING_LITTLE: Final = NOISE_WORDS.always.union(*NOISE_WORDS.by_language.values())

_WORDS_OF_VIEWS: Final = """
amp mobile print printable printer friendly printing version view page pages text only of druckansicht druckversion
drucken druck seite seitenansicht imprimer impression imprimable imprimir impresión versión página para stampa
stampabile versione pagina afdrukken afdrukversie wydruk drukuj wersja do druku strona tisk verze pro stránka печать
печати версия для страница друк версія сторінка εκτύπωση σελίδα yazdır yazdırma sayfa cetak halaman
"""
_VIEWS: Final = frozenset(_WORDS_OF_VIEWS.split())
_VIEWS_UNSPACED: Final = re.compile(
    r"打印(?:本页|版|预览)?|列印(?:本頁|版)?|印刷(?:用|版|用ページ)?|第?\s?\d{0,6}\s?(?:页|頁|ページ)|手机版|手機版"
)
"""Words of parts that only distinguish a view of a page from others, and not the page."""
_SOME: Final = 512
"""Characters, and the rest of their line, that are looked at together."""
_LEAST_OF_HOST: Final = 4
"""A part with this many letters or more may be the beginning of a label of the host's name."""


class Title(NamedTuple):
    """A title without its site's name and without the name of a view.

    ``first`` is its first part as it is spelled, empty if all of it is the site's name; ``tokens`` are what is
    compared, none in that case. ``numbered`` are its parts with the names of views, which have numbers of pages.
    """

    first: str = ""
    tokens: tuple[str, ...] = ()
    numbered: tuple[str, ...] = ()

    @property
    def numbers(self) -> list[str]:
        """Its numbers, in digits of any script; numbers after its first part only if that part has none: a site's name
        has some as well, and not every page gives that name."""
        digits = _DIGITS.findall("".join(self.numbered[:1])) or _DIGITS.findall("\n".join(self.numbered))
        return [str(int(number)) for number in digits]

    @property
    def words(self) -> list[str]:
        """Tokens, and for scripts without blanks each two neighbours, since many titles have single characters in
        common."""
        if "".join(self.tokens).isascii():
            return list(self.tokens)
        found, before = list[str](), ""
        for token in self.tokens:
            unspaced = _UNSPACED_ONE.fullmatch(token) is not None
            if not unspaced or before:
                found.append(before + token if unspaced else token)
            before = token if unspaced else ""
        return found or list(self.tokens)


UNTITLED: Final = Title()


def read_title(title: str, sites_names: Iterable[str] = (), host: str = "") -> Title:
    """The name in a title of at most ``LONGEST_TITLE`` characters. ``sites_names`` are the names that the page gives
    for its site. Versions, numbers with dots, count in the first part only: after it they are those of the site."""
    names = {_spelled(name) for name in sites_names}
    labels = [label for label in host.lower().split(".")[:-1] if label]
    first, tokens, numbered = "", list[str](), list[str]()
    title = _visible(title)
    unread = _UNREAD_MESSAGES.match(title)
    for part in _BETWEEN_PARTS.split(title[unread.end() :] if unread else title):
        part = part.strip()
        spelled = _spelled(part)
        if not spelled or spelled in names or _is_of_host(spelled, labels):
            continue
        numbered.append(part)
        if _is_view(part, spelled):
            continue
        if first:
            spelled = _spelled(_VERSION.sub(" ", part))
        first = first or part
        tokens += spelled
    return Title(first, tuple(tokens), tuple(numbered))


def _visible(text: str) -> str:
    if text.isascii() or not any(character in text for character in _INVISIBLE):
        return text
    return text.translate(_TO_NONE)


def _spelled(text: str) -> tuple[str, ...]:
    if text.isascii():
        return tuple(_ASCII_TOKENS.findall(text.lower()))
    return tuple(_TOKENS.findall(normalize("NFKC", text).casefold()))


def _is_of_host(part: tuple[str, ...], labels: Sequence[str]) -> bool:
    """Whether a part equals a label of the host's name, all of it or its beginning."""
    joined = "".join(part)
    for label in labels:
        bare = label.replace("-", "")
        if joined == bare or set(part) <= set(label.split("-")):
            return True
        if len(joined) >= _LEAST_OF_HOST and bare.startswith(joined):
            return True
    return False


def _is_view(part: str, spelled: tuple[str, ...]) -> bool:
    words = [token for token in spelled if not token.isdigit()]
    return bool(words) and (_VIEWS.issuperset(words) or not _TOKENS.search(_VIEWS_UNSPACED.sub("", part)))


def is_announced(text: str, title: str, part: str | None = None) -> bool:
    """Whether enough words of a ``part`` of the title, by default the first one, stand in the lines of a text that are
    no part of the title."""
    part = (read_title(title).first if part is None else part).casefold()
    title, text = _visible(title).casefold(), _visible(text)
    return _stands_in(part, _sentences(text, title)) or (
        # Few titles are spelled differently from their texts, and evening out a text takes longer than all the rest
        # here.
        _OF_SEVERAL_SPELLINGS.search(part) is not None
        and _stands_in(evened_out(part), [evened_out("\n".join(_sentences(text, title)))])
    )


def _sentences(text: str, title: str) -> Iterator[str]:
    """The text in lower case without the lines that only repeat its title, a group of lines at a time: in most texts
    the first group already has the words that are looked for."""
    begin = 0
    while begin < len(text):
        end = text.find("\n", begin + _SOME) + 1 or len(text)
        lines = text[begin:end].casefold().splitlines()
        yield "\n".join(line for line in lines if len(line) > len(title) or line.strip() not in title)
        begin = end


def _stands_in(part: str, sentences: Iterable[str]) -> bool:
    words = set(_WORDS.findall(part))
    for run in _UNSPACED_RUNS.findall(part):
        words.update(run[place : place + 2] for place in range(len(run) - 1))
    words = {word for word in words if not _says_little(word)} or words
    missing = words
    for some in sentences if words else ():
        missing = {word for word in missing if word not in some}
        if len(words) - len(missing) >= LEAST_ANNOUNCED * len(words):
            return True
    return False


def _says_little(word: str) -> bool:
    return word in _SAYING_LITTLE or (
        _OF_SEVERAL_SPELLINGS.search(word) is not None and evened_out(word) in _SAYING_LITTLE
    )


MOST_WORDS: Final = 48
"""Words of a title that are looked at."""
SAME: Final = 0.75
"""Share of the words of a heading, or of the title, that the other has if they say the same."""
LEAST_SAME: Final = 0.25
"""Share of the title's words that such a heading has: "Whales" does not say the same as "Whales of the cold seas and
their young"."""
MOST_LINKED: Final = 0.75
"""With this share of a heading's words in links, the heading leads elsewhere."""
LEAST_COUNTED, MOST_COUNTED = 3, 199
"""A number in a title is the number of things that it lists; others are years and prices."""

SAYS, LEADS = 1, 2
"""What a heading means: it says what the title says, or leads to another page."""

Column = npt.NDArray[np.int32]
Flags = npt.NDArray[np.uint8]


@lean("int64(int32[:, ::1], int64)")
def rank_of(elements: Rows, heading: int) -> int:
    """0 for the highest rank of headings; one more than the lowest for an element that is no heading."""
    for rank in range(len(HEADINGS)):
        if elements[heading, NAME] == HEADINGS[rank]:
            return rank
    return len(HEADINGS)


@lean("int64(uint8[::1], int64, int64, int64[::1])")
def _next_word(body: Any, place: int, end: int, word: Any) -> int:
    """The end of the next word; ``word`` holds its hash, 0 if there is none. Words are those of ``tally.words_in``."""
    name = EMPTY
    while place < end:
        byte = int(body[place])
        if 0xE3 <= byte < 0xEE and place + 2 < end:
            if name != EMPTY:
                break
            if byte != 0xE3 or body[place + 1] != 0x80:  # no punctuation
                word[0] = grown(grown(grown(EMPTY, byte), int(body[place + 1])), int(body[place + 2]))
                return place + 3
            place += 3
            continue
        upper = 65 <= byte <= 90
        if upper or 97 <= byte <= 122 or 48 <= byte <= 57 or byte >= 0xC3 or (byte >= 0x80 and name != EMPTY):
            name = grown(name, byte + 32 if upper else byte)
        elif name != EMPTY:
            break
        place += 1
    word[0] = name if name != EMPTY else 0
    return place


@lean("boolean(int64)")
def _parts_numbers(character: int) -> bool:
    """Whether a number may begin or end at it: it is no point of a price, no stroke of a date."""
    return is_space(character) or character >= 128


@lean("int64(uint8[::1], int64, int64)")
def _count_in(body: Any, begin: int, end: int) -> int:
    """The first number of a title that may be the number of things that it lists, 0 for none."""
    place = begin
    while place < end:
        number, first = 0, place
        while place < end and 48 <= body[place] <= 57:
            number = min(10 * number + int(body[place]) - 48, MOST_COUNTED + 1)
            place += 1
        parted = first == begin or _parts_numbers(int(body[first - 1]))
        parted = parted and (place == end or _parts_numbers(int(body[place])))
        if parted and LEAST_COUNTED <= number <= MOST_COUNTED:
            return number
        place = max(place, first + 1)
    return 0


@compiled("UniTuple(int64, 2)(uint8[::1], int32[:, ::1], int32[:, ::1], int64[::1])")
def _read_title(body: Any, elements: Rows, runs: Rows, title: Any) -> tuple[int, int]:
    """Write the distinct words of the page's title; returns how many there are, and the number of things that it
    lists."""
    word = np.zeros(1, dtype=np.int64)
    for run in range(len(runs)):
        if elements[runs[run, OWNER], KIND] & TITLE:
            found, place, end = 0, int(runs[run, FROM]), int(runs[run, TO])
            counted = _count_in(body, place, end)
            while place < end and found < MOST_WORDS:
                place = _next_word(body, place, end, word)
                new = word[0] != 0
                for other in range(found):
                    new = new and title[other] != word[0]
                if new:
                    title[found] = word[0]
                    found += 1
            return found, counted
    return 0, 0


@compiled("UniTuple(int64, 2)(uint8[::1], int32[:, ::1], int32[:, ::1], int32[:, ::1], int32[::1], uint8[::1])")
def read_headings(
    body: Any, elements: Rows, runs: Rows, known: Rows, headings: Column, means: Flags
) -> tuple[int, int]:
    """Write the headings that have words, in the order of the page, and what each of them ``means``: that it says what
    the title says, or leads to another page. Returns how many there are, none without a title, and the number of things
    that the title lists, 0 for none."""
    title = np.zeros(MOST_WORDS, dtype=np.int64)
    of_title, counted = _read_title(body, elements, runs, title)
    if not of_title:
        return 0, 0
    count = current = words = linked = same = found = 0
    word = np.zeros(1, dtype=np.int64)
    for run in range(len(runs) + 1):
        heading = int(known[runs[run, OWNER], TITLED]) if run < len(runs) else 0
        if heading != current:
            if words:
                distinct = 0
                while found:
                    distinct += found & 1
                    found >>= 1
                within = same >= SAME * words and distinct >= LEAST_SAME * of_title
                if within or distinct >= SAME * of_title:
                    means[current] = SAYS
                elif linked >= MOST_LINKED * words:
                    means[current] = LEADS
                headings[count] = current
                count += 1
            current = heading
            words = linked = same = found = 0
        place, end = (int(runs[run, FROM]), int(runs[run, TO])) if heading else (0, 0)
        while place < end:
            place = _next_word(body, place, end, word)
            if word[0]:
                words += 1
                linked += 1 if known[runs[run, OWNER], LINKED] == ELSEWHERE else 0
                for other in range(of_title):
                    if title[other] == word[0]:
                        found |= 1 << other
                        same += 1
                        break
    return count, counted


@lean("UniTuple(int64, 2)(int32[:, ::1], int32[:, ::1], int32[::1], uint8[::1])")
def own_heading(elements: Rows, known: Rows, headings: Column, means: Flags) -> tuple[int, int]:
    """The first of the highest rank of the headings that say the title, 0 for none; and its rank, -1 if it stands below
    a higher heading that says something else: that one may be the heading of a list, and it that of an item."""
    own, best, above = 0, len(HEADINGS), len(HEADINGS)
    shape = -1
    for heading in headings:
        rank = rank_of(elements, heading)
        if means[heading] == SAYS:
            if rank < best:
                own, best = heading, rank
                shape = rank if rank <= above else -1
        elif not means[heading] and not known[heading, GONE]:
            above = min(above, rank)
    return own, shape
