"""A pool of child processes that parse pages and can be killed, driven by a loop of one thread that never blocks.

A page may make its parser raise, crash, loop for ever or eat memory. It alone pays:

1. Pages go down a pipe to a child, several ahead, so that a child always has one to begin with; results come up
   another in the same order. So whatever happens to a child happened to the first page that it has not answered.
2. A child that answers nothing for ``timeout_seconds`` is killed; its first page gets ``parser-timeout``.
3. A child that dies, or says that memory ran out, may have been killed from outside or crowded by the pages before:
   its first page is tried once more, first in a new child. If that one dies too, the page gets ``parser-crashed`` or
   ``parser-memory``.
4. The other pages of a child that ended go back to the front of the line, and a new child takes its place.
"""

from __future__ import annotations

import pickle
import selectors
import time
from collections import defaultdict, deque
from collections.abc import Callable, Hashable
from types import TracebackType
from typing import Any, Final, Generic, Self, TypeVar

import msgspec

from worker.errors import PageError, Stop, Unavailable
from worker.messages import PageMeta
from worker.stream.parser_child import Child, Outcome, Page
from worker.stream.parser_process import Errand, Kind

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")

PAGES_AHEAD: Final = 16
"""Pages that a child is given before it has answered any: at 1 ms a page it stays busy while the loop is away for
15 ms. More would only delay the pages behind one that hangs."""

_STARTS_IN_A_ROW: Final = 3
_TRIES: Final = 2


