"""The survivors that one shard holds in memory, and the earliest of them that is near to a page.

Entries are rows of columns, numbered by *slots* that ascend with their order in the log. Tables lead from a key to
slots (``layout`` says why every near pair meets in one); a candidate is checked against the whole fingerprint. Since
slots ascend in every bucket, expired entries are a prefix of each, and the first match of a bucket is its earliest.

**Threads.** A shard belongs to one thread at a time: callers that share one hold a lock of their own around each call.
No call waits for anything, and each is bounded, so a reader waits milliseconds behind a writer. Kernels release the
GIL, hence shards of several threads run side by side. After a fork, each process has a shard of its own.
"""

from __future__ import annotations

import gc
import importlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crawler_plugin.wire.errors import Refused
from crawler_plugin.wire.forgetting import ForgetCondition
from worker.fingerprint.hashing import hash_bytes
from worker.fingerprint.scoped import LEAST_ACROSS, ScopedNear
from worker.index.apart import TitleFilter, alone_among, as_kernels_take_it, scopes_of, set_apart
from worker.index.columns import LEFT_OUT, Columns
from worker.index.engine import NO_SLOT, Asked, Engine, Rules, SketchRule, TableSizes
from worker.index.entries import COLUMNS, Entries, Survivor
from worker.index.forgetting import met
from worker.index.kernels.plan import BANDS
from worker.index.layout import MAX_K, Layout
from worker.index.queries import Found, Queries
from worker.index.urls import FoundUrls, UrlRun, UrlStore


@cache
def compiled_tables() -> Engine:
    """The compiled tables. Takes seconds where nothing is cached yet, with all other kernels that a worker runs.

    Raises:
        UsageError: numba cannot run here.
    """
    from worker.compiling import load_entries, must_compile

    must_compile()
    for name in ("in_batch", "titles"):  # otherwise the first batch of pages would wait for them
        importlib.import_module(f"worker.index.kernels.{name}")
    from worker.index.tables import CompiledTables

    load_entries("worker.index")

    # The objects of numba, hundreds of thousands, live as long as the process: the garbage collector, which would walk
    # through them every second and stop the worker for a tenth of one, need not look at them again.
    gc.freeze()
    return CompiledTables


_AT_ONCE: Final = 1 << 22
"""Entries that tables add together: more take 8 bytes each during that time, fewer make each bucket grow more often."""
_REMOVED: Final = 255
"""Stands in place of an entry's scope, in one byte: no name of a scope has it for its bits, and no title's mask either,
so no page that is looked up ever meets it."""
_NO_BANDS: Final = np.zeros((1 << 13, BANDS), np.uint32)
"""Stands for the bands of a block without sketches; all such blocks share it."""


class _Pages(NamedTuple):
    """The fields of entries that ``met`` reads."""

    fetched: NDArray[np.int64]
    scope: NDArray[np.uint64]
    site: NDArray[np.uint32]
    urls: UrlRun


