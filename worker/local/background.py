"""Judges pages in a thread of its own, for a program whose own thread may not wait: a crawl with its event loop."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Final

from crawler_plugin.wire.errors import Stop
from crawler_plugin.wire.outcomes import Verdict
from worker.config import Settings
from worker.local.arguments import wrong_type
from worker.local.deduplicator import Deduplicator, settings_of
from worker.local.page import FetchedPage


class BackgroundJudge:
    """A ``Deduplicator``, and a thread that drives it and the processes that read its pages.

    Pages are judged in the order in which they are submitted. What was judged is written every ``index.flush_seconds``,
    also while no page comes. Where judging raises, as at the limit ``index.memory_mb`` or when the disk is full, it is
    over: that page, all others that have no verdict yet and those submitted later get the error.

    Args:
        state: as for ``Deduplicator``, and so is ``config``.

    Raises:
        UsageError, Refused: as ``Deduplicator``. To open takes half a minute on a machine where it compiles first.
    """

    def __init__(
        self, state: str | os.PathLike[str] | None = None, config: str | os.PathLike[str] | Settings | None = None
    ) -> None:
        settings = settings_of(config)
        self._local: Final = Deduplicator(state, settings)
        self.judged_before: Final = self._local.judged
        """How many pages the state held when it was opened."""
        self._coming: Final[SimpleQueue[tuple[FetchedPage, Future[Verdict]] | None]] = SimpleQueue()
        self._waiting: Final[deque[Future[Verdict]]] = deque()
        self._submitting: Final = threading.Lock()
        self._failure: BaseException | None = None
        self._is_over: Final = threading.Event()
        self._judging: Final = threading.Thread(target=self._judge, name="dedup-judge", daemon=True)
        self._judging.start()
        seconds = settings.index.flush_seconds
        threading.Thread(target=self._flush_each, args=(seconds,), name="dedup-flush", daemon=True).start()

    def submit(self, page: FetchedPage) -> Future[Verdict]:
        """The page's verdict, when it is there; never blocks, and cannot be cancelled.

        Raises:
            TypeError: it is no page; those of others are judged.
        """
        if not isinstance(page, FetchedPage):
            raise wrong_type("page", page, "a worker.local.FetchedPage")
        verdict: Future[Verdict] = Future()
        verdict.set_running_or_notify_cancel()
        with self._submitting:
            if self._failure is None:
                self._coming.put((page, verdict))
                return verdict
        verdict.set_exception(self._failure)
        return verdict

    def flush(self) -> None:
        """Write what was judged.

        Raises:
            Unavailable: it could not be written.
        """
        self._local.flush()

    def close(self) -> None:
        """Judge what was submitted, write it, and leave the state to others. A second call does nothing.

        Raises:
            Unavailable: the state could not be written. It is still open: call this again once it can.
        """
        self._refuse(ValueError("this judge is closed: make another one"))
        self._coming.put(None)
        self._judging.join()
        self._is_over.set()
        self._local.close()

    def _judge(self) -> None:
        try:
            for _, verdict in self._local.judge_found(self._pages()):
                self._waiting.popleft().set_result(verdict)
        except BaseException as error:
            self._refuse(error)
            while self._waiting:
                self._waiting.popleft().set_exception(error)
            while not self._coming.empty():
                if asked := self._coming.get():
                    asked[1].set_exception(error)

    def _pages(self) -> Iterator[FetchedPage | None]:
        """What was submitted; None where nothing is at the moment and a verdict is waited for."""
        while True:
            try:
                asked = self._coming.get(block=not self._waiting)
            except Empty:
                yield None
                continue
            if asked is None:
                return
            page, verdict = asked
            self._waiting.append(verdict)
            yield page

    def _flush_each(self, seconds: float) -> None:
        while not self._is_over.wait(seconds):
            with suppress(Stop, ValueError):  # whoever judges next, or closes this, is told
                self._local.flush()

    def _refuse(self, error: BaseException) -> None:
        """Let this be the outcome of all that is submitted from now on."""
        with self._submitting:
            self._failure = self._failure or error
