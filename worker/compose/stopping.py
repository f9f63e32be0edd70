"""Being asked to stop, heard from the first moment on. Imports next to nothing, so that it can be had at once."""

from __future__ import annotations

import signal
from collections.abc import Callable
from types import FrameType


class AskedToStop:
    """SIGTERM and SIGINT, remembered from when this is made on: who asks while the worker starts is heard, too."""

    def __init__(self) -> None:
        self._by: int | None = None
        self._stop: Callable[[], None] | None = None
        self._before = {number: signal.signal(number, self._ask) for number in (signal.SIGTERM, signal.SIGINT)}

    def by_now(self) -> bool:
        """Whether it was asked for."""
        return self._by is not None

    def tell(self, stop: Callable[[], None]) -> None:
        """Call this when it is asked for, at once if it was."""
        self._stop = stop
        if self.by_now():
            stop()

    def leave(self) -> None:
        """Signals do again what they did before this was made, and the one that came meanwhile does it now."""
        for number, handler in self._before.items():
            signal.signal(number, handler)
        if self._by is not None:
            signal.raise_signal(self._by)

    def _ask(self, number: int, frame: FrameType | None) -> None:
        self._by = number
        if self._stop is not None:
            self._stop()
