"""The mishaps of workers, groups, the broker and the topics in a round of the nemesis."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Final

from kafka import KafkaAdminClient, errors
from kafka.admin import MemberToRemove

from crawler_plugin.wire.errors import Refused, Unavailable
from tests.cluster import hostile
from tests.cluster.cluster import PROGRAM, STARTED, Cluster, WorkerProcess
from tests.cluster.cluster import running as running_again
from tests.cluster.crawl import invented
from tests.cluster.shifted_clock import ShiftedClock
from tests.open_transactions import open_transactions
from tests.waiting import wait_for
from tools.cluster.lines import Line
from worker.broker.server import LocalBroker
from worker.compose.topology import cluster as cluster_view
from worker.compose.topology import specs
from worker.stream.kafka.topic_admin import PARTITIONS, alter_topics, compare_topics

MOST_WORKERS: Final = 4
MOST_PARTITIONS: Final = 12
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
class Round:
    """One round: a cluster with faults. ``happened`` counts faults by name, ``together`` counts pairs of faults.

    ``restarted`` counts the workers that ended with 3, found no broker, and were started again as by a supervisor. Half
    of the workers have a name of their own (``names``, by process), ``behind`` are those that were started with fewer
    partitions, and ``exports`` are folders with exports of the index during the round.
    """

    cluster: Cluster
    brokers: Sequence[LocalBroker]
    chance: random.Random
    happened: Counter[str] = field(default_factory=Counter)
    asleep: dict[int, float] = field(default_factory=dict)
    clocks: list[ShiftedClock] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    together: Counter[str] = field(default_factory=Counter)
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

    def fault(self, before: Counter[str]) -> str | None:
        """Let one of the possible faults happen, half of the time one of those that have happened least; returns its
        name.

        ``before`` counts the faults of earlier rounds.
        """
        possible = [(weight, act) for weight, act in FAULTS if self._is_possible(act)]
        if self.chance.random() < 0.5:
            times = {act: before[act.__name__] + self.happened[act.__name__] for _, act in possible}
            possible = [(weight, act) for weight, act in possible if times[act] == min(times.values())]
        ((_, act),) = self.chance.choices(possible, [weight for weight, _ in possible])
        if not act(self):
            return None
        self.happened[act.__name__] += 1
        return act.__name__

    def _is_possible(self, act: Callable[[Round], bool]) -> bool:
        if act in OF_THREE_BROKERS + OF_ONE_BROKER:
            return (act in OF_THREE_BROKERS) == (len(self.brokers) > 1)
        return True

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


def kill(world: Round) -> bool:
    """kill -9 of a worker; another is started."""
    if not world.workers:
        return False
    world.chance.choice(world.workers).kill()
    world.start()
    return True


def both_holders(world: Round) -> bool:
    """kill -9 of two workers at once, both holders of some shards if shards have two holders; two are started."""
    if len(world.workers) < 2:
        return False
    for worker in world.chance.sample(world.workers, 2):
        worker.kill()
        world.start()
    return True


def kill_in_a_transaction(world: Round) -> bool:
    """kill -9 of a worker whose transaction is open; another is started."""
    admin = KafkaAdminClient(**world.cluster.options)
    try:
        for _ in range(30):
            if not world.awake():
                return False
            worker = world.chance.choice(world.awake())
            worker.pause()
            writer = next((line for line in worker.said().splitlines() if " runs, scheme " in line), "")
            name = f"{world.cluster.settings.kafka.group}-{writer.partition('worker ')[2].partition(' ')[0]}"
            try:
                is_caught = bool(writer and open_transactions(admin, name))
            except errors.RetriableError:  # of a broker that has just come back
                is_caught = False
            if is_caught:
                worker.kill()
                world.start()
                return True
            worker.wake()
            time.sleep(0.05)
    finally:
        admin.close()
    return False


def pause(world: Round) -> bool:
    """SIGSTOP past the session timeout, SIGCONT later."""
    return _stop(world, 8, 20)


def nap(world: Round) -> bool:
    """SIGSTOP for less than the session timeout."""
    return _stop(world, 0.5, 5)


def _stop(world: Round, least: float, most: float) -> bool:
    if not world.awake():
        return False
    worker = world.chance.choice(world.awake())
    worker.pause()
    world.asleep[worker.process.pid] = time.monotonic() + world.chance.uniform(least, most)
    return True


def cut(world: Round) -> bool:
    """The line between a worker and the broker is cut; later the bytes sent on it arrive, or its connections end."""
    lines = [world.line_of.get(worker.process.pid) for worker in world.awake()]
    whole = [line for line in lines if line is not None and not line.is_cut]
    if not whole:
        return False
    line = world.chance.choice(whole)
    line.cut()
    world.broken_lines.add(line)
    world.cut_until[line] = time.monotonic() + world.chance.uniform(0.5, 20)
    return True


def join(world: Round) -> bool:
    """One more worker."""
    if len(world.workers) >= MOST_WORKERS:
        return False
    world.start()
    return True


def leave(world: Round) -> bool:
    """SIGTERM to a worker, which must drain and end with 0, or with 3 if a broker was just away."""
    running = world.running()
    if len(running) < 2:
        return False
    world.end(world.chance.choice(running))
    return True


def leave_for_good(world: Round) -> bool:
    """SIGUSR1 to a worker, which drains, leaves its groups and ends; or kill -9 of one with a name and `leave NAME`."""
    running = world.running()
    if len(running) < 2:
        return False
    worker = world.chance.choice(running)
    name = world.names.get(worker.process.pid)
    if name is None or world.chance.random() < 0.5:
        world.end(worker, signal.SIGUSR1)
        return True
    worker.kill()
    with suppress(Unavailable), cluster_view(world.cluster.settings) as view:
        view.leave(name)
    return True


def one_three_two(world: Round) -> bool:
    """Workers leave for good until one is left, two more come, and one of three leaves."""
    running = world.running()
    if len(running) != len(world.workers) or not running:
        return False
    for worker in running[1:]:
        world.end(worker, signal.SIGUSR1)
    world.start()
    running_again(world.start())
    world.end(world.chance.choice(world.running()), signal.SIGUSR1)
    return True


def more_partitions(world: Round) -> bool:
    """`pages` gets another partition, then the outputs do, and one worker is replaced by one that claims it."""
    number = world.cluster.settings.topics.partitions + 1
    if number > MOST_PARTITIONS:
        return False
    world.behind += world.workers
    world.cluster.change(f"topics.partitions={number}")
    wait_for(lambda: _have_partitions(world.cluster), "more partitions")
    world.start()
    return True


def _have_partitions(cluster: Cluster) -> bool:
    """Give `pages` and the outputs those that they lack, and nothing else; whether that was possible."""
    try:
        lacking = [each for each in compare_topics(cluster.options, specs(cluster.settings)) if each.what == PARTITIONS]
        alter_topics(cluster.options, lacking)
    except (Unavailable, errors.KafkaError):
        return False
    return True


def export(world: Round) -> bool:
    """`index export` of the whole index, while all workers work."""
    folder = world.cluster.folder / f"exported-{len(world.exports)}"
    done = _command(world, "index", "export", "--out", str(folder)) == 0
    world.exports += [folder] * done
    return done


def forget(world: Round) -> bool:
    """`forget --before` a time of some pages' fetches, then kill -9 of a worker: another one restores what is left."""
    before = datetime.now(UTC) - timedelta(days=world.chance.uniform(26, 30))  # a round's first pages are 30 days old
    code = _command(world, "forget", "--before", f"{before:%Y-%m-%dT%H:%M}", "--yes", "--timeout", "10", most=1)
    return code is not None and kill(world)