class ParserPool(Generic[K, T]):
    """Runs a task on pages in ``processes`` children.

    Make it in a thread that lives as long as the pool: on Linux a child dies with the thread that started it.

    Args:
        task_factory: picklable; called once in each child, it returns the task. The task's results are pickled.
        processes: children, at least one.
        timeout_seconds: wall clock that one page may take.
        memory_bytes: private memory that one page may take on top of what its child takes when idle.
        clock: seconds, monotonic.

    Raises:
        ValueError: a limit that is not above zero.
    """

    def __init__(
        self,
        task_factory: Callable[[], Callable[[bytes, PageMeta], T]],
        *,
        processes: int,
        timeout_seconds: float,
        memory_bytes: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if processes < 1 or timeout_seconds <= 0 or memory_bytes <= 0:
            raise ValueError("processes, timeout_seconds and memory_bytes must be above zero")
        self._errand = pickle.dumps(Errand(task_factory, memory_bytes), protocol=5)
        self._timeout = timeout_seconds
        self._memory = memory_bytes
        self._clock = clock
        self._most = processes * PAGES_AHEAD
        self._line: deque[Page[K]] = deque()
        self._done: list[tuple[K, T | PageError]] = []
        self._selector = selectors.DefaultSelector()
        self._submitted = 0
        self._failed_starts = 0
        self.replaced = 0
        """Children that were replaced so far."""
        self.stage_seconds: defaultdict[str, float] = defaultdict(float)
        """CPU seconds of the children by stage, as far as they told: each tells ten times a second while pages come.
        What one had not told when it died is missing: most of all what the page took that it died on."""
        self._children: list[Child[K]] = []
        self._sending: set[Child[K]] = set()
        for _ in range(processes):
            self._start_child()

    @property
    def outstanding(self) -> int:
        """Pages that were submitted and not collected yet."""
        return len(self._line) + sum(len(child.ahead) for child in self._children) + len(self._done)

    @property
    def capacity(self) -> int:
        """How many more pages ``submit`` accepts."""
        return max(0, self._most - self.outstanding)

    @property
    def pids(self) -> tuple[int, ...]:
        """Process ids of the children."""
        return tuple(child.process.pid for child in self._children)

    def submit(self, key: K, body: bytes, meta: PageMeta) -> None:
        """Hand a page over; ``results`` returns it under ``key``. Never blocks.

        Raises:
            ValueError: ``capacity`` is 0.
        """
        if not self.capacity:
            raise ValueError("the pool is full: collect results() until capacity is above 0")
        self._submitted += 1
        self._line.append(Page(self._submitted, key, msgspec.msgpack.encode(meta), body))
        self._hand_out()

    def results(self, timeout: float = 0.0) -> list[tuple[K, T | PageError]]:
        """What is done, in any order; waits at most ``timeout`` seconds for the first of it.

        Pages move on, and time is kept, only while this is called.

        Raises:
            Stop: the task cannot be made; its own error where that is a ``Stop``.
            Unavailable: children die again and again while they start.
        """
        give_up = self._clock() + timeout
        while True:
            for ready, events in self._selector.select(self._patience(give_up)):
                child: Child[K] = ready.data
                if child not in self._children:
                    continue  # its other pipe has just told of its end
                if events & selectors.EVENT_WRITE:
                    self._send(child)
                else:
                    self._receive(child)
            self._kill_overdue()
            self._hand_out()
            if self._done or self._clock() >= give_up:
                done, self._done = self._done, []
                return done

    def close(self) -> None:
        """Kill all children; pages without a result are forgotten."""
        while self._children:
            self._remove(self._children[-1])
        self._line.clear()
        self._selector.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _hand_out(self) -> None:
        while self._line:
            child = min(self._children, key=lambda child: (len(child.ahead), not child.ready))
            if len(child.ahead) >= PAGES_AHEAD:
                return
            child.give(self._line.popleft())
            if child not in self._sending:
                self._send(child)

    def _send(self, child: Child[K]) -> None:
        """Send what the pipe takes, and have the selector tell when it takes the rest."""
        if child.send(self._clock()):
            if child not in self._sending:
                self._selector.register(child.pages, selectors.EVENT_WRITE, child)
                self._sending.add(child)
        elif child in self._sending:
            self._selector.unregister(child.pages)
            self._sending.remove(child)

    def _receive(self, child: Child[K]) -> None:
        alive = child.receive(self._clock())
        for outcome in child.answers():
            if outcome.kind is Kind.READY:
                child.ready = True
                self._failed_starts = 0
            elif outcome.kind is Kind.SPENT:
                for stage, seconds in msgspec.msgpack.decode(outcome.payload, type=dict[str, float]).items():
                    self.stage_seconds[stage] += seconds
            elif outcome.kind is Kind.CANNOT_START:
                cause: Stop = pickle.loads(outcome.payload)
                raise cause
            elif outcome.kind is Kind.OUT_OF_MEMORY:
                allowed = f"it needs more than {self._memory >> 20} MiB (page.memory_mb)"
                self._replace(child, "parser-memory", allowed)
                return
            else:
                self._done.append((child.answered(outcome).key, _result(outcome)))
        if not alive:
            self._replace(child, "parser-crashed")

    def _kill_overdue(self) -> None:
        """What a killed child has answered in time, and its end, come up the pipe like any other's."""
        now = self._clock()
        for child in self._children:
            if child.deadline(self._timeout) <= now:
                child.kill()

    def _replace(self, child: Child[K], reason: str, detail: str = "") -> None:
        end = self._remove(child)
        self.replaced += 1
        if not child.ready:
            self._count_failed_start(end)
        suspect = child.ahead.popleft() if child.ready and child.ahead else None
        self._line.extendleft(reversed(child.ahead))
        if suspect and suspect is child.killed_for:
            self._done.append((suspect.key, PageError("parser-timeout", f"no end after {self._timeout:g} s")))
            suspect = None
        elif suspect and not child.killed_for:
            suspect.deaths += 1
            if suspect.deaths == _TRIES:
                self._done.append((suspect.key, PageError(reason, detail or end)))
                suspect = None
        self._start_child(suspect)

    def _count_failed_start(self, end: str) -> None:
        self._failed_starts += 1
        if self._failed_starts >= _STARTS_IN_A_ROW:
            raise Unavailable(
                f"{self._failed_starts} parser processes in a row ended before they were ready ({end}); "
                "see what they wrote to standard error, and whether the machine is out of memory"
            )

    def _start_child(self, first: Page[K] | None = None) -> None:
        child: Child[K] = Child(self._errand, self._clock())
        self._children.append(child)
        self._selector.register(child.outcomes, selectors.EVENT_READ, child)
        if first:
            child.give(first)
        self._send(child)

    def _remove(self, child: Child[K]) -> str:
        self._children.remove(child)
        self._selector.unregister(child.outcomes)
        if child in self._sending:
            self._selector.unregister(child.pages)
            self._sending.remove(child)
        return child.bury()

    def _patience(self, give_up: float) -> float:
        next_deadline = min(child.deadline(self._timeout) for child in self._children)
        return max(0.0, min(give_up, next_deadline) - self._clock())


def _result(outcome: Outcome) -> Any:
    if outcome.kind is Kind.PAGE_ERROR:
        reason, detail = msgspec.msgpack.decode(outcome.payload, type=tuple[str, str])
        return PageError(reason, detail)
    return pickle.loads(outcome.payload)
