"""A pool of child processes that parse pages and can be killed, driven by a loop of one thread that never blocks.

A page may make its parser raise, crash, loop for ever or use up memory. That costs no other page its result:

1. Pages go down a pipe to a child, several ahead, so that a child always has one to begin with; results come up another
   pipe in the same order. So a failure of a child is a failure on the first page that it has not answered.
2. A child that computes for ``timeout_seconds`` on a page is killed, and so is one that has not answered after several
   times as long, whether it computes or not. Only the time during which the parent was there to look counts: a machine
   that slept is no page's fault.
3. A child that ends before it has answered may have been killed from outside, starved or crowded by the pages before:
   its first page is tried once more, in a new child that has no other page. If that child ends too, the page gets
   ``parser-timeout``, ``parser-crashed`` or ``parser-memory``.
4. The other pages of a child that ended go back to the front of the line, and a new child takes its place.
5. A page may also take over its child. The parent trusts a child's output only as far as ``worker.pool.frames`` says; a
   child that sends anything else is killed, and counts as crashed.
"""

from __future__ import annotations

import pickle
import selectors
import time
from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final, Generic, NamedTuple, Self, TypeVar, get_args, get_origin

import msgspec
import numpy as np

from crawler_plugin.wire.errors import PageError, Unavailable
from crawler_plugin.wire.page_headers import PageMeta
from worker.pool.child import PageLimits, ParserProcess, SubmittedPage
from worker.pool.child_main import TaskSpec
from worker.pool.frames import RESULT_BYTES, Complaint, Frame, FrameKind, Hindrance, Malformed, Spent, read

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")

PAGES_AHEAD: Final = 64
"""Pages that a child gets before it has answered any, as long as they are small. A page of 4 kB takes .2 ms, so the
child stays busy while the parent does other things for 12 ms."""

LARGE_PAGES_AHEAD: Final = 16
"""The same number for pages of any size: at 1 ms a page it stays busy for 15 ms. More would only delay the pages after
one that hangs."""

SMALL_BYTES: Final = 256 * 1024
"""More than ``LARGE_PAGES_AHEAD`` pages are given only while those ahead have at most this many bytes together."""

GATHER_SECONDS: Final = 0.002
"""A caller that waits for results sleeps this long while each child has enough pages: results that come in that time
are collected together. Waking up for each takes as long as a fifth of the page."""

_ENOUGH_AHEAD: Final = 8
"""Pages that keep a child busy for longer than that."""

_SENT_TOGETHER: Final = 8
"""Pages that go down a pipe in one write, where the child has others to work on."""

WATCHED_TIMES: Final = 6
"""A page may take this many times its CPU seconds by the clock. So a process that shares its core with five others can
finish; a process that hangs without computing holds up the pages after it for this long."""

LOOK_SECONDS: Final = 1.0
"""The parent looks at its children at least this often, where it can."""

_STARTS_IN_A_ROW: Final = 3
_TRIES: Final = 2
_SHORTEST_WAIT: Final = 0.01
_MOST_STAGES: Final = 32
_METAS: Final = msgspec.msgpack.Encoder()
_COMPLAINTS: Final = msgspec.msgpack.Decoder(Complaint)
_HINDRANCES: Final = msgspec.msgpack.Decoder(Hindrance)
_SPENT: Final = msgspec.msgpack.Decoder(Spent)


class PoolUsage(NamedTuple):
    """The work that a pool has to do, and its use of time so far: the properties of these names at one moment."""

    outstanding: int = 0
    replaced: int = 0
    stage_seconds: Mapping[str, float] = MappingProxyType({})