def _command(world: Round, *arguments: str, most: int = 0) -> int | None:
    """The exit code of a command, 0 to ``most``; None if a broker is away."""
    overrides = [argument for pair in world.cluster.overrides for argument in ("--set", pair)]
    done = subprocess.run(
        [*PROGRAM, *arguments, *overrides], capture_output=True, text=True, cwd=world.cluster.folder, check=False
    )
    is_away = done.returncode in (Unavailable.exit_code, Refused.exit_code)
    if not (is_away or 0 <= done.returncode <= most):
        world.problems.append(f"{' '.join(arguments)} ended with {done.returncode}: {done.stderr[-1500:]}")
    return None if is_away else done.returncode


def evict(world: Round) -> bool:
    """The broker puts one member, or all, out of one of the groups."""
    admin = KafkaAdminClient(**world.cluster.options)
    try:
        group = f"{world.cluster.settings.kafka.group}-{world.chance.choice(('pages', 'shards'))}"
        found = [member["member_id"] for member in admin.describe_groups([group])[group]["members"]]
        gone = found if world.chance.random() < 0.3 else found[:1]
        if not gone:
            return False
        admin.remove_group_members(group, [MemberToRemove(member_id=member) for member in gone])
    except errors.KafkaError:
        return False  # the group is rebalancing, or has changed in between
    finally:
        admin.close()
    return True


