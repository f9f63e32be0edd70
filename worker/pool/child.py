"""The parent's end of a parsing process: pipes that never block, the pages that it got, the time that they take."""

from __future__ import annotations

import ctypes
import fcntl
import os
import re
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Hashable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Final, Generic, NamedTuple, TypeVar

from worker.pool.frames import LENGTH, OUTCOME, PAGE, Frame, Malformed, head_of

K = TypeVar("K", bound=Hashable)

START_SECONDS: Final = 300.0
"""Seconds that a child may take to start, with imports and dictionary, on a machine that starts many at once."""

_PIPE_BYTES: Final = 1024 * 1024  # the maximum that Linux grants without privileges: about 26 pages of 39 kB
_READ_BYTES: Final = 256 * 1024
_PARTS: Final = 2  # of a page: its metadata, and its body
_PARTS_AT_ONCE: Final = 64  # POSIX promises 16, Linux and macOS take 1,024
_KEPT_NAMES: Final = re.compile(
    "PATH|HOME|LANG|LANGUAGE|TZ|TMPDIR|VIRTUAL_ENV|XDG_CACHE_HOME|GLIBC_TUNABLES|"
    "(LC|LD|PYTHON|NUMBA|LLVM|OMP|OPENBLAS|MKL|MALLOC|RUST|COVERAGE)_?.*"
)
"""Names that an interpreter and its libraries read. No other variable of the environment is handed on: it may hold
secrets, such as the passwords of the broker and of other programs."""
_MAIN: Final = (
    "import sys; sys.path[:] = sys.argv[4:]; from worker.pool.child_main import serve; serve(*map(int, sys.argv[1:4]))"
)


class CpuClock:
    """The CPU time of a child process, in seconds."""

    def __init__(self, pid: int) -> None:
        number = ctypes.c_int()
        error = ctypes.CDLL(None).clock_getcpuclockid(pid, ctypes.byref(number))
        if error:
            raise OSError(error, os.strerror(error))
        self._number = number.value
        self._last = 0.0

    def __call__(self) -> float:
        """The CPU time of all its threads; once the process has ended, the last value that was seen."""
        with suppress(OSError):
            self._last = max(self._last, time.clock_gettime(self._number))
        return self._last


@dataclass(frozen=True, slots=True)
class PageLimits:
    """The limits of a page: CPU seconds, and seconds under watch.

    CPU seconds do not pass while the machine sleeps, is paused, or gives its cores to others. Elapsed time shows a page
    that hangs without computing; only the time that the parent saw counts (``Watched``).
    """

    cpu: float
    watched: float


class Spell(NamedTuple):
    """When a process began to work on a page, by both clocks."""

    cpu: float
    watched: float

    def overdue(self, cpu: float, watched: float, limits: PageLimits) -> str | None:
        """How it exceeds the limits at these times, in words; None while it does not."""
        if cpu - self.cpu >= limits.cpu:
            return f"no end after {limits.cpu:g} s of CPU time (page.timeout_seconds)"
        if watched - self.watched >= limits.watched:
            return (
                f"no end after {limits.watched:g} s, with {cpu - self.cpu:.2g} s of CPU time "
                f"({limits.watched / limits.cpu:g} times page.timeout_seconds)"
            )
        return None

    def left(self, cpu: float, watched: float, limits: PageLimits) -> float:
        """Seconds within which it cannot exceed them."""
        return min(limits.cpu - (cpu - self.cpu), limits.watched - (watched - self.watched))


@dataclass(eq=False, slots=True)
class SubmittedPage(Generic[K]):
    """A page that has no result yet. ``meta`` is MessagePack; ``deaths`` is how many children died on it."""

    number: int
    key: K
    meta: bytes
    body: bytes
    deaths: int = 0


