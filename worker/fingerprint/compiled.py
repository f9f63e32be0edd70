"""From text to fingerprint in compiled steps: equal to ``Fingerprinter.by_definition``, and many times faster."""

from __future__ import annotations

from functools import cache
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import xxhash

from worker.fingerprint import cutting, sketching, spelling, voting, xxh3
from worker.fingerprint.hashing import Hashes, hash_words
from worker.fingerprint.sketch import BAND_MULTIPLIERS, BANDS, BIGRAMS_UP_TO, BOUNDARY, SKETCH_BYTES, SLOT_MULTIPLIERS
from worker.page.normalise import code_points, normalise_by_definition, table
from worker.page.segment import SCRIPTS, Dictionary, language_of, tables
from worker.page.weigh import LARGEST_SHARE, PAIRS

_LANGUAGE_CHARACTERS: Final = 4096
_UTF8_BYTES: Final = 4
_LEAST_BITS: Final = 17
_LONGEST_SPELLING: Final = 20
"""More characters than any one becomes when it is normalised: U+FDFA becomes 18."""


class Read(NamedTuple):
    """A text as the kernels see it. ``words`` and ``pairs`` are hashes of tokens, noise words included."""

    spelled: npt.NDArray[np.uint32]
    units: Hashes
    words: Hashes
    pairs: Hashes

    def language(self) -> str:
        """As ``worker.page.segment.language``."""
        tallies = np.zeros(SCRIPTS, np.int64)
        spelling.tally(self.spelled, min(len(self.spelled), _LANGUAGE_CHARACTERS), _tables().scripts, tallies)
        return language_of(tallies)


class Reader:
    """Reads texts into hashes of their tokens, by a dictionary; without one every unit is a word."""

    def __init__(self, dictionary: Dictionary | None, noise_words: frozenset[str]) -> None:
        self._noise: Final = _set_of(hash_words(sorted(noise_words)))
        self._trie: Final = _trie(dictionary) if dictionary else _NO_TRIE

    def read(self, text: str) -> Read:
        """Normalise and cut."""
        spelled = _spell(text)
        count = len(spelled)
        trie, classes = self._trie, _tables().classes
        # Of a script without blanks a token is two characters, and each stands in two of them.
        text_bytes, unit_bytes = (
            np.empty((2 * _UTF8_BYTES + 1) * count + 8, np.uint8),
            np.empty(5 * count + 8, np.uint8),
        )
        bounds = np.empty((4, count + 1), np.int64)
        cut = spelled.copy()
        kinds = np.empty(count, np.uint8)
        words, units = cutting.cut(
            cut, count, classes, kinds, *trie, text_bytes, bounds[0], bounds[1], unit_bytes, bounds[2], bounds[3]
        )
        if not len(trie.places):
            unit_hashes = _hashes(unit_bytes, bounds[2], bounds[3], units)
            pairs = _hashes(unit_bytes, bounds[2], bounds[3][1:], max(0, units - 1))
            return Read(spelled, unit_hashes, unit_hashes, pairs)
        word_hashes = _hashes(text_bytes, bounds[0], bounds[1], words)
        unit_hashes = _hashes(unit_bytes, bounds[2], bounds[3], units, word_hashes)
        return Read(spelled, unit_hashes, word_hashes, _hashes(text_bytes, bounds[0], bounds[1][1:], max(0, words - 1)))

    def simhash(self, read: Read) -> tuple[int, int]:
        """The fingerprint of the words and pairs weighed by tf, and the number of features."""
        fingerprint, features = voting.vote(read.words, read.pairs, len(read.words), self._noise, PAIRS, LARGEST_SHARE)
        return int(fingerprint), int(features)


def sketch_and_bands(units: Hashes) -> tuple[bytes, bytes]:
    """``sketch`` and ``bands`` of a text's tokens."""
    if not len(units):
        return b"", b""
    sketch, keys = np.zeros(SKETCH_BYTES, np.uint8), np.empty(BANDS, np.uint32)
    boundary = np.uint64(BOUNDARY)
    sketching.sketch_tokens(units, boundary, SLOT_MULTIPLIERS, BAND_MULTIPLIERS, _BIGRAMS_UP_TO, sketch, keys)
    return sketch.tobytes(), keys.astype("<u4", copy=False).tobytes()