class Shard:
    """Survivors of one shard, in the order of the log.

    ``k`` is the largest Hamming distance at which fingerprints are near (0 to 3), ``ratio`` (a, b) the least ratio a /
    b of token counts. With a ``sketch`` rule entries have bands and sketches, and are near by it, too. ``least_across``
    is that of ``ScopedNear``. With ``by_url`` there is a table of URLs, for ``latest_of``: ten bytes an entry.
    ``engine`` makes the tables, None: the compiled ones.

    Raises:
        ValueError: a ``k`` for which the layouts would miss pairs, or a ratio above 1.
        UsageError: numba cannot run here.
    """

    def __init__(
        self,
        *,
        k: int = 3,
        layout: Layout = Layout.L4x16,
        engine: Engine | None = None,
        ratio: tuple[int, int] = (0, 1),
        sketch: SketchRule | None = None,
        least_across: int = LEAST_ACROSS,
        sizes: TableSizes | None = None,
        by_url: bool = False,
    ) -> None:
        if not 0 <= k <= MAX_K:
            raise ValueError(f"near.k is {k}: the index finds every pair for 0 to {MAX_K} only")
        if not 0 <= ratio[0] <= ratio[1] < 2**16:
            raise ValueError(f"a ratio of token counts is {ratio}: it must lie between 0 and 1, in numbers below 65536")
        sizes = sizes or TableSizes()
        make = engine or compiled_tables()
        self.k: Final = k
        self.ratio: Final = ratio
        self.least_across: Final = least_across
        self.layout: Final = layout
        self.look_ups = 0
        """Queries answered so far."""
        self._columns = Columns(sizes.chunk_bits, sizes.first_slot, sketch is not None)
        self._by_url: Final = by_url
        rules = Rules(k, ratio, sketch, least_across)
        self._tables = make(self._columns, layout.arrangements, rules, sizes, by_url)
        self._urls = UrlStore()
        self._titles = TitleFilter()
        self._last_order = (-1, -1)
        self._some_removed = False

    @classmethod
    def by(
        cls,
        near: ScopedNear,
        *,
        layout: Layout = Layout.L4x16,
        engine: Engine | None = None,
        sizes: TableSizes | None = None,
        by_url: bool = False,
    ) -> Shard:
        """An empty shard with the rules of ``near``."""
        rules = Rules.of(near)
        return cls(
            k=rules.k,
            ratio=rules.ratio,
            sketch=rules.sketch,
            least_across=rules.least_across,
            layout=layout,
            engine=engine,
            sizes=sizes,
            by_url=by_url,
        )

    def __len__(self) -> int:
        """Entries that take memory, including removed entries until they expire."""
        return len(self._columns)

    def earliest_near(self, queries: Queries, expired_up_to: int = -1, after: int = -1) -> Found:
        """For each query the earliest entry, of a batch later than ``expired_up_to``, that is near to it, among the
        entries after the slot ``after``.

        Raises:
            ValueError: queries without the token counts that the rules need, as they do where any text is doubted.
        """
        lower = max(self._columns.first_after(expired_up_to), after + 1, self._columns.first) - self._columns.first
        self.look_ups += len(queries)
        asked = self._asked(queries)
        best = np.full(len(queries), NO_SLOT, np.int64)
        if len(queries) and lower < len(self):
            self._look_up(asked, lower, best)
            self._look_up_titles(queries, asked, lower, best)
        numbers, flags = self._tables.describe(asked, best)
        return Found(*numbers, *flags)

    def latest_of(
        self, url: Callable[[int], str], hashes: NDArray[np.uint64], queries: Queries, expired_up_to: int = -1
    ) -> Found:
        """For each query the latest entry, of a batch later than ``expired_up_to``, of its URL and scope.

        ``hashes`` uint64 (n,) are those of the URLs, and ``url`` returns the URL of a query: it is compared with that
        of the entry, since anyone can find another URL with the same hash. ``exact`` of the result says whether the
        texts are equal.

        Raises:
            ValueError: this shard is not ``by_url``.
        """
        if not self._by_url:
            raise ValueError(
                "a shard without a table of URLs cannot find the latest entry of a URL: make it with by_url=True"
            )
        lower = max(0, self._columns.first_after(expired_up_to) - self._columns.first)
        asked = self._asked(queries)
        found = np.full(len(queries), NO_SLOT, np.int64)
        self._tables.latest_of(hashes, asked.scopes, lower, found)
        for query in np.flatnonzero(found >= 0).tolist():
            one = slice(query, query + 1)
            while found[query] >= 0 and self._urls[int(found[query])] != url(query):
                self._tables.latest_of(hashes[one], asked.scopes[one], lower, found[one])
        found[found < 0] = NO_SLOT
        numbers, flags = self._tables.describe(asked, found)
        return Found(*numbers, *flags)

    def tokens(self, slot: int) -> int:
        """The number of tokens of the entry at a slot of ``Found``."""
        return self._columns.value("tokens", slot)

    def earliest_slot(self, fingerprint: int, tokens: int = 0) -> int:
        """The slot of the earliest entry near to one page by its fingerprint, -1 for none: the shortest look-up.

        The page counts as one without a sketch, of scope 0.
        """
        self.look_ups += 1
        found = self._tables.earliest_one(fingerprint, tokens)
        return -1 if found == NO_SLOT else found + self._columns.first

    def url(self, slot: int) -> str:
        """The URL of the entry at a slot of ``Found``; decompresses one group of URLs."""
        first, end = self._columns.first, self._columns.end
        if not first <= slot < end:
            raise IndexError(f"slot {slot} holds no live entry; they are {first} to {end - 1}")
        return self._urls[slot - first]

    def latest_with(self, url: str, expired_up_to: int = -1) -> int:
        """The slot of the latest entry of this URL, whatever its scope, of a batch later than ``expired_up_to``; -1 for
        none. Reads the hashes of all URLs: a millisecond a million."""
        end, wanted = self._columns.end, np.uint64(hash_bytes(url.encode()))
        for hashes in reversed(self._columns.parts_of("url_hash", self._columns.first_after(expired_up_to), end)):
            end -= len(hashes)
            for row in reversed(np.flatnonzero(hashes == wanted).tolist()):
                if self.url(end + row) == url:
                    return end + int(row)
        return -1

    def survivor(self, slot: int) -> Survivor:
        """The entry at a slot."""
        (found,) = self._between(slot, slot + 1, (self.url(slot),))
        return found

    def urls(self, slots: NDArray[np.int64]) -> FoundUrls:
        """The URLs of the entries at some slots of ``Found``, int64 (n,); later changes of the shard do not change
        them."""
        first = self._columns.first
        groups = [self._urls.group_of(slot - first) for slot in slots.tolist()]
        return FoundUrls(groups, self._columns.at("url_hash", slots), self._columns.at("site", slots))

    def store(self, entries: Entries | Sequence[Survivor]) -> None:
        """Add entries that are later than all stored before.

        Raises:
            ValueError: orders that do not ascend; nothing was stored.
            Refused: more entries than there are slots; nothing was stored.
        """
        if not isinstance(entries, Entries):
            entries = Entries.from_rows(entries)
        if not len(entries):
            return
        self._check(entries)
        if len(entries) > _AT_ONCE:
            self.load(_in_pieces(entries), len(entries))
            return
        bands = self._append(entries)
        self._tables.add(len(entries), [bands] if self._columns.sketched else None)

    def load(self, parts: Entries | Iterable[Entries], expected: int = 0) -> None:
        """Store each part as ``store`` does, but faster: the tables add millions of entries together.

        During that time only the bands of a part are kept in memory in addition, and compressed URLs stay compressed.
        Tables make room at once for the number of entries that are ``expected`` in all; more or fewer may come.

        Raises:
            ValueError, Refused: as ``store``, because of one part; the parts before it were stored.
        """
        if isinstance(parts, Entries):
            self.store(parts)
            return
        sketched = self._columns.sketched
        bands: list[NDArray[np.uint32]] = []
        waiting, loaded = 0, 0
        try:
            for entries in (piece for part in parts for piece in _in_pieces(part)):
                self._check(entries)
                if waiting and waiting + len(entries) > _AT_ONCE:
                    loaded += waiting
                    self._tables.add(waiting, bands if sketched else None, max(0, expected - loaded))
                    bands, waiting = [], 0
                bands.append(self._append(entries))
                waiting += len(entries)
        finally:
            if waiting:
                self._tables.add(waiting, bands if sketched else None)

    def expire(self, up_to_batch: int) -> int:
        """Remove all entries of batches up to ``up_to_batch``; returns how many.

        They are never found again; this and later calls and ``tidy`` free their memory bit by bit.
        """
        first = self._columns.first_after(up_to_batch)
        removed = first - self._columns.first
        if removed > 0:
            self._urls.drop(removed)
            self._columns.drop(first)
            self._titles.drop(first)
            self._tables.forget()
        return removed

    def remove(self, condition: ForgetCondition) -> int:
        """Remove all entries that meet a condition from look-ups and from ``entries``; returns how many.

        Their memory is freed when they expire, or with the shard.
        """
        first, end = self._columns.first, self._columns.end
        scope = self._columns.between("scope", first, end)
        fetched, site = (self._columns.between(name, first, end) for name in ("fetched", "site"))
        gone = met(condition, _Pages(fetched, scope, site, self._urls.run()), len(self))
        if self._some_removed:
            gone &= scope != _REMOVED
        slots = first + np.flatnonzero(gone)
        if len(slots):
            self._some_removed = True
            self._columns.overwrite("scope", slots, _REMOVED)
        return len(slots)

    def tidy(self) -> bool:
        """One bounded step of freeing memory, for idle times; false if nothing is left to do."""
        return self._tables.tidy()

    def entries(self, after: int = -1) -> Entries:
        """All live entries of batches later than ``after``, in order, as of now: later changes do not touch them."""
        entries = self._between(self._columns.first, self._columns.end, self._urls.run())
        return entries if after < 0 else entries.after(after)

    def _between(self, begin: int, end: int, urls: Sequence[str]) -> Entries:
        columns = self._columns
        entries = Entries(
            **{name: columns.between(name, begin, end) for name in COLUMNS},
            **{name: columns.between(name, begin, end) for name in LEFT_OUT if name in columns.present},
            urls=urls,
            bands=self._tables.bands(begin, end) if columns.sketched else None,
            sketch=columns.sketches_between(begin, end) if columns.sketched else None,
        )
        if self._some_removed:
            entries = entries.among(entries.filled("scope") != _REMOVED)
        return set_apart(entries, scopes_of(entries, alone_among(entries, self.least_across)))

    @property
    def candidates(self) -> int:
        """Entries compared for the look-ups so far."""
        return self._tables.candidates

    @property
    def splits(self) -> int:
        """Buckets that became so full that they were split."""
        return self._tables.splits

    @property
    def largest_bucket(self) -> int:
        """Entries in the fullest bucket: what the slowest look-up reads."""
        return self._tables.largest_bucket

    @property
    def nbytes(self) -> int:
        """Bytes in use for columns and tables, without URLs."""
        return self._columns.nbytes + self._tables.nbytes + self._titles.nbytes

    @property
    def url_bytes(self) -> int:
        """Bytes of the compressed URLs."""
        return self._urls.compressed_bytes

    def dismantle(self) -> Iterator[None]:
        """Free the memory of URLs and columns, a millisecond in each step; after this, no queries are allowed.

        The memory of the tables goes with the shard: most of it is huge pages, 5 ms for ten million entries.
        """
        yield from self._urls.dismantle()
        yield from self._columns.dismantle()

    def _check(self, entries: Entries) -> None:
        """Raises the errors of ``store`` for entries that cannot be stored."""
        if not entries.ascending or entries.first_order <= self._last_order:
            raise ValueError(
                f"entries {entries.first_order} to {entries.last_order} do not ascend after {self._last_order}, the "
                "last one stored"
            )
        if len(self) + len(entries) > self._columns.limit:
            raise Refused(
                f"a shard holds at most {self._columns.limit} entries: spread the index over more shards (setting "
                "topics.shards)"
            )

    def _append(self, entries: Entries) -> NDArray[np.uint32]:
        """Store all but the tables; returns the bands that the tables are to add, none where there are no sketches."""
        self._last_order = entries.last_order
        alone = alone_among(entries, self.least_across)
        scopes = scopes_of(entries, alone)
        entries = set_apart(entries, scopes)
        self._columns.append(entries)
        if alone is not None and scopes is not None:
            self._titles.add(scopes[alone], self._columns.end, len(self._columns))
        self._urls.extend(entries.urls)
        return _bands_of_sketched(entries) if self._columns.sketched else np.empty((0, BANDS), np.uint32)

    def _asked(self, queries: Queries) -> Asked:
        """The queries with all columns, in the types that kernels take."""
        count = len(queries)
        doubted = queries.doubt is not None or "doubt" in self._columns.present
        if queries.tokens is None and (self.ratio[0] > 0 or self._columns.sketched or doubted):
            raise ValueError("queries without token counts, where a ratio or a number of them is part of the rule")
        numbers, queries = queries.numbers, set_apart(queries, queries.scope)
        scope, bands, sketch = queries.scope, queries.bands, queries.sketch
        rows = count if self._columns.sketched else 0
        return Asked(
            values=as_kernels_take_it(queries.fingerprint, np.uint64),
            bare=as_kernels_take_it(queries.bare, np.bool_),
            texts=as_kernels_take_it(queries.text_hash, np.uint64),
            pages=numbers,
            scopes=np.zeros(count, np.uint64) if scope is None else as_kernels_take_it(scope, np.uint64),
            bands=np.zeros((rows, 8), np.uint32) if bands is None or not rows else as_kernels_take_it(bands, np.uint32),
            sketches=np.zeros((rows, 4), np.uint64)
            if sketch is None or not rows
            else as_kernels_take_it(sketch, np.uint64),
        )

    def _look_up(self, asked: Asked, lower: int, best: NDArray[np.int64]) -> None:
        """Lower ``best`` (n,) to the earliest near entries, counted from the first live one."""
        tables = self._tables
        for some, found in _among(asked, ~asked.bare, best):
            tables.earliest(some, lower, found)
        for some, found in _among(asked, asked.bare, best):
            tables.earliest_text(some, lower, found)
        if self._columns.sketched:
            for some, found in _among(asked, np.logical_and(asked.bands.any(axis=1), asked.sketches.any(axis=1)), best):
                tables.earliest_by_sketch(some, lower, found)

    def _look_up_titles(self, queries: Queries, asked: Asked, lower: int, best: NDArray[np.int64]) -> None:
        """The same among the entries that are alone, for pages with a title that some may have."""
        if queries.title is None or not self._titles:
            return
        masks = self._titles.masks_of(queries.title, asked.scopes)
        rows = np.flatnonzero(masks)
        if len(rows):
            found = best[rows]
            self._look_up(asked.among(rows).apart(masks[rows]), lower, found)
            best[rows] = found


