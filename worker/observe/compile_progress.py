"""Says that functions are being compiled, which a first start does for half a minute of a core or more."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_log = logging.getLogger(__name__)


@contextmanager
def compiling(report: Callable[[str], None], clock: Callable[[], float] = time.monotonic) -> Iterator[None]:
    """Around what may compile: one line in the log when it begins to and one at the end, and each step reported.

    Nothing is said where all is cached.

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
                "compiling for this machine, as numba's cache (NUMBA_CACHE_DIR) does not hold it yet: half a "
                "minute of a core or more. The parsing processes and later starts take it from there"
            )
        tell()

    def ends() -> None:
        nonlocal functions
        functions += 1
        tell()

    def tell() -> None:
        report(f"compiling for this machine: {functions} functions done, for {clock() - (begun or 0.0):.0f} s now")

    with each_compilation(begins, ends):
        yield
    if begun is not None:
        _log.info("compiled %d functions in %.1f s", functions, clock() - begun)
