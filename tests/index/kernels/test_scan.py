"""Look-ups: the earliest entry within k bits, over all tables."""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from crawler_plugin.wire.forgetting import MAX_U64
from tests.index.worlds import (
    asking,
    clustered,
    columns_of,
    every_engine,
    flipped,
    nearest_by_columns,
    page,
)
from worker.index.engine import Engine
from worker.index.layout import Layout
from worker.index.queries import Queries
from worker.index.shard import Shard

every_layout = pytest.mark.parametrize("layout", Layout)


def hot(chance: np.random.Generator, count: int) -> NDArray[np.uint64]:
    values = chance.integers(0, 2**64, count, np.uint64)
    values[::2] &= np.uint64(0xFFFF_FFFF_FFFF_0000)
    return values


KINDS: dict[str, Callable[[np.random.Generator, int], NDArray[np.uint64]]] = {
    "random": lambda chance, count: chance.integers(0, 2**64, count, np.uint64),
    "clustered": clustered,
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
    count = 6000 if engine is None else 1200
    batch = count // 120
    values = KINDS[kind](chance, count)
    asked = values[chance.integers(0, len(values), 300)].copy()
    for number in range(len(asked)):  # a sixth each at distance 0 to 5, if they meet no other entry
        for bit in chance.choice(64, number % 6, replace=False):
            asked[number] ^= np.uint64(1) << np.uint64(bit)
    shard = Shard(layout=layout, engine=engine)
    entries = columns_of(values, a_batch=batch)
    for start in range(0, count // 2, count // 12):
        shard.store(entries[start : start + count // 12])
    shard.load(entries[count // 2 :])
    queries = Queries(asked, np.zeros(len(asked), np.bool_), asked)

    assert shard.earliest_near(queries).slots.tolist() == nearest_by_columns(values, asked, 3)
    for expired in (9, 39, 79):  # a twelfth, a third and two thirds: with and without tidying
        shard.expire(expired)
        live = values[(expired + 1) * batch :]
        found = shard.earliest_near(queries)
        first = nearest_by_columns(live, asked, 3)
        wanted = [-1 if index < 0 else index // batch + expired + 1 for index in first]
        assert found.batches.tolist() == wanted
        assert found.places.tolist() == [-1 if index < 0 else index % batch for index in first]


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


def test_the_earliest_counts_even_if_a_later_one_is_nearer_and_found_first() -> None:
    shard = Shard()
    far, near = flipped(0, [0, 1, 2]), 0  # the earlier one is not in the first table's bucket of the query
    shard.store([page(far, order=(1, 0)), page(near, order=(1, 1))])
    found = shard.earliest_near(asking([page(0)]))
    assert (found.order(0), found.distance_of(0)) == ((1, 0), 3)
