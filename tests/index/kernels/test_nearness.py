"""When two entries are near, at the very limit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from tests.fingerprint.definition.sketch import sketch
from tests.index.sketched import sketched_of
from tests.index.test_accurate import ENDLESS, windows
from tests.index.worlds import (
    every_engine,
)
from worker.fingerprint.near import AccurateNear
from worker.fingerprint.scoped import ScopedNear
from worker.fingerprint.sketch import agreement
from worker.index.engine import Engine, SketchRule
from worker.index.entries import COLUMNS, Entries, Survivor
from worker.index.queries import Queries
from worker.index.shard import Shard


@pytest.mark.parametrize("slots", [89, 90])
@every_engine
def test_one_slot_more_makes_two_sketches_near(engine: Engine | None, slots: int) -> None:
    chance = np.random.default_rng(slots)
    entries = sketched_of(chance, 1, 0.0)
    assert entries.bands is not None and entries.sketch is not None
    shard = Shard(engine=engine, sketch=SketchRule())
    plain = Entries(
        **{name: entries.column(name) for name in COLUMNS} | {"bare": np.zeros(1, np.bool_)},
        urls=entries.urls,
        bands=entries.bands,
        sketch=entries.sketch,
    )
    shard.store(plain)
    sketch = entries.sketch.copy()
    for slot in chance.choice(127, 128 - slots, replace=False).tolist():
        sketch[0, slot // 32] ^= np.uint64(3 << 2 * (slot % 32))
    other = ~entries.fingerprint
    asked = Queries(other, np.zeros(1, np.bool_), other, entries.tokens, entries.bands, sketch)
    assert shard.earliest_near(asked).hits() == ([0] if slots == 90 else [])


@every_engine
@settings(max_examples=60, deadline=None)
@given(windows, windows)
def test_the_compiled_agreement_is_its_definition(
    engine: Engine | None, one: tuple[int, int], other: tuple[int, int]
) -> None:
    a, b = (sketch(ENDLESS[start : start + count]) for start, count in (one, other))
    agreeing = agreement(a, b)
    stored = Survivor((0, 0), "http://a/", 0, 0, 60, 0, a, bytes(31) + b"\1")
    for least in (agreeing, agreeing + 1):
        shard = Shard.by(ScopedNear(AccurateNear(threshold=least)), engine=engine)
        shard.store([stored])
        found = shard.earliest_near(Queries.of([stored._replace(fingerprint=2**64 - 1, text_hash=1, sketch=b)]))
        assert found.hits() == ([0] if least == agreeing else [])
