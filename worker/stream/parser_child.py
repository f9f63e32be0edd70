"""The parent's end of a parsing process: its two pipes, neither of which ever blocks, and the pages it was given."""

from __future__ import annotations

import fcntl
import math
import os
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Hashable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Final, Generic, NamedTuple, TypeVar

from worker.stream.parser_process import LENGTH, OUTCOME, PAGE, Kind

K = TypeVar("K", bound=Hashable)

START_SECONDS: Final = 300.0
"""For interpreter, imports and dictionary, on a machine that starts many at once."""

_PIPE_BYTES: Final = 1024 * 1024  # what Linux grants without privileges: about 26 pages of 39 kB
_READ_BYTES: Final = 256 * 1024
_PARTS_AT_ONCE: Final = 64  # POSIX promises 16, Linux and macOS take 1,024
_MAIN: Final = (
    "import sys; sys.path[:] = sys.argv[4:]; "
    "from worker.stream.parser_process import serve; serve(*map(int, sys.argv[1:4]))"
)


@dataclass(eq=False, slots=True)
class Page(Generic[K]):
    """A page under way. ``meta`` is MessagePack; ``deaths`` is how many children died on it."""

    number: int
    key: K
    meta: bytes
    body: bytes
    deaths: int = 0


class Outcome(NamedTuple):
    """One frame from the child."""

    kind: Kind
    number: int
    payload: bytes


class Child(Generic[K]):
    """A parsing process that has just been started with its errand.

    ``ahead`` are the pages given and not answered, in order. ``since`` is when it was last heard of, or when the first
    page ahead was sent to its end if that was later: from then on that page has the child for itself.
    """

    def __init__(self, errand: bytes, now: float) -> None:
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
            pass_fds=(their_pages, their_outcomes),
            start_new_session=True,  # what a terminal sends to its group does not reach it
        )
        os.close(their_pages)
        os.close(their_outcomes)
        self.ready = False
        self.killed = False
        self.killed_for: Page[K] | None = None
        self.ahead: deque[Page[K]] = deque()
        self.since = now
        self._unsent = deque([memoryview(LENGTH.pack(len(errand))), memoryview(errand)])
        self._given = LENGTH.size + len(errand)
        self._sent = 0
        self._ends: deque[int] = deque()  # of the pages ahead: where each ends in what was given
        self._received = bytearray()

    def give(self, page: Page[K]) -> None:
        """Put a page behind those ahead; ``send`` sends it."""
        head = PAGE.pack(page.number, len(page.meta), len(page.body)) + page.meta
        self._unsent += (memoryview(head), memoryview(page.body))
        self._given += len(head) + len(page.body)
        self._ends.append(self._given)
        self.ahead.append(page)

    def send(self, now: float) -> bool:
        """Send as much as the pipe takes; true if something is left."""
        waited = not self._first_is_sent()
        try:
            while self._unsent:
                self._drop_sent(os.writev(self.pages, list(islice(self._unsent, _PARTS_AT_ONCE))))
        except BlockingIOError:
            pass
        except BrokenPipeError:
            self._unsent.clear()  # it is dead, which ``receive`` will find
        if waited and self._first_is_sent():
            self.since = now
        return bool(self._unsent)

    def receive(self, now: float) -> bool:
        """Take in all that the child has written; false once it has ended."""
        try:
            while some := os.read(self.outcomes, _READ_BYTES):
                self._received += some
                self.since = now
        except BlockingIOError:
            return True
        return False

    def answers(self) -> Iterator[Outcome]:
        """The frames received. An answer takes its page, the first ahead, out of ``ahead`` only by ``answered``."""
        start = 0
        received = self._received
        while len(received) - start >= OUTCOME.size:
            kind, number, length = OUTCOME.unpack_from(received, start)
            end = start + OUTCOME.size + length
            if len(received) < end:
                break
            yield Outcome(Kind(kind), number, bytes(received[start + OUTCOME.size : end]))
            start = end
        del received[:start]

    def answered(self, outcome: Outcome) -> Page[K]:
        """The page that the outcome belongs to."""
        self._ends.popleft()
        page = self.ahead.popleft()
        if page.number != outcome.number:
            raise AssertionError(f"a parser process answered page {outcome.number} in place of {page.number}")
        return page

    def deadline(self, timeout: float) -> float:
        """When it must have been heard of; never, if it is idle, waits for the parent, or was killed already."""
        if self.killed:
            return math.inf
        if not self.ready:
            return self.since + START_SECONDS
        return self.since + timeout if self.ahead and self._first_is_sent() else math.inf

    def kill(self) -> None:
        """End it now; what it had written can still be received."""
        self.killed = True
        self.killed_for = self.ahead[0] if self.ready and self.ahead else None
        self.process.kill()

    def bury(self) -> str:
        """Kill it if it lives, free what it held, and say how it ended."""
        self.process.kill()
        status = self.process.wait()
        os.close(self.pages)
        os.close(self.outcomes)
        return f"killed by {signal.Signals(-status).name}" if status < 0 else f"exit code {status}"

    def _first_is_sent(self) -> bool:
        return bool(self._ends) and self._sent >= self._ends[0]

    def _drop_sent(self, count: int) -> None:
        self._sent += count
        while self._unsent and count >= len(self._unsent[0]):
            count -= len(self._unsent.popleft())
        if count:
            self._unsent[0] = self._unsent[0][count:]
