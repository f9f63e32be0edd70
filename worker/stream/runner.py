"""Runs the worker's steps until it is stopped: which step is due, and when to wait."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol, TypeVar

from worker.stream.barrier import Barred
from worker.stream.observer import contained
from worker.stream.partition.fingerprint_pool import FingerprintPool
from worker.stream.watchdog import Watch
from worker.stream.worker import Worker

GATHER_SECONDS: Final = 0.01
"""How long a pass gathers from the parsers while they have pages. Other workers wait for this worker's answers in that
time; if it were shorter, asking the broker in each pass would cost more than the pages do."""
WAIT_SECONDS: Final = 0.05
"""How long a pass waits for the logs when there is nothing to do; a page that arrives in that time waits as long."""
SAMPLE_SECONDS: Final = 1.0
"""Between two looks at what the worker holds; up to twice as long while a transaction is in flight, which keeps the
worker busy."""
PAUSE_A_TRANSACTION: Final = 2.0
"""Without a backlog, the worker begins the next transaction after this many times the duration of the last one: readers
see pages soon, and a worker with little to do spends a third of its time in transactions at most. With a backlog, that
is when pages have waited for a parser without a break since the last transaction, it commits every ``commit_seconds``:
more records then share the fixed cost of a transaction."""
REFRESH_SECONDS: Final = 3600.0
"""How often replay points of quiet partitions are committed anew, far below any retention of the logs."""


_log = logging.getLogger(__name__)

Result = TypeVar("Result")


@dataclass(frozen=True)
class Rhythm:
    """When to commit and to flush, in seconds; ``commit_pages`` ready pages commit at once."""

    claim_seconds: float = 0.2
    """Between two batches of claims: each batch costs every worker a round of the protocol, however few claims it
    has."""
    commit_seconds: float = 1.0
    commit_pages: int = 1000
    flush_seconds: float = 60.0
    keep_seconds: float = 600.0
    """Between two snapshots of the index, where there is a folder for them."""
    drain_seconds: float = 20.0


class Listener(Protocol):
    """Gets a call for each pass; see ``worker.observe``."""

    def failed(self, method: str) -> None:
        """This method of the listener raised."""

    def stage(self, name: str, seconds: float) -> None:
        """CPU time of this thread spent in one step."""

    def passed(self, now: float) -> None:
        """The loop is alive."""

    def sample(self, worker: Worker, watch: Watch) -> None:
        """Look at what the worker holds: every second or two."""


@dataclass(eq=False)
class Runner:
    """The loop. ``stop`` may be called from a signal handler; the loop then drains and returns."""

    worker: Worker
    parsing: FingerprintPool
    watch: Watch
    rhythm: Rhythm
    listener: Listener
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    stopping: bool = False
    leaving: bool = False
    """Whether it ends for good: then others take over before it ends."""

    def __post_init__(self) -> None:
        self.listener = contained(self.listener)
        now = self.clock()
        self._claimed = self._committed = self._sampled = now
        self._begun = self._not_before = now
        self._backlog = True
        self._last = dict.fromkeys(("seal", "keep", "refresh"), now)
        self._idle = False

    def stop(self, *, for_good: bool = False) -> None:
        """Drain and return as soon as possible."""
        self.leaving |= for_good
        self.stopping = True

    def run(self) -> bool:
        """Return once it was stopped; true if everything in flight is committed.

        1. Run until told to stop.
        2. Drain: consume nothing more, commit what was consumed, within the budget.
        3. Flush what the shards have not written, and take snapshots, within the same budget: the next owner restores
           faster.
        4. If it ends for good: leave, without snapshots, and answer until the next owners do, within the same budget.

        At a record that must not be decided, it does 2 and 3 for all that lies before the record.

        Raises:
            Stop: the worker must not, or cannot, go on.
        """
        try:
            while not self.stopping:
                self.one_pass()
            self.worker.drain()
            deadline = self.clock() + self.rhythm.drain_seconds
            while not self.worker.drained and self.clock() < deadline:
                self.one_pass()
        except Barred:
            self._finish_before_the_barrier()
            raise
        drained = self.worker.drained
        self.worker.flush(seal=True, keep=not self.leaving)
        while not self.worker.flushed and self.clock() < deadline:
            self.worker.flush()
            self.worker.tidy()  # a new active holder writes once it has read its predecessor's blocks
            self.worker.read(GATHER_SECONDS)  # a short wait that lets acknowledgements come
        if self.leaving and drained:
            _log.info("all is committed; this worker leaves, and stands by until others answer for its shards")
            self.worker.part()
            while not self.worker.relieved and self.clock() < deadline:
                self.one_pass()
        return drained

    def _finish_before_the_barrier(self) -> None:
        """Commit the decisions and write their blocks, so that all workers end at the same place."""
        worker, deadline = self.worker, self.clock() + self.rhythm.drain_seconds
        worker.drain()
        worker.flush(seal=True)
        while (worker.committing or worker.commit() or not worker.flushed) and self.clock() < deadline:
            worker.commit(begin=False)
            worker.flush()
            worker.tidy()
            self.sleep(GATHER_SECONDS)

    def one_pass(self) -> None:
        """All steps once, in the order of ``Worker``; waits a little where there was nothing to do."""
        worker, now = self.worker, self.clock()
        waits = self._idle and not self.parsing.busy
        worked = bool(self._timed("poll", worker.poll))
        self._timed("take_up", worker.take_up)
        self._timed("read" if not waits else "wait", lambda: self._read(WAIT_SECONDS if waits else 0.0))
        worked |= bool(self._timed("answer", worker.answer))
        worked |= bool(self._timed("decide", worker.decide))
        worked |= self._timed("claim", lambda: self._claim(now))
        worked |= self._timed("commit", lambda: self._commit(now))
        self._timed("flush", lambda: self._flush(now))
        self.watch.check(now)
        self.listener.passed(now)
        unseen = now - self._sampled
        if unseen >= 2 * SAMPLE_SECONDS or (unseen >= SAMPLE_SECONDS and not worker.committing):
            self._sampled = now
            worker.tidy()
            self.listener.sample(worker, self.watch)
        self._idle = not worked

    def _read(self, wait: float) -> None:
        self.worker.read(wait)
        if wait and not self.worker.followers:
            self.sleep(wait)  # it owns nothing, so there was no log to wait for

    def _claim(self, now: float) -> bool:
        due = now - self._claimed >= self.rhythm.claim_seconds or self.stopping
        sent = self.worker.claim(GATHER_SECONDS if self.parsing.busy else 0.0, send=due)
        if sent:
            self._claimed = now
        return sent

    def _commit(self, now: float) -> bool:
        self._backlog = self._backlog and self.parsing.backlog
        ready = sum(len(partition.decisions) for partition in self.worker.partitions.values())
        late = now - self._committed >= self.rhythm.commit_seconds
        in_flight = self.worker.committing
        soon = bool(ready) and now >= self._not_before and not (in_flight or self._backlog)
        ends = self.stopping or self.worker.barred
        due = ready >= self.rhythm.commit_pages or late or soon or ends
        refresh = self._is_due("refresh", now, REFRESH_SECONDS)
        begun = self.worker.commit(begin=due or refresh, refresh=refresh)
        if in_flight and (begun or not self.worker.committing):
            self._not_before = now + PAUSE_A_TRANSACTION * (now - self._begun)
        if begun:
            self._begun, self._backlog = now, True
        if due or begun:
            self._committed = now
        return begun

    def _flush(self, now: float) -> None:
        seal = self._is_due("seal", now, self.rhythm.flush_seconds)
        self.worker.flush(seal=seal, keep=self._is_due("keep", now, self.rhythm.keep_seconds))

    def _is_due(self, what: str, now: float, seconds: float) -> bool:
        """Whether this many seconds have passed since it was due last; if so, it counts as done now."""
        due = now - self._last[what] >= seconds
        if due:
            self._last[what] = now
        return due

    def _timed(self, stage: str, step: Callable[[], Result]) -> Result:
        begun = time.thread_time()
        result = step()
        self.listener.stage(stage, time.thread_time() - begun)
        return result
