"""Normalised text → tokens.

1. A *word* is a run of letters, digits and marks that begins with a letter or digit; an apostrophe between two of them
   belongs to it. All else separates. A word without the scripts below is one token: ``python3``, ``don't``, ``42``.
2. Chinese characters (U+4E00 to U+9FD5, those that the dictionary knows) are cut by jieba's dictionary, together with
   the ASCII letters and digits that touch them, for its words may mix both (4s店, and 51区 from a user dictionary).
   Rarer ideographs (〇, 㐀) are tokens by themselves. Letters beyond ASCII make a word of their own: café教程 is two.
3. Scripts that are written without blanks (kana, Thai, Lao, Khmer, Burmese) give their overlapping pairs of characters;
   a single one gives itself. Korean words are written with blanks: rule 1.

These are the readable steps. ``worker.fingerprint.kernels.cutting`` comes to the same tokens in compiled ones, but for
words that jieba's hidden Markov model guesses.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
import warnings
from collections.abc import Callable, Iterable, Sequence
from functools import cache, cached_property
from importlib.metadata import files
from itertools import pairwise
from math import log
from typing import Any, Final, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from worker.page.noise import NOISE_WORDS
from worker.page.normalise import TABLE_END, code_points, normalise

__all__ = ["NOISE_WORDS", "Segmenter", "UserWord", "language"]

Engine = Literal["auto", "jieba"]
"""What cuts Chinese words: the compiled steps wherever they know how, or jieba itself."""
UserWord = str | tuple[str, int | None, str | None]
"""A word, or (word, frequency, part of speech); without a frequency it gets one that makes it win."""

_SEPARATOR, _HAN, _PLAIN, _LETTER, _MARK, _UNSPACED, _IDEOGRAPH, _APOSTROPHE = 0, 1, 2, 4, 8, 16, 32, 64
_BLANK: Final = 0x20
_IN_PLACE: Final = "\ue000"  # for private use, so it separates where a text has it; jieba leaves it alone

_HAN_RANGE: Final = "\u4e00-\u9fd5"
_IDEOGRAPH_RANGES: Final = (
    "\u3005-\u3007\u3021-\u3029\u3038-\u303b\u3400-\u4dbf\u9fd6-\u9fff\uf900-\ufaff\U00020000-\U0010ffff"
)
_UNSPACED_RANGES: Final = (
    "\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0eb9\u0ebb-\u0ecd\u0edc-\u0edf\u1000-\u103f\u1050-\u109d\u1780-\u17d3\u17dc\u17dd"
)
_SPECIAL: Final = _HAN_RANGE + _IDEOGRAPH_RANGES + _UNSPACED_RANGES
_NEEDS_PIECES: Final = re.compile(f"[{_SPECIAL}]")
_ASCII_ALONE: Final = rf"(?<![^{_SPECIAL}])[a-z0-9]++(?![^{_SPECIAL}])"
_PIECE: Final = re.compile(
    rf"(?P<dictionary>(?:[{_HAN_RANGE}]|{_ASCII_ALONE})+)"
    rf"|(?P<unspaced>[{_UNSPACED_RANGES}]+)"
    rf"|(?P<ideograph>[{_IDEOGRAPH_RANGES}])"
    rf"|(?P<word>[^{_SPECIAL}]+)"
)
_CHARACTER_OR_WORD: Final = re.compile(f"[{_SPECIAL}]|[^ {_SPECIAL}]+")
_USABLE: Final = re.compile(rf"(?=.*[{_HAN_RANGE}])[{_HAN_RANGE}a-z0-9]+")

Cut = Callable[[str], list[str]]
Frequencies = tuple[dict[str, int], int]


class Segmenter:
    """Cuts normalised text into tokens; a pure function of the text once made.

    The first text that is cut in a process loads jieba's dictionary, in .6 s; nothing is written or logged.

    Args:
        hmm: let jieba guess words that are not in its dictionary.
        user_words: further words of the dictionary. They are normalised first; see ``unused_words``.
        noise: tokens that ``tokens`` leaves out.

    Attributes:
        name: the rule that the tokens come from, for the scheme.
        unused_words: user words that can never be a token, since they hold no Chinese character (then rule 1 has
            decided already) or something that separates.
    """

    def __init__(
        self,
        *,
        hmm: bool = False,
        user_words: Iterable[UserWord] = (),
        noise: frozenset[str] = NOISE_WORDS,
    ) -> None:
        self._user_words, self.unused_words = _usable(user_words)
        self._hmm: Final = hmm
        self._noise: Final = noise | {" "}
        user = _digest(f"{word} {frequency}" for word, frequency in self._user_words.items())
        guessing = "on" if hmm else "off"
        self.name: Final = (
            f"words-1/jieba-{_dictionary_name()}/hmm-{guessing}/user-{user}/noise-{_digest(sorted(noise))}"
        )

    def tokens(self, normalised_text: str) -> list[str]:
        """The tokens in their order, noise words left out."""
        return self.without_noise(self._all(normalised_text))

    def without_noise(self, tokens: Iterable[str]) -> list[str]:
        """Those that are no noise words."""
        noise = self._noise
        return [token for token in tokens if token not in noise]

    def all_tokens(self, text: str) -> list[str]:
        """The tokens in their order, noise words included."""
        return [token for token in self._all(text) if token != " "]

    @cached_property
    def _cut(self) -> Cut:
        cutter, hmm = _tokenizer(self._user_words, _kept()), self._hmm
        return lambda text: list(cutter.cut(text, HMM=hmm))

    def _all(self, text: str) -> list[str]:
        """All tokens, perhaps with blanks between them; cut at once but for the words that rule 3 or marks concern."""
        spaced, classes = _spaced(text)
        occurring = int(np.bitwise_or.reduce(classes, initial=0))
        if not occurring & (_HAN | _MARK | _UNSPACED | _IDEOGRAPH):
            return spaced.split()
        if not occurring & ~(_HAN | _PLAIN):
            return self._cut(spaced)
        rest, words = _set_apart(spaced, classes)
        cut = self._cut(rest)
        tokens: list[str] = []
        begin = 0
        for word in words:
            place = cut.index(_IN_PLACE, begin)
            tokens += cut[begin:place]
            tokens += self._pieces(word)
            begin = place + 1
        return tokens + cut[begin:]

    def _pieces(self, word: str) -> list[str]:
        word = word if word[0].isalnum() else _without_leading_marks(word)
        if not _NEEDS_PIECES.search(word):
            return [word] if word else []
        tokens: list[str] = []
        for piece in _PIECE.finditer(word):
            found = piece[0]
            if piece.lastgroup == "dictionary":
                tokens += self._cut(found)
            elif piece.lastgroup == "unspaced" and len(found) > 1:
                tokens += map("".join, pairwise(found))
            elif whole := found if piece.lastgroup != "word" or found[0].isalnum() else _without_leading_marks(found):
                tokens.append(whole)
        return tokens


class Dictionary(NamedTuple):
    """jieba's words with the logarithm of their probability, and that of a character which is no word."""

    scores: dict[str, float]
    unknown: float


