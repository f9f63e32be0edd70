"""Methods that verdicts do not rest on, although they could: the worker's predicates are measured against these.

``exact`` finds only copies, ``sentences`` and ``shingles`` keep the same data as other programs, ``weighted`` is
SimHash by weights and hashes of the literature, and ``jaccard``, which keeps all of a page, shows what there is to
find.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from worker.evaluate.literature.explained import Explainer
from worker.evaluate.literature.variant import Variant
from worker.evaluate.methods import Call, Maker, OfWorker, Sweep
from worker.fingerprint.hashing import Hashes, hash_text, hash_words
from worker.fingerprint.sketch import SLOT_MULTIPLIERS
from worker.fingerprint.text_reader import TextReader
from worker.page.words.noise import NoiseWords

Sentences = tuple[int, ...]
Grams = npt.NDArray[np.uint64]
Signature = npt.NDArray[np.uint32]

MOST_SENTENCES: Final = 10
"""The number of longest sentences that are kept, enough to try smaller numbers."""

_END: Final = re.compile(r"[。！？；!?;\n]+|\.(?=\s|$)")
_ODD: Final = 0x9E3779B97F4A7C15
_CHUNK: Final = 4096


@dataclass(frozen=True)
class Exact:
    """Equal normalised text."""

    name: str = "exact"

    def maker(self) -> Maker:
        """Hashes of 64 bits; for an empty text that of its URL, since emptiness makes no two pages alike."""
        reader = units_reader()
        return lambda page, url, body: hash_text(reader.spelled(page.text) or f"\0{url}")

    @property
    def keeps(self) -> Any:
        """As its maker says."""
        return int

    def call(self, a: int, b: int) -> Call:
        """Equal hashes."""
        return Call(a == b)

    def kept_bytes(self, kept: int) -> int:
        """A hash."""
        return 8

    def sweep(self) -> None:
        """Nothing to choose."""
        return


@dataclass(frozen=True)
class LongestSentences:
    """At least a ``share`` of the ``n`` longest sentences of each page is the same."""

    n: int = 3
    share: float = 0.6
    name: str = "sentences"

    def maker(self) -> Maker:
        """Hashes of the longest different sentences, the longest first."""
        reader = units_reader()
        return lambda page, url, body: longest_sentences(page.text, max(self.n, MOST_SENTENCES), reader)

    @property
    def keeps(self) -> Any:
        """As its maker says."""
        return Sentences

    def call(self, a: Sentences, b: Sentences) -> Call:
        """By how many are in common; for pages that have fewer sentences all must be."""
        return Call(_share_sentences(a, b, self.n, self.share))

    def kept_bytes(self, kept: Sentences) -> int:
        """One hash for each sentence."""
        return 8 * min(self.n, len(kept))

    def sweep(self) -> Sweep:
        """The number of sentences."""
        numbers = tuple(range(1, max(self.n, MOST_SENTENCES) + 1))
        return Sweep("n", self.n, numbers, lambda a, b, call, n: _share_sentences(a, b, n, self.share))


@dataclass(frozen=True)
class Shingles:
    """MinHash of 128 slots of 32 bits over ``n``-grams of tokens: the estimated similarity is at least ``threshold``.

    Broder: On the resemblance and containment of documents, SEQUENCES 1997, section 3.
    """

    n: int = 2
    threshold: float = 0.6
    name: str = "shingles"

    def maker(self) -> Maker:
        """Signatures, uint32 (128,); none for an empty text."""
        reader = units_reader()
        return lambda page, url, body: minhash(ngram_hashes(reader.read(page.text).units, self.n))

    @property
    def keeps(self) -> Any:
        """As its maker says."""
        return Signature

    def call(self, a: Signature, b: Signature) -> Call:
        """By the share of equal slots."""
        if not a.size or not b.size:
            return Call(False)
        share = int(np.count_nonzero(a == b)) / len(SLOT_MULTIPLIERS)
        return Call(share >= self.threshold, sketch=share)

    def kept_bytes(self, kept: Signature) -> int:
        """All slots."""
        return kept.nbytes

    def sweep(self) -> Sweep:
        """The least similarity."""
        return _by_similarity(self.threshold)


@dataclass(frozen=True)
class Jaccard:
    """Jaccard similarity of the sets of ``n``-grams of tokens, begin and end marked, at least ``threshold``.

    The same paper, section 2.
    """

    n: int = 2
    threshold: float = 0.6
    name: str = "jaccard"

    def maker(self) -> Maker:
        """Sorted distinct hashes of the n-grams, uint64; none for an empty text."""
        reader = units_reader()
        return lambda page, url, body: np.unique(ngram_hashes(reader.read(page.text).units, self.n))

    @property
    def keeps(self) -> Any:
        """As its maker says."""
        return Grams

    def call(self, a: Grams, b: Grams) -> Call:
        """By the exact similarity."""
        if not a.size or not b.size:
            return Call(False)
        both = np.sort(np.concatenate((a, b)), kind="stable")  # merges two runs in linear time
        common = int(np.count_nonzero(both[1:] == both[:-1]))
        share = common / (a.size + b.size - common)
        return Call(share >= self.threshold, sketch=share)

    def kept_bytes(self, kept: Grams) -> int:
        """All hashes."""
        return kept.nbytes

    def sweep(self) -> Sweep:
        """The least similarity."""
        return _by_similarity(self.threshold)


@dataclass(frozen=True)
class Weighted(OfWorker):
    """``near`` on fingerprints that differ from the worker's by a ``variant`` of the literature, of 64 bits."""

    variant: Variant

    def maker(self) -> Maker:
        """The maker of such fingerprints."""
        return Explainer(self.recipe, self.variant).fingerprinted


