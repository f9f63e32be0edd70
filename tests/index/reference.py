"""The tables in numpy: the readable definition of the compiled tables' results.

A table is a few runs, each sorted by key and inside a key by slot; a new run is merged with earlier runs that are no
longer than itself, so the number of runs is the logarithm of the number of entries (O'Neil et al., The Log-Structured
Merge-Tree, 1996).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from worker.fingerprint.scoped import ANNOUNCED, DOUBTED, TEMPLATE, title_masks
from worker.fingerprint.sketch import agreement
from worker.index.columns import Columns
from worker.index.engine import I64, NO_SLOT, U32, U64, Asked, Rules, TableSizes
from worker.index.kernels.plan import (
    BANDS,
    PAGE_DOUBT,
    PAGE_SITE,
    PAGE_TITLE,
    PAGE_TITLE_WORDS,
    PAGE_TOKENS,
    PAGE_WORDS,
    SKETCH_WORDS,
)
from worker.index.layout import WHOLE, Arrangement

CANDIDATES_AT_ONCE: Final = 1 << 20
"""Bounds the memory of a look-up at about 100 MB, however full the buckets are."""
_ODD_BITS: Final = np.uint64(0x5555555555555555)


def arrange(values: U64, shifts: I64) -> U64:
    """The values with their blocks in a table's own order."""
    width = 64 // len(shifts)
    block = np.uint64((1 << width) - 1)
    arranged = np.zeros_like(values)
    for place, shift in enumerate(shifts.tolist()):
        arranged |= ((values >> np.uint64(shift)) & block) << np.uint64(place * width)
    return arranged


def agreements_of(sketches: U64, others: U64) -> I64:
    """``agreement`` of each of (n, 4) sketches with the sketch at the same place: int64 (n,)."""
    different = sketches ^ others
    different = (different | (different >> np.uint64(1))) & _ODD_BITS
    agreeing: I64 = 32 * SKETCH_WORDS - np.bitwise_count(different).sum(axis=1, dtype=np.int64)
    for row in np.flatnonzero((sketches[:, -1] | others[:, -1]) >> np.uint64(62)).tolist():
        agreeing[row] = agreement(sketches[row].tobytes(), others[row].tobytes())
    return agreeing


def spans(starts: NDArray[Any], lengths: NDArray[Any]) -> I64:
    """All places of the spans [start, start + length), one after the other: int64."""
    before = np.cumsum(lengths) - lengths
    return np.repeat(starts - before, lengths) + np.arange(lengths.sum())


class _Run(NamedTuple):
    keys: U64
    slots: I64


class _Table:
    """Maps keys to slots, with sorted runs."""

    def __init__(self) -> None:
        self.runs: list[_Run] = []

    def add(self, keys: U64, slots: I64) -> None:
        """Add slots, which ascend and are above all stored slots."""
        new = _Run(keys, slots)
        while self.runs and len(self.runs[-1].slots) <= len(new.slots):
            last = self.runs.pop()
            new = _Run(np.concatenate([last.keys, new.keys]), np.concatenate([last.slots, new.slots]))
        order = np.argsort(new.keys, kind="stable")
        self.runs.append(_Run(new.keys[order], new.slots[order]))

    def drop(self, first: int) -> None:
        """Forget the slots below ``first``."""
        kept = ((run, run.slots >= first) for run in self.runs)
        self.runs = [_Run(run.keys[live], run.slots[live]) for run, live in kept if live.any()]

    def candidates(self, keys: U64) -> Iterator[tuple[I64, I64]]:
        """All pairs (query, slot) of equal keys, in portions."""
        for run in self.runs:
            starts = np.searchsorted(run.keys, keys, side="left")
            lengths = np.searchsorted(run.keys, keys, side="right") - starts
            ends = np.cumsum(lengths)
            asked = 0
            while asked < len(keys):
                before = int(ends[asked - 1]) if asked else 0
                until = max(asked + 1, int(np.searchsorted(ends, before + CANDIDATES_AT_ONCE, side="right")))
                query = np.repeat(np.arange(asked, until), lengths[asked:until])
                yield query, run.slots[spans(starts[asked:until], lengths[asked:until])]
                asked = until

    @property
    def longest(self) -> int:
        """The number of entries of the fullest key."""
        keys = np.concatenate([np.empty(0, np.uint64), *(run.keys for run in self.runs)])
        return int(np.unique(keys, return_counts=True)[1].max()) if len(keys) else 0

    @property
    def nbytes(self) -> int:
        """Bytes in use."""
        return sum(run.keys.nbytes + run.slots.nbytes for run in self.runs)


