"""How many pages of which job this process has put on Kafka, and what of that the topic ``jobs`` has been told.

Pages that come from a spool count for the job that they stand for, which may be an earlier one. What an earlier run
could not tell any more lies in the spool beside its pages, and is told by who sends them.
"""

from __future__ import annotations

import secrets
import threading
from collections import Counter
from collections.abc import Iterable
from typing import Final, NamedTuple

from crawler_plugin.record import PageRecord
from crawler_plugin.wire.outcomes import JobMark


class Whose(NamedTuple):
    """A job, and the spider of it."""

    job: str
    spider: str | None


class JobMarks:
    """The marks of one run. May be used from any thread."""

    def __init__(self) -> None:
        self._run: Final = secrets.token_hex(8)
        self._lock = threading.Lock()
        self._pages: Counter[Whose] = Counter()
        self._inherited: list[JobMark] = []
        self._told: dict[bytes, JobMark] = {}

    def begin(self, job: str, spider: str | None) -> None:
        """The run publishes pages of this job from now on."""
        with self._lock:
            self._pages[Whose(job, spider)] += 0

    def inherit(self, marks: Iterable[JobMark]) -> None:
        """What earlier runs have left to be told."""
        with self._lock:
            self._inherited += marks

    def count(self, page: PageRecord) -> None:
        """Kafka has this page."""
        headers = dict(page.headers)
        job, spider = headers.get("job"), headers.get("spider")
        if job is not None:
            with self._lock:
                self._pages[Whose(job.decode(), None if spider is None else spider.decode())] += 1

    def due(self, *, at_the_end: bool) -> list[JobMark]:
        """What the topic does not know: that the run has begun or, ``at_the_end``, how many pages it was."""
        with self._lock:
            ours = [
                JobMark(job=whose.job, spider=whose.spider, run=self._run, pages=count if at_the_end else None)
                for whose, count in self._pages.items()
            ]
            return [mark for mark in (*self._inherited, *ours) if self._told.get(mark.key) != mark]

    def told(self, mark: JobMark) -> None:
        """The topic has it."""
        with self._lock:
            self._told[mark.key] = mark
