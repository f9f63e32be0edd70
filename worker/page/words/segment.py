"""Normalised text → tokens.

1. A *word* is a run of letters, digits and marks that begins with a letter or digit; an apostrophe between two of them
   belongs to it. All else separates. A word without the scripts below is one token: ``python3``, ``don't``, ``42``.
2. Chinese characters (U+4E00 to U+9FD5, those that the dictionary knows) are cut by jieba's dictionary, together with
   the ASCII letters and digits that touch them, for its words may mix both (4s店, and 51区 from a user dictionary).
   Rarer ideographs (〇, 㐀) are tokens by themselves. Letters beyond ASCII make a word of their own: café教程 is two.
3. Scripts that are written without blanks (kana, Thai, Lao, Khmer, Burmese) give their overlapping pairs of written
   characters; a single one gives itself. A *written character* is a letter with all that stands above, below or around
   it: marks, vowels on either side, a stacked consonant. Korean words are written with blanks: rule 1.

These are the readable steps. ``worker.fingerprint.kernels.cutting`` comes to the same tokens in compiled ones, but for
words that jieba's hidden Markov model guesses.
"""

from __future__ import annotations

import hashlib
import re
import warnings
from collections.abc import Callable, Iterable, Sequence
from functools import cache, cached_property
from importlib.metadata import files
from itertools import pairwise
from math import log
from typing import Any, Final, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from worker.page.words.noise import NOISE_WORDS, NoiseWords
from worker.page.words.normalise import normalise
from worker.page.words.scripts import (
    APOSTROPHE,
    FOLLOWS,
    HAN,
    HAN_RANGE,
    IDEOGRAPH,
    IDEOGRAPH_RANGES,
    LEADS,
    LETTER,
    MARK,
    PLAIN,
    SEPARATOR,
    UNSPACED,
    UNSPACED_RANGES,
    classes,
    code_points,
    unspaced,
)
from worker.page.words.word_tables import SIMPLIFIED

Engine = Literal["auto", "jieba"]
"""What cuts Chinese words: the compiled steps wherever they know how, or jieba itself."""
UserWord = str | tuple[str, int | None, str | None]
"""A word, or (word, frequency, part of speech); without a frequency it gets one that makes it win."""

_BLANK: Final = 0x20
_IN_PLACE: Final = "\ue000"  # for private use, so it separates where a text has it; jieba leaves it alone

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
GLUE: Final = '/\\.:=_&?@#()[]<>{};"$%*+|~'
_USABLE: Final = re.compile(rf"(?=.*[{HAN_RANGE}])[{HAN_RANGE}a-z0-9]+")

Cut = Callable[[str], list[str]]
Frequencies = tuple[dict[str, int], int]


class Segmenter:
    """Cuts normalised text into tokens; a pure function of the text once made.

    The first text that is cut in a process loads jieba's dictionary, in .6 s; nothing is written or logged.

    Args:
        hmm: let jieba guess words that are not in its dictionary.
        user_words: further words of the dictionary. They are normalised first; see ``unused_words``.
        noise: what ``tokens`` leaves out.
        fold_traditional: whether texts were normalised so; then the dictionary is, too.

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
        noise: NoiseWords = NOISE_WORDS,
        fold_traditional: bool = True,
    ) -> None:
        self._user_words, self.unused_words = _usable(user_words, fold_traditional)
        self._hmm: Final = hmm
        self._noise: Final = noise
        self._fold: Final = fold_traditional
        user = _digest(f"{word} {frequency}" for word, frequency in self._user_words.items())
        guessing = "on" if hmm else "off"
        dictionary = _dictionary_name(fold_traditional)
        without = _digest(noise.lines())
        self.name: Final = f"words-3/jieba-{dictionary}/hmm-{guessing}/user-{user}/noise-{without}"

    def tokens(self, normalised_text: str) -> list[str]:
        """The tokens in their order, noise words left out."""
        return self.without_noise(self.all_tokens(normalised_text))

    def without_noise(self, tokens: Sequence[str]) -> list[str]:
        """Of all tokens of a text those that are no noise words there."""
        noise = self._noise.among(tokens)
        return [token for token in tokens if token not in noise]

    def all_tokens(self, text: str) -> list[str]:
        """The tokens in their order, noise words included."""
        return [token for token in self._all(text) if token != " "]

    @cached_property
    def _cut(self) -> Cut:
        cutter, hmm = _tokenizer(self._user_words, _kept(self._fold)), self._hmm
        return lambda text: list(cutter.cut(text, HMM=hmm))

    def _all(self, text: str) -> list[str]:
        """All tokens, perhaps with blanks between them; cut at once but for the words that rule 3 or marks concern."""
        spaced, kinds = _spaced(text)
        occurring = int(np.bitwise_or.reduce(kinds, initial=0))
        if not occurring & (HAN | MARK | UNSPACED | IDEOGRAPH):
            return spaced.split()
        if not occurring & ~(HAN | PLAIN):
            return self._cut(spaced)
        rest, words = _set_apart(spaced, kinds)
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
            elif piece.lastgroup == "unspaced":
                characters = _CHARACTER.findall(found)
                tokens += map("".join, pairwise(characters)) if len(characters) > 1 else characters
            elif whole := found if piece.lastgroup != "word" or found[0].isalnum() else _without_leading_marks(found):
                tokens.append(whole)
        return tokens


class Dictionary(NamedTuple):
    """jieba's words with the logarithm of their probability, and that of a character which is no word."""

    scores: dict[str, float]
    unknown: float


