import tracemalloc
from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.index.worlds import (
    ENGINES,
    answers_of,
    asking,
    columns_of,
    earliest_by_definition,
    flipped,
    maybe_fingerprints,
    nearest_by_columns,
    page,
    survivors_of,
    text_hashes,
)
from worker.index.engine import Engine, TableSizes
from worker.index.entries import Entries, Survivor
from worker.index.layout import Layout
from worker.index.shard import Found, Queries, Shard
from worker.messages import MAX_U64

every_engine = pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES)
every_layout = pytest.mark.parametrize("layout", Layout)


def look_up(shard: Shard, asked: Sequence[Survivor], expired_up_to: int = -1) -> list[object]:
    found = shard.earliest_near(asking(asked), expired_up_to)
    return list(answers_of(found, {query: shard.url(found.slot(query)) for query in found.hits()}))


batches = st.lists(st.tuples(maybe_fingerprints, text_hashes), max_size=12)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("store"), batches),
        st.tuples(st.just("load"), batches),
        st.tuples(st.just("expire"), st.integers(-1, 12)),
        st.tuples(st.just("rebuild"), st.none()),
    ),
    max_size=12,
)


@every_engine
@every_layout
@settings(max_examples=15, deadline=None)
@given(steps=steps, asked=batches, k=st.integers(0, 3), expired_up_to=st.integers(-1, 12))
def test_a_look_up_is_its_definition_whatever_was_stored_loaded_and_expired(
    engine: Engine | None,
    layout: Layout,
    steps: list[tuple[str, object]],
    asked: list[tuple[int | None, int]],
    k: int,
    expired_up_to: int,
) -> None:
    shard = Shard(k=k, layout=layout, engine=engine)
    model: list[Survivor] = []
    queries = [page(fingerprint, text_hash=text) for fingerprint, text in asked]
    for number, (what, given_values) in enumerate(steps):
        if what == "expire":
            assert isinstance(given_values, int)
            kept = [entry for entry in model if entry.order[0] > given_values]
            assert shard.expire(given_values) == len(model) - len(kept)
            model = kept
        elif what == "rebuild":
            rebuilt = Shard(k=k, layout=layout, engine=engine)
            rebuilt.load(shard.entries())
            shard = rebuilt
        else:
            assert isinstance(given_values, list)
            new = [
                page(fingerprint, order=(number, place), text_hash=text)
                for place, (fingerprint, text) in enumerate(given_values)
            ]
            shard.store(new) if what == "store" else shard.load(Entries.from_rows(new))
            model += new
        assert len(shard) == len(model)
        # Those that were stored are asked for, too: every entry must be found from itself.
        pages = queries + model[:3] + model[-3:]
        assert look_up(shard, pages, expired_up_to) == earliest_by_definition(model, pages, k, expired_up_to)
        assert list(shard.entries(expired_up_to)) == [row for row in model if row.order[0] > expired_up_to]


def hot(chance: np.random.Generator, count: int) -> NDArray[np.uint64]:
    values = chance.integers(0, 2**64, count, np.uint64)
    values[::2] &= np.uint64(0xFFFF_FFFF_FFFF_0000)
    return values


KINDS: dict[str, Callable[[np.random.Generator, int], NDArray[np.uint64]]] = {
    "random": lambda chance, count: chance.integers(0, 2**64, count, np.uint64),
    "clustered": lambda chance, count: (
        chance.integers(0, 2**64, 40, np.uint64)[chance.integers(0, 40, count)]
        ^ (np.uint64(1) << chance.integers(0, 64, count, np.uint64))
        ^ (np.uint64(1) << chance.integers(0, 64, count, np.uint64))
    ),
    "half in one block": hot,
    "all equal": lambda chance, count: np.full(count, 0x0123_4567_89AB_CDEF, np.uint64),
    "all zero": lambda chance, count: np.zeros(count, np.uint64),
    "all ones": lambda chance, count: np.full(count, MAX_U64, np.uint64),
    "one block differs": lambda chance, count: chance.integers(0, 2**16, count, np.uint64) << np.uint64(32),
    "few ones": lambda chance, count: (
        (np.uint64(1) << chance.integers(0, 64, count, np.uint64))
        | (np.uint64(1) << chance.integers(0, 64, count, np.uint64))
    ),
}


