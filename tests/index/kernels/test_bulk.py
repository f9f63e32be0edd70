"""Many entries at once: sorted roughly by row, and stored."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.index.sketched import first_and_reason, pages_like, sketched_of
from tests.index.worlds import (
    TINY,
    WRAPPING,
    columns_of,
    every_engine,
    random,
)
from worker.index.engine import Engine, SketchRule, TableSizes
from worker.index.queries import Queries
from worker.index.shard import Shard


@every_engine
@pytest.mark.parametrize("sizes", [TINY, WRAPPING], ids=["tiny", "wrapping"])
@settings(max_examples=4, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    before=st.sampled_from([0, 0, 90, 400]),
    parts=st.lists(st.sampled_from([0, 1, 30, 200]), min_size=1, max_size=8),
    common=st.sampled_from([0.0, 0.5, 0.95]),
    expired=st.sampled_from([-1, 0, 3]),
    at_once=st.sampled_from([70, 130, 10_000]),
    share=st.sampled_from([0.0, 0.5, 1.0, 3.0]),
)
def test_whatever_is_loaded_in_parts_is_found_however_much_was_expected(
    engine: Engine | None, sizes: TableSizes, seed: int, before: int, parts: list[int], common: float, expired: int,
    at_once: int, share: float,
) -> None:  # fmt: skip
    chance = np.random.default_rng(seed)
    entries = sketched_of(chance, before + sum(parts) + 1, common)
    hot_block = chance.random(len(entries)) < common
    entries.fingerprint[hot_block] &= np.uint64(0xFFFF_FFFF_FFFF_0000)
    rule = SketchRule(threshold=90, ratio=(3, 4))
    shard = Shard(engine=engine, ratio=(3, 5), sketch=rule, sizes=sizes)
    shard.store(entries[:before])
    begin = shard.expire(expired)

    ends = np.cumsum([before, *parts, 1]).tolist()
    with pytest.MonkeyPatch.context() as smaller:
        smaller.setattr("worker.index.shard._AT_ONCE", at_once)
        shard.load((entries[low:high] for low, high in pairwise(ends)), int(share * (ends[-1] - before)))

    asked = pages_like(chance, entries, 40)
    found = shard.earliest_near(asked)
    wanted, reasons = first_and_reason(entries[begin:], asked, rule)
    assert found.slots.tolist() == [-1 if index < 0 else sizes.first_slot + begin + index for index in wanted]
    assert [found.reason(query) for query in found.hits()] == [reason for reason in reasons if reason]
    kept = shard.entries()
    assert list(kept) == list(entries[begin:])


@every_engine
def test_a_part_that_cannot_be_stored_ends_the_loading_and_those_before_it_are_found(engine: Engine | None) -> None:
    values = random(np.random.default_rng(8), 600)
    entries = columns_of(values)
    shard = Shard(engine=engine, sizes=TINY)
    with pytest.raises(ValueError, match="do not ascend"):
        shard.load([entries[:200], entries[200:400], entries[100:200], entries[400:]], 600)
    asked = Queries(values, np.zeros(600, np.bool_), values)
    assert shard.earliest_near(asked).slots.tolist() == [*range(400), *[-1] * 200]
    shard.load([entries[400:]])
    assert shard.earliest_near(asked).slots.tolist() == list(range(600))
