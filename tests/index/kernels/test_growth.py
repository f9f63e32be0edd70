"""Everything that changes the shape of an index, at sizes so small that each path is taken often."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from crawler_plugin.wire.forgetting import MAX_U64
from tests.index.worlds import TINY, WRAPPING, columns_of, every_engine, first_near, flipped, random
from worker.fingerprint.near import Ratio
from worker.index.engine import Engine, TableSizes
from worker.index.entries import COLUMNS
from worker.index.layout import Layout
from worker.index.queries import Queries
from worker.index.shard import Shard


def hot(chance: np.random.Generator, count: int) -> NDArray[np.uint64]:
    values = random(chance, count)
    values[chance.random(count) < 0.7] &= np.uint64(0xFFFF_FFFF_FFFF_0000)
    return values


def hot_twice(chance: np.random.Generator, count: int) -> NDArray[np.uint64]:
    """Codes of which most agree in a whole block and in a group of twelve bits next to it, so that a split bucket
    splits again."""
    values = random(chance, count)
    values[chance.random(count) < 0.8] &= np.uint64(0xFFFF_FFFF_F000_0000)
    return values


def far_apart(chance: np.random.Generator, count: int) -> NDArray[np.uint64]:
    """Words of a code with distance 4 and more that agree in a block: the fullest bucket that survivors can fill."""
    bits = chance.integers(0, 2**46, count, np.uint64)
    parity = np.bitwise_count(bits).astype(np.uint64) & np.uint64(1)
    place = np.zeros(count, np.uint64)
    for bit in range(46):
        place ^= np.where(bits >> np.uint64(bit) & np.uint64(1), np.uint64(bit + 1), np.uint64(0))
    words: NDArray[np.uint64] = (bits << np.uint64(16)) ^ (place << np.uint64(2)) ^ (parity << np.uint64(1))
    return words


def clustered(chance: np.random.Generator, count: int) -> NDArray[np.uint64]:
    values = random(chance, 12)[chance.integers(0, 12, count)]
    for _ in range(3):
        values ^= np.uint64(1) << chance.integers(0, 64, count, np.uint64)
    return values


def few_values(chance: np.random.Generator, count: int) -> NDArray[np.uint64]:
    return np.array([0, MAX_U64, 5, 0xFFFF << 16], np.uint64)[chance.integers(0, 4, count)]


KINDS = [random, hot, hot_twice, far_apart, clustered, few_values]


@every_engine
@pytest.mark.parametrize("layout", Layout)
@pytest.mark.parametrize("sizes", [TINY, WRAPPING], ids=["tiny", "wrapping"])
@settings(max_examples=3, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    kind=st.sampled_from(KINDS),
    portions=st.lists(st.sampled_from([1, 2, 7, 40, 250]), min_size=4, max_size=14),
    expiring=st.sampled_from([0.0, 0.3, 0.8]),
    k=st.integers(0, 3),
    ratio=st.sampled_from([(0, 1), (3, 5)]),
)
def test_an_index_that_grows_splits_sweeps_and_wraps_finds_what_a_plain_search_finds(
    engine: Engine | None,
    layout: Layout,
    sizes: TableSizes,
    seed: int,
    kind: object,
    portions: list[int],
    expiring: float,
    k: int,
    ratio: tuple[int, int],
) -> None:
    assert callable(kind)
    chance = np.random.default_rng(seed)
    values = kind(chance, sum(portions))
    tokens = chance.choice([3, 5, 6, 10, 70_000], len(values)).astype(np.uint32)
    entries = columns_of(values, a_batch=20, tokens=tokens)
    shard = Shard(k=k, layout=layout, engine=engine, ratio=ratio, sizes=sizes)
    begin = end = 0
    for portion in portions:
        shard.store(entries[end : end + portion])
        end += portion
        if chance.random() < expiring:
            up_to = int(chance.integers(begin // 20 - 1, end // 20 + 1))
            assert shard.expire(up_to) == max(0, min(end, (up_to + 1) * 20) - begin)
            begin = max(begin, min(end, (up_to + 1) * 20))
        if chance.random() < 0.3:
            shard.tidy()
        asked, asked_tokens = _asked_for(chance, values[:end])
        hidden = int(chance.integers(-1, end // 20 + 1))
        lower = max(begin, min(end, (hidden + 1) * 20))
        found = shard.earliest_near(Queries(asked, np.zeros(len(asked), np.bool_), asked, asked_tokens), hidden)
        wanted = first_near(values[lower:end], tokens[lower:end], asked, asked_tokens, k, Ratio(*ratio))
        assert found.batches.tolist() == [-1 if index < 0 else (lower + index) // 20 for index in wanted]
        assert found.places.tolist() == [-1 if index < 0 else (lower + index) % 20 for index in wanted]
        first = first_near(values[begin:end], tokens[begin:end], asked, asked_tokens, k, Ratio(*ratio))
        alone = [shard.earliest_slot(int(value), int(count)) for value, count in zip(asked, asked_tokens, strict=True)]
        assert alone == [-1 if index < 0 else sizes.first_slot + begin + index for index in first]
    kept = shard.entries()
    for name in COLUMNS:
        assert kept.column(name).tolist() == entries[begin:end].column(name).tolist()
    while shard.tidy():
        pass


def _asked_for(
    chance: np.random.Generator, values: NDArray[np.uint64]
) -> tuple[NDArray[np.uint64], NDArray[np.uint32]]:
    """Queries for stored values, at every distance from 0 to 4, and for values that are not stored."""
    asked = values[chance.integers(0, len(values), 15)].copy()
    for number in range(10):
        for bit in chance.choice(64, number % 5, replace=False).tolist():
            asked[number] ^= np.uint64(1 << bit)
    asked[12:] = random(chance, 3)
    return asked, chance.choice([3, 5, 6, 10, 70_000], 15).astype(np.uint32)


def test_a_hot_block_is_split_and_a_look_up_of_it_reads_few_entries() -> None:
    chance = np.random.default_rng(4)
    values = far_apart(chance, 20_000)
    shard = Shard(sizes=TableSizes(split_from=64, entries_a_row=2))
    shard.load(columns_of(values))
    assert shard.splits >= 1
    assert shard.largest_bucket < 1000
    before = shard.candidates
    asked = values[:500]
    found = shard.earliest_near(Queries(asked, np.zeros(500, np.bool_), asked))
    assert found.slots.tolist() == first_near(values, None, asked, None, 3, Ratio(0, 1))
    assert (shard.candidates - before) / 500 < 500


def test_equal_fingerprints_are_found_though_no_split_can_part_them() -> None:
    values = np.full(3000, 0x0123_4567_89AB_CDEF, np.uint64)
    values[::3] = np.arange(1000, dtype=np.uint64) << np.uint64(20)
    shard = Shard(sizes=TINY)
    shard.load(columns_of(values))
    asked = np.array([flipped(0x0123_4567_89AB_CDEF, (1, 30, 60)), 999 << 20], np.uint64)
    found = shard.earliest_near(Queries(asked, np.zeros(2, np.bool_), asked))
    assert found.slots.tolist() == first_near(values, None, asked, None, 3, Ratio(0, 1))
