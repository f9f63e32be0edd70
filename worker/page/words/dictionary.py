"""The words that Chinese is cut by: jieba's dictionary and a user's own words.

jieba itself cuts nothing here: ``worker.fingerprint.kernels.cutting`` does, by its dictionary and its rule, in compiled
steps.
"""

from __future__ import annotations

import hashlib
import re
import warnings
from collections.abc import Iterable
from functools import cache
from importlib.metadata import files
from math import log
from typing import Any, Final, NamedTuple

from worker.page.words.noise import NoiseWords
from worker.page.words.normalise import normalise
from worker.page.words.scripts import HAN_RANGE
from worker.page.words.word_tables import SIMPLIFIED

UserWord = str | tuple[str, int | None, str | None]
"""A word, or (word, frequency, part of speech); without a frequency it gets one that makes it win."""

_USABLE: Final = re.compile(rf"(?=.*[{HAN_RANGE}])[{HAN_RANGE}a-z0-9]+")

Frequencies = tuple[dict[str, int], int]


class Dictionary(NamedTuple):
    """Words with the logarithm of their probability, and that of a character which is no word."""

    scores: dict[str, float]
    unknown: float


def dictionary(user_words: Iterable[UserWord] = (), *, fold_traditional: bool = True) -> Dictionary:
    """jieba's words, user words included: those that normalised Chinese text can hold. Takes half a second."""
    usable, _ = _usable(user_words, fold_traditional)
    if usable:
        cutter = tokenizer(usable, with_beginnings(fold_traditional))
        counts, total = cutter.FREQ, cutter.total
    else:
        counts, total = _counts(fold_traditional)
    unknown = -log(total)
    scores = {count: log(count) + unknown for count in {*counts.values()} if count}
    fits = _USABLE.fullmatch
    return Dictionary({word: scores[count] for word, count in counts.items() if count and fits(word)}, unknown)


def words_rule(user_words: Iterable[UserWord], noise: NoiseWords, *, fold_traditional: bool) -> str:
    """Name of the rule that words come from; a part of the scheme."""
    usable, _ = _usable(user_words, fold_traditional)
    user = _digest(f"{word} {frequency}" for word, frequency in usable.items())
    return f"words-3/jieba-{_dictionary_name(fold_traditional)}/hmm-off/user-{user}/noise-{_digest(noise.lines())}"


def unused_words(user_words: Iterable[UserWord], *, fold_traditional: bool) -> tuple[str, ...]:
    """Those that can never be a token: they hold no Chinese character, so that they are words anyway, or something that
    separates."""
    return _usable(user_words, fold_traditional)[1]


@cache
def _dictionary_name(fold_traditional: bool) -> str:
    """Entries and total frequency of jieba's dictionary, to which the beginnings of its words belong."""
    counts, total = with_beginnings(fold_traditional)
    return f"{len(counts)}-{total}"


def tokenizer(words: dict[str, int | None], frequencies: Frequencies) -> Any:
    """jieba's own, with these words added to a dictionary, which it takes for its own; nothing is written or logged."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # invalid escapes and pkg_resources in its own source
        import jieba

    cutter = jieba.Tokenizer()
    # Its own initialize() logs, and keeps a pickled copy in the temporary folder, which anybody can write.
    cutter.FREQ, cutter.total = frequencies
    cutter.initialized = True
    for word, frequency in words.items():
        cutter.add_word(word, frequency)
    return cutter


def with_beginnings(fold_traditional: bool) -> Frequencies:
    """How often each word of jieba's dictionary was seen, 0 for what is but the beginning of one; and their sum."""
    counts, total = _counts(fold_traditional)
    for word in list(counts):
        for end in range(1, len(word)):
            counts.setdefault(word[:end], 0)
    return counts, total


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
