"""Text → hashes of its tokens → fingerprint, in compiled steps.

1. A *word* is a run of letters, digits and marks that begins with a letter or digit; an apostrophe between two of them
   belongs to it. All other characters separate. A word without the scripts below is one token: ``python3``, ``don't``,
   ``42``.
2. Chinese characters (U+4E00 to U+9FD5, those that the dictionary knows) are cut by jieba's dictionary, together with
   the ASCII letters and digits that touch them, for its words may mix both (4s店, and 51区 from a user dictionary).
   Rarer ideographs (〇, 㐀) are tokens by themselves. Letters beyond ASCII make a word of their own: café教程 is two.
3. Scripts that are written without blanks (kana, Thai, Lao, Khmer, Burmese) give their overlapping pairs of written
   characters; a single one gives itself. A *written character* is a letter with everything that stands above, below or
   around it: marks, vowels on either side, a stacked consonant. Korean words are written with blanks: rule 1.
4. As a feature each number and each part of an address or of code counts only where it first occurs. Such a *part* is a
   word of ASCII letters and digits that begins with a digit, or that has a sign of ``cutting.GLUE`` next to it, without
   a blank, with a letter, a digit or a slash after the sign: all words of https://example.org/a_b. The same goes for
   such a word between two parts, such as the name of a field: lists of addresses or telephone numbers have hundreds of
   these and few different ones, and by their counts all lists would be one.

*Units* are the tokens of rule 1, and in scripts without blanks (rules 2 and 3) each written character separately. They
need no dictionary, and nothing is left out of them: sketches are made of them, and their count is the length of a page.

``tests/fingerprint/definition`` defines all this in readable steps, which the compiled steps must equal.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from math import log
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from worker.compiling import load_entries, must_compile
from worker.fingerprint.hashing import LONGEST_SIPPED, Hashes, hash_bytes, hash_long, hash_words
from worker.fingerprint.kernels import cutting, siphash, sketching, spelling, voting, xxh3
from worker.fingerprint.key import Key
from worker.fingerprint.sketch import BANDS, BIGRAMS_UP_TO, PUBLIC, SKETCH_BYTES, Numbering
from worker.kept_arrays import kept, version_of
from worker.page.words.dictionary import Dictionary
from worker.page.words.folding import TONES
from worker.page.words.noise import LEAST_SHARE, NoiseWords
from worker.page.words.normalise import in_one_script, normalise, table, toned
from worker.page.words.scripts import SCRIPTS, code_points, language_of, tables

PAIRS: Final = 8
"""A pair of neighbours weighs an eighth of a word of the same count: then few bits of a fingerprint rest on pairs, of
which an edit breaks two. In a text of n < 8 different words it weighs one part in n, as much as all its words do on
average: such texts are told apart by the order of their words, and by the noise words between them."""
LARGEST_SHARE: Final = 5
"""No feature has more than a fifth of all weight, so that pairs count in a text of two or three words. Lower limits
cost recall: a heavy word is also one that survives an edit."""
FEATURES: Final = f"words, pairs 1/{PAIRS}, at most 1/{LARGEST_SHARE}"
"""Name of the rule of features and their weights; a part of the scheme."""

_LANGUAGE_CHARACTERS: Final = 4096
_UTF8_BYTES: Final = 4
_LEAST_BITS: Final = 17
_LONGEST_SPELLING: Final = 20
"""More characters than any single one becomes when it is normalised: U+FDFA becomes 18."""


class Read(NamedTuple):
    """A text in the form that kernels read. ``units`` are hashes of all of its tokens; ``words`` and ``pairs`` are
    hashes of those that features are made of, noise words included."""

    spelled: npt.NDArray[np.uint32]
    units: Hashes
    words: Hashes
    pairs: Hashes

    def language(self) -> str:
        """As ``worker.page.words.scripts.language_of``, by the first 4,096 characters."""
        tallies = np.zeros(SCRIPTS, np.int64)
        spelling.tally(self.spelled, min(len(self.spelled), _LANGUAGE_CHARACTERS), _tables(True).scripts, tallies)
        return language_of(tallies)


class Tokens(NamedTuple):
    """The same for people: the text as it is spelled, all of its words, those that features are made of, noise words
    included in both, and its units."""

    spelled: str
    words: list[str]
    featured: list[str]
    units: list[str]


class TextReader:
    """Reads texts into hashes of their tokens, by a dictionary; without one every unit is a word. No one without the
    key can compute the hashes, if there is a key.

    Raises:
        UsageError: numba's compilation is switched off.
    """

    def __init__(
        self,
        dictionary: Dictionary | None,
        noise_words: NoiseWords,
        key: Key | None = None,
        *,
        fold_traditional: bool = True,
    ) -> None:
        must_compile()
        load_entries("worker.fingerprint")
        self._noise: Final = noise_set(noise_words, key.features if key else None)
        self._fold: Final = fold_traditional
        _tables(fold_traditional)  # now, so that no page waits for them
        self._trie: Final = _trie(dictionary) if dictionary else _NO_TRIE
        self._hashing: Final = _PublicHashing() if key is None else _KeyedHashing(key)

    def read(self, text: str) -> Read:
        """Normalise, cut and hash."""
        cut = self._cut(text)
        hashes = self._hashing.features(cut.words)
        of_tokens = self._hashing.tokens(cut.units, cut.words, hashes)
        hashes, pairs = cut.said_once(hashes)
        return Read(cut.spelled, of_tokens, hashes, self._hashing.features(pairs))

    def spelled(self, text: str) -> str:
        """Normalise."""
        return _as_text(_spell(text, self._fold))

    def tokens(self, text: str) -> Tokens:
        """Normalise and cut."""
        cut = self._cut(text)
        words = cut.words.strings()
        units = cut.units.strings(words)
        _, pairs = cut.said_once(self._hashing.features(cut.words))
        both = [pair.split(" ") for pair in pairs.strings()]
        featured = [first for first, _ in both] + [second for _, second in both[-1:]] if both else words[:1]
        return Tokens(_as_text(cut.spelled), words, featured, units)

    def _cut(self, text: str) -> _Cut:
        spelled = _spell(text, self._fold)
        count = len(spelled)
        # In a script without blanks a token is two written characters, and each stands in two tokens.
        text_bytes = np.empty((2 * _UTF8_BYTES + 1) * count + 8, np.uint8)
        unit_bytes, kinds = np.empty(5 * count + 8, np.uint8), np.empty(count, np.uint8)
        starts, ends, unit_starts, unit_ends, plain_at = np.empty((5, count + 1), np.int32)
        words, units = cutting.cut(
            spelled,
            count,
            _tables(self._fold).classes,
            kinds,
            *self._trie,
            text_bytes,
            starts,
            ends,
            unit_bytes,
            unit_starts,
            unit_ends,
            plain_at,
        )
        of_units = _Slices(unit_bytes, unit_starts, unit_ends, units)
        of_words = _Slices(text_bytes, starts, ends, words) if len(self._trie.places) else of_units
        return _Cut(spelled, kinds, plain_at, of_words, of_units)

    def simhash(self, read: Read) -> tuple[int, int]:
        """The fingerprint of the words and pairs weighed by tf, and the number of features."""
        fingerprint, features = voting.vote(
            read.words, read.pairs, len(read.words), *self._noise, LEAST_SHARE, PAIRS, LARGEST_SHARE
        )
        return int(fingerprint), int(features)


def sketch_and_bands(units: Hashes, numbering: Numbering = PUBLIC) -> tuple[bytes, bytes]:
    """The sketch and the bands of a text from the hashes of its units, uint64 (n,); none without units."""
    if not len(units):
        return b"", b""
    sketch, keys = np.zeros(SKETCH_BYTES, np.uint8), np.empty(BANDS, np.uint32)
    boundary = np.uint64(numbering.boundary)
    sketching.sketch_tokens(units, boundary, numbering.slots, numbering.bands, _BIGRAMS_UP_TO, sketch, keys)
    return sketch.tobytes(), keys.astype("<u4", copy=False).tobytes()


class _Slices(NamedTuple):
    """The first ``total`` tokens of a text in UTF-8, where they begin and end; ``siphash.ROOM`` is after the last."""

    text: npt.NDArray[np.uint8]
    starts: npt.NDArray[np.int32]
    ends: npt.NDArray[np.int32]
    total: int

    def pairs(self) -> _Slices:
        """Each two neighbours, with the blank between them."""
        return _Slices(self.text, self.starts, self.ends[1:], max(0, self.total - 1))

    def bytes_of(self, number: int) -> bytes:
        """The bytes of one token."""
        return self.text[self.starts[number] : self.ends[number]].tobytes()

    def strings(self, words: Sequence[str] = ()) -> list[str]:
        """All of them; for units that are no slices, see ``xxh3.hash_units``, by the ``words``."""
        return [self._string(number, words) for number in range(self.total)]

    def _string(self, number: int, words: Sequence[str]) -> str:
        start, end = int(self.starts[number]), self.ends[number]
        if end == xxh3.A_WORD:
            return words[start]
        return chr(start) if end == xxh3.A_CHARACTER else self.bytes_of(number).decode("utf-8", "surrogatepass")


class _Cut(NamedTuple):
    """A text cut into words and units: ``kinds`` and ``plain_at`` as ``cutting.cut`` leaves them."""

    spelled: npt.NDArray[np.uint32]
    kinds: npt.NDArray[np.uint8]
    plain_at: npt.NDArray[np.int32]
    words: _Slices
    units: _Slices

    def said_once(self, hashes: Hashes) -> tuple[Hashes, _Slices]:
        """Hashes of the words that features are made of, and the pairs of these (rule 4), from the hashes of all words.
        After this call the slices of the words must not be read."""
        words = self.words
        once = np.zeros(words.total, np.uint8)
        parts = cutting.mark(self.spelled, self.kinds, self.plain_at, words.starts, words.ends, words.total, once)
        if parts <= 1:
            return hashes, words.pairs()
        hashes = hashes.copy()
        used = int(words.ends[words.total - 1]) + 1
        text, apart = words.text, 2 * used + siphash.ROOM
        if text.size < used + apart:
            text = np.concatenate((text[:used], np.empty(apart, np.uint8)))
        left = cutting.thin(hashes, once, parts, text[:used], words.starts, words.ends, words.total, text[used:])
        return hashes[:left], _Slices(text, words.starts, words.ends, max(0, left - 1))


class _PublicHashing:
    """XXH3: a token has one hash, whatever it is used for."""

    def features(self, words: _Slices) -> Hashes:
        """The hashes of words, or of pairs of words."""
        hashes = np.empty(words.total, np.uint64)
        long = xxh3.hash_slices(*words, xxh3.SECRET, hashes)
        return self._with_long(hashes, words) if long else hashes

    def tokens(self, units: _Slices, words: _Slices, of_words: Hashes) -> Hashes:
        """The hashes of units, many of which are words."""
        if units is words:
            return of_words
        hashes = np.empty(units.total, np.uint64)
        long = xxh3.hash_units(*units, xxh3.SECRET, of_words, hashes)
        return self._with_long(hashes, units) if long else hashes

    def _with_long(self, hashes: Hashes, slices: _Slices) -> Hashes:
        lengths = slices.ends[: slices.total] - slices.starts[: slices.total]
        for number in (lengths > xxh3.LONGEST).nonzero()[0].tolist():
            hashes[number] = hash_bytes(slices.bytes_of(number))
        return hashes


class _KeyedHashing:
    """SipHash: a token as a feature has another hash than in sketches."""

    def __init__(self, key: Key) -> None:
        self._key: Final = key
        self._features: Final = np.frombuffer(key.features, "<u8").astype(np.uint64)
        self._tokens: Final = np.frombuffer(key.tokens, "<u8").astype(np.uint64)

    def features(self, words: _Slices) -> Hashes:
        """See ``_PublicHashing``."""
        hashes, too_long = np.empty(words.total, np.uint64), np.empty(words.total, np.int32)
        long = siphash.hash_slices(*words, self._features, LONGEST_SIPPED, hashes, too_long)
        for number in too_long[:long].tolist():
            hashes[number] = hash_long(words.bytes_of(number), self._key.features)
        return hashes

    def tokens(self, units: _Slices, words: _Slices, of_words: Hashes) -> Hashes:
        """See ``_PublicHashing``; the words' hashes as features are of no use here."""
        hashes, too_long = np.empty(units.total, np.uint64), np.empty(units.total, np.int32)
        long = siphash.hash_units(
            *units, self._tokens, LONGEST_SIPPED, words.text, words.starts, words.ends, hashes, too_long
        )
        for number in too_long[:long].tolist():
            is_word = units.ends[number] == xxh3.A_WORD
            spelled = words.bytes_of(units.starts[number]) if is_word else units.bytes_of(number)
            hashes[number] = hash_long(spelled, self._key.tokens)
        return hashes


