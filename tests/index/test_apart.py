"""Texts that may belong to their sites: a shard finds the entries that ``ScopedNear`` calls near, and is not slower
with a million titles."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.fingerprint.definition.sketch import bands, sketch
from tests.index.test_accurate import ENDLESS, clocks_of
from tests.index.test_blocks import header
from tests.index.titled import pages_of, placed, said
from tests.index.worlds import TINY, WRAPPING, every_engine
from tests.simulation.plain_index import PlainIndex
from worker.fingerprint.near import AccurateNear, SimHashNear
from worker.fingerprint.scoped import ANNOUNCED, DOUBTED, TEMPLATE, ScopedNear, title_masks
from worker.index.apart import TitleFilter, alone_among
from worker.index.blocks import pack, unpack
from worker.index.engine import Engine, TableSizes
from worker.index.entries import Entries, Survivor
from worker.index.layout import Layout
from worker.index.queries import Queries
from worker.index.shard import Shard
from worker.stream.shard.snapshot_file import Snapshot, SnapshotFile, write

PREDICATES = {"accurate": AccurateNear(3), "simhash": SimHashNear(2)}


@every_engine
@pytest.mark.parametrize("layout", Layout)
@pytest.mark.parametrize("predicate", PREDICATES.values(), ids=PREDICATES)
@settings(max_examples=6, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    portions=st.lists(
        st.tuples(st.sampled_from(("store", "store", "load", "expire")), st.sampled_from((1, 4, 25, 130))),
        min_size=2,
        max_size=6,
    ),
    hot=st.sampled_from((0.0, 0.4, 0.9)),
    sizes=st.sampled_from((TINY, WRAPPING, TableSizes())),
    least=st.sampled_from((50, 50, 0, 10)),
)
def test_a_shard_finds_what_the_predicate_calls_near_under_any_sites_titles_and_doubts(
    engine: Engine | None,
    layout: Layout,
    predicate: AccurateNear | SimHashNear,
    seed: int,
    portions: list[tuple[str, int]],
    hot: float,
    sizes: TableSizes,
    least: int,
) -> None:
    chance = np.random.default_rng(seed)
    near = ScopedNear(predicate, least)
    shard, plain = Shard.by(near, layout=layout, engine=engine, sizes=sizes), PlainIndex(near)
    for number, (what, count) in enumerate(portions):
        if what == "expire":
            up_to = int(chance.integers(-1, number + 1))
            assert shard.expire(up_to) == plain.expire(up_to)
            continue
        rows = placed(pages_of(chance, count, hot=hot), number)
        half = Entries.from_rows(rows)
        shard.store(rows) if what == "store" else shard.load([half[: count // 2], half[count // 2 :]])
        plain.store(rows)
    asked = pages_of(chance, 12, hot=hot) + [plain.survivors[n] for n in chance.integers(0, max(1, len(plain)), 12)
                                             if len(plain)]  # fmt: skip
    hidden = int(chance.integers(-1, len(portions)))
    assert said(shard, asked) == said(plain, asked)
    assert said(shard, asked, hidden) == said(plain, asked, hidden)
    stored = plain.survivors
    if not isinstance(predicate, AccurateNear):
        stored = [row._replace(sketch=b"", bands=b"") for row in stored]
    bandless = [row._replace(bands=b"") for row in stored]
    assert [row._replace(bands=b"") for row in shard.entries()] == bandless


def by_entries(entries: Entries, _: Path) -> Iterator[Entries]:
    yield entries


def by_a_block(entries: Entries, _: Path) -> Iterator[Entries]:
    yield unpack(pack(entries, header(after=-1, to=9, clocks=clocks_of(list(entries)))))


def by_a_snapshot(entries: Entries, folder: Path) -> Iterator[Entries]:
    nothing = pack(Entries.empty(), header(after=-1, to=9, clocks=()))
    head = Snapshot(block=nothing, mark=b"", position=0, block_keys=(), entries=len(entries))
    write(folder / "snapshot", "test", head, entries, lambda: False)
    yield from SnapshotFile(folder / "snapshot").entries()


@pytest.mark.parametrize("way", [by_entries, by_a_block, by_a_snapshot])
@pytest.mark.parametrize("predicate", PREDICATES.values(), ids=PREDICATES)
def test_a_shard_that_was_rebuilt_finds_the_same(way, predicate: AccurateNear | SimHashNear, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    chance = np.random.default_rng(9)
    near = ScopedNear(predicate)
    shard, plain = Shard.by(near, sizes=TINY), PlainIndex(near)
    for number in range(5):
        rows = placed(pages_of(chance, 60), number)
        shard.store(rows)
        plain.store(rows)
    shard.expire(1)
    plain.expire(1)
    again = Shard.by(near, sizes=TINY)
    again.load(way(shard.entries(), tmp_path))
    asked = pages_of(chance, 60)
    assert said(again, asked) == said(shard, asked) == said(plain, asked)
    assert list(again.entries()) == list(shard.entries())


@pytest.mark.parametrize("doubt", [ANNOUNCED, DOUBTED, TEMPLATE])
@pytest.mark.parametrize("tokens", [0, 49, 50])
@pytest.mark.parametrize("least", [0, 50])
def test_which_entries_are_alone_is_the_predicates_word(doubt: int, tokens: int, least: int) -> None:
    row = Survivor((0, 0), "u", 1, 1, tokens, 0, title=2, doubt=doubt)
    alone = alone_among(Entries.from_rows([row]), least)
    assert (alone is not None and alone.tolist() == [True]) == ScopedNear(SimHashNear(), least).is_alone(row)


TEXT = ENDLESS[:60]
PAGE = Survivor((0, 0), "http://a/", 5, 5, 60, 0, sketch(TEXT), bands(TEXT), site=1)


def one_text_under(titles: int) -> list[Survivor]:
    """Pages of one site with one text, marked as a claimer marks it: from the fourth title on the text is a
    template's."""
    return [
        PAGE._replace(order=(1, place), title=2 * place + 2, doubt=DOUBTED if place < 3 else TEMPLATE)
        for place in range(titles)
    ]


