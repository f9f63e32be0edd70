"""Says that functions are being compiled, which a first start does for half a minute of a core or more."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

EVENT: Final = "numba:compile"
"""What numba tells of a function that it does not find in its cache."""

_log = logging.getLogger(__name__)


@contextmanager
def compiling(report: Callable[[str], None], clock: Callable[[], float] = time.monotonic) -> Iterator[None]:
    """Around what may compile: one line in the log when it begins to and one at the end, and each step reported.

    Nothing is said where all is cached, or where numba cannot run.
    """
    try:
        from numba.core import event
    except Exception:  # whatever keeps numba from running; the engine says so
        yield
        return
    begun: float | None = None
    functions = 0

    class Listener(event.Listener):  # type: ignore[misc]
        def on_start(self, _: Any) -> None:
            nonlocal begun
            if begun is None:
                begun = clock()
                _log.info(
                    "compiling for this machine, as numba's cache (NUMBA_CACHE_DIR) does not hold it yet: half a "
                    "minute of a core or more. The parsing processes and later starts take it from there"
                )
            self.tell()

        def on_end(self, _: Any) -> None:
            nonlocal functions
            functions += 1
            self.tell()

        def tell(self) -> None:
            report(f"compiling for this machine: {functions} functions done, for {clock() - (begun or 0.0):.0f} s now")

    with event.install_listener(EVENT, Listener()):
        yield
    if begun is not None:
        _log.info("compiled %d functions in %.1f s", functions, clock() - begun)
