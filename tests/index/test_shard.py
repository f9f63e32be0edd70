import os
import threading
import tracemalloc
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from crawler_plugin.wire.forgetting import MAX_U64
from tests.index.worlds import (
    TINY,
    answers_of,
    asking,
    columns_of,
    earliest_by_definition,
    every_engine,
    maybe_fingerprints,
    page,
    random,
    survivors_of,
    text_hashes,
)
from worker.fingerprint.hashing import hash_bytes
from worker.index.engine import Engine, SketchRule, TableSizes
from worker.index.entries import Entries, Survivor
from worker.index.layout import Layout
from worker.index.queries import Queries
from worker.index.shard import Shard

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
        # Queries include the stored entries: every entry must be found from itself.
        pages = queries + model[:3] + model[-3:]
        assert look_up(shard, pages, expired_up_to) == earliest_by_definition(model, pages, k, expired_up_to)
        assert list(shard.entries(expired_up_to)) == [row for row in model if row.order[0] > expired_up_to]


@every_engine
def test_from_one_near_entry_to_the_next_all_of_them_are_found(engine: Engine | None) -> None:
    shard = Shard(engine=engine, k=1)
    values = [0b0, 0b11, 0b1, 0b0, 0b111, 0b0, None, 0b1]
    shard.store([page(value, order=(number, 0), text_hash=7) for number, value in enumerate(values)])

    def walk(asked: Survivor, expired_up_to: int = -1) -> list[int]:
        slots, found = [-1], shard.earliest_near(asking([asked]), expired_up_to)
        while found.hits():
            slots.append(found.slot(0))
            found = shard.earliest_near(asking([asked]), expired_up_to, slots[-1])
        return [slot for slot in slots if slot >= 0]

    assert walk(page(0b0)) == [0, 2, 3, 5, 7]
    assert walk(page(None, text_hash=7)) == [6]
    assert walk(page(0b0), expired_up_to=2) == [3, 5, 7]
    shard.expire(2)
    assert walk(page(0b0)) == [3, 5, 7], "a slot is the same while others expire"


@every_engine
def test_how_far_two_sketches_agree_is_told_where_both_pages_have_one(engine: Engine | None) -> None:
    shard, without = Shard(engine=engine, sketch=SketchRule()), Shard(engine=engine)
    sketched = Survivor((1, 0), "u", 5, 7, 9, 0, sketch=bytes([255] * 31 + [0x3F]), bands=b"b" * 32)
    other = sketched._replace(order=(1, 1), fingerprint=1 << 40, text_hash=8, sketch=b"", bands=b"")
    for one in (shard, without):
        one.store([sketched, other])
    asked = [sketched._replace(sketch=bytes([255] * 27 + [0] * 4 + [0x3F])), sketched._replace(sketch=b""), other]
    assert shard.earliest_near(Queries.of(asked)).agreements.tolist() == [112, -1, -1]
    assert without.earliest_near(Queries.of(asked)).agreements.tolist() == [-1, -1, -1]
    assert shard.earliest_near(Queries.of([sketched._replace(fingerprint=1 << 20)])).agreements.tolist() == [128]


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


def test_urls_of_what_was_found_stay_readable_whatever_becomes_of_the_entries() -> None:
    shard = Shard(sizes=TableSizes(chunk_bits=6))
    rows = [row._replace(site=row.order[1] % 3) for row in survivors_of(range(1, 601), 1)]
    shard.store(rows)
    slots = np.array([0, 599, 5, 300, 5])
    urls = shard.urls(slots)
    assert urls.hashes.tolist() == [hash_bytes(rows[slot].url.encode()) for slot in slots.tolist()]
    assert urls.sites.tolist() == [slot % 3 for slot in slots.tolist()]
    shard.store(survivors_of(range(601, 1201), 2))
    shard.expire(1)
    assert list(urls) == [rows[slot].url for slot in slots.tolist()]
    assert urls[1:3] == (rows[599].url, rows[5].url)


@pytest.mark.parametrize("k", [-1, 4, 64])
def test_a_radius_that_would_miss_pairs_is_refused(k: int) -> None:
    with pytest.raises(ValueError, match=r"near\.k"):
        Shard(k=k)


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
    assert sum(steps) >= 8 * len(entries)  # hashes of the URLs; the memory of heads is not traced
    assert max(steps) <= sum(steps) / 8


def test_look_ups_and_candidates_are_counted() -> None:
    shard = Shard()
    shard.store([*survivors_of([0, 0, 0], 1), page(None, order=(2, 0))])
    shard.earliest_near(asking([page(0), page(None)]))
    assert shard.look_ups == 2
    assert shard.candidates == 4 * 3 + 1  # three entries in the bucket of each of four tables, one text
    assert shard.largest_bucket == 3


def test_what_the_rules_need_must_be_given() -> None:
    value = np.zeros(1, np.uint64)
    plain = Queries(value, np.zeros(1, np.bool_), value)
    entries = columns_of(value)
    for shard in (Shard(ratio=(3, 5)), Shard(sketch=SketchRule())):
        shard.store(entries)
        with pytest.raises(ValueError, match="token counts"):
            shard.earliest_near(plain)
    with pytest.raises(ValueError, match="ratio of token counts"):
        Shard(ratio=(5, 3))


def test_shards_of_several_threads_work_side_by_side_and_one_shard_under_a_lock() -> None:
    chance = np.random.default_rng(8)
    values = [random(chance, 6000) for _ in range(3)]
    shared, lock = Shard(sizes=TINY), threading.Lock()
    wrong: list[str] = []
    stored = 0

    def write(own: int) -> None:
        nonlocal stored
        shard = Shard(sizes=TINY)
        for begin in range(0, 6000, 100):
            shard.store(columns_of(values[own])[begin : begin + 100])
            if own == 0:
                with lock:
                    shared.store(columns_of(values[0])[begin : begin + 100])
                    stored = begin + 100
        _check(shard, values[own], 6000, wrong)

    def read() -> None:
        while stored < 6000 and not wrong:
            with lock:
                _check(shared, values[0], stored, wrong)

    threads = [threading.Thread(target=write, args=(own,)) for own in range(3)] + [threading.Thread(target=read)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def _check(shard: Shard, values: NDArray[np.uint64], stored: int, wrong: list[str]) -> None:
    asked = values[::30]
    found = shard.earliest_near(Queries(asked, np.zeros(len(asked), np.bool_), asked)).slots.tolist()
    wanted: Sequence[int] = [index if index < stored else -1 for index in range(0, len(values), 30)]
    if found != wanted:
        wrong.append(f"of {stored} entries {found} were found")


def test_after_a_fork_each_process_has_a_shard_of_its_own() -> None:
    shard = Shard(sizes=TINY)
    values = random(np.random.default_rng(6), 900)
    entries = columns_of(values)
    shard.store(entries[:500])
    child = os.fork()
    if child == 0:
        shard.store(entries[500:])
        found = shard.earliest_slot(int(values[899]))
        os._exit(0 if (found, len(shard)) == (899, 900) else 1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert len(shard) == 500
    assert shard.earliest_slot(int(values[899])) == -1
    assert shard.earliest_slot(int(values[499])) == 499
