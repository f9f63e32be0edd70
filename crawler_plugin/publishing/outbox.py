"""Pages on their way to Kafka: which may be sent, which are under way, and their outcomes. For use from any thread.

A page is in one of two places until it is confirmed or refused:

==========  ==============================================  ==========================================
place       comes there                                     leaves it
==========  ==============================================  ==========================================
waiting     with ``add``; with ``take_back``                with ``next``, first come, first served
under way   with ``next``                                   confirmed, refused, or taken back
==========  ==============================================  ==========================================

A page that was read from the spool stays in it, at its ``place``, until its place is in ``done_places``; the other
pages are in memory alone (``unspooled``).
"""

from __future__ import annotations

import itertools
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeAlias

from crawler_plugin.publishing.job_marks import JobMarks
from crawler_plugin.record import PageRecord

WINDOW_BYTES: Final = 16 * 1024 * 1024
"""The most pages under way at a time. kafka-python holds a copy of each; fewer would leave a fast broker idle between
two answers."""


Arrival: TypeAlias = Callable[[tuple[int, int] | None], None]
"""Called, in any thread, with the partition and offset at which Kafka has a page; with None where Kafka never will."""


class Sending(NamedTuple):
    """A page that goes out under this number. Sent again, it gets another number, so that late news of the first is
    recognised.

    ``place`` is its place in the spool, if it came from there. ``arrived`` is called once with its outcome.
    """

    number: int
    page: PageRecord
    cost: int
    place: int | None = None
    arrived: Arrival | None = None


class Notice(NamedTuple):
    """Something for the log: trouble with the broker, or its end."""

    is_trouble: bool
    message: str


@dataclass
class Report:
    """Everything that happened since the last report. ``freed`` holds the costs of all pages that are done with."""

    confirmed: int = 0
    freed: int = 0
    refused: list[PageRecord] = field(default_factory=list)
    cut: list[PageRecord] = field(default_factory=list)
    send_errors: int = 0
    notices: list[Notice] = field(default_factory=list)


