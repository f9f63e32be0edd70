"""The queries to an index, and its results, as columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from crawler_plugin.wire.messages import NEAR_REASONS, Order
from worker.fingerprint.near import EXACT_BYTES, EXACT_TEXT, HAMMING, SKETCH
from worker.fingerprint.scoped import ScopedRecord
from worker.fingerprint.sketch import as_keys, as_words
from worker.index.kernels.plan import PAGE_DOUBT, PAGE_SITE, PAGE_TITLE, PAGE_TITLE_WORDS, PAGE_TOKENS, PAGE_WORDS


@dataclass(frozen=True, eq=False)
class Queries:
    """Pages to look up, as columns (n,): ``fingerprint`` uint64, ``bare`` bool (has none), ``text_hash`` uint64.

    ``tokens`` uint32, needed where a ratio is part of the rule, and where a text is doubted; ``bands`` uint32 (n, 8)
    and ``sketch`` uint64 (n, 4), needed where the rules have sketches, zeros for a page without; ``scope`` uint64,
    ``site`` and ``title`` uint32, ``title_words`` uint64 and ``doubt`` uint8, None where all are 0.
    """

    fingerprint: NDArray[np.uint64]
    bare: NDArray[np.bool_]
    text_hash: NDArray[np.uint64]
    tokens: NDArray[np.uint32] | None = None
    bands: NDArray[np.uint32] | None = None
    sketch: NDArray[np.uint64] | None = None
    scope: NDArray[np.uint64] | None = None
    site: NDArray[np.uint32] | None = None
    title: NDArray[np.uint32] | None = None
    title_words: NDArray[np.uint64] | None = None
    doubt: NDArray[np.uint8] | None = None

    @classmethod
    def of(cls, records: Sequence[ScopedRecord]) -> Queries:
        """From pages in the form that ``near`` reads."""
        count = len(records)
        return cls(
            fingerprint=np.fromiter((record.fingerprint or 0 for record in records), np.uint64, count),
            bare=np.fromiter((record.fingerprint is None for record in records), np.bool_, count),
            text_hash=np.fromiter((record.text_hash for record in records), np.uint64, count),
            tokens=np.fromiter((record.tokens for record in records), np.uint32, count),
            bands=as_keys([record.bands for record in records]),
            sketch=as_words([record.sketch for record in records]),
            scope=np.fromiter((record.scope for record in records), np.uint64, count),
            site=np.fromiter((record.site for record in records), np.uint32, count),
            title=np.fromiter((record.title for record in records), np.uint32, count),
            title_words=np.fromiter((record.title_words for record in records), np.uint64, count),
            doubt=np.fromiter((record.doubt for record in records), np.uint8, count),
        )

    def __len__(self) -> int:
        return len(self.fingerprint)

    @cached_property
    def numbers(self) -> NDArray[np.uint32]:
        """Tokens, site, title, doubt and title words, zeros where left out: uint32 (n, 6). Each shard asks for them."""
        numbers = np.zeros((len(self), PAGE_WORDS), np.uint32)
        columns = self.tokens, self.site, self.title, self.doubt
        for place, column in zip((PAGE_TOKENS, PAGE_SITE, PAGE_TITLE, PAGE_DOUBT), columns, strict=True):
            if column is not None:
                numbers[:, place] = column
        if self.title_words is not None:
            numbers.view(np.uint64)[:, PAGE_TITLE_WORDS // 2] = self.title_words
        return numbers

    def among(self, rows: NDArray[np.bool_] | NDArray[np.intp]) -> Queries:
        """Only these pages."""
        return Queries(
            fingerprint=self.fingerprint[rows],
            bare=self.bare[rows],
            text_hash=self.text_hash[rows],
            tokens=None if self.tokens is None else self.tokens[rows],
            bands=None if self.bands is None else self.bands[rows],
            sketch=None if self.sketch is None else self.sketch[rows],
            scope=None if self.scope is None else self.scope[rows],
            site=None if self.site is None else self.site[rows],
            title=None if self.title is None else self.title[rows],
            title_words=None if self.title_words is None else self.title_words[rows],
            doubt=None if self.doubt is None else self.doubt[rows],
        )


@dataclass(frozen=True, eq=False)
class Found:
    """For each query the earliest near entry, as columns (n,), all int64 but the last.

    ``batches`` and ``places`` are its order and ``slots`` its number, -1 for none. ``distances`` are in bits, -1 for
    none and for pages without fingerprint; ``agreements`` are of the sketches' 128 slots, -1 where a page has none.
    ``exact`` (bool): the texts are equal, not only near. ``by_sketch`` (bool): near by the sketch only. ``by_bytes``
    (bool): equal, and without any token. The methods return the values of one query, of those that ``hits`` names.
    """

    batches: NDArray[np.int64]
    places: NDArray[np.int64]
    distances: NDArray[np.int64]
    slots: NDArray[np.int64]
    agreements: NDArray[np.int64]
    exact: NDArray[np.bool_]
    by_sketch: NDArray[np.bool_]
    by_bytes: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.slots)

    def hits(self) -> list[int]:
        """The queries for which something was found, ascending."""
        hits: list[int] = np.flatnonzero(self.slots >= 0).tolist()
        return hits

    def order(self, query: int) -> Order:
        """(offset of its batch, place in it) of the entry."""
        return int(self.batches[query]), int(self.places[query])

    def put(self, query: int, other: Found) -> None:
        """Replace the result for this query by the result that another search has for its only query."""
        for column in fields(self):
            getattr(self, column.name)[query] = getattr(other, column.name)[0]

    def slot(self, query: int) -> int:
        """The slot for ``Shard.url``."""
        return int(self.slots[query])

    def distance_of(self, query: int) -> int | None:
        """Bits that differ; None for pages without fingerprint."""
        distance = int(self.distances[query])
        return None if distance < 0 else distance

    def agreement_of(self, query: int) -> int | None:
        """Slots of the sketches that agree; None where one of the pages has none."""
        agreement = int(self.agreements[query])
        return None if agreement < 0 else agreement

    def reason(self, query: int) -> str:
        """The rule that holds: equal texts before fingerprints before sketches."""
        return NEAR_REASONS[self.reasons[query]]

    @property
    def reasons(self) -> NDArray[np.uint8]:
        """The reasons for all queries, as places in ``NEAR_REASONS``; for queries without a hit any value."""
        near = np.where(self.by_sketch, _PLACE_OF[SKETCH], _PLACE_OF[HAMMING])
        exact = np.where(self.by_bytes, _PLACE_OF[EXACT_BYTES], _PLACE_OF[EXACT_TEXT])
        return np.where(self.exact, exact, near).astype(np.uint8)


_PLACE_OF: Final = {reason: place for place, reason in enumerate(NEAR_REASONS)}
