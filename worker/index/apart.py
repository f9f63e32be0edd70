"""How pages lie apart that are near in text only: pages of other scopes, and template texts under other titles.

Fingerprints, texts and bands are combined by XOR with the scope before they come to the tables. Pages that are near in
one scope stay as near, while copies in many scopes do not meet in one bucket, where a look-up would walk through all of
them to find those of its own scope.

An entry that is *alone* (``ScopedNear.is_alone``) is near to pages of its own title only, and a template's text may
stand under a million titles of one site. So such entries lie apart by scope and title, as if each title were a scope of
its own. A page with a title is looked up twice: in its scope, and among the entries that are alone under its title. As
few pages have any there, a filter says for which pages the second look-up is worth its time.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from types import ModuleType
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from worker.fingerprint.scoped import DOUBTED, TEMPLATE, title_masks
from worker.index.entries import Entries
from worker.index.queries import Queries

U64 = NDArray[np.uint64]
Pages = TypeVar("Pages", Queries, Entries)

_LEAST_WORDS: Final = 1 << 13
_FEW: Final = 4
"""Where at most one entry in this many is alone, a key has a word of the filter for itself; otherwise it shares one
with two others. Each generation wrongly matches one of 20,000 keys that were not added in the first case, one of 650 in
the second."""


def set_apart(pages: Pages, scopes: U64 | None) -> Pages:
    """The pages with fingerprints, texts and bands combined (XOR) with ``scopes`` (n,); None stands for zeros. A second
    call with the same scopes restores the original pages."""
    if scopes is None or not scopes.any():
        return pages
    bands = pages.bands
    if bands is not None:
        bands = np.where(bands.any(axis=1, keepdims=True), bands ^ scopes.astype(np.uint32)[:, None], bands)
    return replace(pages, fingerprint=pages.fingerprint ^ scopes, text_hash=pages.text_hash ^ scopes, bands=bands)


def alone_among(entries: Entries, least_across: int) -> NDArray[np.bool_] | None:
    """Which entries are alone, bool (n,); None for none of them."""
    doubt = entries.doubt
    if doubt is None or not doubt.any():
        return None
    alone: NDArray[np.bool_] = (doubt >= TEMPLATE) | ((doubt == DOUBTED) & (entries.tokens < least_across))
    return alone if alone.any() else None


def scopes_of(entries: Entries, alone: NDArray[np.bool_] | None) -> U64 | None:
    """The scope that each entry lies apart by: its scope, and its title if it is ``alone``; None for zeros.

    An entry that is alone and has no title is near to no page: it lies apart by its URL, so that it is in no other
    entry's way.
    """
    if alone is None:
        return entries.scope
    titles = entries.filled("title")
    masks = np.where(alone, np.where(titles == 0, entries.url_hash, title_masks(titles)), np.uint64(0))
    return masks if entries.scope is None else masks ^ entries.scope


def as_kernels_take_it(values: NDArray[Any], dtype: type[Any]) -> NDArray[Any]:
    """Contiguous and of one type; kernels are compiled for arrays that may be written to."""
    flags = values.flags
    if values.dtype == dtype and flags.c_contiguous and flags.writeable:
        return values
    return np.require(values, dtype, ["C", "W"])


@cache
def _kernels() -> ModuleType:
    from worker.compiling import must_compile

    must_compile()
    from worker.index.kernels import titles

    return titles


class TitleFilter:
    """The scopes and titles that have an entry that is alone: all that have one, and few others.

    A Bloom filter (Space/Time Trade-offs in Hash Coding with Allowable Errors, CACM 1970) whose bits of one key lie in
    one word (Putze, Sanders, Singler: Cache-, Hash- and Space-Efficient Bloom Filters, WEA 2007). It never moves: when
    it is full, another one is begun for about as many keys as live, and it goes when all of its entries have expired.
    """

    def __init__(self) -> None:
        self._generations: list[_Generation] = []
        self._places = np.zeros((0, 2), np.int64)

    def add(self, keys: U64, end: int, entries: int) -> None:
        """Add entries before slot ``end``, which ascends: their scopes, each combined with the title's mask.

        ``entries`` live in all, including those that are not alone.
        """
        done = 0
        while done < len(keys):
            if not self._generations or not self._generations[-1].room:
                begin = self._generations[-1].end if self._generations else end
                live = sum(generation.count for generation in self._generations)
                self._generations.append(_Generation(begin, live * 7 // 8, 1 if live * _FEW <= entries else 3))
                self._point()
            done += self._generations[-1].add(keys[done:], end)

    def drop(self, first: int) -> None:
        """Forget the entries below slot ``first``."""
        while self._generations and self._generations[0].end <= first:
            self._generations.pop(0)
            self._point()
        if self._generations:
            self._generations[0].drop(first)

    def masks_of(self, titles: NDArray[np.uint32], scopes: U64) -> U64:
        """The masks of titles under which there is an entry in its scope, or seems to be: uint64 (n,), otherwise 0."""
        masks = np.zeros(len(titles), np.uint64)
        _kernels().masks_of(self._places, as_kernels_take_it(titles, np.uint32), scopes, masks)
        return masks

    def __bool__(self) -> bool:
        return bool(self._generations)

    @property
    def nbytes(self) -> int:
        """Bytes in use."""
        return sum(generation.words.nbytes for generation in self._generations)

    def _point(self) -> None:
        """Tell the kernel the addresses of the words."""
        self._places = np.array(
            [(each.words.ctypes.data, len(each.words) - 1) for each in self._generations], np.int64
        ).reshape(-1, 2)


class _Generation:
    """The keys of entries from slot ``begin`` to ``end``; ``count`` of them live, if they lie evenly.

    There is room for as many as are ``wanted``, or down to half of that, so that the number of words is a power of two.
    """

    def __init__(self, begin: int, wanted: int, keys_a_word: int) -> None:
        words = max(_LEAST_WORDS, (1 << (wanted // keys_a_word).bit_length()) >> 1)
        self.words: Final = np.zeros(words, np.uint64)
        self.room = words * keys_a_word
        self.count = 0
        self.begin = begin
        self.end = begin

    def add(self, keys: U64, end: int) -> int:
        """Add as many keys as there is room for; returns how many."""
        keys = keys[: self.room]
        _kernels().add(self.words, as_kernels_take_it(keys, np.uint64))
        self.room -= len(keys)
        self.count += len(keys)
        self.end = end
        return len(keys)

    def drop(self, first: int) -> None:
        """Count no entry below slot ``first``."""
        if self.begin < first < self.end:
            self.count -= self.count * (first - self.begin) // (self.end - self.begin)
            self.begin = first