_BIGRAMS_UP_TO: Final = np.array(BIGRAMS_UP_TO, np.int64)


class _Trie(NamedTuple):
    """See ``cutting.grow``; ``bits`` is the logarithm of its size, ``scores`` are by rank, with 0 for a character that
    is no word."""

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
    pairs: npt.NDArray[np.uint64]
    paired: npt.NDArray[np.uint32]
    classes: npt.NDArray[np.uint8]
    scripts: npt.NDArray[np.uint8]
    tones: npt.NDArray[np.uint64]
    moved: npt.NDArray[np.uint64]


@cache
def _tables(fold_traditional: bool) -> _Tables:
    name = f"spelling-{'folded' if fold_traditional else 'plain'}"
    version = version_of("worker.page.words", __name__)
    found: dict[str, Any] = dict(kept(name, version, lambda: _made(fold_traditional)._asdict()))
    return _Tables(**found)


def _made(fold_traditional: bool) -> _Tables:
    codes, several, pairs = table(fold_traditional=fold_traditional)
    lengths = [0, *map(len, several.values())]
    return _Tables(
        codes,
        np.array(list(several), np.uint32),
        np.cumsum(lengths),
        code_points("".join(several.values())).copy(),
        np.array([first << 32 | second for first, second in sorted(pairs)], np.uint64),
        np.array([pairs[pair] for pair in sorted(pairs)], np.uint32),
        *tables(),
        *(_in_one(ends) for ends in zip(*sorted(TONES.items()), strict=True)),
    )