def broker_killed(world: Round) -> bool:
    """kill -9 of a broker; it comes back on the same data."""
    return _kill_brokers(world, 1)


def two_brokers_killed(world: Round) -> bool:
    """kill -9 of two brokers of three at once, so that nothing can be written; they come back on the same data."""
    return _kill_brokers(world, 2)


def _kill_brokers(world: Round, number: int) -> bool:
    killed = world.chance.sample(world.brokers, number)
    for broker in killed:
        broker.kill()
    time.sleep(world.chance.uniform(0, 4))
    with ThreadPoolExecutor(number) as pool:  # each of two may wait for the other
        list(pool.map(LocalBroker.start, killed))
    world.outage = time.monotonic()
    return True


def broker_frozen(world: Round) -> bool:
    """SIGSTOP of one broker of three, past its session, then SIGCONT: it wakes and no longer leads any partition."""
    frozen = world.chance.choice(world.brokers)
    assert frozen.pid is not None
    os.kill(frozen.pid, signal.SIGSTOP)
    try:
        time.sleep(world.chance.uniform(3, 10))
    finally:
        os.kill(frozen.pid, signal.SIGCONT)
    world.outage = time.monotonic()
    return True


def clock_jump(world: Round) -> bool:
    """The clock of one worker, or of all, jumps by up to a month, ahead or back."""
    jumping = world.clocks if world.chance.random() < 0.3 else [world.chance.choice(world.clocks)]
    for clock in jumping:
        clock.shift(world.chance.choice((-1, 1)) * world.chance.choice((2, 600, 5400, 86400, 30 * 86400)))
    return True


def bomb(world: Round) -> bool:
    """64 MiB of one letter in a compressed batch on `pages`, good pages before and behind it."""
    return _publish_among_good_ones(world, lambda partition, number: [hostile.bomb(partition, number)])


def wide_headers(world: Round) -> bool:
    """A page with 2 MiB of headers that fits `pages` compressed and no output, good pages before and behind it."""
    return _publish_among_good_ones(world, lambda partition, number: [hostile.wide(partition, number)])


def hostile_strings(world: Round) -> bool:
    """Pages with URLs, marks, entities and titles that once took very long, good pages before and behind them."""
    return _publish_among_good_ones(world, hostile.strings)


def _publish_among_good_ones(world: Round, make: Callable[[int, int], list[hostile.Sent]]) -> bool:
    if world.cluster.settings.near.ttl_days is not None:
        return False  # unreadable pages have no fetch time: the broker's time would expire the pages of weeks ago
    number = world.happened.total()
    partition = world.chance.randrange(world.cluster.settings.topics.partitions)
    good = [hostile.page(partition, page) for page in islice(invented(10_000 + number), 4)]
    codec = world.chance.choice(hostile.CODECS)
    records = [*good[:2], *make(partition, number), *good[2:]]
    hostile.send(world.cluster.bootstrap, world.cluster.prefix, records, codec)
    return True


def foreign_records(world: Round) -> bool:
    """Garbage, torn and flipped records, and whole ones of another scheme, on all three of the workers' own topics."""
    hostile.send(world.cluster.bootstrap, world.cluster.prefix, hostile.foreign(world.chance))
    return True


FAULTS: Final[list[tuple[float, Callable[[Round], bool]]]] = [
    (4, kill),
    (2, both_holders),
    (3, kill_in_a_transaction),
    (3, pause),
    (2, nap),
    (3, cut),
    (4, join),
    (3, leave),
    (3, leave_for_good),
    (1, one_three_two),
    (1, more_partitions),
    (2, export),
    (2, forget),
    (3, evict),
    (2, broker_killed),
    (1, two_brokers_killed),
    (2, broker_frozen),
    (3, clock_jump),
    (2, bomb),
    (2, wide_headers),
    (3, hostile_strings),
    (2, foreign_records),
]
OF_THREE_BROKERS: Final = (two_brokers_killed, broker_frozen)
"""Faults that are useless with one broker."""
OF_ONE_BROKER: Final = (cut,)
"""Faults of the lines, which lead only to one broker."""