def test_one_text_under_thousands_of_titles_of_a_site_slows_no_look_up_and_is_found_from_other_sites() -> None:
    shard = Shard.by(ScopedNear(AccurateNear(3)))
    rows = one_text_under(3000)
    shard.store(rows)
    assert shard.largest_bucket < 50

    def candidates_of(asked: list[Survivor]) -> tuple[list[tuple[int, int]], float]:
        before = shard.candidates
        found = shard.earliest_near(Queries.of(asked))
        return [found.order(query) for query in found.hits()], (shard.candidates - before) / len(asked)

    found, candidates = candidates_of(rows)
    assert found == [row.order for row in rows]
    assert candidates < 150
    found, candidates = candidates_of([row._replace(title=row.title + 10_000, doubt=TEMPLATE) for row in rows])
    assert found == []
    assert candidates < 100
    found, candidates = candidates_of([row._replace(title=row.title + 10_000, site=2, doubt=DOUBTED) for row in rows])
    assert found == [(1, 0)] * len(rows)
    assert candidates < 100
    shard.expire(1)
    assert list(shard.entries()) == []


def test_when_the_earliest_of_other_sites_expires_the_next_one_is_found() -> None:
    shard = Shard.by(ScopedNear(AccurateNear(3)))
    shard.store([row._replace(order=(place, 0)) for place, row in enumerate(one_text_under(5))])
    asked = Queries.of([PAGE._replace(site=2, title=99, doubt=DOUBTED)])
    assert [shard.earliest_near(asked, up_to).batches.tolist() for up_to in range(-1, 4)] == [[0], [1], [2], [-1], [-1]]


def test_the_texts_of_pages_without_title_that_are_near_to_none_share_no_bucket() -> None:
    shard = Shard.by(ScopedNear(AccurateNear(3)))
    shard.store([PAGE._replace(order=(1, n), url=f"http://a/{n}", doubt=TEMPLATE) for n in range(3000)])
    assert shard.largest_bucket < 50
    assert shard.earliest_near(Queries.of([PAGE._replace(doubt=TEMPLATE), PAGE])).hits() == []


def test_where_a_text_is_doubted_queries_must_count_tokens() -> None:
    shard = Shard()
    value = np.zeros(1, np.uint64)
    plain = Queries(value, np.zeros(1, np.bool_), value)
    assert shard.earliest_near(plain).hits() == []
    with pytest.raises(ValueError, match="token counts"):
        shard.earliest_near(replace(plain, doubt=np.ones(1, np.uint8)))
    shard.store([PAGE._replace(doubt=DOUBTED)])
    with pytest.raises(ValueError, match="token counts"):
        shard.earliest_near(plain)


SCOPE = np.uint64(0x5851_F42D_4C95_7F2D)


def keys_of(titles: range) -> tuple[NDArray[np.uint32], NDArray[np.uint64]]:
    numbers = np.array(titles, np.uint32)
    return numbers, title_masks(numbers) ^ SCOPE


def seem_there(filter: TitleFilter, titles: NDArray[np.uint32], scope: np.uint64 = SCOPE) -> NDArray[np.bool_]:
    masks = filter.masks_of(titles, np.full(len(titles), scope))
    assert masks[masks != 0].tolist() == title_masks(titles[masks != 0]).tolist()
    seem: NDArray[np.bool_] = masks != 0
    return seem


@pytest.mark.parametrize(("others", "seeming", "least", "most"), [(9, 0.001, 8, 24), (0, 0.015, 2, 7)])
def test_a_filter_has_whatever_was_added_and_little_else_and_forgets_what_expired(
    others: int, seeming: float, least: int, most: int
) -> None:
    filter, every = TitleFilter(), 1 + others
    titles, keys = keys_of(range(1, 300_001))

    def add(begin: int, entries: int) -> None:
        some = keys[begin % 300_000 : begin % 300_000 + 1000]
        filter.add(some, (begin + 1000) * every, entries * every)

    assert not filter
    assert not seem_there(filter, titles).any()
    for begin in range(0, 300_000, 1000):
        add(begin, begin + 1000)
    assert seem_there(filter, titles).all()
    assert seem_there(filter, titles, np.uint64(0)).mean() < seeming
    assert seem_there(filter, keys_of(range(400_000, 700_000))[0]).mean() < seeming
    assert not seem_there(filter, np.zeros(9, np.uint32)).any()
    assert least * len(keys) <= filter.nbytes <= most * len(keys)
    # A moving window of a hundred thousand entries: memory grows to that of the window, and stays.
    for begin in range(300_000, 1_200_000, 1000):
        filter.drop((begin - 99_000) * every)
        add(begin, 100_000)
        assert begin < 1_000_000 or filter.nbytes <= most * 100_000
    assert seem_there(filter, titles[-100_000:]).all()
    filter.drop(1_200_000 * every)
    assert not seem_there(filter, titles).any()
    assert (bool(filter), filter.nbytes) == (False, 0)


def test_keys_that_come_at_once_are_all_taken_in() -> None:
    filter, (titles, keys) = TitleFilter(), keys_of(range(1, 100_001))
    filter.add(keys, 100_000, 100_000)
    assert seem_there(filter, titles).all()