class ReferenceTables:
    """See ``worker.index.engine.Tables``."""

    def __init__(
        self, columns: Columns, arrangements: Sequence[Arrangement], rules: Rules, sizes: TableSizes, by_url: bool
    ) -> None:
        self.splits = 0
        self.candidates = 0
        self._columns = columns
        self._rules = rules
        self._arrangements = tuple(arrangements)
        self._blocks = [_Table() for _ in arrangements]
        self._texts = _Table()
        self._bands = [_Table() for _ in range(BANDS if rules.sketch else 0)]
        self._dropped = columns.first
        self._read: dict[str, NDArray[Any]] = {}
        self._read_as_of = (-1, -1)

    def add(self, count: int, bands: Sequence[U32] | None, coming: int = 0) -> None:
        """See ``Tables``."""
        columns = self._columns
        begin = columns.end - count
        slots = np.arange(begin, columns.end)
        bare = columns.between("bare", begin, columns.end)
        fingerprints = columns.between("fingerprint", begin, columns.end)[~bare]
        for table, arrangement in zip(self._blocks, self._arrangements, strict=True):
            table.add(_keys(fingerprints, arrangement), slots[~bare])
        self._texts.add(_keys(columns.between("text_hash", begin, columns.end)[bare], WHOLE), slots[bare])
        if bands is not None:
            keys = np.concatenate(bands)
            banded = keys.any(axis=1)
            for band, table in enumerate(self._bands):
                table.add(keys[banded, band].astype(np.uint64), slots[banded])

    def forget(self) -> None:
        """See ``Tables``."""
        if self._columns.first - self._dropped > len(self._columns) // 4:
            self._dropped = self._columns.first
            for table in self._all():
                table.drop(self._dropped)

    def tidy(self) -> bool:
        """See ``Tables``."""
        return False

    def earliest(self, asked: Asked, lower: int, best: I64) -> None:
        """See ``Tables``."""
        columns, rules = self._columns, self._rules
        for table, arrangement in zip(self._blocks, self._arrangements, strict=True):
            for query, slot in self._live(table, _keys(asked.values, arrangement), asked, lower):
                near = np.bitwise_count(self._at("fingerprint", slot) ^ asked.values[query]) <= rules.k
                query, slot = query[near], slot[near]
                alike = in_ratio(rules.ratio, self._at("tokens", slot), asked.pages[query, PAGE_TOKENS])
                query, slot = query[alike], slot[alike]
                same_text = self._at("text_hash", slot) == asked.texts[query]
                allowed = self._sketches_allow(asked, query, slot, same_text)
                np.minimum.at(best, query[allowed], slot[allowed] - columns.first)

    def earliest_text(self, asked: Asked, lower: int, best: I64) -> None:
        """See ``Tables``."""
        for query, slot in self._live(self._texts, _keys(asked.texts, WHOLE), asked, lower):
            same = self._at("text_hash", slot) == asked.texts[query]
            np.minimum.at(best, query[same], slot[same] - self._columns.first)

    def earliest_by_sketch(self, asked: Asked, lower: int, best: I64) -> None:
        """See ``Tables``."""
        rule = self._rules.sketch
        for band, table in enumerate(self._bands):
            for query, slot in self._live(table, asked.bands[:, band].astype(np.uint64), asked, lower):
                assert rule is not None
                tokens, ours = self._at("tokens", slot), asked.pages[query, PAGE_TOKENS]
                short = np.minimum(tokens, ours) < rule.short
                near = np.where(short, in_ratio(rule.short_ratio, tokens, ours), in_ratio(rule.ratio, tokens, ours))
                query, slot, short = query[near], slot[near], short[near]
                least = np.where(short, rule.short_threshold, rule.threshold)
                alike = agreements_of(_sketches_at(self._columns, slot), asked.sketches[query]) >= least
                np.minimum.at(best, query[alike], slot[alike] - self._columns.first)

    def earliest_one(self, value: int, tokens: int) -> int:
        """See ``Tables``."""
        best = np.full(1, NO_SLOT, np.int64)
        one, none = np.array([value], np.uint64), np.zeros(1, np.uint64)
        self.earliest(
            Asked(
                values=one,
                bare=np.zeros(1, np.bool_),
                texts=none,
                pages=np.array([[tokens] + [0] * (PAGE_WORDS - 1)], np.uint32),
                scopes=none,
                bands=np.zeros((1, BANDS), np.uint32),
                sketches=np.zeros((1, SKETCH_WORDS), np.uint64),
            ),
            0,
            best,
        )
        return int(best[0])

    def latest_of(self, urls: U64, scopes: U64, lower: int, below: I64) -> None:
        """See ``Tables``."""
        columns = self._columns
        hashes, of_scope = (columns.between(name, columns.first, columns.end) for name in ("url_hash", "scope"))
        for query, bound in enumerate(below.tolist()):
            alike = np.flatnonzero((hashes == urls[query]) & (of_scope == scopes[query]))
            alike = alike[(alike >= lower) & (alike < bound)]
            below[query] = alike[-1] if len(alike) else -1

    def describe(self, asked: Asked, best: I64) -> tuple[I64, NDArray[np.bool_]]:
        """See ``Tables``."""
        columns = self._columns
        hit = np.flatnonzero(best != NO_SLOT)
        slots = best[hit] + columns.first
        ours_bare, theirs_bare = asked.bare[hit], self._at("bare", slots)
        tokens, masks = asked.pages[hit, PAGE_TOKENS], self._masks(slots)
        bits = np.bitwise_count(self._at("fingerprint", slots) ^ masks ^ asked.values[hit])
        distance = np.where(ours_bare | theirs_bare, -1, bits.astype(np.int64))
        same_text = self._at("text_hash", slots) ^ masks == asked.texts[hit]
        close = (distance >= 0) & (distance <= self._rules.k)
        close &= in_ratio(self._rules.ratio, self._at("tokens", slots), tokens)
        close[close] = self._sketches_allow(asked, hit[close], slots[close], same_text[close])
        exact = same_text & (close & (distance == 0) | ours_bare & theirs_bare)
        without_token = (self._at("tokens", slots) == 0) & (tokens == 0)
        numbers, flags = np.full((5, len(best)), -1, np.int64), np.zeros((3, len(best)), np.bool_)
        agreements = [
            self._agreement(asked, query, slot) for query, slot in zip(hit.tolist(), slots.tolist(), strict=True)
        ]
        numbers[:, hit] = self._at("batch", slots), self._at("place", slots), distance, slots, agreements
        flags[:, hit] = exact, ~close & ~exact, same_text & ours_bare & theirs_bare & without_token
        return numbers, flags

    def bands(self, begin: int, end: int) -> U32:
        """See ``Tables``."""
        found = np.zeros((end - begin, BANDS), np.uint32)
        for band, table in enumerate(self._bands):
            for run in table.runs:
                asked = (run.slots >= begin) & (run.slots < end)
                found[run.slots[asked] - begin, band] = run.keys[asked]
        return found

    @property
    def largest_bucket(self) -> int:
        """See ``Tables``."""
        return max(table.longest for table in self._all())

    @property
    def nbytes(self) -> int:
        """See ``Tables``."""
        return sum(table.nbytes for table in self._all())

    def _at(self, name: str, slots: I64) -> NDArray[Any]:
        """The values of a column at these slots; a column is put together once for all look-ups."""
        columns, as_of = self._columns, (self._columns.first, self._columns.end)
        if self._read_as_of != as_of:
            self._read, self._read_as_of = {}, as_of
        if name not in self._read:
            self._read[name] = columns.between(name, *as_of)
        return self._read[name][slots - columns.first]

    def _all(self) -> list[_Table]:
        return [*self._blocks, self._texts, *self._bands]

    def _sketches_allow(self, asked: Asked, query: I64, slot: I64, same_text: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Whether pages with close fingerprints agree enough in their sketches, if they have any, or in their texts."""
        rule = self._rules.sketch
        if rule is None:
            return np.ones(len(query), np.bool_)
        ours, theirs = asked.sketches[query], _sketches_at(self._columns, slot)
        either_bare = ~(ours.any(axis=1) & theirs.any(axis=1))
        allowed: NDArray[np.bool_] = either_bare | same_text
        allowed |= agreements_of(theirs, ours) >= rule.hamming_threshold
        return allowed

    def _agreement(self, asked: Asked, query: int, slot: int) -> int:
        if self._rules.sketch is None:
            return -1
        ours, theirs = asked.sketches[query], _sketches_at(self._columns, np.array([slot]))[0]
        return agreement(ours.tobytes(), theirs.tobytes()) if ours.any() and theirs.any() else -1

    def _live(self, table: _Table, keys: U64, asked: Asked, lower: int) -> Iterator[tuple[I64, I64]]:
        for query, slot in table.candidates(keys):
            self.candidates += len(slot)
            live = slot >= self._columns.first + lower
            query, slot = query[live], slot[live]
            same = self._at("scope", slot) ^ self._masks(slot) == asked.scopes[query]
            same &= self._comparable(asked, query, slot)
            yield query[same], slot[same]

    def _comparable(self, asked: Asked, query: I64, slot: I64) -> NDArray[np.bool_]:
        """``ScopedNear.comparable`` of each pair."""
        site, title, doubt, tokens, words = (
            self._at(name, slot) for name in ("site", "title", "doubt", "tokens", "title_words")
        )
        pages = asked.pages[query]
        others = np.ascontiguousarray(pages[:, PAGE_TITLE_WORDS:]).view(np.uint64).reshape(-1)
        announced = (doubt == ANNOUNCED) & (pages[:, PAGE_DOUBT] == ANNOUNCED)
        agree = (title != 0) & (title == pages[:, PAGE_TITLE])
        in_common = np.bitwise_count(words & others).astype(np.int64)
        alike = (
            (words == 0)
            | (others == 0)
            | (2 * in_common > np.minimum(np.bitwise_count(words), np.bitwise_count(others)))
        )
        own_site = (site == pages[:, PAGE_SITE]) & (site != 0)
        across = (doubt < TEMPLATE) & (pages[:, PAGE_DOUBT] < TEMPLATE)
        across &= np.minimum(tokens, pages[:, PAGE_TOKENS]) >= self._rules.least_across
        comparable: NDArray[np.bool_] = agree | np.where(own_site, announced & alike, announced | across)
        return comparable

    def _masks(self, slots: I64) -> U64:
        """Masks that set entries apart in addition to their scopes: uint64 (n,)."""
        url, title, doubt, tokens = (self._at(name, slots) for name in ("url_hash", "title", "doubt", "tokens"))
        alone = (doubt >= TEMPLATE) | (doubt == DOUBTED) & (tokens < self._rules.least_across)
        masks: U64 = np.where(alone, np.where(title == 0, url, title_masks(title)), np.uint64(0))
        return masks


def in_ratio(ratio: tuple[int, int], tokens: NDArray[Any], others: NDArray[Any]) -> NDArray[np.bool_]:
    """Whether the smaller of two token counts is at least this share of the larger."""
    least, most = ratio
    smaller = np.minimum(tokens, others).astype(np.int64)
    larger = np.maximum(tokens, others).astype(np.int64)
    enough: NDArray[np.bool_] = most * smaller >= least * larger
    return enough


def _keys(values: U64, arrangement: Arrangement) -> U64:
    return arrange(values, arrangement.shifts) & np.uint64((1 << arrangement.key_bits) - 1)


def _sketches_at(columns: Columns, slots: I64) -> U64:
    """The sketches at these slots: uint64 (n, 4)."""
    return columns.sketches_between(columns.first, columns.end)[slots - columns.first]
