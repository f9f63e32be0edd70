"""``python -m worker.compose.kernels index|pages``: compile the kernels of workers, into numba's cache.

Otherwise each worker, and each of its parsers, would compile them at its first start, all at the same time, and keep
the memory that this takes.
"""

from __future__ import annotations

import gc
import importlib
import logging
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from typing import Final, NamedTuple

from worker.observe.compile_progress import compiling


class _Part(NamedTuple):
    modules: tuple[str, ...]
    packages: tuple[str, ...]


_PARTS: Final = {
    "index": _Part(
        (
            "worker.index.tables",
            "worker.index.kernels.in_batch",
            "worker.index.kernels.titles",
            "worker.fingerprint.text_reader",
            "worker.verdict.kernels.titles",
        ),
        ("worker.index", "worker.fingerprint", "worker.verdict"),
    ),
    "pages": _Part(("worker.fingerprint.fingerprinter",), ("worker.page",)),
}
PARTS: Final = tuple(_PARTS)
"""Index and fingerprints take a core about as long as pages: a third of a minute."""
_GARBAGE: Final = (20_000, 20, 50)
"""A compiler makes little garbage: looking for it less often than by default saves a tenth of the time."""

_MAIN: Final = "import sys; sys.path[:] = sys.argv[2:]; from worker.compose.kernels import main; main(sys.argv[1])"
"""The program of a process that compiles. It finds the same modules as this one, whatever the current folder holds."""

_STEPS_LOGGED: Final = 100
"""One function in this many, of a thousand: a line of the log in five seconds of a core, or ten of a busy one."""

_log = logging.getLogger(__name__)


def main(part: str) -> None:
    """Compile one part, and print the progress."""
    with compiling(lambda step: _print_whole(f"{step} ({part})\n")):
        compile_part(part)


def _print_whole(line: str) -> None:
    """In one write, which two processes on one pipe cannot mix; ``print`` makes two under ``PYTHONUNBUFFERED``."""
    os.write(sys.stdout.fileno(), line.encode())


def compile_part(part: str) -> None:
    """Compile it in this process, which should do nothing else, or load it from numba's cache.

    Raises:
        UsageError: numba cannot run here.
    """
    from worker.compiling import load_entries, must_compile

    must_compile()
    gc.set_threshold(*_GARBAGE)
    _import(part)
    load_entries(*_PARTS[part].packages)


def compile_apart(report: Callable[[str], None] = lambda step: None) -> None:
    """Compile those parts that numba's cache does not hold, in processes of their own, side by side; each step is
    reported, and the log says what takes so long. Later calls take some twenty milliseconds.

    Raises:
        UsageError: numba cannot run here.
    """
    missing = [part for part in PARTS if not _is_cached(part)]
    if not missing:
        return
    report("compiling for this machine")
    _log.info(
        "compiling for this machine, because numba's cache (NUMBA_CACHE_DIR) does not hold the code yet: this takes a "
        "core half a minute or more. Later starts read it from the cache"
    )
    with ExitStack() as running:
        reading, writing = os.pipe()
        steps = running.enter_context(os.fdopen(reading, encoding="utf-8"))
        with os.fdopen(writing, "wb") as told:  # by all of them, so that steps come in the order of time
            processes = [
                running.enter_context(
                    subprocess.Popen(
                        [sys.executable, "-c", _MAIN, part, *sys.path], stdin=subprocess.DEVNULL, stdout=told
                    )
                )
                for part in missing
            ]
        for process in processes:
            running.callback(process.kill)
        for number, step in enumerate(steps, start=1):
            report(step.rstrip("\n"))
            if number % _STEPS_LOGGED == 0:
                _log.info(step.rstrip("\n"))
    _log.info("compiled %s", " and ".join(missing))


def _is_cached(part: str) -> bool:
    from worker.compiling import are_cached

    _import(part)
    return are_cached(*_PARTS[part].packages)


def _import(part: str) -> None:
    for module in _PARTS[part].modules:
        importlib.import_module(module)


if __name__ == "__main__":
    main(sys.argv[1])
