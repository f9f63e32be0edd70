import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

EXERCISE = """
import numpy as np
from worker.index.layout import Layout
from worker.index.shard import Queries, Shard
from tests.index.worlds import columns_of
chance = np.random.default_rng({seed})
for layout in Layout:
    shard = Shard(layout=layout)
    values = chance.integers(0, 2**64, 5000, np.uint64)
    values[chance.random(5000) < .3] &= np.uint64(0xFFFF0000FFFF0000)
    entries = columns_of(values)
    start = 0
    while start < 5000:
        count = int(chance.choice([1, 3, 40, 700]))
        shard.store(entries[start : start + count])
        start += count
        shard.expire(int(chance.integers(-1, 1 + start // 50)) if chance.random() < .2 else -1)
        asked = values[chance.integers(0, 5000, 50)] ^ np.uint64(1)
        shard.earliest_near(Queries(asked, chance.random(50) < .1, asked))
print("done")
"""


def run_python(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        env=os.environ | environment,
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=3600,
        check=False,
    )


def test_kernels_stay_inside_their_arrays(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    # A folder of its own: numba's cache does not tell checked code from unchecked.
    seconds = pytestconfig.getoption("--fuzz-seconds")
    seed = "1" if seconds == "0" else str(time.time_ns())
    done = run_python(
        "-m", "tests.index.fuzz.exercise", seed, seconds, NUMBA_BOUNDSCHECK="1", NUMBA_CACHE_DIR=str(tmp_path)
    )
    assert done.returncode == 0, f"seed {seed}: {done.stderr}"
    assert "lives" in done.stdout


def test_without_a_folder_for_the_cache_kernels_are_compiled_at_each_start_with_a_warning() -> None:
    # What numba does where neither the package's folder nor the home can be written to: no locator applies.
    code = (
        "import logging; logging.basicConfig()\n"
        "from numba.core import caching\n"
        "caching._CacheLocator.from_function = classmethod(lambda *_: None)\n"
        "for locator in caching.CacheImpl._locator_classes:\n"
        "    locator.from_function = classmethod(lambda *_: None)\n" + EXERCISE.format(seed=2)
    )
    done = run_python("-c", code)
    assert (done.stdout.strip(), done.returncode) == ("done", 0), done.stderr
    assert done.stderr.count("set NUMBA_CACHE_DIR") == 1


@pytest.mark.parametrize(
    ("breakage", "told"),
    [
        ("import sys; sys.modules['numba'] = None\n", "install it"),
        ("import os; os.environ['NUMBA_DISABLE_JIT'] = '1'\n", "NUMBA_DISABLE_JIT is set"),
    ],
    ids=["not installed", "switched off"],
)
def test_where_numba_cannot_run_there_are_no_tables_and_the_error_says_what_to_do(breakage: str, told: str) -> None:
    done = run_python("-c", breakage + EXERCISE.format(seed=3))
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith("worker.errors.UsageError: ")
    assert told in last