class Watched:
    """Seconds during which the parent was there to look.

    Between two looks no more than ``LOOK_SECONDS`` count: a parent that was away for longer was paused together with
    its children, or was busy and has not yet seen their answers of that time.

    Args:
        clock: seconds, monotonic.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._looked = clock()
        self.seconds = 0.0
        """As of the last look."""

    def look(self) -> float:
        """Count the time that has passed since the last look, and return all of it."""
        now = self._clock()
        self.seconds += min(max(0.0, now - self._looked), LOOK_SECONDS)
        self._looked = now
        return self.seconds


class ProcessPool(Generic[K, T]):
    """Runs a task on pages in ``processes`` children.

    Make it in a thread that lives as long as the pool: on Linux a child dies with the thread that started it.

    Args:
        task_factory: picklable; called once in each child, it returns the task.
        result: the type of the task's results, of plain values that ``msgspec`` knows, and arrays of one dimension.
        processes: children, at least one.
        timeout_seconds: CPU time that one page may take; by the clock it may take ``WATCHED_TIMES`` as long.
        memory_bytes: private memory that one page may take in addition to its child's when idle.
        result_bytes: the largest size of a result as MessagePack.
        clock: seconds, monotonic.

    Raises:
        ValueError: a limit that is not above zero.
    """

    def __init__(
        self,
        task_factory: Callable[[], Callable[[bytes, PageMeta], T]],
        result: type[T],
        *,
        processes: int,
        timeout_seconds: float,
        memory_bytes: int,
        result_bytes: int = RESULT_BYTES,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if processes < 1 or timeout_seconds <= 0 or memory_bytes <= 0:
            raise ValueError("processes, timeout_seconds and memory_bytes must be above zero")
        self._spec = pickle.dumps(TaskSpec(task_factory, memory_bytes, result_bytes), protocol=5)
        self._results = msgspec.msgpack.Decoder(result, dec_hook=_array)
        self._result_bytes = result_bytes
        self._limits = PageLimits(timeout_seconds, WATCHED_TIMES * timeout_seconds)
        self._watched = Watched(clock)
        self._memory = memory_bytes
        self._clock = clock
        self._most = processes * PAGES_AHEAD
        self._line: deque[SubmittedPage[K]] = deque()
        self._done: list[tuple[K, T | PageError]] = []
        self._selector = selectors.DefaultSelector()
        self._submitted = 0
        self._collected = 0
        self._failed_starts = 0
        self.replaced = 0
        """Children that were replaced so far."""
        self.stage_seconds: defaultdict[str, float] = defaultdict(float)
        """CPU seconds of the children by stage, as far as they reported: each reports ten times a second while pages
        come. The time that a child had not reported when it died is missing: mostly that of the page that it died
        on."""
        self._children: list[ParserProcess[K]] = []
        self._sending: set[ParserProcess[K]] = set()
        for _ in range(processes):
            self._start_child()

    @property
    def outstanding(self) -> int:
        """Pages that were submitted and not collected yet."""
        return self._submitted - self._collected

    @property
    def usage(self) -> PoolUsage:
        return PoolUsage(self.outstanding, self.replaced, dict(self.stage_seconds))

    @property
    def capacity(self) -> int:
        """How many more pages ``submit`` accepts."""
        return 0 if self._line else max(0, self._most - self.outstanding)

    @property
    def pids(self) -> tuple[int, ...]:
        return tuple(child.process.pid for child in self._children)

    def submit(self, key: K, body: bytes, meta: PageMeta) -> None:
        """Hand a page over; ``results`` returns its result under ``key``. Never blocks.

        Raises:
            ValueError: ``capacity`` is 0.
        """
        if not self.capacity:
            raise ValueError("the pool is full: collect results() until capacity is above 0")
        self._submitted += 1
        self._line.append(SubmittedPage(self._submitted, key, _METAS.encode(meta), body))
        self._hand_out()

    def results(self, timeout: float = 0.0) -> list[tuple[K, T | PageError]]:
        """The finished results, in any order; waits at most ``timeout`` seconds for the first of them.

        Pages move on, and time is measured, only while this is called.

        Raises:
            Stop: the task cannot be made; its own error if that is a ``Stop``.
            Unavailable: children die again and again while they start.
        """
        give_up = self._clock() + timeout
        self._send_held()
        while True:
            if timeout and all(len(child.ahead) > _ENOUGH_AHEAD for child in self._children):
                time.sleep(min(GATHER_SECONDS, max(0.0, give_up - self._clock())))
            for ready, events in self._selector.select(self._patience(give_up)):
                if ready.data not in self._children:
                    continue  # its other pipe has just shown that it ended
                if events & selectors.EVENT_WRITE:
                    self._send(ready.data)
                else:
                    self._receive(ready.data)
            watched = self._watched.look()
            for child in self._children:  # the answers of a killed child still come up its pipe
                if why := child.overdue(watched, self._limits):
                    child.kill(why)
            self._hand_out()
            self._send_held()
            if self._done or self._clock() >= give_up:
                done, self._done = self._done, []
                self._collected += len(done)
                return done

    def each(self, pages: Iterable[tuple[K, bytes, PageMeta]]) -> Iterator[tuple[K, T | PageError]]:
        """Hand all of these over, as there is room, and yield each result with its key when it is done, in any order.

        Raises:
            Stop, Unavailable: as ``results``.
        """
        for key, body, meta in pages:
            while not self.capacity:
                yield from self.results(LOOK_SECONDS)
            self.submit(key, body, meta)
        while self.outstanding:
            yield from self.results(LOOK_SECONDS)

    def close(self) -> None:
        """Kill all children; pages without a result are forgotten."""
        while self._children:
            self._remove(self._children[-1])
        self._line.clear()
        self._collected = self._submitted
        self._selector.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def _hand_out(self) -> None:
        while self._line:
            free = filter(_has_room, self._children)
            child = min(free, key=lambda child: (len(child.ahead), not child.ready), default=None)
            if child is None:
                return
            child.give(self._line.popleft())
            if (len(child.ahead) == 1 or child.held >= _SENT_TOGETHER) and child not in self._sending:
                self._send(child)

    def _send_held(self) -> None:
        for child in self._children:
            if child.held and child not in self._sending:
                self._send(child)

    def _send(self, child: ParserProcess[K]) -> None:
        """Send as much as fits into the pipe, and let the selector report when the rest fits."""
        if child.send():
            if child not in self._sending:
                self._selector.register(child.pages, selectors.EVENT_WRITE, child)
                self._sending.add(child)
        elif child in self._sending:
            self._selector.unregister(child.pages)
            self._sending.remove(child)

    def _receive(self, child: ParserProcess[K]) -> None:
        alive = child.receive()
        try:
            for outcome in child.answers():
                if outcome.kind is FrameKind.OUT_OF_MEMORY and child.ready:
                    allowed = f"it needs more than {self._memory >> 20} MiB (page.memory_mb)"
                    self._replace(child, "parser-memory", allowed)
                    return
                self._take(child, outcome)
        except Malformed as error:
            self._replace(child, "parser-crashed", f"its process wrote {error}")
        else:
            if not alive:
                self._replace(child, "parser-crashed")

    def _take(self, child: ParserProcess[K], outcome: Frame) -> None:
        """Act on one frame. No page can have influenced a child's output before it is ready."""
        if outcome.kind is FrameKind.READY and not child.ready:
            child.ready = True
            self._failed_starts = 0
        elif outcome.kind is FrameKind.CANNOT_START and not child.ready:
            hindrance: Hindrance = read(outcome.payload, _HINDRANCES)
            raise hindrance.as_stop()
        elif outcome.kind is FrameKind.SPENT and child.ready:
            spent: dict[str, float] = read(outcome.payload, _SPENT)
            if len(self.stage_seconds.keys() | spent) > _MOST_STAGES:
                raise Malformed(f"the times of more than {_MOST_STAGES} stages")
            for stage, seconds in spent.items():
                self.stage_seconds[stage] += seconds
        elif outcome.kind is FrameKind.RESULT:
            result = read(outcome.payload, self._results)
            self._done.append((child.answered(outcome).key, result))
        elif outcome.kind is FrameKind.PAGE_ERROR:
            complaint: Complaint = read(outcome.payload, _COMPLAINTS)
            self._done.append((child.answered(outcome).key, PageError(complaint.reason, complaint.detail)))
        else:
            raise Malformed(f"{outcome.kind.name} out of turn")

    def _replace(self, child: ParserProcess[K], reason: str, detail: str = "") -> None:
        end = self._remove(child)
        self.replaced += 1
        if not child.ready:
            self._failed_starts += 1
            if self._failed_starts >= _STARTS_IN_A_ROW:
                raise Unavailable(
                    f"{self._failed_starts} parser processes in a row ended before they were ready ({end}); "
                    "see what they wrote to standard error, and whether the machine is out of memory"
                )
        suspect = child.ahead.popleft() if child.ready and child.ahead else None
        self._line.extendleft(reversed(child.ahead))
        innocent = child.killed
        if child.killed_for and child.killed_for[0] is suspect:
            reason, detail, innocent = "parser-timeout", child.killed_for[1], False
        if suspect and not innocent:
            suspect.deaths += 1
            if suspect.deaths == _TRIES:
                self._done.append((suspect.key, PageError(reason, detail or end)))
                suspect = None
        self._start_child(suspect)

    def _start_child(self, suspect: SubmittedPage[K] | None = None) -> None:
        child: ParserProcess[K] = ParserProcess(self._spec, self._result_bytes, self._watched.seconds)
        self._children.append(child)
        self._selector.register(child.outcomes, selectors.EVENT_READ, child)
        if suspect:
            child.give(suspect)
            child.alone = True
        self._send(child)

    def _remove(self, child: ParserProcess[K]) -> str:
        self._children.remove(child)
        self._selector.unregister(child.outcomes)
        if child in self._sending:
            self._selector.unregister(child.pages)
            self._sending.remove(child)
        return child.bury()

    def _patience(self, give_up: float) -> float:
        """How long to wait for news: no longer than until some child can exceed its limits."""
        left = min(child.patience(self._watched.seconds, self._limits) for child in self._children)
        return max(0.0, min(give_up - self._clock(), LOOK_SECONDS, max(left, _SHORTEST_WAIT)))


def _has_room(child: ParserProcess[Any]) -> bool:
    """Whether a child gets another page."""
    count = len(child.ahead)
    if child.alone or count >= PAGES_AHEAD:
        return False
    return count < LARGE_PAGES_AHEAD or child.bytes_ahead < SMALL_BYTES


def _array(kind: Any, value: object) -> object:
    """An array of one dimension from its bytes."""
    if get_origin(kind) is not np.ndarray or not isinstance(value, bytes):
        raise TypeError(f"a {type(value).__name__} is no {kind}")
    (element,) = get_args(get_args(kind)[1])
    return np.frombuffer(value, element)
