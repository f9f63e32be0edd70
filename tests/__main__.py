"""``python -m tests [pytest's arguments]``: every check there is, pytest last. All are made even when one fails."""

from __future__ import annotations

import compileall
import os
import subprocess
import sys
from pathlib import Path
from typing import Final

from worker.compose.kernels import PARTS

ROOT: Final = Path(__file__).resolve().parent.parent

SIDE_BY_SIDE: Final = ["-n", "3", "--dist", "loadfile", "--no-loadscope-reorder"]
"""Three on two cores: a quarter of its time a test waits for a broker, a process or the end of a session. In the order
of their names, which puts the longest files first (cli, cluster): no process ends long after the others."""

CHECKS: Final = {
    # Without a cache: which group an import belongs to depends on the folders beside it, and ruff remembers a file's
    # verdict until the file itself changes.
    "lint": [sys.executable, "-m", "ruff", "check", "--no-cache", "."],
    "format": [sys.executable, "-m", "ruff", "format", "--no-cache", "--check", "."],
    "types": [sys.executable, "-m", "mypy"],
    "imports": [str(Path(sys.executable).with_name("lint-imports")), "--no-cache", "--no-logo"],
    "docs": [sys.executable, "-m", "tools.docs"],
}


def main(arguments: list[str]) -> int:
    """0 if every check passes, else 1. While the other checks are made, what tests run is compiled beside them.

    Hundreds of processes are started by the tests. Where Python writes no bytecode (PYTHONDONTWRITEBYTECODE), each of
    them would read all modules as text.
    """
    os.environ.setdefault("NUMBA_CACHE_DIR", str(Path(sys.prefix) / "kernels"))
    for package in ("worker", "crawler_plugin", "tests", "tools"):
        compileall.compile_dir(ROOT / package, quiet=2)
    kernels = [subprocess.Popen([sys.executable, "-m", "worker.compose.kernels", part], cwd=ROOT) for part in PARTS]
    failed = [name for name, command in CHECKS.items() if not passes(name, command)]
    failed += [f"kernels of {part}" for part, process in zip(PARTS, kernels, strict=True) if process.wait()]
    if failed:
        print(f"== failed: {', '.join(failed)}", flush=True)
    # Last, and nothing printed after it: its summary is the end of the output.
    all_tests_pass = passes("tests", [sys.executable, "-m", "pytest", *SIDE_BY_SIDE, *arguments])
    return 0 if all_tests_pass and not failed else 1


def passes(name: str, command: list[str]) -> bool:
    """Make one check; it prints what it finds."""
    print(f"== {name}", flush=True)
    return subprocess.run(command, cwd=ROOT, check=False).returncode == 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
