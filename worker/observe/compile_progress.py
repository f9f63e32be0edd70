"""Tells people that functions are being compiled: at a first start that takes half a minute of a core or more."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

FUNCTIONS_LOGGED: Final = 50
"""One function in this many, of five hundred, has a line of the log."""

_log = logging.getLogger(__name__)


@contextmanager
def compiling(report: Callable[[str], None], clock: Callable[[], float] = time.monotonic) -> Iterator[None]:
    """Goes around code that may compile: logs when compiling begins and ends, and reports each step.

    One in ``FUNCTIONS_LOGGED`` is logged, too. If all functions are cached it logs nothing.

    Raises:
        UsageError: numba cannot run here.
    """
    from worker.compiling import each_compilation

    begun: float | None = None
    functions = 0

    def begins() -> None:
        nonlocal begun
        if begun is None:
            begun = clock()
            _log.info(
                "compiling for this machine, because numba's cache (NUMBA_CACHE_DIR) does not hold the code yet: this "
                "takes a core half a minute or more. The parsing processes and later starts read it from the cache"
            )
        tell()

    def ends() -> None:
        nonlocal functions
        functions += 1
        step = tell()
        if functions % FUNCTIONS_LOGGED == 0:
            _log.info("%s", step)

    def tell() -> str:
        step = f"compiling for this machine: {functions} functions done, for {clock() - (begun or 0.0):.0f} s now"
        report(step)
        return step

    with each_compilation(begins, ends):
        yield
    if begun is not None:
        _log.info("compiled %d functions in %.1f s", functions, clock() - begun)
