"""A round of the nemesis: who is well, asleep or away in it, and what no worker may do."""

from __future__ import annotations

import random
import signal
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Self

from crawler_plugin.wire.errors import Unavailable
from tests.cluster.cluster import STARTED, Cluster, WorkerProcess
from tests.cluster.shifted_clock import ShiftedClock
from tools.cluster.lines import Line
from worker.broker.server import LocalBroker

OUTAGE_SECONDS: Final = 120.0
"""For this time after the broker was killed a worker may end because it found no broker."""
SILENT_SECONDS: Final = 5.0
"""A worker that is awake answers within this time, and makes a pass of its loop, unless a broker was away."""
EXCUSED_SECONDS: Final = 30.0
"""For this time after a broker was away, or after the worker was stopped, the worker may be silent."""
LISTEN_SECONDS: Final = 1.0
END_SECONDS: Final = 60.0
"""A worker that is told to stop ends within this time."""


@dataclass
class Tally:
    """How often each fault has happened, and each two at once, by their names, in all rounds."""

    happened: Counter[str] = field(default_factory=Counter)
    together: Counter[frozenset[str]] = field(default_factory=Counter)

    def partners(self, name: str) -> int:
        """The number of kinds that have happened together with this one."""
        return sum(name in pair for pair in self.together)

    @classmethod
    def of_earlier(cls, met: Path | None) -> Self:
        """After runs that wrote down which kinds have happened together."""
        lines = met.read_text(encoding="utf-8").splitlines() if met and met.exists() else []
        return cls(together=Counter(frozenset(line.split(" and ")) for line in lines))

    def write(self, met: Path) -> None:
        """Write down which kinds have happened together, a line each."""
        lines = sorted(" and ".join(sorted(pair)) for pair in self.together)
        met.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


