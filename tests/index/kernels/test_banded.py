"""Pages that a band and a sketch find."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fingerprint.definition.sketch import bands
from tests.index.sketched import first_and_reason, pages_like, sketched_of
from tests.index.test_accurate import ENDLESS
from tests.index.worlds import (
    TINY,
    WRAPPING,
    every_engine,
)
from worker.fingerprint.near import AccurateNear
from worker.fingerprint.scoped import ScopedNear
from worker.index.engine import Engine, SketchRule, TableSizes
from worker.index.entries import Survivor
from worker.index.queries import Queries
from worker.index.shard import Shard


@every_engine
@pytest.mark.parametrize("sizes", [TINY, WRAPPING], ids=["tiny", "wrapping"])
@settings(max_examples=4, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    portions=st.lists(st.sampled_from([1, 3, 30, 200]), min_size=3, max_size=10),
    common=st.sampled_from([0.0, 0.5, 0.95]),
    expiring=st.sampled_from([0.0, 0.5]),
)
def test_pages_are_found_by_bands_and_sketches_too(
    engine: Engine | None, sizes: TableSizes, seed: int, portions: list[int], common: float, expiring: float
) -> None:
    chance = np.random.default_rng(seed)
    count = sum(portions)
    entries = sketched_of(chance, count, common)
    rule = SketchRule(threshold=90, ratio=(3, 4))
    shard = Shard(engine=engine, ratio=(3, 5), sketch=rule, sizes=sizes)
    begin = end = 0
    for portion in portions:
        shard.store(entries[end : end + portion])
        end += portion
        if chance.random() < expiring:
            up_to = int(chance.integers(-1, end // 20 + 1))
            shard.expire(up_to)
            begin = max(begin, min(end, (up_to + 1) * 20))
        asked = pages_like(chance, entries[0:end], 12)
        found = shard.earliest_near(asked)
        wanted, reasons = first_and_reason(entries[begin:end], asked, rule)
        assert found.slots.tolist() == [-1 if index < 0 else sizes.first_slot + begin + index for index in wanted]
        assert [found.reason(query) for query in found.hits()] == [reason for reason in reasons if reason]
    kept = shard.entries()
    expected = entries[begin:end]
    assert kept.sketch is not None and expected.sketch is not None
    assert kept.bands is not None and expected.bands is not None
    assert kept.sketch.tolist() == expected.sketch.tolist()
    assert kept.bands.tolist() == expected.bands.tolist()


@every_engine
def test_thousands_that_share_a_bands_key_are_all_found_and_none_is_lost_by_expiry(engine: Engine | None) -> None:
    chance = np.random.default_rng(11)
    count = 6000
    shared = bands(ENDLESS[:50])[:4]
    near = ScopedNear(AccurateNear(3))
    shard = Shard.by(near, engine=engine, sizes=TableSizes(copy_from=256))
    sketches = chance.integers(0, 2**64, (count, 4), np.uint64)
    sketches[:, 3] &= np.uint64(2**62 - 1)
    rows = [
        Survivor((number // 500, number % 500), "http://a/", int(fingerprint), number, 40, 0, own.tobytes(),
                 shared + chance.bytes(28))
        for number, (fingerprint, own) in enumerate(
            zip(chance.integers(0, 2**64, count, np.uint64).tolist(), sketches, strict=True)
        )
    ]  # fmt: skip
    for start in range(0, count, 500):
        shard.store(rows[start : start + 500])
    assert shard.largest_bucket >= count
    asked = [
        row._replace(fingerprint=row.fingerprint ^ 0xFFFF_0000_FFFF, text_hash=2**40, bands=shared + bytes(28))
        for row in rows[::40]
        if row.fingerprint is not None
    ]
    found = shard.earliest_near(Queries.of(asked))
    assert [found.order(query) for query in found.hits()] == [row.order for row in rows[::40]]
    assert {found.reason(query) for query in found.hits()} == {"sketch"}
    shard.expire(5)
    found = shard.earliest_near(Queries.of(asked))
    assert [found.order(query) for query in found.hits()] == [row.order for row in rows[::40] if row.order[0] > 5]
