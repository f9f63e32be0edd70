"""What the stages of a parsing process take: CPU seconds, without a system call a page."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable
from typing import Final

START: Final = "start"
"""From the birth of the process to its task being made: interpreter, imports, dictionary."""
PIPES: Final = "pipes"
"""Pages from the parent and results to it; and whatever a task that names no stages does."""
WAITING: Final = "waiting"
"""For the next page; takes no CPU time, and is reported by nobody."""

REPORT_SECONDS: Final = 0.1
"""Between two reports. Less would cost more; what was not reported when a process dies, or idles, is not seen."""


class Stopwatch:
    """Shares out the CPU time of this process among the stages that it says it is in, one at a time.

    Asking for CPU time is a system call and takes ten times as long as asking for the time of day. So CPU time is read
    once a report, and shared out by the time of day that the stages took: waiting for a core meets them by their
    length, as their CPU time does.

    Args:
        clock: seconds, monotonic.
        cpu: CPU seconds of this process since its birth.
    """

    def __init__(
        self, clock: Callable[[], float] = time.perf_counter, cpu: Callable[[], float] = time.process_time
    ) -> None:
        self._clock = clock
        self._cpu = cpu
        self._stage = START
        self._since = clock()
        self._took: defaultdict[str, float] = defaultdict(float)
        self._reported = 0.0
        self._due = self._since

    def begin(self, stage: str) -> None:
        """The stage until now has ended, and this one begins."""
        now = self._clock()
        self._took[self._stage] += now - self._since
        self._stage, self._since = stage, now

    @property
    def due(self) -> bool:
        """Whether a report is due, as of the last ``begin``; the first one is at once."""
        return self._since >= self._due

    def report(self) -> dict[str, float]:
        """CPU seconds of each stage since the last report, of the stages that have ended."""
        self._due = self._since + REPORT_SECONDS
        self._took.pop(WAITING, None)
        together = sum(self._took.values())
        if not together:
            return {}
        spent = self._cpu() - self._reported
        self._reported += spent
        shares = {stage: spent * took / together for stage, took in self._took.items()}
        self._took.clear()
        return shares
