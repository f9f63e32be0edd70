"""The circumstances that a measurement depends on: the machine, the day, the versions."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Final

_CPUINFO: Final = Path("/proc/cpuinfo")
_MEMINFO: Final = Path("/proc/meminfo")


def machine(versions: Sequence[str]) -> str:
    """The machine, the day and the versions, in a line."""
    cpu = next((line.split(":")[1].strip() for line in _lines(_CPUINFO) if line.startswith("model name")), "CPU")
    memory = next((int(line.split()[1]) >> 20 for line in _lines(_MEMINFO) if line.startswith("MemTotal")), 0)
    wide = "with" if any("avx512f" in line for line in _lines(_CPUINFO)) else "without"
    return (
        f"{cpu}, {os.cpu_count()} cores {wide} AVX-512, {memory} GiB; {datetime.now(UTC):%Y-%m-%d}; Python "
        f"{platform.python_version()}, numpy {version('numpy')}, numba {version('numba')}"
        + ("; " + ", ".join(versions) if versions else "")
    )


def _lines(file: Path) -> list[str]:
    return file.read_text().splitlines() if file.is_file() else []
