"""Rows in the order of a key, however few fit into memory."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.scan.judge import external_sort
from worker.scan.judge.external_sort import in_order, with_key


@given(
    st.lists(st.lists(st.integers(-3, 3) | st.integers(-(2**63), 2**63 - 1), max_size=9), max_size=5),
    st.integers(1, 8),
)
def test_rows_come_by_their_keys_and_equal_ones_as_they_came(
    tmp_path_factory: pytest.TempPathFactory, batches: list[list[int]], at_once: int
) -> None:
    keys = np.array([key for batch in batches for key in batch], np.int64)
    numbers = np.split(np.arange(len(keys)), np.cumsum([len(batch) for batch in batches])[:-1]) if batches else []
    folder = tmp_path_factory.mktemp("sort") / "parts"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(external_sort, "_AT_ONCE", at_once)
        patch.setattr(external_sort, "_GROUP_ROWS", 2)
        found = in_order(
            lambda: (with_key(pa.record_batch({"number": one}), keys[one]) for one in numbers), keys, folder
        )
        order = [number for batch in found for number in batch.column("number").to_pylist()]
    assert order == np.argsort(keys, kind="stable").tolist()
    assert not Path(folder).exists()
