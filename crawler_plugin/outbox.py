"""Pages on their way to Kafka: which may be sent, which are under way, what became of them. For use from any thread.

A page is in one of three places until it is confirmed or refused:

==========  =========================================================  ===========================================
place       comes there                                                leaves it
==========  =========================================================  ===========================================
waiting     with ``add``; with ``take_back`` from *under way*          with ``next``, first come, first served
under way   with ``next``                                              confirmed, refused, or taken back
suspect     with ``take_back``, if a page was too large for Kafka      with ``next``, and then it travels alone
==========  =========================================================  ===========================================

Why a suspect: after one page that is too large, kafka-python fails all others with the same error, so the error says
nothing of the page that it came with. The largest one is tried alone. It is either refused, and then it was the one,
or confirmed, and then another one is; each such round is the last for one page, so the search ends.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from crawler_plugin.record import Page

WINDOW_BYTES: Final = 16 * 1024 * 1024
"""Under way at a time. kafka-python holds a copy of each; fewer would leave a fast broker idle between two answers."""


class Sending(NamedTuple):
    """A page that goes out under this number; sent again it gets another, so late news of the first is recognised."""

    number: int
    page: Page
    cost: int


class Notice(NamedTuple):
    """Something for the log: trouble with the broker, or its end."""

    is_trouble: bool
    message: str


@dataclass
class Report:
    """What happened since the last one. ``freed`` are the costs of all pages that are done with."""

    confirmed: int = 0
    freed: int = 0
    refused: list[Page] = field(default_factory=list)
    send_errors: int = 0
    notices: list[Notice] = field(default_factory=list)


class Outbox:
    """``wake`` is called without the lock, in any thread, when there is a report; not again until it is collected."""

    def __init__(self, wake: Callable[[], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._wake = wake
        self._clock = clock
        self._changed = threading.Condition()
        self._waiting: deque[Sending] = deque()
        self._under_way: dict[int, Sending] = {}
        self._under_way_cost = 0
        self._suspect: Sending | None = None
        self._alone: int | None = None
        self._numbers = itertools.count()
        self._failure: Exception | None = None
        self._is_too_large = False
        self._report = Report()
        self._is_told = False
        self._confirmed = 0
        self._progress_at = clock()

    def add(self, page: Page, cost: int) -> None:
        """One page more; ``cost`` comes back in a report when it is done with."""
        with self._changed:
            if not self._has_pages():
                self._progress_at = self._clock()
            self._waiting.append(Sending(-1, page, cost))
            self._changed.notify_all()

    def next(self, timeout: float) -> Sending | None:
        """The page that may be sent now, which is under way from here on.

        Waits up to ``timeout`` seconds until there is one or something else changes, and returns None then.

        Raises:
            Exception: what ``failed`` was told; nothing goes out until ``take_back``.
        """
        with self._changed:
            if self._failure is None and not self._may_send():
                self._changed.wait(timeout)
            if self._failure is not None:
                raise self._failure
            return self._send() if self._may_send() else None

    def confirm(self, number: int) -> None:
        """Kafka has the page of this sending. Late news of a page that was taken back changes nothing."""
        with self._changed:
            if (sending := self._leave(number)) is None:
                return
            self._report.confirmed += 1
            self._report.freed += sending.cost
            self._confirmed += 1
        self._tell()

    def fail(self, number: int, error: Exception, *, is_too_large: bool) -> None:
        """This sending failed, and so its producer is to be replaced. A page that was refused alone is given up."""
        with self._changed:
            if number not in self._under_way:
                return
            if self._failure is None:
                self._failure = error
            if is_too_large and number == self._alone:
                sending = self._leave(number)
                assert sending is not None
                self._report.refused.append(sending.page)
                self._report.freed += sending.cost
            elif is_too_large:
                self._is_too_large = True
            self._changed.notify_all()
        self._tell()

    def take_back(self) -> None:
        """The producer is gone: what is under way goes back to where it came from, in order."""
        with self._changed:
            returned = list(self._under_way.values())
            if self._alone is not None and returned:
                self._suspect = returned.pop()
            elif self._is_too_large and returned:
                self._suspect = max(returned, key=lambda sending: sending.page.size)
                returned.remove(self._suspect)
            self._waiting.extendleft(reversed(returned))
            self._under_way.clear()
            self._under_way_cost = 0
            self._alone = None
            if self._failure is not None:
                self._report.send_errors += 1
            self._failure = None
            self._is_too_large = False
        self._tell()

    def note(self, notice: Notice) -> None:
        """Put something into the report."""
        with self._changed:
            self._report.notices.append(notice)
        self._tell()

    def collect(self) -> Report:
        """What happened since the last call."""
        with self._changed:
            report, self._report = self._report, Report()
            self._is_told = False
            return report

    def stir(self) -> None:
        """Let ``next`` return."""
        with self._changed:
            self._changed.notify_all()

    @property
    def pages(self) -> list[Page]:
        """All whose fate is open, in the order in which they would go."""
        with self._changed:
            suspect = () if self._suspect is None else (self._suspect,)
            return [sending.page for sending in (*self._under_way.values(), *suspect, *self._waiting)]

    @property
    def is_empty(self) -> bool:
        """Whether every page is done with."""
        with self._changed:
            return not self._has_pages()

    @property
    def confirmed(self) -> int:
        """Pages confirmed since the beginning."""
        with self._changed:
            return self._confirmed

    @property
    def silence(self) -> float:
        """Seconds since the last news of a page, or since the first page came; 0 without pages."""
        with self._changed:
            return self._clock() - self._progress_at if self._has_pages() else 0.0

    def _has_pages(self) -> bool:
        return bool(self._waiting or self._under_way or self._suspect)

    def _may_send(self) -> bool:
        if not self._under_way:
            return bool(self._suspect or self._waiting)
        if self._alone is not None or self._suspect is not None or not self._waiting:
            return False
        return self._under_way_cost + self._waiting[0].cost <= WINDOW_BYTES

    def _send(self) -> Sending:
        number = next(self._numbers)
        if self._suspect is not None:
            found, self._suspect, self._alone = self._suspect, None, number
        else:
            found = self._waiting.popleft()
        sending = found._replace(number=number)
        self._under_way[number] = sending
        self._under_way_cost += sending.cost
        return sending

    def _leave(self, number: int) -> Sending | None:
        sending = self._under_way.pop(number, None)
        if sending is not None:
            self._under_way_cost -= sending.cost
            self._progress_at = self._clock()
            if number == self._alone:
                self._alone = None
            self._changed.notify_all()
        return sending

    def _tell(self) -> None:
        with self._changed:
            if self._is_told or self._report == Report():
                return
            self._is_told = True
        self._wake()