class Outbox:
    """``wake`` is called without the lock, in any thread, when there is a report; it is not called again until the
    report is collected.

    ``marks`` counts each confirmed page before the outbox is empty. Pages gather until they have ``gathered_bytes``,
    then they go out.
    """

    def __init__(
        self,
        wake: Callable[[], None],
        clock: Callable[[], float] = time.monotonic,
        marks: JobMarks | None = None,
        gathered_bytes: int = WINDOW_BYTES,
    ) -> None:
        self._wake = wake
        self._gathered_bytes = gathered_bytes
        self._clock = clock
        self._marks = marks or JobMarks()
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        """``next`` waits for this."""
        self._urgent = threading.Condition(self._lock)
        """Wakes ``gather``."""
        self._waiting: deque[Sending] = deque()
        self._waiting_bytes = 0
        self._under_way: dict[int, Sending] = {}
        self._under_way_bytes = 0
        self.spooled_bytes = 0
        """Bytes of the pages here that came from the spool."""
        self._done: list[int] = []
        self._numbers = itertools.count()
        self._failure: Exception | None = None
        self._report = Report()
        self._is_told = False
        self._is_given_up = False
        self.confirmed = 0
        """Pages confirmed since the beginning."""
        self._progress_at = clock()

    def add(self, page: PageRecord, cost: int, place: int | None = None, arrived: Arrival | None = None) -> None:
        """Add a page; ``cost`` comes back in a report when the page is done with."""
        with self._lock:
            if not self._has_pages():
                self._progress_at = self._clock()
            self._waiting.append(Sending(-1, page, cost, place, arrived))
            self._waiting_bytes += page.size
            if place is not None:
                self.spooled_bytes += page.size
            self._changed.notify_all()
            if self._waiting_bytes >= self._gathered_bytes:
                self._urgent.notify_all()

    def next(self, timeout: float) -> Sending | None:
        """The page to send now, which counts as under way from here on.

        Waits up to ``timeout`` seconds for a page. Returns None after that time, or when something else changes.

        Raises:
            Exception: the error that ``fail`` got; nothing goes out until ``take_back``.
        """
        with self._lock:
            if self._failure is None and not self._may_send():
                self._changed.wait(timeout)
            if self._failure is not None:
                raise self._failure
            return self._send() if self._may_send() else None

    def gather(self, seconds: float) -> None:
        """Let pages gather for this time, so that they go out together; returns early when there are enough, on
        failure, and when stirred.
        """
        with self._lock:
            if self._failure is None and self._waiting_bytes < self._gathered_bytes:
                self._urgent.wait(seconds)

    def confirm(self, number: int, at: tuple[int, int]) -> None:
        """Note that Kafka has the page of this sending, at this partition and offset.

        Late news of a page that was taken back changes nothing.
        """
        with self._lock:
            if (sending := self._leave(number)) is None:
                return
            self._marks.count(sending.page)
            self._report.confirmed += 1
            self._report.freed += sending.cost
            self.confirmed += 1
        if sending.arrived is not None:
            sending.arrived(at)
        self._tell()

    def refuse(self, number: int) -> None:
        """Give up the page of this sending: it is too large for the topic."""
        with self._lock:
            if (sending := self._leave(number)) is None:
                return
            self._report.refused.append(sending.page)
            self._report.freed += sending.cost
        if sending.arrived is not None:
            sending.arrived(None)
        self._tell()

    def fail(self, number: int, error: Exception) -> bool:
        """Note that this sending failed, so that its producer must be replaced; says whether it was the first to
        fail."""
        with self._lock:
            if number not in self._under_way or self._failure is not None:
                return False
            self._failure = error
            self._hurry()
            return True

    def take_back(self) -> None:
        """Let the pages under way wait again, in order, before all others: their producer is gone."""
        with self._lock:
            self._waiting.extendleft(reversed(self._under_way.values()))
            self._waiting_bytes += self._under_way_bytes
            self._under_way.clear()
            self._under_way_bytes = 0
            if self._failure is not None:
                self._report.send_errors += 1
            self._failure = None
        self._tell()

    def give_up(self) -> None:
        """Send nothing any more, and ignore news of pages under way: the pages that are here stay here."""
        self.take_back()
        with self._lock:
            self._is_given_up = True

    def cut(self, page: PageRecord) -> None:
        """Report that only the beginning of this page is sent."""
        with self._lock:
            self._report.cut.append(page)
        self._tell()

    def note(self, notice: Notice) -> None:
        """Put something into the report."""
        with self._lock:
            self._report.notices.append(notice)
        self._tell()

    def collect(self) -> Report:
        """Everything that happened since the last call."""
        with self._lock:
            report, self._report = self._report, Report()
            self._is_told = False
            return report

    def stir(self) -> None:
        """Let ``next`` and ``gather`` return."""
        with self._lock:
            self._hurry()

    def done_places(self) -> list[int]:
        """Places in the spool of the pages that were finished since the last call."""
        with self._lock:
            done, self._done = self._done, []
            return done

    @property
    def unspooled(self) -> list[PageRecord]:
        """Pages whose outcome is open and which are in memory alone, in the order in which they would go."""
        with self._lock:
            every = (*self._under_way.values(), *self._waiting)
            return [sending.page for sending in every if sending.place is None]

    @property
    def count(self) -> int:
        """The number of pages whose outcome is open."""
        with self._lock:
            return len(self._under_way) + len(self._waiting)

    @property
    def is_empty(self) -> bool:
        """Whether every page is done with."""
        with self._lock:
            return not self._has_pages()

    @property
    def silence(self) -> float:
        """Seconds since the last news of a page, or since the first page came; 0 without pages."""
        with self._lock:
            return self._clock() - self._progress_at if self._has_pages() else 0.0

    def _has_pages(self) -> bool:
        return bool(self._waiting or self._under_way)

    def _may_send(self) -> bool:
        if not self._waiting or self._is_given_up:
            return False
        return not self._under_way or self._under_way_bytes + self._waiting[0].page.size <= WINDOW_BYTES

    def _send(self) -> Sending:
        sending = self._waiting.popleft()._replace(number=next(self._numbers))
        self._under_way[sending.number] = sending
        self._waiting_bytes -= sending.page.size
        self._under_way_bytes += sending.page.size
        return sending

    def _leave(self, number: int) -> Sending | None:
        sending = self._under_way.pop(number, None)
        if sending is not None:
            self._under_way_bytes -= sending.page.size
            self._progress_at = self._clock()
            if sending.place is not None:
                self.spooled_bytes -= sending.page.size
                self._done.append(sending.place)
            if self._waiting or not self._under_way:  # nothing else is waited for, and each waking costs the crawl
                self._changed.notify_all()
        return sending

    def _hurry(self) -> None:
        self._changed.notify_all()
        self._urgent.notify_all()

    def _tell(self) -> None:
        with self._lock:
            if self._is_told or self._report == Report():
                return
            self._is_told = True
        self._wake()