def _in_one(pairs: Iterable[str]) -> npt.NDArray[np.uint64]:
    return np.array([ord(pair[0]) << 32 | ord(pair[1]) for pair in pairs], np.uint64)


def _as_text(spelled: npt.NDArray[np.uint32]) -> str:
    return spelled.tobytes().decode("utf-32-le")


def _spell(text: str, fold_traditional: bool) -> npt.NDArray[np.uint32]:
    codes = code_points(text)
    found = _tables(fold_traditional)
    left = 0
    for room in (len(codes) + len(codes) // 8 + _LONGEST_SPELLING, (len(codes) + 1) * _LONGEST_SPELLING):
        spelled = np.empty(room, np.uint32)
        length, left = spelling.spell(codes, *found[:7], spelled)
        if length != spelling.TOO_LONG:
            break
    if length == spelling.COMPOSES:
        return code_points(normalise(text, fold_traditional=fold_traditional)).copy()
    if left & spelling.MIXED:
        return code_points(toned(in_one_script(_as_text(spelled[:length])))).copy()
    if left & spelling.TONED:
        spelling.move_tones(spelled, length, found.tones, found.moved, found.classes)
    return spelled[:length]


class NoiseSet(NamedTuple):
    """See ``voting.gather``: hashes of noise words, and their languages."""

    members: Hashes
    languages: npt.NDArray[np.uint64]


def noise_set(noise: NoiseWords, key: bytes | None = None) -> NoiseSet:
    """For ``voting.vote``: a quarter full, so that most look-ups end at the first place; without hashes, empty."""
    number = {language: 1 << number for number, language in enumerate(sorted(noise.by_language))}
    of_word = dict.fromkeys(sorted(noise.always), 1 << voting.ALWAYS)
    of_word |= {word: sum(map(number.__getitem__, noise.languages[word])) for word in sorted(noise.languages)}
    bits = (4 * len(of_word)).bit_length()
    size = 1 << bits if of_word else 0
    found = NoiseSet(np.zeros(size, np.uint64), np.zeros(size, np.uint64))
    voting.gather(hash_words(list(of_word), key=key), np.array(list(of_word.values()), np.uint64), *found, bits)
    return found


def _trie(dictionary: Dictionary) -> _Trie:
    codes, ends, counts, total = dictionary
    bits = max(_LEAST_BITS, len(codes).bit_length())
    firsts, pairs = np.zeros(1 << 16, np.uint32), np.zeros(1 << bits - 2, np.uint8)
    places = np.zeros(1 << bits, np.uint64)
    unknown = -log(total)
    seen, ranks = np.unique(counts, return_inverse=True)
    cutting.grow(codes, ends, (ranks + 1).astype(np.uint64), firsts, pairs, places, bits)
    scores = [unknown, *(log(count) + unknown for count in seen.tolist())]
    return _Trie(firsts, pairs, places, np.array(scores), bits)
