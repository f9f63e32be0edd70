"""Judges pages in a thread of its own, in the order in which they are submitted, and tells what was found."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Final, NamedTuple, TypeAlias

from crawler_plugin.wire.errors import Stop, Unavailable
from crawler_plugin.wire.outcomes import Verdict
from worker.local.deduplicator import Deduplicator
from worker.local.page import FetchedPage
from worker.observe.health import Liveness

_LOOK_SECONDS: Final = 1.0
"""So often the thread says that it lives."""
_NEXT_SECONDS: Final = 0.001
"""The next page may come so late where others are being read."""
Told: TypeAlias = Callable[[Verdict | Stop], None]
"""Given the verdict, which is on the disk, or why there is none."""
_log = logging.getLogger(__name__)


class _Asked(NamedTuple):
    page: FetchedPage
    told: Told


class JudgingThread:
    """Runs from when it is made until ``end``, or until something stops it; then all pages are told so.

    Pages that come while others are read are judged, and written, together: each verdict costs a share of a write to
    the disk. It is told once it is there. ``submit`` and what it is told belong to the thread of ``loop``. At its end
    ``local`` is closed.

    Args:
        health: told that the thread lives.
    """

    def __init__(self, local: Deduplicator, health: Liveness, loop: asyncio.AbstractEventLoop) -> None:
        self._local: Final = local
        self._health: Final = health
        self._loop: Final = loop
        self._coming: Final[SimpleQueue[_Asked | None]] = SimpleQueue()
        self._untold: Final[deque[_Asked]] = deque()
        self._found: Final[deque[tuple[Told, Verdict | Stop]]] = deque()
        self._is_called = False
        self.ended: Final[asyncio.Future[None]] = loop.create_future()
        """Done when the thread is; its exception is what stopped it."""
        threading.Thread(target=self._run, name="judging", daemon=True).start()

    def submit(self, page: FetchedPage, told: Told) -> None:
        """Take a page; never blocks."""
        self._coming.put(_Asked(page, told))

    def end(self) -> None:
        """Judge what was submitted, and nothing more."""
        self._coming.put(None)

    def _run(self) -> None:
        try:
            for _, verdict in self._local.judge_found(self._pages(), durable=True):
                self._tell(self._untold.popleft().told, verdict)
            self._local.close()
        except Exception as error:
            if not isinstance(error, Stop):
                _log.exception("a fault of this program")
            with suppress(Stop):  # a disk that is full stays so
                self._local.close()
            self._loop.call_soon_threadsafe(self._stopped_by, error)
        else:
            self._loop.call_soon_threadsafe(self.ended.set_result, None)

    def _pages(self) -> Iterator[FetchedPage | None]:
        """What came; None where nothing does at the moment and a verdict is waited for."""
        while True:
            self._health.beat(time.monotonic())
            try:
                asked = self._coming.get(timeout=_NEXT_SECONDS if self._untold else _LOOK_SECONDS)
            except Empty:
                if self._untold:
                    yield None
                continue
            if asked is None:
                return
            self._untold.append(asked)
            yield asked.page

    def _tell(self, told: Told, found: Verdict | Stop) -> None:
        self._found.append((told, found))
        if not self._is_called:  # to wake the loop for each would cost more than what is told
            self._is_called = True
            self._loop.call_soon_threadsafe(self._tell_all)

    def _tell_all(self) -> None:
        self._is_called = False
        while self._found:
            told, found = self._found.popleft()
            told(found)

    def _stopped_by(self, error: Exception) -> None:
        """Nothing is judged any more. What was judged and not told may be on the disk or not."""
        self.ended.set_exception(error)
        why = error if isinstance(error, Stop) else Unavailable(f"a fault of this program: {error}")
        while self._untold:
            self._untold.popleft().told(why)
        while not self._coming.empty():
            if asked := self._coming.get():
                asked.told(why)
