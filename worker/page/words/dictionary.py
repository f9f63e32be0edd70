"""The words by which Chinese is cut: jieba's dictionary and a user's own words.

jieba itself cuts nothing here: ``worker.fingerprint.kernels.cutting`` does, by jieba's dictionary and rule, in compiled
steps.
"""

from __future__ import annotations

import hashlib
import re
import warnings
from collections.abc import Iterable
from functools import cache
from importlib.metadata import files
from itertools import accumulate
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from worker.kept_arrays import Arrays, kept, version_of
from worker.page.words.entries import WordCounts, entries_of
from worker.page.words.noise import NoiseWords
from worker.page.words.normalise import normalise
from worker.page.words.scripts import HAN_RANGE, code_points

UserWord = str | tuple[str, int | None, str | None]
"""A word, or (word, frequency, part of speech); without a frequency it gets one that makes it win."""

_USABLE: Final = re.compile(rf"(?=.*[{HAN_RANGE}])[{HAN_RANGE}a-z0-9]+")
"""The form that ``entries_of`` returns."""

Frequencies = tuple[dict[str, int], int]


class Dictionary(NamedTuple):
    """Words in the order of their code points: the code points of all words, uint32; where each word ends among them,
    int64 (n,); how often it was seen, int64 (n,); how often all words were seen."""

    codes: npt.NDArray[np.uint32]
    ends: npt.NDArray[np.int64]
    counts: npt.NDArray[np.int64]
    total: int


def dictionary(user_words: Iterable[UserWord] = (), *, fold_traditional: bool = True) -> Dictionary:
    """jieba's words, user words included: those that can occur in normalised Chinese text. With user words it takes a
    second."""
    usable, _ = _usable(user_words, fold_traditional)
    if not usable:
        return Dictionary(*_entries(fold_traditional, usable=True)[:4])
    cutter = tokenizer(usable, with_beginnings(fold_traditional))
    words = sorted(word for word, count in cutter.FREQ.items() if count and _USABLE.fullmatch(word))
    ends = np.fromiter(accumulate(map(len, words)), np.int64, len(words))
    counts = np.fromiter(map(cutter.FREQ.__getitem__, words), np.int64, len(words))
    return Dictionary(code_points("".join(words)).copy(), ends, counts, cutter.total)


def words_rule(user_words: Iterable[UserWord], noise: NoiseWords, *, fold_traditional: bool) -> str:
    """Name of the rule that words come from; a part of the scheme."""
    usable, _ = _usable(user_words, fold_traditional)
    user = _digest(f"{word} {frequency}" for word, frequency in usable.items())
    return f"words-3/jieba-{_dictionary_name(fold_traditional)}/hmm-off/user-{user}/noise-{_digest(noise.lines())}"


def unused_words(user_words: Iterable[UserWord], *, fold_traditional: bool) -> tuple[str, ...]:
    """The words that can never be a token: they hold no Chinese character, so that they are words anyway, or a
    character that separates."""
    return _usable(user_words, fold_traditional)[1]


@cache
def _dictionary_name(fold_traditional: bool) -> str:
    """Entries and total frequency of jieba's dictionary, to which the beginnings of its words belong."""
    entries = _entries(fold_traditional, usable=False)
    return f"{entries.beginnings}-{entries.total}"


def tokenizer(words: dict[str, int | None], frequencies: Frequencies) -> Any:
    """jieba's own tokenizer, with these words added to a dictionary, which it uses as its own; nothing is written or
    logged."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # invalid escapes and pkg_resources in its own source
        import jieba

    cutter = jieba.Tokenizer()
    # Its own initialize() logs, and keeps a pickled copy in the temporary folder, which anyone can write.
    cutter.FREQ, cutter.total = frequencies
    cutter.initialized = True
    for word, frequency in words.items():
        cutter.add_word(word, frequency)
    return cutter


def with_beginnings(fold_traditional: bool) -> Frequencies:
    """How often each word of jieba's dictionary was seen, 0 for a mere beginning of one; and their sum."""
    entries = _entries(fold_traditional, usable=False)
    counts = dict(zip(entries.words(), entries.counts.tolist(), strict=True))
    for word in list(counts):
        for end in range(1, len(word)):
            counts.setdefault(word[:end], 0)
    return counts, entries.total


def _entries(fold_traditional: bool, *, usable: bool) -> WordCounts:
    (path,) = (file for file in files("jieba") or () if str(file) == "jieba/dict.txt")
    file = path.read_binary()
    name = f"dictionary-{'folded' if fold_traditional else 'plain'}-{'usable' if usable else 'all'}"

    def made() -> Arrays:
        entries = entries_of(file, fold_traditional=fold_traditional, usable=usable)
        return {"sums": np.array(entries[3:]), **dict(zip(WordCounts._fields, entries[:3], strict=False))}

    found: dict[str, Any] = dict(kept(name, version_of("worker.page.words", file), made))
    return WordCounts(found["codes"], found["ends"], found["counts"], *found["sums"].tolist())


def _usable(user_words: Iterable[UserWord], fold_traditional: bool) -> tuple[dict[str, int | None], tuple[str, ...]]:
    """Normalised word → frequency for words that can be tokens, and the words that cannot; of a word given twice the
    last counts."""
    entries = ((entry, None) if isinstance(entry, str) else entry[:2] for entry in user_words)
    spelled = ((normalise(word, fold_traditional=fold_traditional), frequency) for word, frequency in entries)
    words = {spelling: frequency for spelling, frequency in spelled if spelling}
    usable = {word: frequency for word, frequency in sorted(words.items()) if _USABLE.fullmatch(word)}
    return usable, tuple(sorted(words.keys() - usable.keys()))


def _digest(lines: Iterable[str]) -> str:
    joined = "\n".join(lines)
    return hashlib.blake2b(joined.encode(), digest_size=4).hexdigest() if joined else "none"
