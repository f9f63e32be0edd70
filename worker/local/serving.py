"""Judges the pages of another process, a crawl, that come on standard input; ``crawler_plugin.wire.judge_pipe``.

Only the end of the pipe ends this process in order. The crawl makes it ignore signals (``judge_process``): a signal
that goes to both, as when a service is stopped, comes while pages of the crawl are under way.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import BinaryIO, Final

from crawler_plugin.wire.errors import Stop, UnreadableRecord
from crawler_plugin.wire.judge_pipe import (
    GREETING,
    JudgeFailed,
    JudgeOpened,
    JudgeOpening,
    JudgeSaid,
    PageJudged,
    PageToJudge,
    Said,
    read_asked,
    write_frame,
)
from crawler_plugin.wire.outcomes import Verdict
from crawler_plugin.wire.page_headers import PageMeta
from worker.compose.kernels import compile_apart
from worker.local.deduplicator import Deduplicator, settings_of
from worker.local.page import FetchedPage

_log = logging.getLogger(__name__)
_META: Final = frozenset({"url", "content_type", "encoding", "fetched", "form"})
"""Headers for which a ``FetchedPage`` has fields."""


def serve() -> None:
    """Judge until standard input ends. All other output goes to standard error."""
    with os.fdopen(os.dup(0), "rb") as pages, os.fdopen(os.dup(1), "wb") as verdicts:
        os.dup2(2, 1)
        JudgeServer(pages, verdicts).run()


class JudgeServer:
    """A ``Deduplicator``, and threads that read the pipe and write the judged pages every ``index.flush_seconds``.

    Where judging raises, as at the limit ``index.memory_mb`` or when the disk is full, judging is over, and the judged
    pages are written when the crawl ends, or before.
    """

    def __init__(self, pages: BinaryIO, verdicts: BinaryIO) -> None:
        self._from_crawl: Final = pages
        self._to_crawl: Final = verdicts
        self._sending: Final = threading.Lock()
        self._coming: Final[SimpleQueue[PageToJudge]] = SimpleQueue()
        self._untold = 0
        self._local: Deduplicator | None = None
        self._crawl: Final = os.getppid()

    def run(self) -> None:
        """Greet, open the state that the crawl names, and judge; ends the process."""
        self._to_crawl.write(GREETING)
        self._to_crawl.flush()
        opening = read_asked(self._from_crawl, JudgeOpening)
        reading = threading.Thread(target=self._read, name="dedup-pages", daemon=True)
        reading.start()
        _log_to(self)
        try:
            settings = settings_of(opening.config)
            compile_apart()
            self._local = Deduplicator(opening.state, settings)
            self.send(JudgeOpened(self._local.judged))
            seconds = settings.index.flush_seconds
            threading.Thread(target=self._flush_each, args=(seconds,), name="dedup-flush", daemon=True).start()
            for _, verdict in self._local.judge_found(self._pages()):
                self._untold -= 1
                self.send(_judged(verdict))
        except Exception as error:
            if not isinstance(error, Stop):
                _log.exception("a fault of this program")
            self.send(JudgeFailed(str(error) or type(error).__name__))
        reading.join()

    def send(self, said: Said) -> None:
        """Send to the crawl, if it is still there; from any thread."""
        with self._sending, suppress(OSError):
            write_frame(self._to_crawl, said)

    def _read(self) -> None:
        with suppress(EOFError, UnreadableRecord):
            while True:
                self._coming.put(read_asked(self._from_crawl, PageToJudge))
        self._end()

    def _end(self) -> None:
        """Write the judged pages. Processes that read pages end with this one."""
        try:
            if self._local is not None:
                self._local.close()
        except Stop as error:
            self.send(JudgeFailed(str(error)))
        finally:
            os._exit(0)

    def _pages(self) -> Iterator[FetchedPage | None]:
        """The pages that came; None where none comes at the moment and a verdict is waited for."""
        while True:
            try:
                page = self._coming.get(block=not self._untold)
            except Empty:
                yield None
                continue
            self._untold += 1
            yield _fetched(page)

    def _flush_each(self, seconds: float) -> None:
        assert self._local is not None
        while True:
            time.sleep(seconds)
            with suppress(Stop, ValueError):  # the next page, or the end, reports it to the crawl
                self._local.flush()
            if os.getppid() != self._crawl:  # killed, and another process that it has forked keeps the pipe open
                self._end()


class _LinesToCrawl(logging.Handler):
    def __init__(self, server: JudgeServer) -> None:
        super().__init__()
        self._server = server

    def emit(self, record: logging.LogRecord) -> None:
        self._server.send(JudgeSaid(record.levelno, self.format(record)))


def _log_to(server: JudgeServer) -> None:
    logging.basicConfig(level=logging.INFO, handlers=[_LinesToCrawl(server)])


def _fetched(page: PageToJudge) -> FetchedPage:
    meta = PageMeta.from_headers(page.headers)
    is_text = meta.form == "text"
    return FetchedPage(
        url=meta.url,
        body=None if is_text else page.value,
        text=page.value.decode(errors="replace") if is_text else None,
        encoding=meta.encoding,
        content_type=meta.content_type,
        fetched=meta.fetched,
        headers={name: value.decode() for name, value in page.headers if name not in _META},
    )


def _judged(verdict: Verdict) -> PageJudged:
    return PageJudged(
        verdict=verdict.verdict,
        duplicate_of=verdict.duplicate_of,
        distance=verdict.distance,
        similarity=verdict.similarity,
        reason=verdict.reason,
        suspect=verdict.suspect,
        detail=verdict.detail,
    )