_BIGRAMS_UP_TO: Final = np.array(BIGRAMS_UP_TO, np.int64)


class _Trie(NamedTuple):
    """See ``cutting.grow``; ``bits`` is the logarithm of its size, ``scores`` are of what is no word, and by rank."""

    firsts: npt.NDArray[np.uint32]
    pairs: npt.NDArray[np.uint8]
    places: npt.NDArray[np.uint64]
    scores: npt.NDArray[np.float64]
    bits: int


_NO_TRIE: Final = _Trie(np.zeros(0, np.uint32), np.zeros(0, np.uint8), np.zeros(0, np.uint64), np.zeros(0), 0)


class _Tables(NamedTuple):
    spelling: npt.NDArray[np.uint32]
    expanding: npt.NDArray[np.uint32]
    bounds: npt.NDArray[np.int64]
    expansions: npt.NDArray[np.uint32]
    classes: npt.NDArray[np.uint8]
    scripts: npt.NDArray[np.uint8]


@cache
def _tables() -> _Tables:
    spelling, spellings = table()
    lengths = [0, *map(len, spellings.values())]
    return _Tables(
        spelling,
        np.array(list(spellings), np.uint32),
        np.cumsum(lengths),
        code_points("".join(spellings.values())).copy(),
        *tables(),
    )


def _spell(text: str) -> npt.NDArray[np.uint32]:
    codes = code_points(text)
    found = _tables()
    for room in (len(codes) + len(codes) // 8 + _LONGEST_SPELLING, (len(codes) + 1) * _LONGEST_SPELLING):
        spelled = np.empty(room, np.uint32)
        length = spelling.spell(codes, found.spelling, found.expanding, found.bounds, found.expansions, spelled)
        if length != spelling.TOO_LONG:
            break
    return spelled[:length] if length != spelling.COMPOSES else code_points(normalise_by_definition(text)).copy()


def _set_of(hashes: Hashes) -> Hashes:
    """For ``voting.vote``: a quarter full, so that most look-ups end at the first place; of nothing, empty."""
    bits = (4 * len(hashes)).bit_length()
    members = np.zeros(1 << bits if len(hashes) else 0, np.uint64)
    voting.gather(hashes, members, bits)
    return members


def _hashes(text: npt.NDArray[np.uint8], starts: Any, ends: Any, count: int, words: Hashes | None = None) -> Hashes:
    """Of slices; with the hashes of ``words``, of units."""
    hashes = np.empty(count, np.uint64)
    too_long = np.empty(count, np.int64)
    if words is None:
        long = xxh3.hash_slices(text, starts, ends, count, xxh3.SECRET, hashes, too_long)
    else:
        long = xxh3.hash_units(text, starts, ends, count, xxh3.SECRET, words, hashes, too_long)
    for number in too_long[:long].tolist():
        hashes[number] = xxhash.xxh3_64_intdigest(text[starts[number] : ends[number]].tobytes())
    return hashes


def _trie(dictionary: Dictionary) -> _Trie:
    words = sorted(dictionary.scores)
    codes = code_points("".join(words)).copy()
    ends = np.cumsum(np.fromiter(map(len, words), np.int64, len(words)))
    scores, ranks = np.unique([dictionary.scores[word] for word in words], return_inverse=True)
    bits = max(_LEAST_BITS, len(codes).bit_length())
    firsts, pairs = np.zeros(1 << 16, np.uint32), np.zeros(1 << bits - 2, np.uint8)
    places = np.zeros(1 << bits, np.uint64)
    cutting.grow(codes, ends, (ranks + 1).astype(np.uint64), firsts, pairs, places, bits)
    return _Trie(firsts, pairs, places, np.concatenate(([dictionary.unknown], scores)), bits)