def dictionary(user_words: Iterable[UserWord] = ()) -> Dictionary:
    """What Chinese is cut by, user words included: the words that normalised Chinese text can hold."""
    usable, _ = _usable(user_words)
    if usable:
        cutter = _tokenizer(usable, _loaded())
        counts, total = cutter.FREQ, cutter.total
    else:
        counts, total = _counts()
    unknown = -log(total)
    scores = {count: log(count) + unknown for count in {*counts.values()} if count}
    fits = _USABLE.fullmatch
    return Dictionary({word: scores[count] for word, count in counts.items() if count and fits(word)}, unknown)


def language(text: str | Sequence[str]) -> str:
    """zh, ja, ko, latin, cyrillic, arabic, thai, other or none: by the script of most of the first 4,096 characters.

    ``text`` may be a sequence of tokens. A Chinese or Korean character counts six times: it says as much as a short
    word, and Chinese pages quote far more Latin than Latin ones quote Chinese (of real Chinese pages one in twenty has
    fewer than a seventh of its letters in Chinese). Chinese characters are Japanese where at least a tenth of them and
    the kana is kana.
    """
    sample = text[:4096] if isinstance(text, str) else "".join(text[:1024])
    return language_of(np.bincount(_scripts().take(code_points(sample), mode="clip"), minlength=len(_SCRIPTS)))


