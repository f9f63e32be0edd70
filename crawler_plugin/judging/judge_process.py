"""The crawl's side of the process that judges its pages; ``crawler_plugin.wire.judge_pipe`` defines their messages.

The process runs an interpreter in which the workers' distribution is installed, so that the crawl's own interpreter
does not need it. The process must not import the project's modules: one of them may be called ``worker``. So
``PYTHONPATH`` is not passed on, and imports do not search the working directory (``-P``), which only relative paths
use.
"""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, wait
from contextlib import suppress
from queue import SimpleQueue
from typing import Final

from crawler_plugin.record import PageRecord
from crawler_plugin.wire.errors import Refused, Unavailable, UnreadableRecord, UsageError
from crawler_plugin.wire.judge_pipe import (
    GREETING,
    JudgeFailed,
    JudgeOpened,
    JudgeOpening,
    JudgeSaid,
    PageJudged,
    PageToJudge,
    Said,
    read_said,
    write_frame,
)

_PROGRAM: Final = """
import signal
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
try:
    from worker.local.serving import serve
except ImportError as error:
    raise SystemExit(print(error))
serve()
"""
_MOST_GREETING: Final = 1000
"""How many bytes to read of a first line that is no greeting."""
_START_S: Final = 300.0
"""How long a process may take to greet, with its imports, on a busy machine. A process that never greets is ended."""


class JudgeProcess:
    """A process that was started and told what to open. It judges pages in the order in which they are submitted.

    Once the process cannot judge any more, or has ended, pages that have no verdict yet and pages submitted later get
    the error. ``say`` is called in a thread with each log line of the process and its level.

    Raises:
        UsageError: this interpreter cannot be started, or cannot judge.
        Refused: settings or state cannot be used. Opening takes half a minute on a machine where the process has to
            compile first.
    """

    def __init__(
        self, python: str, state: str | None, config: str | None, say: Callable[[int, str], None] = lambda *line: None
    ) -> None:
        self._say: Final = say
        self._python: Final = python
        self._process: Final = _started(python)
        assert self._process.stdin is not None and self._process.stdout is not None
        self._to_judge: Final = self._process.stdin
        self._from_judge: Final = self._process.stdout
        self._lock: Final = threading.Lock()
        self._waiting: Final[deque[Future[PageJudged]]] = deque()
        self._unsent: Final[SimpleQueue[PageRecord | None]] = SimpleQueue()
        self._failure: Exception | None = None
        self._unwritten: Exception | None = None
        self._is_left = False
        self.judged_before: Final = self._open(JudgeOpening(state, config))
        """How many pages the state held when it was opened."""
        self._reader: Final = threading.Thread(target=self._read, name="dedup-verdicts", daemon=True)
        self._reader.start()
        threading.Thread(target=self._write, name="dedup-pages", daemon=True).start()

    def submit(self, page: PageRecord) -> Future[PageJudged]:
        """Submit a page; the future gets its verdict. Never blocks, and the future cannot be cancelled."""
        verdict: Future[PageJudged] = Future()
        verdict.set_running_or_notify_cancel()
        with self._lock:
            if self._failure is None:
                self._waiting.append(verdict)
                self._unsent.put(page)
                return verdict
        verdict.set_exception(self._failure)
        return verdict

    def close(self) -> None:
        """Wait until all submitted pages are judged, then ``leave``."""
        with self._lock:
            waiting = list(self._waiting)
        wait(waiting)
        self.leave()

    def leave(self) -> None:
        """Let the process write what it has judged, and end: pages that have no verdict get none.

        Raises:
            Unavailable: not everything is written.
        """
        self._is_left = True
        self._unsent.put(None)
        self._reader.join()
        if self._unwritten is not None:
            raise self._unwritten

    def _open(self, opening: JudgeOpening) -> int:
        timer = threading.Timer(_START_S, self._process.kill)
        timer.start()
        first = self._from_judge.readline(_MOST_GREETING)
        timer.cancel()
        if first != GREETING:
            ended = self._end()
            told = first.decode(errors="replace").strip() or f"{ended}; see standard error"
            raise UsageError(
                f'DEDUP_MODE = "local" needs crawl-dedup of the same version as this plugin, and {self._python}, which '
                f"judges pages, does not have it ({told}): install it there ({self._python} -m pip install "
                "crawl-dedup), or name another interpreter in DEDUP_LOCAL_PYTHON"
            )
        with suppress(OSError):  # the process has ended, as the reader of its answer sees
            write_frame(self._to_judge, opening)
        try:
            while not isinstance(said := read_said(self._from_judge), JudgeOpened):
                if isinstance(said, JudgeFailed):
                    raise Refused(said.message)
                self._hear(said)
        except (Refused, EOFError, UnreadableRecord) as error:
            ended = self._end()
            raise error if isinstance(error, Refused) else Refused(self._lost(ended, error)) from error
        return said.judged

    def _read(self) -> None:
        """Read the process's messages until it ends."""
        try:
            while True:
                self._hear(read_said(self._from_judge))
        except (EOFError, UnreadableRecord) as error:
            ended = self._end()
            if not self._is_left or self._process.returncode:
                self._unwritten = Unavailable(self._lost(ended, error))
            self._fail(self._unwritten or ValueError("this process judges no more pages: make another one"))

    def _hear(self, said: Said) -> None:
        match said:
            case PageJudged() if self._waiting:
                self._waiting.popleft().set_result(said)
            case JudgeFailed() if self._is_left:
                self._unwritten = Unavailable(said.message)
            case JudgeFailed():
                self._fail(Unavailable(said.message))
            case JudgeSaid():
                self._say(said.level, said.message)
            case _:
                raise UnreadableRecord("its message answers no page")

    def _write(self) -> None:
        """Send the pages. Once the process has ended, the pages have the error already."""
        with suppress(OSError, ValueError):  # the process is gone, and the pipe may be closed already
            while (page := self._unsent.get()) is not None and not self._is_left:
                write_frame(self._to_judge, PageToJudge(page.headers, page.value))
        with suppress(OSError):
            self._to_judge.close()

    def _fail(self, error: Exception) -> None:
        """Let all pages without a verdict, and all pages submitted from now on, get this error."""
        with self._lock:
            self._failure = self._failure or error
            waiting = list(self._waiting)
            self._waiting.clear()
        for verdict in waiting:
            verdict.set_exception(self._failure)

    def _end(self) -> str:
        """End the process, if it has not ended, and say how it ended."""
        self._process.kill()
        status = self._process.wait()
        self._from_judge.close()
        with suppress(OSError):  # it has not got everything
            self._to_judge.close()
        return f"killed by {signal.Signals(-status).name}" if status < 0 else f"exit code {status}"

    def _lost(self, ended: str, error: Exception) -> str:
        return (
            f"the process that judges pages, {self._process.pid}, has ended ({str(error) or ended}), and what it "
            "judged since its last write (index.flush_seconds) is lost. If the system killed it for lack of memory, "
            "lower index.memory_mb; then start the crawl again"
        )


def _started(python: str) -> subprocess.Popen[bytes]:
    surroundings = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    try:
        return subprocess.Popen(
            [python, "-P", "-c", _PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=surroundings,
            start_new_session=True,  # signals of a terminal to its process group do not reach it
        )
    except (OSError, ValueError) as error:
        raise UsageError(
            f"DEDUP_LOCAL_PYTHON: {python} cannot be started ({error}); name the Python interpreter in which "
            "crawl-dedup is installed"
        ) from error
