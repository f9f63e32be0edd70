"""How functions become kernels: where they are kept, the messages while compiling, and the case that they cannot be
kept."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest

from tests.test_imports import ROOT
from worker.compiling import compiler_of, cpu_name, digest_of, each_compilation

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
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        timeout=3600,
        check=False,
    )


@pytest.mark.long
def test_without_a_folder_for_the_cache_kernels_are_compiled_at_each_start_with_a_warning() -> None:
    # As in numba where neither the package's folder nor the home is writable: no locator applies.
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
    assert last.startswith("crawler_plugin.wire.errors.UsageError: ")
    assert told in last


def test_the_digest_is_of_every_source_and_of_what_compiles_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "digested"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "one.py").write_text("a = 1\n")
    (package / "two.py").write_text("b = 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    both = digest_of("digested", ("one", "two"))
    assert digest_of("digested", ("one",)) != both
    assert digest_of("digested", ("one", "two")) == both
    (package / "two.py").write_text("b = 2\n")
    assert digest_of("digested", ("one", "two")) != both
    assert digest_of("digested", ()) != digest_of("digested", ("one",))


def test_a_kernel_does_what_the_function_does_and_lets_other_threads_run() -> None:
    kernel = compiler_of("worker", ("compiling",))

    @kernel("int64(int64)")
    def doubled(number: int) -> int:
        return 2 * number

    @kernel("int64(int64)")
    def fourfold(number: int) -> int:
        return doubled(doubled(number))

    assert not doubled.overloads  # type: ignore[attr-defined]  # nothing is compiled before it is called
    assert fourfold(21) == 84
    assert not doubled.overloads  # type: ignore[attr-defined]  # and what only a kernel has called never by itself
    assert doubled(21) == 42
    assert fourfold.targetoptions["nogil"]  # type: ignore[attr-defined]


@pytest.mark.parametrize("called_first", [False, True])
def test_a_kernel_takes_the_types_of_its_signature_alone_also_at_its_first_call(called_first: bool) -> None:
    @compiler_of("worker", ("compiling",))("int64(int64[::1])")
    def first(numbers: Any) -> int:
        return int(numbers[0])

    if called_first:
        assert first(np.array([3])) == 3
    with pytest.raises(TypeError, match="No matching definition"):
        first(np.array([3.5]))
    with pytest.raises(TypeError, match="No matching definition"):
        first("3")


def test_of_threads_that_call_a_kernel_first_each_gets_its_answer() -> None:
    @compiler_of("worker", ("compiling",))("int64(int64)")
    def tripled(number: int) -> int:
        return 3 * number

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(tripled, range(8))) == [3 * number for number in range(8)]


def test_entries_of_a_package_are_made_ready_before_they_are_called() -> None:
    code = (
        "from worker.compiling import are_cached, load_entries; from worker.index.kernels import titles, in_batch\n"
        "print(len(titles.add.overloads), len(in_batch.earliest.overloads))\n"
        "load_entries('worker.index'); print(len(titles.add.overloads), len(in_batch.earliest.overloads))\n"
        "print(are_cached('worker.index'))"
    )
    assert run_python("-c", code).stdout.split("\n")[:3] == ["0 0", "1 1", "True"]


def test_each_function_that_is_not_in_the_cache_is_told_when_it_begins_and_ends() -> None:
    told: list[str] = []
    with each_compilation(lambda: told.append("begins"), lambda: told.append("ends")):
        numba.njit("int64(int64)")(lambda number: number + 3)
    numba.njit("int64(int64)")(lambda number: number + 4)
    assert told == ["begins", "ends"]


def test_the_kind_of_cpu_is_the_one_that_numba_is_told() -> None:
    assert cpu_name()
    done = run_python("-c", "from worker.compiling import cpu_name; print(cpu_name())", NUMBA_CPU_NAME="generic")
    assert done.stdout == "generic\n"


def test_a_current_folder_that_is_gone_is_told_as_such(tmp_path: Path) -> None:
    command = 'rmdir "$PWD" && exec "$0" -c "import worker.compiling"'
    here = {**os.environ, "PYTHONPATH": str(ROOT)}
    (tmp_path / "gone").mkdir()
    ended = subprocess.run(
        ["sh", "-c", command, sys.executable],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path / "gone",
        env=here,
    )
    assert "as when the current folder was removed: change to a folder that exists" in ended.stderr