def language_of(counts: npt.NDArray[np.int64]) -> str:
    """``language`` of so many characters of each of the scripts that ``tables`` numbers."""
    shares: dict[str, int] = dict(zip(_SCRIPTS, counts.tolist(), strict=True))
    han, kana = 6 * shares.pop("han"), 6 * shares.pop("kana")
    del shares["none"]
    shares |= {"zh": han, "ja": 0} if 10 * kana < han + kana else {"zh": 0, "ja": han + kana}
    shares["ko"] *= 6
    most = max(shares, key=lambda script: shares[script])
    return most if shares[most] else "none"


def characters_and_words(normalised_text: str) -> list[str]:
    """The tokens of rule 1, and where words are written without blanks (rules 2 and 3) each character by itself.

    Needs no dictionary, and leaves nothing out: what sketches are made of, and the count that says how long a page is.
    """
    spaced, classes = _spaced(normalised_text)
    tokens = _CHARACTER_OR_WORD.findall(spaced)
    if not int(np.bitwise_or.reduce(classes, initial=0)) & _MARK:
        return tokens
    return [whole for token in tokens if (whole := token if token[0].isalnum() else _without_leading_marks(token))]


def tables() -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]]:
    """Class and script of each code point below ``TABLE_END``, and in a last entry of all from there on."""
    return _classes().copy(), _scripts().copy()


def _spaced(text: str) -> tuple[str, npt.NDArray[np.uint8]]:
    """The text with one blank for each character that separates, and the class of each character."""
    codes = code_points(text)
    classes = _classes().take(codes, mode="clip")
    spaced = np.where(classes == _SEPARATOR, np.uint32(_BLANK), codes)
    apostrophes = np.flatnonzero(classes == _APOSTROPHE)
    if apostrophes.size:
        # At either end of the text the clipped index meets the apostrophe itself, which is no letter.
        before = classes.take(apostrophes - 1, mode="clip") & (_PLAIN | _LETTER | _MARK)
        after = classes.take(apostrophes + 1, mode="clip") & (_PLAIN | _LETTER)
        inside = (before != 0) & (after != 0)
        spaced[apostrophes] = np.where(inside, ord("'"), _BLANK)
        classes[apostrophes] = np.where(inside, _LETTER, _SEPARATOR)
    return spaced.tobytes().decode("utf-32-le"), classes


def _set_apart(spaced: str, classes: npt.NDArray[np.uint8]) -> tuple[str, list[str]]:
    """The text, one sign in place of each word that holds more than Chinese and ASCII; and these words, in order."""
    ends = np.concatenate(([-1], np.flatnonzero(classes == _SEPARATOR), [len(classes)]))
    words = np.unique(np.searchsorted(ends, np.flatnonzero(classes & ~np.uint8(_HAN | _PLAIN))))
    bounds = list(zip((ends[words - 1] + 1).tolist(), ends[words].tolist(), strict=True))
    between = zip([0, *(end for _, end in bounds)], [*(start for start, _ in bounds), len(spaced)], strict=True)
    rest = _IN_PLACE.join([spaced[start:end] for start, end in between])
    return rest, [spaced[start:end] for start, end in bounds]


@cache
def _classes() -> npt.NDArray[np.uint8]:
    """Code point → class; the last entry stands for all from ``TABLE_END`` on."""
    categories = map(unicodedata.category, map(chr, range(TABLE_END)))
    of_category = {"L": _LETTER, "N": _LETTER, "M": _MARK}
    table = np.fromiter(
        (of_category.get(category[0], _SEPARATOR) if category != "Me" else _SEPARATOR for category in categories),
        dtype=np.uint8,
        count=TABLE_END,
    )
    table = np.append(table, np.uint8(_IDEOGRAPH))
    for ranges, kind in (
        ("a-zA-Z0-9", _PLAIN),
        ("'\u2019", _APOSTROPHE),
        (_UNSPACED_RANGES, _UNSPACED),
        (_IDEOGRAPH_RANGES, _IDEOGRAPH),
        (_HAN_RANGE, _HAN),
    ):
        _paint(table, ranges, kind)
    table.flags.writeable = False
    return table


