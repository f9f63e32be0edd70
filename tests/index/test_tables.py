"""The compiled tables: their kernels stay inside their arrays, and they report their memory correctly."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from tests.index.worlds import TINY, columns_of, random
from worker.index.shard import Shard


@pytest.mark.long
def test_kernels_stay_inside_their_arrays(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    # A separate folder: numba's cache does not tell checked code from unchecked code.
    seconds = pytestconfig.getoption("--fuzz-seconds")
    seed = "1" if seconds == "0" else str(time.time_ns())
    done = subprocess.run(
        [sys.executable, "-m", "tests.index.fuzz.exercise", seed, seconds],
        env=os.environ | {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(tmp_path)},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=3600,
        check=False,
    )
    assert done.returncode == 0, f"seed {seed}: {done.stderr}"
    assert "lives" in done.stdout


def test_the_bytes_of_the_tables_grow_with_their_entries_and_those_of_a_full_bucket_are_counted() -> None:
    values = random(np.random.default_rng(2), 4000)
    values[:300] = 7
    entries = columns_of(values)
    shard = Shard(sizes=TINY)
    sizes = []
    for begin in range(0, 4000, 1000):
        shard.store(entries[begin : begin + 1000])
        sizes.append(shard.nbytes)
    assert sizes == sorted(set(sizes))
    assert shard.nbytes >= 4 * 8 * 4000, "four tables hold a tag and a slot of each entry"
    assert 300 <= shard.largest_bucket < 600
