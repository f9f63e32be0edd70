"""The memory that a worker finds, in control groups as Linux shows them, and the limits that it derives."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from worker.compose.machine import MIB, PARSER_BYTES, MachineMemory, index_memory, memory_limit
from worker.config import Settings, load_settings

PHYSICAL: Final = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
GIB: Final = 1024
NO_LIMIT_V1: Final = "9223372036854771712\n"
PARSER_MIB: Final = PARSER_BYTES // MIB + 512


def settings(*overrides: str) -> Settings:
    return load_settings(config=None, overrides=overrides, environ={})


def found(folder: Path, own: str, files: dict[str, str]) -> MachineMemory:
    """The limit of a process whose /proc/self/cgroup says ``own``, with these files in /sys/fs/cgroup."""
    proc, groups = folder / "proc", folder / "cgroup"
    (proc / "self").mkdir(parents=True)
    (proc / "self" / "cgroup").write_text(own)
    for name, text in files.items():
        (groups / name).parent.mkdir(parents=True, exist_ok=True)
        (groups / name).write_text(text)
    limit = memory_limit(proc, groups)
    return limit._replace(source=limit.source.removeprefix(f"{groups}/"))


@pytest.mark.parametrize(
    ("own", "files", "expected"),
    [
        ("0::/\n", {"memory.max": "1073741824\n"}, (1 << 30, "memory.max")),
        ("0::/\n", {"memory.max": "max\n", "memory.high": "max\n"}, (PHYSICAL, "this machine")),
        ("0::/\n", {}, (PHYSICAL, "this machine")),
        ("0::/a/b\n", {"a/b/memory.max": "max\n", "a/memory.max": "1000\n"}, (1000, "a/memory.max")),
        ("0::/a/b\n", {"a/b/memory.max": "900\n", "a/memory.max": "1000\n"}, (900, "a/b/memory.max")),
        ("0::/a\n", {"a/memory.max": "900\n", "a/memory.high": "800\n"}, (800, "a/memory.high")),
        ("0::/../../elsewhere\n", {"memory.max": "700\n"}, (700, "memory.max")),
        (
            "5:cpu,cpuacct:/x\n4:memory:/docker/1\n0::/\n",
            {"memory/memory.limit_in_bytes": "600\n"},
            (600, "memory/memory.limit_in_bytes"),
        ),
        (
            "4:memory:/docker/1\n",
            {"memory/docker/1/memory.limit_in_bytes": "500\n", "memory/memory.limit_in_bytes": NO_LIMIT_V1},
            (500, "memory/docker/1/memory.limit_in_bytes"),
        ),
        ("4:memory:/\n", {"memory/memory.limit_in_bytes": NO_LIMIT_V1}, (PHYSICAL, "this machine")),
        ("", {}, (PHYSICAL, "this machine")),
    ],
    ids=[
        "v2, a container",
        "v2, no limit",
        "v2, the root has no such files",
        "v2, that of a group above",
        "v2, the less of two",
        "v2, throttled before",
        "v2, a path outside of what is shown",
        "v1, a container",
        "v1, a group",
        "v1, no limit",
        "none",
    ],
)
def test_the_least_limit_counts(tmp_path: Path, own: str, files: dict[str, str], expected: tuple[int, str]) -> None:
    assert found(tmp_path, own, files) == expected


def test_without_proc_the_machine_s_memory_counts(tmp_path: Path) -> None:
    assert memory_limit(tmp_path / "proc", tmp_path / "cgroup") == (PHYSICAL, "this machine")


def test_here_the_limit_is_no_more_than_the_machine_has() -> None:
    assert 0 < memory_limit().bytes <= PHYSICAL


# the index's share


@pytest.mark.parametrize(
    ("limit", "processes", "expected"),
    [
        (4 * GIB, 2, int(0.7 * 4096) - 2 * PARSER_MIB),
        (64 * GIB, 8, int(0.7 * 65536) - 8 * PARSER_MIB),
        (4 * GIB, 1, int(0.7 * 4096) - PARSER_MIB),
    ],
    ids=["a pod", "a machine", "one parser"],
)
def test_auto_is_seven_tenths_less_what_the_parsers_may_take(limit: int, processes: int, expected: int) -> None:
    memory = index_memory(settings(f"page.processes={processes}"), MachineMemory(limit * MIB, "here"))
    assert (memory.mib, memory.warning, memory.computed) == (expected, "", True)
    assert memory.account == f"70% of {limit} MiB (here), less {processes} parsers of up to {PARSER_MIB} MiB"


def test_where_the_parsers_could_take_everything_the_index_may_take_a_fifth_and_somebody_hears_of_it() -> None:
    memory = index_memory(settings("page.processes=8"), MachineMemory(2 * GIB * MIB, "here"))
    assert memory.mib == 409
    assert f"auto: 70% of 2048 MiB (here), less 8 parsers of up to {PARSER_MIB} MiB leaves 0 MiB" in memory.warning
    assert "Set page.processes or page.memory_mb lower, or index.memory_mb itself" in memory.warning


@pytest.mark.parametrize("cores", [1, 3, 64])
def test_without_page_processes_there_is_a_parser_a_core(cores: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: cores)
    memory = index_memory(settings(), MachineMemory(100 * GIB * MIB, "here"))
    assert memory.mib == int(0.7 * 102400) - cores * PARSER_MIB


@pytest.mark.parametrize("given", [0, 1, 5000])
def test_a_number_is_taken_as_it_is(given: int) -> None:
    memory = index_memory(settings(f"index.memory_mb={given}"), MachineMemory(MIB, "here"))
    assert (memory.mib, memory.warning, memory.computed) == (given, "", False)


# freed memory

GLIBC: Final = platform.libc_ver()[0] == "glibc"
MAPPED_AFTER_A_LARGE_ONE: Final = """
import ctypes, sys
from worker.compose.machine import give_back_freed_memory

class Account(ctypes.Structure):
    names = "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost"
    _fields_ = [(name, ctypes.c_size_t) for name in names.split()]

if sys.argv[1] == "on":
    give_back_freed_memory()
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.free.argtypes = [ctypes.c_void_p]
libc.mallinfo2.restype = Account
libc.free(libc.malloc(30 << 20))
before = libc.mallinfo2().hblks
libc.malloc(1 << 20)
print(libc.mallinfo2().hblks - before)
"""


@pytest.mark.skipif(not GLIBC, reason="only glibc has what is set here")
@pytest.mark.parametrize(("when", "mapped"), [("off", 0), ("on", 1)])
def test_a_large_block_can_be_given_back_even_after_a_larger_one_was_freed(when: str, mapped: int) -> None:
    seen = subprocess.run(
        [sys.executable, "-c", MAPPED_AFTER_A_LARGE_ONE, when], capture_output=True, text=True, check=True
    )
    assert int(seen.stdout) == mapped
