"""What a shard asks of the tables that find candidates, and the arguments that they get. ``tables`` has the compiled
tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from worker.fingerprint.near import AccurateNear
from worker.fingerprint.scoped import LEAST_ACROSS, ScopedNear
from worker.index.columns import Columns
from worker.index.kernels.plan import NO_SLOT
from worker.index.layout import Arrangement

__all__ = ["NO_SLOT", "Asked", "Engine", "Rules", "SketchRule", "TableSizes", "Tables"]

U32 = NDArray[np.uint32]
U64 = NDArray[np.uint64]
I64 = NDArray[np.int64]


@dataclass(frozen=True)
class SketchRule:
    """Pages with a band in common are near if their sketches agree well enough and their lengths are alike.

    ``threshold`` is the least agreement (``worker.fingerprint.sketch``) of 128; ``ratio`` (a, b): the smaller token
    count is at least a / b of the larger. Where that count is below ``short``, ``short_threshold`` and ``short_ratio``
    hold instead. Pages with close fingerprints, too, are near only if their sketches agree in ``hamming_threshold``,
    unless one has no sketch or their texts are equal.
    """

    threshold: int = 84
    ratio: tuple[int, int] = (3, 5)
    hamming_threshold: int = 71
    short: int = 50
    short_threshold: int = 90
    short_ratio: tuple[int, int] = (3, 4)


@dataclass(frozen=True)
class Rules:
    """When two entries are near: within ``k`` bits, with token counts in ``ratio``.

    (0, 1) is any ratio. With a ``sketch`` rule they are also near by it. ``least_across`` is that of ``ScopedNear``.
    """

    k: int = 3
    ratio: tuple[int, int] = (0, 1)
    sketch: SketchRule | None = None
    least_across: int = LEAST_ACROSS

    @classmethod
    def of(cls, near: ScopedNear) -> Rules:
        """The rules of ``near``."""
        rule = near.near
        sketch = None
        if isinstance(rule, AccurateNear):
            sketch = SketchRule(
                rule.threshold,
                rule.sketch_ratio,
                rule.hamming_threshold,
                rule.short,
                max(rule.threshold, rule.short_threshold),
                rule.short_ratio,
            )
        return cls(rule.k, rule.ratio, sketch, near.least_across)


@dataclass(frozen=True)
class TableSizes:
    """Sizes at which the index changes its shape. Tests make them small, so that they take every path.

    ``split_from``: a bucket of this many entries is split, or of eight times the usual number if that is more; fewer
    cost memory and slow the look-ups. ``copy_from``: with this many entries a bucket of a band keeps copies of their
    sketches. ``entries_a_row``: above it, more rows are made; a row costs as much as two entries. ``swept_rows``: rows
    from which one step removes expired entries. ``cleaned``: the most bytes of regions that are cleaned for one new
    entry in one table; half as many bytes of dead slabs may stay. ``first_slot``: the number of the first entry.
    """

    chunk_bits: int = 16
    least_region: int = 1 << 16
    most_region: int = 1 << 21
    entries_a_row: int = 8
    split_from: int = 8192
    copy_from: int = 1024
    swept_rows: int = 1 << 13
    cleaned: int = 384
    bulk_from: int = 1 << 15
    first_slot: int = 0


class Asked(NamedTuple):
    """Queries in the form that kernels take, all of n rows: ``values`` (fingerprints), ``texts`` and ``scopes`` uint64.

    ``bare`` bool; ``pages`` uint32 (n, 6): tokens, site, title, doubt, title words; ``bands`` uint32 (n, 8) and
    ``sketches`` uint64 (n, 4), zeros for a page without them, both without rows where the rules have no sketches.
    ``values``, ``texts`` and ``bands`` lie apart by the ``scopes``, which may stand for a title, too
    (``worker.index.apart``).
    """

    values: U64
    bare: NDArray[np.bool_]
    texts: U64
    pages: U32
    scopes: U64
    bands: U32
    sketches: U64

    def among(self, rows: I64) -> Asked:
        """Only these queries."""
        return Asked(
            values=self.values[rows],
            bare=self.bare[rows],
            texts=self.texts[rows],
            pages=self.pages[rows],
            scopes=self.scopes[rows],
            bands=self.bands[rows] if len(self.bands) else self.bands,
            sketches=self.sketches[rows] if len(self.sketches) else self.sketches,
        )

    def apart(self, masks: U64) -> Asked:
        """The same queries, to be looked up among entries that also lie apart by ``masks`` (n,)."""
        bands = self.bands
        if len(bands):
            bands = np.where(bands.any(axis=1, keepdims=True), bands ^ masks.astype(np.uint32)[:, None], bands)
        return self._replace(
            values=self.values ^ masks, texts=self.texts ^ masks, scopes=self.scopes ^ masks, bands=bands
        )


class Tables(Protocol):
    """From fingerprints, texts and bands to slots. Slots in arguments and results count from the first live one.

    An entry is found by its fingerprint, or by its text if it has none; and by its bands, if it has any. A query finds
    only entries that are comparable with it (``ScopedNear``), and lie apart by the same scope.
    """

    @property
    def splits(self) -> int:
        """Buckets that were split so far."""

    @property
    def candidates(self) -> int:
        """Entries that were compared so far."""

    def add(self, count: int, bands: Sequence[U32] | None, coming: int = 0) -> None:
        """Add the last ``count`` entries of the columns, at most 2^22.

        ``bands`` are theirs in parts of any length, uint32 (m, 8) each, zeros for an entry without bands. About as many
        more as ``coming`` says will follow, and the tables may make room for them at once.
        """

    def forget(self) -> None:
        """The columns have dropped their first entries: these are never found again, and are removed bit by bit."""

    def tidy(self) -> bool:
        """One bounded step of removing and of freeing memory; false if there is nothing to do."""

    def earliest(self, asked: Asked, lower: int, best: I64) -> None:
        """Lower ``best`` (n,) to the earliest entry at or after ``lower`` that is near by its fingerprint."""

    def earliest_text(self, asked: Asked, lower: int, best: I64) -> None:
        """The same among entries without fingerprint, by equal text."""

    def earliest_by_sketch(self, asked: Asked, lower: int, best: I64) -> None:
        """The same among entries with a sketch, by the sketch rule; every query must have one."""

    def earliest_one(self, value: int, tokens: int) -> int:
        """The earliest entry near to one fingerprint of scope 0, without sketch, site, title or doubt; ``NO_SLOT`` for
        none."""

    def latest_of(self, urls: U64, scopes: U64, lower: int, below: I64) -> None:
        """Lower ``below`` (n,) to the latest entry of that URL's hash and that scope before it, at or after ``lower``;
        -1 for none. Only where URLs have a table."""

    def describe(self, asked: Asked, best: I64) -> tuple[I64, NDArray[np.bool_]]:
        """Describes the entries found: int64 (5, n) batches, places, distances, slots and agreements of the sketches,
        -1 for none; bool (3, n) whether the texts are equal, whether only the sketches are near, and whether the pages
        are equal and have no token. Slots are numbered as the columns number them."""

    def bands(self, begin: int, end: int) -> U32:
        """The bands of these entries, numbered as the columns number them: uint32 (n, 8), 0 for entries without
        bands."""

    @property
    def largest_bucket(self) -> int:
        """Entries in the fullest bucket."""

    @property
    def nbytes(self) -> int:
        """Bytes in use."""


class Engine(Protocol):
    """Makes the tables of one shard; with ``by_url`` a table of URLs among them."""

    def __call__(
        self, columns: Columns, arrangements: Sequence[Arrangement], rules: Rules, sizes: TableSizes, by_url: bool, /
    ) -> Tables: ...