def dictionary(user_words: Iterable[UserWord] = (), *, fold_traditional: bool = True) -> Dictionary:
    """What Chinese is cut by, user words included: the words that normalised Chinese text can hold."""
    usable, _ = _usable(user_words, fold_traditional)
    if usable:
        cutter = _tokenizer(usable, _loaded(fold_traditional))
        counts, total = cutter.FREQ, cutter.total
    else:
        counts, total = _counts(fold_traditional)
    unknown = -log(total)
    scores = {count: log(count) + unknown for count in {*counts.values()} if count}
    fits = _USABLE.fullmatch
    return Dictionary({word: scores[count] for word, count in counts.items() if count and fits(word)}, unknown)


def said_once(normalised_text: str) -> str:
    """The text, in which each number and each part of an address or of code stands only where it stands first.

    Such a *part* is a word of ASCII letters and digits that begins with a digit, or that a sign of ``GLUE`` stands
    beside, without a blank, with a letter, a digit or a slash behind it: all words of https://example.org/a_b. The same
    goes for such a word between two parts, as for the name of a field: lists of addresses or telephone numbers have
    hundreds of these and few different ones, and by their counts all lists would be one.
    """
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
    """The tokens of rule 1, and of scripts without blanks (rules 2 and 3) each written character by itself.

    Needs no dictionary, and leaves nothing out: what sketches are made of, and the count that says how long a page is.
    """
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
        # At either end of the text the clipped index meets the apostrophe itself, which is no letter.
        before = kinds.take(apostrophes - 1, mode="clip") & (PLAIN | LETTER | MARK)
        after = kinds.take(apostrophes + 1, mode="clip") & (PLAIN | LETTER)
        inside = (before != 0) & (after != 0)
        spaced[apostrophes[~inside]] = _BLANK
        kinds[apostrophes] = np.where(inside, LETTER, SEPARATOR)
    return spaced.tobytes().decode("utf-32-le"), kinds


def _set_apart(spaced: str, kinds: npt.NDArray[np.uint8]) -> tuple[str, list[str]]:
    """The text, one sign in place of each word that holds more than Chinese and ASCII; and these words, in order."""
    ends = np.concatenate(([-1], np.flatnonzero(kinds == SEPARATOR), [len(kinds)]))
    words = np.unique(np.searchsorted(ends, np.flatnonzero(kinds & ~np.uint8(HAN | PLAIN))))
    bounds = list(zip((ends[words - 1] + 1).tolist(), ends[words].tolist(), strict=True))
    between = zip([0, *(end for _, end in bounds)], [*(start for start, _ in bounds), len(spaced)], strict=True)
    rest = _IN_PLACE.join([spaced[start:end] for start, end in between])
    return rest, [spaced[start:end] for start, end in bounds]


def _without_leading_marks(word: str) -> str:
    marks = classes().take(code_points(word), mode="clip") == MARK
    return word if marks.size == 0 else "" if marks.all() else word[int(marks.argmin()) :].lstrip("'")


@cache
def _dictionary_name(fold_traditional: bool) -> str:
    """Entries and total frequency of jieba's dictionary, to which the beginnings of its words belong."""
    counts, total = _loaded(fold_traditional)
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


def _loaded(fold_traditional: bool) -> Frequencies:
    """How often each word of jieba's dictionary was seen, 0 for what is but the beginning of one; and their sum."""
    counts, total = _counts(fold_traditional)
    for word in list(counts):
        for end in range(1, len(word)):
            counts.setdefault(word[:end], 0)
    return counts, total


_kept: Final = cache(_loaded)
"""For all that cut in this process, which take .6 s to load and 70 MB."""


def _counts(fold_traditional: bool) -> Frequencies:
    """How often each word of jieba's dictionary was seen, and all of them together: .4 s where jieba takes 1 s, its
    import included. Folded, two words that become one were seen as often as both."""
    (path,) = (file for file in files("jieba") or () if str(file) == "jieba/dict.txt")
    columns = path.read_text().split()
    numbers = list(map(int, columns[1::3]))
    counts = dict(zip(columns[::3], numbers, strict=True))
    if fold_traditional:
        words = list(counts)
        for word, simplified in zip(words, "\n".join(words).translate(SIMPLIFIED).split("\n"), strict=True):
            if word != simplified:
                counts[simplified] = counts.get(simplified, 0) + counts.pop(word)
    return counts, sum(numbers)


def _usable(user_words: Iterable[UserWord], fold_traditional: bool) -> tuple[dict[str, int | None], tuple[str, ...]]:
    """Normalised word → frequency of those that can be tokens, and the words that cannot; of a word given twice the
    last counts."""
    entries = ((entry, None) if isinstance(entry, str) else entry[:2] for entry in user_words)
    spelled = ((normalise(word, fold_traditional=fold_traditional), frequency) for word, frequency in entries)
    words = {spelling: frequency for spelling, frequency in spelled if spelling}
    usable = {word: frequency for word, frequency in sorted(words.items()) if _USABLE.fullmatch(word)}
    return usable, tuple(sorted(words.keys() - usable.keys()))


def _digest(lines: Iterable[str]) -> str:
    joined = "\n".join(lines)
    return hashlib.blake2b(joined.encode(), digest_size=4).hexdigest() if joined else "none"