def _among(
    asked: Asked, chosen: NDArray[np.bool_], best: NDArray[np.int64]
) -> Iterator[tuple[Asked, NDArray[np.int64]]]:
    """If any query is chosen, yields once: the chosen queries, and their part of ``best``, which is written back
    then."""
    if chosen.all():
        yield asked, best
    elif chosen.any():
        rows = np.flatnonzero(chosen)
        found = best[rows]
        yield asked.among(rows), found
        best[rows] = found


def _in_pieces(entries: Entries) -> Iterator[Entries]:
    """The entries in pieces that tables add at once; no piece where there is no entry."""
    if 0 < len(entries) <= _AT_ONCE:
        yield entries
        return
    for begin in range(0, len(entries), _AT_ONCE):
        yield entries[begin : begin + _AT_ONCE]


def _bands_of_sketched(entries: Entries) -> NDArray[np.uint32]:
    """The bands of entries that have a sketch as well, zeros for the others."""
    bands = entries.bands
    if bands is None or entries.sketch is None:
        return (
            _NO_BANDS[: len(entries)] if len(entries) <= len(_NO_BANDS) else np.zeros((len(entries), BANDS), np.uint32)
        )
    sketched = entries.sketch.any(axis=1, keepdims=True)
    return bands if np.all(sketched) else np.where(sketched, bands, np.uint32(0))
