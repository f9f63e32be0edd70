"""Counts the pages of each job that this process has put on Kafka, and knows which counts the topic ``jobs`` has.

Pages from a spool count for their own job, which may be an earlier one. Counts that an earlier run could not report any
more lie in the spool next to its pages; the process that sends the pages reports the counts too.
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
    """A job and its spider."""

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
        """Note that the run publishes pages of this job from now on."""
        with self._lock:
            self._pages[Whose(job, spider)] += 0

    def inherit(self, marks: Iterable[JobMark]) -> None:
        """Take over the marks that earlier runs could not report."""
        with self._lock:
            self._inherited += marks

    def count(self, page: PageRecord) -> None:
        """Count a page that Kafka has."""
        headers = dict(page.headers)
        job, spider = headers.get("job"), headers.get("spider")
        if job is not None:
            with self._lock:
                self._pages[Whose(job.decode(), None if spider is None else spider.decode())] += 1

    def due(self, *, at_the_end: bool) -> list[JobMark]:
        """The marks that the topic lacks: that the run has begun or, ``at_the_end``, how many pages there were."""
        with self._lock:
            ours = [
                JobMark(job=whose.job, spider=whose.spider, run=self._run, pages=count if at_the_end else None)
                for whose, count in self._pages.items()
            ]
            return [mark for mark in (*self._inherited, *ours) if self._told.get(mark.key) != mark]

    def told(self, mark: JobMark) -> None:
        """Note that the topic has the mark."""
        with self._lock:
            self._told[mark.key] = mark
