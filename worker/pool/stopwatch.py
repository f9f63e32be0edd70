"""Measures the CPU seconds of each stage of a parsing process; that takes a microsecond a page."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable
from typing import Final

START: Final = "start"
"""From the start of the process until its task is made: interpreter, imports, dictionary."""
PIPES: Final = "pipes"
"""Reading pages from the parent and writing results to it; all work of a task that names no stages is here, too."""

WATCHED: Final = 4
"""One page in this many is measured: reading the CPU time is a system call, which takes most of a microsecond."""
REPORT_SECONDS: Final = 0.1
"""The least time between two reports. Time that a process had not reported when it died is lost; reports cost time."""


class Stopwatch:
    """Divides the CPU time of this process among the stages that it names, one at a time.

    All CPU time is reported; its division among the stages is measured on one page of ``WATCHED``. (Elapsed time is
    cheaper to read, but misleads: a busy machine takes the core from a process mostly when that reads or writes.)

    Args:
        cpu: CPU seconds of this process since its birth.
        clock: seconds, monotonic.
    """

    def __init__(
        self, cpu: Callable[[], float] = time.process_time, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._cpu = cpu
        self._clock = clock
        self._stage = START
        self._since = 0.0
        self._watching = True
        self._pages = 0
        self._took: defaultdict[str, float] = defaultdict(float)
        self._reported = 0.0
        self._due = clock()

    def begin(self, stage: str) -> None:
        """End the current stage, and begin this one."""
        if self._watching:
            now = self._cpu()
            self._took[self._stage] += now - self._since
            self._stage, self._since = stage, now

    def end_page(self) -> None:
        """End the page's last stage; the time until the first stage of the next page counts as pipes."""
        self.begin(PIPES)
        self._pages += 1
        watched, self._watching = self._watching, self._pages % WATCHED == 0
        if self._watching and not watched:
            self._since = self._cpu()

    @property
    def due(self) -> bool:
        """Whether there is something to report, and it is time for it."""
        return bool(self._took) and self._clock() >= self._due

    def report(self) -> dict[str, float]:
        """CPU seconds of each stage since the last report; they add up to those of the process."""
        self._due = self._clock() + REPORT_SECONDS
        together = sum(self._took.values())
        if not together:
            return {}
        spent = self._cpu() - self._reported
        self._reported += spent
        shares = {stage: spent * took / together for stage, took in self._took.items()}
        self._took.clear()
        return shares
