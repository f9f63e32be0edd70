"""Catches requests to stop a process. This module imports next to nothing, so that it works at once."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Final

FOR_GOOD: Final = signal.SIGUSR1
"""Asks a worker to stop that will not be started again."""


class AskedToStop:
    """SIGTERM, SIGINT and ``FOR_GOOD``, remembered from when this object is made: a request that comes while the worker
    starts counts, too."""

    def __init__(self) -> None:
        self.for_good = False
        """Whether ``FOR_GOOD`` was among the requests."""
        self._by: int | None = None
        self._stop: Callable[[], None] | None = None
        self._before = {
            number: signal.signal(number, self._ask) for number in (signal.SIGTERM, signal.SIGINT, FOR_GOOD)
        }

    def by_now(self) -> bool:
        """Whether the process was asked to stop."""
        return self._by is not None

    def tell(self, stop: Callable[[], None]) -> None:
        """Call ``stop`` when the process is asked to stop; at once, if it was asked before."""
        self._stop = stop
        if self._by is not None:
            stop()

    def leave(self) -> None:
        """Restore what signals did before this object was made; a signal that came in between takes effect now."""
        for number, handler in self._before.items():
            signal.signal(number, handler)
        if self._by is not None:
            signal.raise_signal(self._by)

    def _ask(self, number: int, frame: FrameType | None) -> None:
        self._by = number
        self.for_good |= number == FOR_GOOD
        if self._stop is not None:
            self._stop()


def interrupt() -> None:
    """For ``AskedToStop.tell``, while nothing has begun that must end in order."""
    raise KeyboardInterrupt


@contextmanager
def unwound_by(signals: Sequence[signal.Signals], end: Callable[[int], None]) -> Iterator[None]:
    """The first of these signals calls ``end``, which raises, so that the block is left in order; others do nothing."""

    def unwind(number: int, frame: FrameType | None) -> None:
        for each in signals:
            signal.signal(each, signal.SIG_IGN)
        end(number)

    before = {each: signal.signal(each, unwind) for each in signals}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