@every_engine
@every_layout
@pytest.mark.parametrize("kind", KINDS)
def test_thousands_of_entries_are_found_as_by_looking_at_all(engine: Engine | None, layout: Layout, kind: str) -> None:
    chance = np.random.default_rng(20)
    values = KINDS[kind](chance, 6000)
    asked = values[chance.integers(0, len(values), 300)].copy()
    for number in range(len(asked)):  # a sixth each at distance 0 to 5, if they meet no other entry
        for bit in chance.choice(64, number % 6, replace=False):
            asked[number] ^= np.uint64(1) << np.uint64(bit)
    shard = Shard(layout=layout, engine=engine)
    entries = columns_of(values)
    for start in range(0, 3000, 500):
        shard.store(entries[start : start + 500])
    shard.load(entries[3000:])
    queries = Queries(asked, np.zeros(len(asked), np.bool_), asked)

    assert shard.earliest_near(queries).slots.tolist() == nearest_by_columns(values, asked, 3)
    for expired in (9, 39, 79):  # 500, 2000 and 4000 entries: with and without tidying
        shard.expire(expired)
        live = values[(expired + 1) * 50 :]
        found = shard.earliest_near(queries)
        first = nearest_by_columns(live, asked, 3)
        wanted = [-1 if index < 0 else index // 50 + expired + 1 for index in first]
        assert found.batches.tolist() == wanted
        assert found.places.tolist() == [-1 if index < 0 else index % 50 for index in first]


@every_engine
@every_layout
@pytest.mark.parametrize("k", range(4))
def test_distance_k_is_near_and_k_plus_1_is_not(engine: Engine | None, layout: Layout, k: int) -> None:
    chance = np.random.default_rng(k)
    base = 0x0F1E_2D3C_4B5A_6978
    shard = Shard(k=k, layout=layout, engine=engine)
    shard.store([page(base, text_hash=1)])
    choices = [chance.choice(64, count, replace=False).tolist() for count in (k, k + 1) for _ in range(200)]
    found = shard.earliest_near(asking([page(flipped(base, bits), text_hash=2) for bits in choices]))
    assert found.hits() == list(range(200))
    assert found.distances.tolist() == [k] * 200 + [-1] * 200


@every_engine
def test_bare_pages_are_near_by_equal_text_only(engine: Engine | None) -> None:
    shard = Shard(engine=engine)
    shard.store(
        [
            page(None, order=(1, 0), text_hash=7),
            page(0, order=(1, 1), text_hash=8),
            page(None, order=(2, 0), text_hash=7),
            page(None, order=(2, 1), text_hash=7 | 1 << 40),
        ]
    )
    asked = [page(None, text_hash=text) for text in (7, 8, 6, 7 | 1 << 40)] + [page(0, text_hash=7)]
    found = shard.earliest_near(asking(asked))
    assert found.batches.tolist() == [1, -1, -1, 2, 1]
    assert found.places.tolist() == [0, -1, -1, 1, 1]
    assert [found.distance_of(query) for query in found.hits()] == [None, None, 0]
    assert [found.reason(query) for query in found.hits()] == ["exact-text", "exact-text", "hamming"]
    assert shard.earliest_near(asking(asked), expired_up_to=1).batches.tolist() == [2, -1, -1, 2, -1]


@every_engine
def test_bare_pages_without_a_token_are_found_by_their_bytes(engine: Engine | None) -> None:
    shard = Shard(engine=engine)
    shard.store([page(None, order=(1, number), text_hash=7 + number)._replace(tokens=number) for number in (0, 1)])
    asked = [page(None, text_hash=text)._replace(tokens=tokens) for text, tokens in ((7, 0), (8, 1), (7, 1), (9, 0))]
    found = shard.earliest_near(asking(asked))
    assert [(query, found.reason(query)) for query in found.hits()] == [
        (0, "exact-bytes"),
        (1, "exact-text"),
        (2, "exact-text"),
    ]


@pytest.mark.parametrize(
    ("fingerprint", "text_hash", "reason"),
    [(5, 1, "exact-text"), (5, 2, "hamming"), (4, 1, "hamming"), (4, 2, "hamming")],
)
def test_equal_text_is_said_only_of_equal_fingerprints(fingerprint: int, text_hash: int, reason: str) -> None:
    shard = Shard()
    shard.store([page(5, text_hash=1)])
    assert shard.earliest_near(asking([page(fingerprint, text_hash=text_hash)])).reason(0) == reason


def test_the_earliest_counts_even_if_a_later_one_is_nearer_and_found_first() -> None:
    shard = Shard()
    far, near = flipped(0, [0, 1, 2]), 0  # the earlier one is not in the first table's bucket of the query
    shard.store([page(far, order=(1, 0)), page(near, order=(1, 1))])
    found = shard.earliest_near(asking([page(0)]))
    assert (found.order(0), found.distance_of(0)) == ((1, 0), 3)


@every_engine
def test_loading_at_once_and_storing_one_by_one_give_the_same_shard(engine: Engine | None) -> None:
    chance = np.random.default_rng(3)
    entries = columns_of(KINDS["clustered"](chance, 1500), a_batch=7)
    asked = chance.permutation(entries.fingerprint)[:400]
    loaded, stored = Shard(engine=engine), Shard(engine=engine)
    loaded.load(entries)
    for survivor in entries:
        stored.store([survivor])
    queries = Queries(asked, np.zeros(len(asked), np.bool_), asked)

    def columns(found: Found) -> list[list[int]]:
        return [found.batches.tolist(), found.places.tolist(), found.slots.tolist(), found.distances.tolist()]

    assert columns(loaded.earliest_near(queries)) == columns(stored.earliest_near(queries))
    assert list(loaded.entries()) == list(stored.entries()) == list(entries)


@pytest.mark.parametrize(
    "orders",
    [[(5, 3)], [(5, 2)], [(4, 9)], [(6, 1), (6, 1)], [(6, 1), (6, 0)], [(7, 0), (6, 0)]],
    ids=["the last again", "same batch, earlier", "earlier batch", "twice", "places fall", "batches fall"],
)
def test_orders_that_do_not_ascend_are_refused_and_change_nothing(orders: list[tuple[int, int]]) -> None:
    shard = Shard()
    shard.store([page(1, order=(5, 3))])
    with pytest.raises(ValueError, match="do not ascend"):
        shard.store([page(2, order=order) for order in orders])
    assert list(shard.entries()) == [page(1, order=(5, 3))]
    assert shard.earliest_near(asking([page(MAX_U64)])).hits() == []
    shard.store([page(2, order=(5, 4))])
    assert len(shard) == 2


def test_what_was_stored_once_cannot_come_again_after_it_expired() -> None:
    shard = Shard()
    shard.store(survivors_of(range(100), 3))
    assert shard.expire(3) == 100
    assert shard.expire(3) == 0
    with pytest.raises(ValueError, match="do not ascend"):
        shard.store(survivors_of([1], 3))
    shard.store(survivors_of([1], 4))
    assert look_up(shard, [page(1)]) == [((4, 0), "https://example.org/4/0", 0, "exact-text")]


def test_an_empty_shard_finds_nothing() -> None:
    shard = Shard()
    assert look_up(shard, [page(0), page(None)]) == [None, None]
    assert len(shard.earliest_near(asking([]))) == 0
    assert shard.expire(10) == 0
    assert len(shard.entries()) == 0
    shard.store([])
    assert len(shard) == 0


def test_entries_handed_out_do_not_change_when_the_shard_does() -> None:
    shard = Shard()
    first = survivors_of(range(0, 2000, 7), 1)
    shard.store(first)
    handed_out = shard.entries()
    shard.store(survivors_of(range(3000), 2))
    shard.expire(1)
    shard.store(survivors_of(range(3000), 3))
    assert list(handed_out) == first


def test_a_slot_without_a_live_entry_has_no_url() -> None:
    shard = Shard()
    shard.store(survivors_of([1], 1) + survivors_of([2], 2))
    shard.expire(1)
    assert shard.url(1) == "https://example.org/2/0"
    for slot in (-1, 0, 2):
        with pytest.raises(IndexError, match="no live entry"):
            shard.url(slot)


@pytest.mark.parametrize("k", [-1, 4, 64])
def test_a_radius_that_would_miss_pairs_is_refused(k: int) -> None:
    with pytest.raises(ValueError, match=r"near\.k"):
        Shard(k=k)


@every_engine
def test_memory_is_given_back_after_expiry(engine: Engine | None) -> None:
    shard = Shard(engine=engine)
    shard.load(columns_of(np.random.default_rng(5).integers(0, 2**64, 100_000, np.uint64)))
    full, full_urls = shard.nbytes, shard.url_bytes
    shard.expire(int(0.9 * 100_000 / 50))
    while shard.tidy():
        pass
    directories = 4 * 2**16 * 16  # four tables of 16-bit keys; they stay
    assert shard.nbytes - directories < (full - directories) / 6
    assert shard.url_bytes < full_urls / 8


@every_engine
def test_what_is_not_needed_any_more_is_given_back_in_steps(engine: Engine | None) -> None:
    entries = columns_of(np.random.default_rng(5).integers(0, 2**64, 32_000, np.uint64))
    tracemalloc.start()
    try:
        shard = Shard(engine=engine, sizes=TableSizes(chunk_bits=8))
        shard.load(entries)
        held = [tracemalloc.get_traced_memory()[0]]
        held += [tracemalloc.get_traced_memory()[0] for _ in shard.dismantle()]
    finally:
        tracemalloc.stop()
    steps = [before - after for before, after in pairwise(held)]
    assert sum(steps) >= 24 * len(entries)  # three columns of hashes
    assert max(steps) <= sum(steps) / 8


def test_look_ups_and_candidates_are_counted() -> None:
    shard = Shard()
    shard.store([*survivors_of([0, 0, 0], 1), page(None, order=(2, 0))])
    shard.earliest_near(asking([page(0), page(None)]))
    assert shard.look_ups == 2
    assert shard.candidates == 4 * 3 + 1  # three entries in the bucket of each of four tables, one text
    assert shard.largest_bucket == 3
