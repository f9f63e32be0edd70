"""Codes for the index to hold, and codes to look up: uniform, crowded, of real texts; planted pairs; brute force."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from benchmarks.index_contenders import U64, K
from crawler_plugin.wire.page_headers import PageMeta
from worker.fingerprint.fingerprinter import Fingerprinter, Recipe

CROWDED_VALUE: Final = 0xC0DE
"""The 16 bits that the crowded codes share."""
_ALL_BITS: Final = ~np.uint64(0)
_WINDOW: Final = 800
"""Characters of a real text that make one code; windows overlap by half."""


@dataclass(frozen=True, eq=False)
class Codes:
    """``stored`` (n,) and, ``asked`` (m,): half of it near to stored ones, at distances 0 to 3, half not on purpose."""

    stored: U64
    asked: U64


def uniform(count: int, asked: int, seed: int = 1) -> Codes:
    """Codes whose every bit is a coin's toss."""
    random = np.random.default_rng(seed)
    stored = random.integers(0, 2**64, count, dtype=np.uint64)
    return Codes(stored, _asked(random, stored, random.integers(0, 2**64, asked - asked // 2, dtype=np.uint64)))


def crowded(count: int, share: float, asked: int, seed: int = 2) -> Codes:
    """A share of the codes have the same lowest 16 bits; all codes that are looked up have them, too."""
    random = np.random.default_rng(seed)
    stored = random.integers(0, 2**64, count, dtype=np.uint64)
    hot = random.random(count) < share
    stored[hot] = _crowd(stored[hot])
    others = _crowd(random.integers(0, 2**64, asked - asked // 2, dtype=np.uint64))
    return Codes(stored, _asked(random, stored[hot], others, free_bits=~np.uint64(0xFFFF)))


def of_texts(made: Recipe, pages: list[tuple[PageMeta, bytes]], most: int, asked: int, seed: int = 3) -> Codes:
    """Codes of overlapping stretches of real texts, ``most`` of them."""
    random = np.random.default_rng(seed)
    fingerprinter = Fingerprinter(made)
    codes: list[int] = []
    for meta, body in pages:
        text = fingerprinter.text_of(body, meta)
        for start in range(0, max(1, len(text) - _WINDOW // 2), _WINDOW // 2):
            window = PageMeta(url=meta.url, form="text")
            found = fingerprinter(text[start : start + _WINDOW].encode(), window).fingerprint
            if found is not None:
                codes.append(found)
        if len(codes) >= most:
            break
    every = np.array(codes[:most], np.uint64)
    random.shuffle(every)
    held_back = min(asked - asked // 2, len(every) // 10)
    stored = every[held_back:]
    return Codes(stored, _asked(random, stored, every[:held_back]))


def planted(stored: U64, distance: int, count: int, seed: int = 4) -> U64:
    """Codes at exactly this distance of stored ones: uint64 (count,)."""
    random = np.random.default_rng(seed + distance)
    return _moved(random, stored[random.integers(0, len(stored), count)], distance, _ALL_BITS)


def near_by_brute_force(stored: U64, asked: U64) -> NDArray[np.bool_]:
    """For each code whether a stored one is within ``K`` bits: all pairs are compared."""
    return np.array([bool((np.bitwise_count(stored ^ code) <= K).any()) for code in asked])


def _asked(random: np.random.Generator, near_to: U64, others: U64, free_bits: np.uint64 = _ALL_BITS) -> U64:
    near = near_to[random.integers(0, len(near_to), len(others))]
    for distance in range(1, K + 1):
        some = slice(distance, None, K + 1)
        near[some] = _moved(random, near[some], distance, free_bits)
    both = np.concatenate([near, others])
    random.shuffle(both)
    return both


def _moved(random: np.random.Generator, codes: U64, distance: int, free_bits: np.uint64) -> U64:
    """Each with ``distance`` different bits of the free ones turned."""
    places = np.flatnonzero((free_bits >> np.arange(64, dtype=np.uint64)) & np.uint64(1))
    turned = random.random((len(codes), len(places))).argsort(axis=1)[:, :distance]
    masks = (np.uint64(1) << places[turned].astype(np.uint64)).sum(axis=1, dtype=np.uint64)
    moved: U64 = codes ^ masks
    return moved


def _crowd(codes: U64) -> U64:
    crowd: U64 = codes & ~np.uint64(0xFFFF) | np.uint64(CROWDED_VALUE)
    return crowd
