"""``python -m tests [pytest's arguments]``: runs every check, pytest last. All run even when one fails."""

from __future__ import annotations

import compileall
import os
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryFile
from typing import BinaryIO, Final

from worker.compose.kernels import PARTS

ROOT: Final = Path(__file__).resolve().parent.parent

SIDE_BY_SIDE: Final = ["-n", "3", "--dist", "loadfile", "--no-loadscope-reorder"]
"""Three processes on two cores: a test spends a quarter of its time waiting for a broker, a process or the end of a
session. Files run in the order of their names, which puts the longest files first (cli, cluster), so that no process
ends long after the others."""

CLASSES: Final = Path(sys.prefix) / "kafka.jsa"
PREPARED: Final = {
    **{f"kernels of {part}": [sys.executable, "-m", "worker.compose.kernels", part] for part in PARTS},
    "classes of Kafka": [sys.executable, "-m", "tests.broker.class_cache", str(CLASSES)],
}
"""Things that the tests need are made once, while the checks run."""
CHECKS: Final = {
    # Without a cache: the group of an import depends on the folders next to it, and ruff remembers a file's verdict
    # until the file itself changes.
    "lint": [sys.executable, "-m", "ruff", "check", "--no-cache", "."],
    "format": [sys.executable, "-m", "ruff", "format", "--no-cache", "--check", "."],
    "types": [sys.executable, "-m", "mypy"],
    "imports": [str(Path(sys.executable).with_name("lint-imports")), "--no-cache", "--no-logo"],
    "docs": [sys.executable, "-m", "tools.docs"],
}


def main(arguments: list[str]) -> int:
    """0 if every check passes, else 1. All checks except pytest run in parallel, and the code that tests run is
    compiled at the same time.

    The tests start hundreds of processes. Where Python writes no bytecode (PYTHONDONTWRITEBYTECODE), each process would
    read all modules as text, and each start of Kafka all its classes.
    """
    os.environ.setdefault("NUMBA_CACHE_DIR", str(Path(sys.prefix) / "kernels"))
    for package in ("worker", "crawler_plugin", "tests", "tools"):
        compileall.compile_dir(ROOT / package, quiet=2)
    with ExitStack() as files:
        begun = [(name, *begin(command, files)) for name, command in (PREPARED | CHECKS).items()]
        failed = [name for name, process, said in begun if not passes(name, process, said)]
    if failed:
        print(f"== failed: {', '.join(failed)}", flush=True)
    if CLASSES.exists():
        os.environ["JDK_JAVA_OPTIONS"] = f"-XX:SharedArchiveFile={CLASSES}"
    # Last, and nothing printed after it: its summary is the end of the output.
    print("== tests", flush=True)
    tests = subprocess.run([sys.executable, "-m", "pytest", *SIDE_BY_SIDE, *arguments], cwd=ROOT, check=False)
    return 0 if tests.returncode == 0 and not failed else 1


def begin(command: list[str], files: ExitStack) -> tuple[subprocess.Popen[bytes], BinaryIO]:
    """Start one check; all its output goes to a file."""
    said = files.enter_context(TemporaryFile())  # noqa: SIM115
    return subprocess.Popen(command, cwd=ROOT, stdout=said, stderr=subprocess.STDOUT), said


def passes(name: str, process: subprocess.Popen[bytes], said: BinaryIO) -> bool:
    """Wait for a check, and print its findings; for a preparation, print only why it failed."""
    code = process.wait()
    said.seek(0)
    found = said.read().decode() if code or name not in PREPARED else ""
    print(f"== {name}\n{found}", end="", flush=True)
    return code == 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
