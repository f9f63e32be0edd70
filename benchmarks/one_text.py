"""A part of ``crowded-block``: one text under a million titles of one site. What do its look-ups cost, compared with
look-ups of unrelated pages?

The first three pages are marked as doubted, the others as pages of a template, as a worker would mark them
(``worker.fingerprint.scoped``). The three stand for all of them on other sites.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from benchmarks import index
from benchmarks.index_contenders import PORTION, as_entries
from worker.fingerprint.near import AccurateNear
from worker.fingerprint.scoped import DOUBTED, TEMPLATE, ScopedNear
from worker.index.entries import COLUMNS, OPTIONAL, Entries
from worker.index.queries import Queries
from worker.index.shard import Shard

OTHER_PAGES: Final = "unrelated pages that are not in the index"
STORED_PAGES: Final = "unrelated pages that are in the index"
NEW_TITLES: Final = "new titles of the site"
OWN_TITLES: Final = "titles that are in the index"
OTHER_SITES: Final = "other sites"
_BEFORE_TEMPLATE: Final = 3
_ASKED: Final = 20_000


@dataclass(frozen=True)
class TextSpeed:
    """Look-ups a second of CPU time, in batches, among ``entries``; ``candidates`` are compared for each.

    ``slower`` is the time of a look-up divided by the time for an unrelated page among as many unrelated entries: for a
    page that is stored where the look-up finds something, else for a page that is not.
    """

    stored: str
    asked: str
    entries: int
    batch: float
    slower: float
    candidates: float
    own_bytes: float


def measure(near: ScopedNear, entries: int, rounds: int) -> list[TextSpeed]:
    """All kinds of look-ups in turn, ``rounds`` times; medians.

    Raises:
        AssertionError: a look-up found other pages than are near by the predicate.
    """
    chance = np.random.default_rng(5)
    shards = {"unrelated": Shard.by(near), "one text": Shard.by(near)}
    for batch, begin in enumerate(range(0, entries, PORTION)):
        titles = 2 * np.arange(begin + 1, min(begin + PORTION, entries) + 1).astype(np.uint32)
        pages = _unrelated(near, chance, batch, titles)
        shards["unrelated"].store(pages)
        doubt = np.where(titles // 2 > _BEFORE_TEMPLATE, TEMPLATE, DOUBTED).astype(np.uint8)
        shards["one text"].store(replace(_alike(pages), doubt=doubt))
    there = 2 * chance.integers(1, entries + 1, _ASKED).astype(np.uint32)
    new = there + np.uint32(2 * entries)
    places = there.astype(np.int64) // 2 - 1
    others = _unrelated(near, chance, 0, new)
    alike = _alike(others)
    template = np.full(_ASKED, TEMPLATE, np.uint8)
    asked = {
        ("unrelated", OTHER_PAGES): _asking(others),
        ("unrelated", STORED_PAGES): _asking(_rows(shards["unrelated"].entries(), places)),
        ("one text", OTHER_PAGES): _asking(others),
        ("one text", NEW_TITLES): _asking(replace(alike, doubt=template)),
        ("one text", OWN_TITLES): _asking(replace(alike, doubt=template, title=there)),
        ("one text", OTHER_SITES): _asking(
            replace(
                alike, doubt=np.full(_ASKED, DOUBTED, np.uint8), site=np.arange(_ASKED, dtype=np.uint32) + np.uint32(2)
            )
        ),
    }
    wanted = {OTHER_PAGES: -1, STORED_PAGES: places, NEW_TITLES: -1, OWN_TITLES: places, OTHER_SITES: 0}
    rates: dict[tuple[str, str], list[float]] = {kind: [] for kind in asked}
    candidates = {}
    for (stored, what), queries in asked.items():
        shard = shards[stored]
        before = shard.candidates
        if (shard.earliest_near(queries).slots != wanted[what]).any():
            raise AssertionError(f"{what} among {entries:,} entries, {stored}: another entry is the earliest near one")
        candidates[stored, what] = (shard.candidates - before) / _ASKED
    for _ in range(rounds * index.TURNS):
        for kind, queries in asked.items():
            portions = [queries.among(np.arange(start, start + index.BATCH)) for start in range(0, _ASKED, index.BATCH)]
            rates[kind].append(index.rate_of(shards[kind[0]].earliest_near, portions, index.BATCH))
    usual = {
        what: rates["unrelated", OTHER_PAGES if what in (OTHER_PAGES, NEW_TITLES) else STORED_PAGES] for what in wanted
    }
    return [
        TextSpeed(
            stored=stored,
            asked=what,
            entries=entries,
            batch=median(rates[stored, what]),
            slower=median(one / other for one, other in zip(usual[what], rates[stored, what], strict=True)),
            candidates=candidates[stored, what],
            own_bytes=shards[stored].nbytes / entries,
        )
        for stored, what in asked
    ]


def line_of(measured: TextSpeed) -> str:
    """The result as a line for people."""
    return (
        f"{measured.stored} {measured.entries:,}: {measured.asked}: {measured.batch:,.0f} look-ups/s, "
        f"{measured.slower:.2f} times as long as of unrelated ones, {measured.candidates:.0f} entries compared, "
        f"{measured.own_bytes:.0f} B an entry"
    )


def _unrelated(near: ScopedNear, chance: np.random.Generator, batch: int, titles: NDArray[np.uint32]) -> Entries:
    """Announced pages of many sites, a title each."""
    count = len(titles)
    pages = replace(
        as_entries(chance.integers(0, 2**64, count, np.uint64), batch),
        site=chance.integers(1, 2**32, count, np.uint32),
        title=titles,
    )
    if not isinstance(near.near, AccurateNear):
        return pages
    sketch = chance.integers(0, 2**64, (count, 4), np.uint64)
    sketch[:, 3] &= np.uint64(2**62 - 1)
    return replace(pages, sketch=sketch, bands=chance.integers(0, 2**32, (count, 8), np.uint32))


def _alike(pages: Entries) -> Entries:
    """The same pages under the same titles, but with one text and on one site."""
    count = len(pages)
    columns: dict[str, Any] = {"fingerprint": np.full(count, 0x0123_4567_89AB_CDEF, np.uint64)}
    columns |= {"text_hash": columns["fingerprint"], "site": np.full(count, 1, np.uint32)}
    if pages.sketch is not None:
        columns["sketch"] = np.full((count, 4), 0x0123_4567_89AB_CDEF, np.uint64)
        columns["bands"] = np.full((count, 8), 0xC0DE_0001, np.uint32)
    return replace(pages, **columns)


def _rows(entries: Entries, rows: NDArray[np.int64]) -> Entries:
    """These entries, without URLs."""
    optional = {name: column[rows] for name in OPTIONAL if (column := entries.optional(name)) is not None}
    return Entries(**{name: entries.column(name)[rows] for name in COLUMNS}, **optional, urls=("",) * len(rows))


def _asking(pages: Entries) -> Queries:
    return Queries(
        fingerprint=pages.fingerprint,
        bare=pages.bare,
        text_hash=pages.text_hash,
        tokens=pages.tokens,
        bands=pages.bands,
        sketch=pages.sketch,
        site=pages.site,
        title=pages.title,
        doubt=pages.doubt,
    )


def rows_of(measured: Sequence[TextSpeed]) -> list[tuple[str, ...]]:
    """The rows of a table."""
    return [
        (each.stored, each.asked, f"{each.batch:,.0f}", f"{each.slower:.2f}", f"{each.candidates:.0f}",
         f"{each.own_bytes:.0f}")
        for each in measured
    ]  # fmt: skip


HEADINGS: Final = ("stored", "looked up", "batch/s", "times as long", "compared", "B an entry")
