"""What a shard hands to its tables."""

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
        tokens=number.astype(np.uint32),
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


def test_the_rules_are_by_default_those_of_the_predicate() -> None:
    assert SketchRule() == SketchRule(THRESHOLD, SKETCH_RATIO, HAMMING_THRESHOLD)
    assert (Rules().k, Rules().ratio) == (SimHashNear().k, SimHashNear().ratio)