@dataclass
class Round:
    """One round: a cluster with faults, which ``tally`` counts.

    ``restarted`` counts the workers that ended with 3, found no broker, and were started again as by a supervisor. Half
    of the workers have a name of their own (``names``, by process), ``behind`` are those that were started with fewer
    partitions, and ``exports`` are folders with exports of the index during the round.
    """

    cluster: Cluster
    brokers: Sequence[LocalBroker]
    chance: random.Random
    tally: Tally
    asleep: dict[int, float] = field(default_factory=dict)
    clocks: list[ShiftedClock] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    restarted: int = 0
    outage: float = -OUTAGE_SECONDS
    lines: Sequence[Line] = ()
    line_of: dict[int, Line] = field(default_factory=dict)
    cut_until: dict[Line, float] = field(default_factory=dict)
    broken_lines: set[Line] = field(default_factory=set)
    silences: list[float] = field(default_factory=lambda: [0.0])
    listened: float = 0.0
    behind: list[WorkerProcess] = field(default_factory=list)
    names: dict[int, str] = field(default_factory=dict)
    exports: list[Path] = field(default_factory=list)
    woken: dict[int, float] = field(default_factory=dict)

    def start(self) -> WorkerProcess:
        """Start another worker, with a clock of its own that is still right, and a line of its own while some are
        free."""
        clock = ShiftedClock(self.cluster.folder / f"clock-{len(self.clocks)}")
        self.clocks.append(clock)
        taken = {self.line_of[worker.process.pid] for worker in self.workers if worker.process.pid in self.line_of}
        line = next((line for line in self.lines if line not in taken and not line.is_cut), None)
        more = [] if line is None else [f"kafka.bootstrap_servers={line.bootstrap}"]
        name = f"worker-{len(self.clocks)}" if self.chance.random() < 0.5 else ""
        more += [f"kafka.instance_id={name}"] if name else []
        worker = self.cluster.start_worker(*more, clock=clock)
        if name:
            self.names[worker.process.pid] = name
        if line is not None:
            self.line_of[worker.process.pid] = line
        return worker

    @property
    def workers(self) -> list[WorkerProcess]:
        """The live workers."""
        return [worker for worker in self.cluster.workers if worker.alive]

    def awake(self) -> list[WorkerProcess]:
        """The live workers that are not stopped."""
        return [worker for worker in self.workers if worker.process.pid not in self.asleep]

    def let_go_on(self) -> None:
        """Wake workers that have slept enough, and mend lines that were cut for long enough."""
        now = time.monotonic()
        for worker in self.workers:
            if self.asleep.get(worker.process.pid, now + 1) <= now:
                self.wake(worker)
        for line in [line for line, until in self.cut_until.items() if until <= now]:
            self.mend(line)

    def look(self) -> None:
        """Let workers go on; check that a worker works, and that none has ended by itself."""
        self.let_go_on()
        while len(self.awake()) < 1:
            self.start()
        self.watch()
        self.listen()

    def listen(self) -> None:
        """Note a problem for each worker that is silent for long although it is neither asleep nor without a broker."""
        now = time.monotonic()
        if now - self.listened < LISTEN_SECONDS or now - self.outage < EXCUSED_SECONDS:
            return
        for worker in self.awake():
            is_cut = self.line_of.get(worker.process.pid) in self.broken_lines
            if is_cut or now - self.woken.get(worker.process.pid, -EXCUSED_SECONDS) < EXCUSED_SECONDS:
                continue
            self.silences.append(worker.silence(SILENT_SECONDS))
            if self.silences[-1] >= SILENT_SECONDS and worker.alive:
                self.problems.append(f"a worker was silent for {self.silences[-1]:.1f} s: {worker.said()[-1500:]}")
        self.listened = time.monotonic()

    def watch(self) -> None:
        """Note a problem for each worker that ended by itself, whatever the topics say, unless the broker was away."""
        for worker in [worker for worker in self.cluster.workers if worker.process.poll() not in (None, 0, -9)]:
            if self.may_end_with(worker.process.poll()):
                self.cluster.workers.remove(worker)
                self.start()
                self.restarted += 1
                continue
            self.problems.append(f"a worker ended with {worker.process.poll()}: {worker.said()[-1500:]}")
            self.cluster.workers.remove(worker)

    def may_end_with(self, code: object) -> bool:
        """Whether this is the exit code of a worker that found no broker, and a broker was away not long ago."""
        return code == Unavailable.exit_code and time.monotonic() - self.outage < OUTAGE_SECONDS

    def wake(self, worker: WorkerProcess) -> None:
        """Let the worker go on."""
        worker.wake()
        self.asleep.pop(worker.process.pid, None)
        self.woken[worker.process.pid] = time.monotonic()

    def mend(self, line: Line) -> None:
        """Let bytes on the line arrive again."""
        line.mend(drop=self.chance.random() < 0.5)
        del self.cut_until[line]

    def recover(self) -> None:
        """Wake all workers, mend all lines, and let at least one worker run that claims all partitions."""
        for worker in self.workers:
            self.wake(worker)
        for line in list(self.cut_until):
            self.mend(line)
        for worker in [worker for worker in self.behind if worker.alive]:
            self.start()
            self.end(worker)
        self.look()

    def running(self) -> list[WorkerProcess]:
        """The workers that say that they run, and are awake."""
        return [worker for worker in self.awake() if STARTED in worker.said()]

    def end(self, worker: WorkerProcess, by: signal.Signals = signal.SIGTERM) -> None:
        """Tell the worker to stop; note a problem if it does not end as it should."""
        worker.process.send_signal(by)
        give_up = time.monotonic() + END_SECONDS
        while worker.alive and time.monotonic() < give_up:
            self.let_go_on()  # its own line may be cut
            time.sleep(0.1)
        code = "nothing within a minute" if worker.alive else worker.process.poll()
        if code != 0 and not self.may_end_with(code):
            self.problems.append(f"a worker that was told to stop ended with {code}: {worker.said()[-1500:]}")
