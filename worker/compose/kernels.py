"""``python -m worker.compose.kernels index|pages``: compile what workers run, where numba keeps it for them.

At its first start each of a worker's parsers would do so by itself, all of them at the same time.
"""

from __future__ import annotations

import importlib
import logging
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from worker.index.shard import compiled_tables
from worker.observe.compile_progress import compiling

PARTS: Final = ("index", "pages")
"""Each takes a core about a quarter of a minute."""
_OF_PAGES: Final = ("worker.page", "worker.fingerprint")

_log = logging.getLogger(__name__)


def main(part: str) -> None:
    """Compile one part, and print how far that is."""
    with compiling(lambda step: print(step, flush=True)):
        compile_part(part)


def compile_part(part: str) -> None:
    """Compile it in this process, or take it from numba's cache."""
    if part == "index":
        compiled_tables()
    else:
        _import_pages()
        from worker.compiling import load_entries

        load_entries(*_OF_PAGES)


@contextmanager
def pages_compiled(report: Callable[[str], None]) -> Iterator[None]:
    """Beside what is done in it, a process of its own compiles what parsers run, if that is needed. It comes back when
    both are done, and reports each step.

    Raises:
        UsageError: numba cannot run here.
    """
    _import_pages()
    from worker.compiling import are_cached

    if are_cached(*_OF_PAGES):
        yield
        return
    report("compiling what reads pages for this machine")
    _log.info("compiling what reads pages for this machine, in a process of its own: about half a minute of a core")
    command = [sys.executable, "-m", "worker.compose.kernels", "pages"]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield
            for step in process.stdout or ():
                report(step.rstrip("\n"))
        except BaseException:
            process.kill()
            raise
    _log.info("compiled what reads pages")


def _import_pages() -> None:
    for module in ("worker.fingerprint.fingerprinter", "worker.page.main_text.content"):
        importlib.import_module(module)


if __name__ == "__main__":
    main(sys.argv[1])
