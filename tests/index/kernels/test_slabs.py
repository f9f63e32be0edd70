"""Memory of buckets: abandoned memory is used again, and memory of expired entries is given back."""

from __future__ import annotations

import numpy as np

from tests.index.worlds import (
    columns_of,
    every_engine,
    random,
)
from worker.index.engine import Engine, TableSizes
from worker.index.shard import Shard


def test_what_slabs_leave_behind_is_used_again_while_entries_come() -> None:
    count = 100_000
    entries = columns_of(random(np.random.default_rng(1), count))
    sizes = TableSizes(least_region=1 << 10, most_region=1 << 14, entries_a_row=100)
    grown, at_once = Shard(sizes=sizes), Shard(sizes=sizes)
    at_once.store(entries)
    for begin in range(0, count, 500):
        grown.store(entries[begin : begin + 500])
    assert grown.nbytes < 1.1 * at_once.nbytes
    while grown.tidy():
        pass
    assert grown.nbytes < 1.1 * at_once.nbytes


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
