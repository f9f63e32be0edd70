"""What a page's title says of its text: the name of the thing, and whether the text is what that announces.

The text that was taken for a page's content may be that of its template: an appeal, a table of contents, what the site
says of itself. It stands on pages that have nothing else in common. Their titles tell: an article has words of its
title in its sentences, and a template has not.

A title names the thing, often its site as well, and sometimes a view of the page. The page itself says what its site is
called (``og:site_name``, ``application-name``, its host), and that part goes, wherever it stands; so do parts that are
"print", "AMP" or the number of a page. What is left is compared: within one site copies of a page have it in common.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple
from unicodedata import normalize

from worker.page.words.folding import evened_out
from worker.page.words.noise import NOISE_WORDS
from worker.page.words.scripts import HAN_RANGE, IDEOGRAPH_RANGES, UNSPACED_RANGES

ANNOUNCED: Final = "announced-4"
"""Name of all rules here; a part of the scheme, so change it when a rule changes."""

LEAST_ANNOUNCED: Final = 0.4
"""Share of the title's words that a text must have. With .3, a fifth more templates are taken for content; with .5, a
few more articles are doubted."""

LONGEST_TITLE: Final = 512
"""Characters of a title that are read: each of its words is looked for in all of the text, and each short line of the
text in it. In 6,301 labelled pages the longest has 228."""

_UNSPACED: Final = f"{HAN_RANGE}{IDEOGRAPH_RANGES}{UNSPACED_RANGES}"
_BETWEEN_PARTS: Final = re.compile(
    rf"\s[|–—·»«›‹•:/\\><~*_-]+(?=\s)|[|｜│¦—›»«•]|[:：](?=\s)|：|(?<=\s)[(\[]|[)\]](?=\s)|[（）【】「」『』]"
    rf"|(?<=[{_UNSPACED}])[-–_]|[-–_](?=[{_UNSPACED}])"
)
"""Sites of scripts without blanks write none around what parts a title, either."""
_WORDS: Final = re.compile(rf"[^\W\d_{_UNSPACED}]{{2,}}")
"""Words of letters."""
_UNSPACED_RUNS: Final = re.compile(rf"[{_UNSPACED}]{{2,}}")
"""Scripts without blanks, of which each two neighbours count."""
_UNSPACED_ONE: Final = re.compile(rf"[{_UNSPACED}]")
_TOKENS: Final = re.compile(rf"[{_UNSPACED}]|[^\W_{_UNSPACED}]+")
"""Of what is compared: numbers count, and single letters."""
_OF_SEVERAL_SPELLINGS: Final = re.compile("[\u0131\u015f\u0163\u0219\u021b\u02b0-\u109f\u1780-\u17ff\u1f00-\u1fff]")
"""Letters of scripts of which ``worker.page.words.folding`` makes one of several, or leaves some out."""
_DIGITS: Final = re.compile(r"(?<![\d.])\d+(?!\.?\d)")
"""A number with dots is a version."""
_VERSION: Final = re.compile(r"(?<![\d.])\d{1,9}(?:\.\d{1,9}){1,9}")
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
"""Words of parts that tell a view of a page from others, and not the page."""
_LEAST_OF_HOST: Final = 4
"""Letters of a part from which on it may be the beginning of a label of the host's name."""


class Title(NamedTuple):
    """A title without its site's name and without the name of a view.

    ``first`` is its first part as it is spelled, empty where all of it is the site's name; ``tokens`` are what is
    compared, none then.
    """

    first: str = ""
    tokens: tuple[str, ...] = ()

    @property
    def words(self) -> list[str]:
        """Tokens, and of scripts without blanks each two neighbours, since many titles have single characters in
        common."""
        found, before = list[str](), ""
        for token in self.tokens:
            unspaced = _UNSPACED_ONE.fullmatch(token) is not None
            if not unspaced or before:
                found.append(before + token if unspaced else token)
            before = token if unspaced else ""
        return found or list(self.tokens)


UNTITLED: Final = Title()


def read_title(title: str, sites_names: Iterable[str] = (), host: str = "") -> Title:
    """What a title of at most ``LONGEST_TITLE`` characters names. ``sites_names`` are those that the page gives for its
    site. Versions, numbers with dots, count in the first part only: behind it they are those of the site."""
    names = {_spelled(name) for name in sites_names}
    labels = [label for label in host.lower().split(".")[:-1] if label]
    first, tokens = "", list[str]()
    for part in _BETWEEN_PARTS.split(title):
        part = part.strip()
        spelled = _spelled(part)
        if not spelled or spelled in names or _is_of_host(spelled, labels) or _is_view(part, spelled):
            continue
        if first:
            spelled = _spelled(_VERSION.sub(" ", part))
        first = first or part
        tokens += spelled
    return Title(first, tuple(tokens))


def _spelled(text: str) -> tuple[str, ...]:
    return tuple(_TOKENS.findall(normalize("NFKC", text).casefold()))


def _is_of_host(part: tuple[str, ...], labels: Sequence[str]) -> bool:
    """Whether a part says what a label of the host's name says, all or the beginning of it."""
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


def numbers(title: str) -> list[str]:
    """The numbers of a title, in digits of any script; those behind its first part only where that has none: the name
    of the site has some as well."""
    first = _BETWEEN_PARTS.split(title, maxsplit=1)[0]
    return [str(int(digits)) for digits in _DIGITS.findall(first) or _DIGITS.findall(title)]


def is_announced(text: str, title: str, part: str | None = None) -> bool:
    """Whether enough words of a ``part`` of the title, by default the first one, stand in the lines of a text that are
    no part of the title."""
    part = (read_title(title).first if part is None else part).casefold()
    title = title.casefold()
    lines = text.casefold().splitlines()
    sentences = "\n".join(line for line in lines if len(line) > len(title) or line.strip() not in title)
    return _stands_in(part, sentences) or (
        # Few titles are spelled otherwise than their texts, and evening out a text takes longer than all else here.
        _OF_SEVERAL_SPELLINGS.search(part) is not None and _stands_in(evened_out(part), evened_out(sentences))
    )


def _stands_in(part: str, sentences: str) -> bool:
    words = set(_WORDS.findall(part))
    for run in _UNSPACED_RUNS.findall(part):
        words.update(run[place : place + 2] for place in range(len(run) - 1))
    words = {word for word in words if not _says_little(word)} or words
    return bool(words) and sum(word in sentences for word in words) >= LEAST_ANNOUNCED * len(words)


def _says_little(word: str) -> bool:
    return word in _SAYING_LITTLE or (
        _OF_SEVERAL_SPELLINGS.search(word) is not None and evened_out(word) in _SAYING_LITTLE
    )