def units_reader() -> TextReader:
    """Reads only units, which need no dictionary."""
    return TextReader(None, NoiseWords())


def longest_sentences(text: str, most: int, reader: TextReader) -> Sentences:
    """Hashes of the ``most`` longest different sentences by their tokens, the longest first; ties by hash.

    A sentence ends at a full stop, exclamation or question mark, semicolon or line end, Chinese ones included.
    """
    lengths: dict[int, int] = {}
    for sentence in _END.split(text):
        tokens = reader.tokens(sentence).units
        if tokens:
            lengths[hash_text(" ".join(tokens))] = len(tokens)
    return tuple(sorted(lengths, key=lambda hashed: (-lengths[hashed], hashed))[:most])


def ngram_hashes(tokens: Hashes, n: int) -> Grams:
    """A hash of each n-gram, uint64, from the hashes of tokens, with a marker before the first and one after the last;
    none if there are no tokens."""
    if not tokens.size:
        return tokens
    begin, end = hash_words(["\0begin", "\0end"])
    hashes = np.concatenate(([begin], tokens, [end]))
    count = max(1, len(hashes) - n + 1)
    mixed = np.zeros(count, np.uint64)
    for place in range(min(n, len(hashes))):
        mixed = mixed * np.uint64(_ODD) + hashes[place : place + count]
        mixed ^= mixed >> np.uint64(29)
    return mixed


def minhash(members: Grams) -> Signature:
    """The smallest of the members' numbers in each of 128 numberings; none if there are no members."""
    if not members.size:
        return np.empty(0, np.uint32)
    low = (members >> np.uint64(32)).astype(np.uint32)
    parts = [low[start : start + _CHUNK, None] * SLOT_MULTIPLIERS for start in range(0, len(low), _CHUNK)]
    smallest: Signature = np.stack([part.min(axis=0) for part in parts]).min(axis=0)
    return smallest


def _share_sentences(a: Sentences, b: Sentences, n: int, share: float) -> bool:
    a, b = a[:n], b[:n]
    needed = min(math.ceil(share * n), max(len(a), len(b)))
    return 0 < needed <= len(set(a) & set(b))


def _by_similarity(chosen: float) -> Sweep:
    """For methods that call pages near if they are at least so similar."""
    thresholds = tuple(round(0.2 + 0.04 * step, 2) for step in range(21))
    return Sweep("threshold", chosen, thresholds, lambda a, b, call, least: (call.sketch or 0.0) >= least)
