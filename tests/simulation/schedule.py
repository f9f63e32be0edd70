"""A seeded scheduler that decides every step of every worker and every mishap of the broker between them.

The world is small on purpose: bugs are dense where everything collides. A schedule is a function of its seed and scale,
so the seed replays a failing one.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final

from crawler_plugin.wire.errors import Stop
from crawler_plugin.wire.topics import ANSWERS, FINGERPRINTS, INDEX, PAGES
from tests.guarantees import Source, Violation
from tests.oracle import Known
from tests.simulation.crawl import LEAST_ACROSS, Crawl, TableFingerprinting
from tests.simulation.machine import Background, Machine
from tests.simulation.memory_log import MemoryLog, Transaction, World, in_memory
from tests.simulation.mishaps import MISHAPS, UPKEEP, change_roles
from tests.simulation.mutations.mutation import replaced
from tests.simulation.plain_index import PlainIndex
from tests.simulation.scale import SMALL, Scale
from worker.fingerprint.near import AccurateNear, SimHashNear
from worker.fingerprint.scoped import ScopedNear
from worker.index.layout import Layout
from worker.index.shard import Shard
from worker.stream.barrier import Barred
from worker.stream.log import Held, Role
from worker.stream.log_follower import Follower
from worker.stream.policy import Policy
from worker.stream.resources import WorkerResources
from worker.stream.shard import restore
from worker.stream.worker import Worker

SCHEME: Final = b"simulate"


@dataclass
class Share:
    """The pages of a generation: those of each partition in [``begins``, ``ends``), all pages without either.

    The generation begins with the knowledge ``known``, and only counts pages below ``counted``. ``exact``: the
    watermark and the claimed offsets are functions of the log, as without a repair.
    """

    begins: dict[int, int] = field(default_factory=dict)
    ends: dict[int, int] = field(default_factory=dict)
    counted: dict[int, int] = field(default_factory=dict)
    known: Known = field(default_factory=Known)
    exact: bool = True

    def holds(self, source: Source) -> bool:
        """Whether the generation has to account for the page."""
        partition, offset = source
        return self.begins.get(partition, 0) <= offset < self.ends.get(partition, offset + 1)

    def counts(self, source: Source) -> bool:
        """Whether the generation only counts the page."""
        return source[1] < self.counted.get(source[0], 0)


class Schedule:
    """The workers of one generation, and all events that happen to them.

    ``run`` plays it to its end, with the broker and all workers healthy in the last part. A schedule ``beside`` another
    one reads the same pages.
    """

    def __init__(self, seed: int, scale: Scale = SMALL, *, beside: Schedule | None = None) -> None:
        self.seed = seed
        self.scale = scale
        self.chance = chance = random.Random(seed)
        shards = chance.randint(1, scale.shards)
        partitions = chance.randint(1, scale.partitions) if beside is None else beside.world.partitions
        k = chance.randint(min(scale.radius, 1), scale.radius)
        self.near = ScopedNear(AccurateNear(k) if scale.accurate else SimHashNear(k), LEAST_ACROSS)
        self.ttl = chance.choice((None, chance.randint(3, 30), chance.randint(30, 90)))
        self.world: World = World(partitions=partitions, shards=shards, chance=chance)
        self.roles = random.Random(f"roles {seed}")
        self.world.meanwhile = self._meanwhile
        self.interrupted = False
        self.policy = Policy(
            scheme=SCHEME,
            scheme_text=b"{}",
            shards=shards,
            near=self.near,
            writer=b"",
            ttl=self.ttl,
            replicas=self.roles.choice(scale.replicas),
            hedge=self.roles.choice((0.0, 1.0, 5.0, 1e9)),
            track_changes=True,
            output=chance.choice(("tag", "verdicts", "drop")),
            claims_a_batch=chance.randint(1, scale.claims_a_batch),
            flush_entries=chance.randint(1, scale.flush_entries),
            commit_pages=chance.randint(1, 6),
        )
        crawl = Crawl(
            count=chance.randint(scale.pages // 4, scale.pages),
            bits=scale.bits,
            radius=k,
            accurate=scale.accurate,
            hostile=chance.random() < 0.25,
            titled=scale.titled,
            flagged=scale.flagged,
        )
        self.crawl = crawl.pages(chance, random.Random(seed))[::-1]
        self.share = Share()
        self.standing_by = False
        """Whether the generation begins with an index that is still being copied; ``read_besides`` holds followers of
        the command that copies from here."""
        self.read_besides: list[Follower] = []
        self.setting = partitions
        if beside is not None:
            self.crawl = beside.crawl
            self.world.clock = beside.world.clock
            for number in range(partitions):
                self.world.topics[PAGES, number] = beside.world.topics[PAGES, number]
        self.machines = [Machine(f"m{number}") for number in range(chance.choice((0, 1, scale.machines)))]
        self.workers: dict[str, Worker] = {}
        self.backgrounds: dict[str, Background] = {}
        self.retired: list[Worker] = []
        self.ending: list[Worker] = []
        self.deaf: set[str] = set()
        self.slow = chance.choice((None, INDEX, INDEX, ANSWERS))
        self.started = 0
        self.wanted = chance.randint(1, scale.workers)
        self.diligence = chance.choice(((0, 1, 1, 9), (0, 0, 0, 0, 0, 0, 0, 9)))
        self.mishaps = chance.choice((0, 0.5, 1, 2))
        self.forgets = chance.choice((0, 0, 0.5, 1))

    # the course of the schedule

    def run(self) -> Schedule:
        """Play the schedule; ``checks.check`` checks every promise afterwards.

        Raises:
            Violation: a worker refused to go on although nothing was wrong, or the world does not come to rest.
        """
        self.begin()
        self.go_on(self.scale.steps)
        self.heal()
        return self

    def begin(self) -> None:
        """Start the wanted number of workers."""
        for _ in range(self.wanted):
            self.start()
        for topic in (PAGES, INDEX):
            self.rebalance(topic)

    def go_on(self, steps: int) -> None:
        """Let this many events happen, each drawn by its weight."""
        self.world.chance = self.chance
        moves = self.moves()
        weights = [weight * self.chance.choice((0.3, 1, 1, 2)) for weight, _ in moves]
        actions = [action for _, action in moves]
        with replaced(restore, "_WAIT", 0.0):  # nothing arrives while a simulated worker waits
            for _ in range(steps):
                self.world.clock += self.chance.randint(0, 1)
                self.guarded(self.chance.choices(actions, weights)[0])

    def leave(self) -> None:
        """End all workers at once; their sends to the broker still come to an end, one way or the other."""
        self.deaf.clear()
        for name in sorted(self.workers):
            self.workers.pop(name).close()
            self.world.crash(name)
            del self.backgrounds[name]

    def end_transactions(self) -> None:
        """Let the transactions that workers have left behind be committed or time out."""
        for transaction in list(self.world.transactions):
            self.world.advance(transaction, commit=self.chance.random() < 0.5)

    def refuses(self, rounds: int = 60) -> str | None:
        """Let healthy workers come and go. Returns why they refused; None if they did not within this many rounds."""
        self.world.chance, refusal = None, None
        try:
            self.begin()
            for _ in range(rounds):
                self.work_healthily(HEALTHY_STEPS)
                for topic in (PAGES, INDEX):
                    if set(self.world.groups[topic].owners.values()) != set(self.workers):
                        self.rebalance(topic)
                self.world.settle_down()
        except Violation as violation:
            refusal = str(violation)
        self.leave()
        return refusal

    # possible events

    def moves(self) -> list[tuple[float, Callable[[], None]]]:
        """Everything that may happen, with its weight."""
        bad = self.mishaps
        return [
            (12, self.publish),
            (30, self._step),
            (50, self._pass),
            (12, self._land),
            (24, self._land_all),
            (24, self._round),
            (24, self._advance),
            (4, self.start),
            (8 if self.machines else 0, self._keep),
            (3, lambda: self.rebalance(PAGES)),
            (3, lambda: self.rebalance(INDEX)),
            (0.8, self._hear_again),
            *((weight * bad, partial(mishap, self)) for weight, mishap in MISHAPS),
            *((weight, partial(event, self)) for weight, event in UPKEEP),
        ]

    def publish(self) -> None:
        if self.crawl:
            key, value = self.crawl.pop()
            partition = sum(key) % self.world.partitions  # another one for the same URL once there are more of them
            self.world.publish(partition, key, value, [("url", key)], timestamp=self.world.clock)

    def _step(self) -> None:
        if self.workers:
            worker = self.workers[self.chance.choice(sorted(self.workers))]
            step = self.chance.choice(STEPS)
            self.guarded(step, self, worker)

    def _pass(self) -> None:
        if self.workers:
            worker = self.workers[self.chance.choice(sorted(self.workers))]
            for step in HEALTHY_STEPS:
                self.guarded(step, self, worker)

    def _keep(self) -> None:
        """Let a worker take snapshots of its shards, which are written when their blocks have landed."""
        if self.workers:
            worker = self.workers[self.chance.choice(sorted(self.workers))]
            self.guarded(partial(worker.flush, keep=True))

    def _round(self) -> None:
        """Let all workers work a little, with a quick network: otherwise little would be committed between mishaps."""
        for name in sorted(self.workers):
            for step in HEALTHY_STEPS:
                self.guarded(step, self, self.workers[name])
            self._land_all()
        self._advance()

    def _land_all(self) -> None:
        """Let everything on its way arrive, except on a slow topic: blocks may take long where claims do not."""
        while sends := [send for send in self.world.landable() if send.topic != self.slow]:
            for send in sends:
                self.world.land(send)

    def guarded(self, step: Callable[..., object], *arguments: object) -> None:
        """Run a step, which no worker may refuse; at a record that may not be decided, the worker only ends what it has
        begun."""
        worker = arguments[-1] if arguments else None
        if worker in self.ending:
            step, arguments = Schedule.finish, (self, worker)
        try:
            step(*arguments)
        except Barred as error:
            if self.world.barrier is None or not isinstance(worker, Worker):
                raise Violation(f"a worker refused to go on: {error}") from error
            self.ending.append(worker)
            worker.drain()
            worker.flush(seal=True)
        except Stop as error:
            raise Violation(f"a worker refused to go on: {error}") from error

    def start(self) -> None:
        if len(self.workers) < self.wanted:
            self.started += 1
            name = f"w{self.started}"
            policy = replace(self.policy, writer=name.encode(), partitions=self.setting)
            self.workers[name] = Worker(
                MemoryLog(self.world, name),
                policy,
                TableFingerprinting(self.chance, self.ttl),
                self.new_index,
                self.new_key,
                resources=self._local(name),
                clock=self.clock,
            )
            self.guarded(self.poll, self.workers[name])

    def clock(self) -> float:
        """The time by a worker's clock: some clocks are late, and no verdict may depend on them."""
        return self.world.clock - 3 * self.roles.random()

    def _local(self, name: str) -> WorkerResources:
        """The resources of a worker on the machine on which it is started."""
        self.backgrounds[name] = Background()
        machine = self.chance.choice(self.machines or [None])
        return WorkerResources(self.backgrounds[name], None if machine is None else machine.snapshots)

    def new_index(self) -> PlainIndex | Shard:
        """An empty index for one shard."""
        if self.scale.real_index:
            return Shard.by(self.near, layout=Layout.L4x16, by_url=True)
        return PlainIndex(self.near)

    def new_key(self) -> bytes:
        return self.chance.randbytes(16)

    def _land(self) -> None:
        if sends := self.world.landable():
            self.world.land(self.chance.choice(sends))

    def transaction(self) -> Transaction | None:
        return self.chance.choice(self.world.transactions) if self.world.transactions else None

    def _advance(self) -> None:
        if transaction := self.transaction():
            self.world.advance(transaction)

    def rebalance(self, topic: str) -> None:
        """Make another assignment, in which most units stay with their owners, unless a schedule's chance decides
        otherwise."""
        if topic == INDEX and self.policy.replicas > 1:
            change_roles(self)
            return
        group = self.world.groups[topic]
        if members := group.members:
            sticky = self.chance.random() < 0.8
            kept = group.owners if sticky else {}
            owners = {unit: kept.get(unit) or self.chance.choice(members) for unit in self.units(topic)}
            group.assign(owners)

    def units(self, topic: str) -> Sequence[Any]:
        """The units that the members of a group share."""
        if topic == PAGES:
            return range(self.world.partitions)
        roles = list(Role)[: self.policy.replicas]
        return [Held(shard, role) for role in roles for shard in range(self.world.shards)]

    def _hear_again(self) -> None:
        self.deaf.clear()

    def _meanwhile(self, member: str) -> None:
        """Let the others work while one worker waits for an answer of the broker; they may do a lot."""
        if self.world.chance is None or self.interrupted or self.chance.random() > 0.2:
            return
        self.interrupted = True
        for _ in range(self.chance.randint(1, 4)):
            for name, worker in sorted(self.workers.items()):
                if name != member:
                    for step in HEALTHY_STEPS:
                        self.guarded(step, self, worker)
            self._land_all()
        self.interrupted = False

    # the steps of a worker

    def poll(self, worker: Worker) -> None:
        if in_memory(worker.log).name not in self.deaf:
            worker.poll()

    def work(self, worker: Worker) -> None:
        """Go on with the work that the worker has given to its background."""
        self.backgrounds[in_memory(worker.log).name].do(self.chance.choice(self.diligence))

    def finish(self, worker: Worker) -> None:
        """Finish the worker's remaining work at a record that no worker may decide."""
        worker.commit()
        self.work(worker)
        worker.flush()
        self.follow_index(worker)

    def flush(self, worker: Worker) -> None:
        worker.flush(seal=self.chance.random() < 0.3)

    def follow_index(self, worker: Worker) -> None:
        """Read the index topic: where shards have two holders, the second one follows the blocks of the first."""
        if self.policy.replicas > 1:
            worker.tidy()

    def commit(self, worker: Worker) -> None:
        worker.commit(refresh=self.chance.random() < 0.2)

    # the end

    def heal(self) -> None:
        """From here on nothing goes wrong; every published page must get its verdict."""
        while self.crawl:
            self.publish()
        with replaced(restore, "_WAIT", 0.0):
            self.come_to_rest()

    def come_to_rest(self) -> None:
        """The same for the pages published so far. Everything decided is in blocks afterwards."""
        world = self.world
        world.chance = None
        self.deaf.clear()
        if not self.workers:
            self.start()
        for _ in range(3):
            for worker in self.workers.values():
                self.guarded(self.poll, worker)
        for topic in (PAGES, INDEX):
            self.rebalance(topic)
        pages = sum(world.topics[PAGES, number].end for number in range(self.setting))
        for _ in range(40 + 8 * pages):
            self.work_healthily(HEALTHY_STEPS)
            world.settle_down()
            consumed = sum(made.offset for number, made in world.committed.items() if number < self.setting)
            if (consumed == pages or world.barrier is not None) and self._at_rest():
                break
        else:
            raise Violation(f"the world does not come to rest: {consumed} of {pages} pages are committed")
        self.work_healthily((_seal_all,))
        for _ in range(40 + 8 * pages):
            if all(worker.flushed for worker in self.workers.values()):
                break
            world.settle_down()
            self.work_healthily((lambda _, worker: worker.flush(), lambda _, worker: worker.tidy()))
        else:
            raise Violation("the world does not come to rest: blocks are still to be written")
        world.settle_down()
        self.work_healthily((Schedule.follow_index,))

    def work_healthily(self, steps: Iterable[Callable[[Schedule, Worker], object]]) -> None:
        """Let every worker make these steps, and finish all its background work."""
        for name, worker in self.workers.items():
            for step in steps:
                self.guarded(step, self, worker)
            self.backgrounds[name].do(9)

    def _at_rest(self) -> bool:
        """Whether the world is at rest: at a record that may not be decided, everything before it is decided, and no
        worker with decided claims claims more."""
        barrier = self.world.barrier
        end = self.world.topics[FINGERPRINTS, 0].end if barrier is None else barrier
        return all(
            worker.committer.idle
            and all(shard.live is not None for shard in worker.shards.values())
            and all(follower.place.batch >= end for follower in worker.followers)
            and (barrier is None or worker in self.ending or all(f.place.batch > barrier for f in worker.followers))
            for worker in self.workers.values()
        )


def _seal_all(schedule: Schedule, worker: Worker) -> None:
    worker.flush(seal=True, keep=schedule.chance.random() < 0.5)


STEPS: tuple[Callable[[Schedule, Worker], object], ...] = (
    Schedule.poll,
    Schedule.poll,
    lambda _, worker: worker.take_up(),
    lambda _, worker: worker.take_up(),
    lambda _, worker: worker.read(),
    lambda _, worker: worker.read(),
    lambda _, worker: worker.claim(),
    lambda _, worker: worker.answer(),
    lambda _, worker: worker.answer(),
    lambda _, worker: worker.decide(),
    lambda _, worker: worker.decide(),
    Schedule.commit,
    Schedule.work,
    Schedule.flush,
    lambda _, worker: worker.tidy(),
)
HEALTHY_STEPS: tuple[Callable[[Schedule, Worker], object], ...] = (
    Schedule.poll,
    lambda _, worker: worker.take_up(),
    lambda _, worker: worker.read(),
    lambda _, worker: worker.claim(),
    lambda _, worker: worker.answer(),
    lambda _, worker: worker.decide(),
    lambda _, worker: worker.commit(),
    Schedule.work,
    lambda _, worker: worker.flush(),
    Schedule.follow_index,
)