_SCRIPTS: Final = ("none", "han", "kana", "ko", "latin", "cyrillic", "arabic", "thai", "other")
SCRIPTS: Final = len(_SCRIPTS)


@cache
def _scripts() -> npt.NDArray[np.uint8]:
    letters = np.isin(_classes(), (_SEPARATOR, _APOSTROPHE), invert=True)
    table = (letters * _SCRIPTS.index("other")).astype(np.uint8)
    for script, ranges in (
        ("none", "0-9"),
        ("latin", "a-zA-Z\u00aa\u00ba\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02af\u1e00-\u1eff"),
        ("cyrillic", "\u0400-\u052f\u1c80-\u1c8f\u2de0-\u2dff\ua640-\ua69f"),
        ("arabic", "\u0620-\u065f\u066e-\u06d3\u06d5-\u06dc\u06fa-\u06ff\u0750-\u077f\u08a0-\u08ff"),
        ("thai", "\u0e01-\u0e3a\u0e40-\u0e4e"),
        ("ko", "\u1100-\u11ff\u3131-\u318e\uac00-\ud7a3"),
        ("kana", "\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"),
        ("han", _HAN_RANGE + _IDEOGRAPH_RANGES),
    ):
        _paint(table, ranges, _SCRIPTS.index(script))
    table.flags.writeable = False
    return table


def _paint(table: npt.NDArray[np.uint8], ranges: str, value: int) -> None:
    """``ranges`` as in a regular expression's brackets, without escapes."""
    for low, high in re.findall("(.)(?:-(.))?", ranges, re.DOTALL):
        table[ord(low) : ord(high or low) + 1] = value


def _without_leading_marks(word: str) -> str:
    marks = _classes().take(code_points(word), mode="clip") == _MARK
    return word if marks.size == 0 else "" if marks.all() else word[int(marks.argmin()) :].lstrip("'")


@cache
def _dictionary_name() -> str:
    """Entries and total frequency of jieba's dictionary, to which the beginnings of its words belong."""
    counts, total = _loaded()
    return f"{len(counts)}-{total}"


def _tokenizer(words: dict[str, int | None], frequencies: Frequencies) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # invalid escapes and pkg_resources in its own source
        import jieba

    cutter = jieba.Tokenizer()
    # Its own initialize() logs, and keeps a pickled copy in the temporary folder, which anybody can write.
    known, cutter.total = frequencies
    cutter.FREQ = known.copy() if words else known
    cutter.initialized = True
    for word, frequency in words.items():
        cutter.add_word(word, frequency)
    return cutter


def _loaded() -> Frequencies:
    """How often each word of jieba's dictionary was seen, 0 for what is but the beginning of one; and their sum."""
    counts, total = _counts()
    for word in list(counts):
        for end in range(1, len(word)):
            counts.setdefault(word[:end], 0)
    return counts, total


_kept: Final = cache(_loaded)
"""For all that cut in this process, which take .6 s to load and 70 MB."""


def _counts() -> tuple[dict[str, int], int]:
    """How often each word of jieba's dictionary was seen, and all of them together: .3 s where jieba takes 1 s, its
    import included."""
    (words,) = (file for file in files("jieba") or () if str(file) == "jieba/dict.txt")
    columns = words.read_text().split()
    counts = list(map(int, columns[1::3]))
    return dict(zip(columns[::3], counts, strict=True)), sum(counts)


def _usable(user_words: Iterable[UserWord]) -> tuple[dict[str, int | None], tuple[str, ...]]:
    """Normalised word → frequency of those that can be tokens, and the words that cannot; of a word given twice the
    last counts."""
    entries = ((entry, None) if isinstance(entry, str) else entry[:2] for entry in user_words)
    words = {spelling: frequency for word, frequency in entries if (spelling := normalise(word))}
    usable = {word: frequency for word, frequency in sorted(words.items()) if _USABLE.fullmatch(word)}
    return usable, tuple(sorted(words.keys() - usable.keys()))


def _digest(lines: Iterable[str]) -> str:
    joined = "\n".join(lines)
    return hashlib.blake2b(joined.encode(), digest_size=4).hexdigest() if joined else "none"
