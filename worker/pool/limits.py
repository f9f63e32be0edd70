"""Time as it counts against a page: what its process computes, and what passes while somebody watches it.

A page has its limit in CPU seconds, since those do not pass while the machine sleeps, is paused, or gives its cores to
others. A page that hangs without computing is found by the time that passes; of that only what the parent saw counts.
"""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, NamedTuple

LOOK_SECONDS: Final = 1.0
"""The parent looks at its children at least as often, where it can."""


class Watched:
    """Seconds during which the parent was there to look.

    Between two looks no more than ``LOOK_SECONDS`` pass: a parent that was away for longer was paused together with
    its children, or was busy and has not seen yet what they answered meanwhile.

    Args:
        clock: seconds, monotonic.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._looked = clock()
        self.seconds = 0.0
        """As of the last look."""

    def look(self) -> float:
        """Now."""
        now = self._clock()
        self.seconds += min(max(0.0, now - self._looked), LOOK_SECONDS)
        self._looked = now
        return self.seconds


class CpuClock:
    """What a child process of this one has computed, in seconds."""

    def __init__(self, pid: int) -> None:
        number = ctypes.c_int()
        error = _LIBC.clock_getcpuclockid(pid, ctypes.byref(number))
        if error:
            raise OSError(error, os.strerror(error))
        self._number = number.value
        self._last = 0.0

    def __call__(self) -> float:
        """Of all its threads; of a process that has ended, as it was last asked for."""
        with suppress(OSError):
            self._last = max(self._last, time.clock_gettime(self._number))
        return self._last


@dataclass(frozen=True, slots=True)
class PageLimits:
    """What a page may take: CPU seconds, and seconds under watch."""

    cpu: float
    watched: float


class Spell(NamedTuple):
    """When a page came to have its process for itself, by both clocks."""

    cpu: float
    watched: float

    def overdue(self, cpu: float, watched: float, limits: PageLimits) -> str | None:
        """How it exceeds the limits at these times, in words; None while it does not."""
        if cpu - self.cpu >= limits.cpu:
            return f"no end after {limits.cpu:g} s of CPU time (page.timeout_seconds)"
        if watched - self.watched >= limits.watched:
            return (
                f"no end after {limits.watched:g} s, with {cpu - self.cpu:.2g} s of CPU time "
                f"({limits.watched / limits.cpu:g} times page.timeout_seconds)"
            )
        return None

    def left(self, cpu: float, watched: float, limits: PageLimits) -> float:
        """Seconds within which it cannot exceed them."""
        return min(limits.cpu - (cpu - self.cpu), limits.watched - (watched - self.watched))


_LIBC: Final = ctypes.CDLL(None)