def clean_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The part of an environment that a parsing process gets."""
    return {name: value for name, value in environ.items() if _KEPT_NAMES.fullmatch(name)}


class ParserProcess(Generic[K]):
    """A parsing process that has just been started with its spec.

    ``ahead`` are the pages given and not answered, in order. ``spell`` begins when the child works on the first of them
    alone: the page before it was answered, and this page was sent to its end. A child that is ``alone`` with a page
    gets no other page before that one is answered.
    """

    def __init__(self, spec: bytes, result_bytes: int, watched: float) -> None:
        their_pages, self.pages = os.pipe()
        self.outcomes, their_outcomes = os.pipe()
        if hasattr(fcntl, "F_SETPIPE_SZ"):
            with suppress(OSError):  # the user's pages for pipes are used up: a smaller one works as well
                fcntl.fcntl(self.pages, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
        os.set_blocking(self.pages, False)
        os.set_blocking(self.outcomes, False)
        numbers = map(str, (their_pages, their_outcomes, os.getpid()))
        self.process = subprocess.Popen(
            [sys.executable, "-c", _MAIN, *numbers, *sys.path],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            env=clean_environment(os.environ),
            pass_fds=(their_pages, their_outcomes),
            start_new_session=True,  # signals of a terminal to its group do not reach it
        )
        os.close(their_pages)
        os.close(their_outcomes)
        self.cpu: Final = CpuClock(self.process.pid)
        self.ready = False
        self.killed = False
        self.killed_for: tuple[SubmittedPage[K], str] | None = None
        """The page that it was killed for, and the reason."""
        self.alone = False
        self.ahead: deque[SubmittedPage[K]] = deque()
        self.spell = Spell(0.0, watched)
        self._timed: SubmittedPage[K] | None = None
        self._result_bytes = result_bytes
        self._unsent = deque([memoryview(LENGTH.pack(len(spec))), memoryview(spec)])
        self._given = LENGTH.size + len(spec)
        self._sent = 0
        self._answered = self._given  # all up to the end of the last answered page
        self._ends: deque[int] = deque()  # of the pages ahead: where each ends in the data that was given
        self._received = bytearray()

    @property
    def bytes_ahead(self) -> int:
        """Bytes of the pages ahead."""
        return self._given - self._answered

    @property
    def held(self) -> int:
        """Pages, or parts of them, that were given and not sent."""
        return (len(self._unsent) + 1) // _PARTS

    def give(self, page: SubmittedPage[K]) -> None:
        """Put a page after those ahead; ``send`` sends it."""
        head = PAGE.pack(page.number, len(page.meta), len(page.body)) + page.meta
        self._unsent += (memoryview(head), memoryview(page.body))
        self._given += len(head) + len(page.body)
        self._ends.append(self._given)
        self.ahead.append(page)

    def send(self) -> bool:
        """Send as much as fits into the pipe; true if something is left."""
        try:
            while self._unsent:
                count = os.writev(self.pages, list(islice(self._unsent, _PARTS_AT_ONCE)))
                self._sent += count
                while self._unsent and count >= len(self._unsent[0]):
                    count -= len(self._unsent.popleft())
                if count:
                    self._unsent[0] = self._unsent[0][count:]
        except BlockingIOError:
            pass
        except BrokenPipeError:
            self._unsent.clear()  # the child is dead; ``receive`` will notice
        return bool(self._unsent)

    def receive(self) -> bool:
        """Read some of the child's output; false once the child has ended and all was read.

        A child that writes without end does not hold up its parent.
        """
        try:
            some = os.read(self.outcomes, _READ_BYTES)
        except BlockingIOError:
            return True
        self._received += some
        return bool(some)

    def answers(self) -> Iterator[Frame]:
        """The frames received. An answer takes its page, the first ahead, out of ``ahead`` only by ``answered``.

        Raises:
            Malformed: the received bytes are no frame.
        """
        start = 0
        received = self._received
        while head := head_of(received, start, self._result_bytes):
            kind, number, length = head
            end = start + OUTCOME.size + length
            if len(received) < end:
                break
            yield Frame(kind, number, bytes(received[start + OUTCOME.size : end]))
            start = end
        del received[:start]

    def answered(self, outcome: Frame) -> SubmittedPage[K]:
        """The page that the outcome belongs to.

        Raises:
            Malformed: it belongs to none, or not to the first.
        """
        if not self.ready or not self._first_is_sent() or self.ahead[0].number != outcome.number:
            raise Malformed(f"an answer to page {outcome.number}, which is not the page it was given")
        self._answered = self._ends.popleft()
        self.alone = False
        return self.ahead.popleft()

    def overdue(self, watched: float, limits: PageLimits) -> str | None:
        """Why the child must be killed now, in words; None if it must not."""
        if self.killed:
            return None
        if not self.ready:
            return "it did not start" if watched - self.spell.watched >= START_SECONDS else None
        if not self._times_its_first(watched):
            return None
        return self.spell.overdue(self.cpu(), watched, limits)

    def patience(self, watched: float, limits: PageLimits) -> float:
        """Seconds for which ``overdue`` has nothing new to say."""
        if self.killed or not self.ready or not self._times_its_first(watched):
            return START_SECONDS
        return self.spell.left(self.cpu(), watched, limits)

    def kill(self, why: str) -> None:
        """End the child now; its output so far can still be received."""
        self.killed = True
        self.killed_for = (self.ahead[0], why) if self.ready and self.ahead else None
        self.process.kill()

    def bury(self) -> str:
        """Kill the child if it lives, close its pipes, and return how it ended."""
        self.process.kill()
        status = self.process.wait()
        os.close(self.pages)
        os.close(self.outcomes)
        return f"killed by {signal.Signals(-status).name}" if status < 0 else f"exit code {status}"

    def _times_its_first(self, watched: float) -> bool:
        """Whether the child works on a page; the page's spell begins when that is first seen."""
        if not self._first_is_sent():
            return False
        if self._timed is not self.ahead[0]:
            self._timed, self.spell = self.ahead[0], Spell(self.cpu(), watched)
        return True

    def _first_is_sent(self) -> bool:
        return bool(self._ends) and self._sent >= self._ends[0]
