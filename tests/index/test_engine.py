"""The calls of a shard to its tables."""

from __future__ import annotations

import numpy as np
import pytest

from worker.fingerprint.near import HAMMING_THRESHOLD, SKETCH_RATIO, THRESHOLD, SimHashNear
from worker.index.engine import Asked, Rules, SketchRule


def asked(count: int, *, sketched: bool) -> Asked:
    number = np.arange(count)
    return Asked(
        values=number.astype(np.uint64),
        bare=number % 2 == 0,
        texts=number.astype(np.uint64) + np.uint64(100),
        pages=np.repeat(number.astype(np.uint32)[:, None], 4, axis=1),
        scopes=number.astype(np.uint64) * np.uint64(7),
        bands=np.repeat(number.astype(np.uint32)[:, None], 8, axis=1)[: count if sketched else 0],
        sketches=np.repeat(number.astype(np.uint64)[:, None], 4, axis=1)[: count if sketched else 0],
    )


@pytest.mark.parametrize("sketched", [True, False])
def test_some_of_the_queries_keep_all_their_columns(sketched: bool) -> None:
    everything, rows = asked(9, sketched=sketched), np.array([7, 2])
    some = everything.among(rows)
    for name, column in some._asdict().items():
        whole = getattr(everything, name)
        assert column.tolist() == (whole[rows].tolist() if len(whole) else [])
        assert (column.dtype, column.shape[1:]) == (whole.dtype, whole.shape[1:])


@pytest.mark.parametrize("sketched", [True, False])
def test_what_is_looked_up_apart_lies_apart_in_all_that_is_looked_up(sketched: bool) -> None:
    queries, masks = asked(9, sketched=sketched), np.arange(9, dtype=np.uint64) << np.uint64(20)
    apart = queries.apart(masks)
    for name in ("values", "texts", "scopes"):
        assert (getattr(apart, name) ^ getattr(queries, name)).tolist() == masks.tolist()
    assert apart.bands.shape == queries.bands.shape
    assert (apart.bands ^ queries.bands).tolist() == [[mask] * 8 for mask in masks.tolist()][: len(apart.bands)]
    assert apart.pages is queries.pages


def test_the_rules_are_by_default_those_of_the_predicate() -> None:
    assert SketchRule() == SketchRule(THRESHOLD, SKETCH_RATIO, HAMMING_THRESHOLD)
    assert (Rules().k, Rules().ratio) == (SimHashNear().k, SimHashNear().ratio)
