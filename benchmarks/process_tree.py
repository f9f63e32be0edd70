"""Run a command and measure it: time, CPU time and memory of all its processes together."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_LOOK_SECONDS: Final = 0.2
_COUNTED: Final = ("Pss_Anon:", "Pss_Shmem:")


@dataclass(frozen=True)
class ProcessTree:
    """The time and memory of a command.

    ``cpu`` has the CPU seconds of the process and of all processes that it waited for. ``peak_mib`` is the most
    memory of its processes in any of the measurements, five a second: shared memory counts once, and memory that can
    be read again from a file not at all. ``code`` is None for a command that was killed because its time was over.
    """

    wall: float
    cpu: float
    peak_mib: float
    code: int | None


def run_command(
    command: Sequence[str], log: Path, most_seconds: float, environ: Mapping[str, str] | None = None
) -> ProcessTree:
    """Run it to its end, or until its time is over; its output goes to ``log``."""
    peak = 0
    with log.open("wb") as output:
        begun = time.perf_counter()
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=None if environ is None else {**os.environ, **environ},
        )
        over = False
        while True:
            ended, status, usage = os.wait4(process.pid, os.WNOHANG)
            wall = time.perf_counter() - begun
            if ended:
                break
            if not over and wall > most_seconds:
                over = True
                for each in _tree(process.pid):
                    with suppress(ProcessLookupError):
                        os.kill(each, signal.SIGKILL)
            peak = max(peak, sum(map(_memory, _tree(process.pid))))
            time.sleep(_LOOK_SECONDS)
        process.returncode = os.waitstatus_to_exitcode(status)
    return ProcessTree(wall, usage.ru_utime + usage.ru_stime, peak / 1024, None if over else process.returncode)


def cpu_seconds(root: int) -> float:
    """CPU time of a process, of all that come of it, and of those that they have waited for, so far."""
    ticks = 0
    for process in _tree(root):
        with suppress(OSError):
            ticks += sum(map(int, Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def _tree(root: int) -> list[int]:
    """The process and all its descendants that still run."""
    children: dict[int, list[int]] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with suppress(OSError):
                parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
                children.setdefault(parent, []).append(int(folder.name))
    found = [root]
    for process in found:  # which grows in this loop
        found += children.get(process, [])
    return found


def _memory(process: int) -> int:
    """In KiB; 0 for a process that has ended."""
    with suppress(OSError):
        rows = map(str.split, Path(f"/proc/{process}/smaps_rollup").read_text().splitlines())
        return sum(int(row[1]) for row in rows if row[0] in _COUNTED)
    return 0
