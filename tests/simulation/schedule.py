"""A seeded scheduler that decides every step of every worker and every mishap of the broker between them.

The world is small on purpose: bugs are dense where everything collides. A schedule is a function of its seed and scale,
so a failing one is replayed by its seed.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import msgspec

from tests.guarantees import Violation
from tests.simulation.memory_log import MemoryLog, OnItsWay, Transaction, World
from tests.simulation.plain_index import PlainIndex
from worker.errors import Stop
from worker.fingerprint.hashing import hash_words
from worker.fingerprint.near import AccurateNear, SimHashNear
from worker.fingerprint.scoped import ScopedNear
from worker.fingerprint.sketch import bands, sketch
from worker.index.blocks import cover as honest_cover
from worker.index.layout import Layout
from worker.index.shard import Shard
from worker.messages import Block, Claim, decode
from worker.stream.loop import Worker
from worker.stream.policy import Policy, ReplayPoint
from worker.stream.ports import Record
from worker.topics import CANDIDATES, FINGERPRINTS, INDEX, PAGES
from worker.verdict.clock import bounded_clock

SCHEME = b"simulate"
FLAKY = 0.02
"""Share of pages that one worker cannot read although another could: parsing alone is not repeatable."""


@dataclass(frozen=True)
class Scale:
    """How large the world of a schedule may be. ``real_index``: the compiled shard in place of the plain one.

    ``accurate``: pages have sketches, bands and scopes, and are near by all of them.
    """

    workers: int = 3
    shards: int = 3
    partitions: int = 3
    pages: int = 42
    bits: int = 12
    radius: int = 2
    flush_entries: int = 2
    claims_a_batch: int = 4
    steps: int = 450
    real_index: bool = False
    accurate: bool = False


SMALL = Scale()
ACCURATE = replace(SMALL, accurate=True)
REAL = Scale(workers=4, shards=8, partitions=8, pages=600, bits=64, radius=3, flush_entries=40, claims_a_batch=32,
             steps=1500, real_index=True)  # fmt: skip
REAL_ACCURATE = replace(REAL, accurate=True)


class Text(NamedTuple):
    """What ``AccurateNear`` reads of a text besides its fingerprint."""

    sketch: bytes
    bands: bytes
    tokens: int


def _texts() -> tuple[Text, ...]:
    """Texts that are near to their neighbours but not to those further off: windows that move over an endless text.

    There are walks for each kind of sketch, of longer and shorter windows; the last text has no sketch.
    """
    endless = hash_words([f"word {number}" for number in range(200)])
    windows = [
        endless[start : start + length]
        for length, step in ((10, 1), (8, 1), (18, 2), (44, 5), (33, 5))
        for start in range(0, 5 * step, step)
    ]
    return (*(Text(sketch(tokens), bands(tokens), len(tokens)) for tokens in windows), Text(b"", b"", 9))


TEXTS = _texts()


def surviving(records: list[Record]) -> list[Record]:
    """What is left of a compacted partition's records: the last one of each key, if it is no tombstone."""
    return [record for record in {record.key: record for record in records}.values() if record.value is not None]


class TableFingerprinting:
    """Pages of the simulated crawl carry their fingerprint with them; they come back late and in any order."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.waiting: list[Claim] = []

    def submit(self, record: Record) -> None:
        claim = claim_of(record)
        if self.chance.random() < FLAKY:
            claim = msgspec.structs.replace(claim, dead="parser-timeout: on this worker, this time")
        self.waiting.append(claim)

    def claims(self, wait: float = 0.0) -> list[Claim]:
        self.chance.shuffle(self.waiting)
        keep = self.chance.choice((0, 0, len(self.waiting) // 2))
        done, self.waiting = self.waiting[keep:], self.waiting[:keep]
        return done


def claim_of(record: Record) -> Claim:
    """The claim of a simulated page; a pure function of its record."""
    fingerprint, text_hash, fetched, number, scope = (record.value or b"").decode().split("|")
    bare = fingerprint == "bare"
    text = Text(b"", b"", 0) if bare and text_hash == "0" else TEXTS[int(number)]
    return Claim(
        partition=record.partition,
        offset=record.offset,
        clock=bounded_clock(int(fetched) if fetched else None, record.timestamp, ttl=None),
        url=(record.key or b"").decode(),
        fingerprint=int(fingerprint) if fingerprint.isdecimal() else None,
        text_hash=int(text_hash),
        tokens=text.tokens,
        dead="parser-raised: in the script" if fingerprint == "dead" else None,
        sketch=text.sketch,
        bands=text.bands,
        scope=int(scope),
    )


class Schedule:
    """One schedule: ``run`` plays it to its end, with the broker and all workers healthy for the last part."""

    def __init__(self, seed: int, scale: Scale = SMALL) -> None:
        self.seed = seed
        self.scale = scale
        self.chance = chance = random.Random(seed)
        shards = chance.randint(1, scale.shards)
        partitions = chance.randint(1, scale.partitions)
        k = chance.randint(min(scale.radius, 1), scale.radius)
        self.near = ScopedNear(AccurateNear(k) if scale.accurate else SimHashNear(k))
        self.ttl = chance.choice((None, chance.randint(3, 30), chance.randint(30, 90)))
        self.world = World(partitions=partitions, shards=shards, chance=chance)
        self.world.meanwhile = self._meanwhile
        self.interrupted = False
        self.policy = Policy(
            scheme=SCHEME,
            scheme_text=b"{}",
            shards=shards,
            near=self.near,
            writer=b"",
            ttl=self.ttl,
            output=chance.choice(("tag", "tag", "drop")),
            claims_a_batch=chance.randint(1, scale.claims_a_batch),
            flush_entries=chance.randint(1, scale.flush_entries),
            settle_pages=chance.randint(1, 6),
        )
        self.crawl = self._crawl(chance.randint(scale.pages // 4, scale.pages))
        self.workers: dict[str, Worker] = {}
        self.retired: list[Worker] = []
        self.deaf: set[str] = set()
        self.slow = chance.choice((None, INDEX, INDEX, CANDIDATES))
        self.started = 0
        self.wanted = chance.randint(1, scale.workers)
        self.mishaps = chance.choice((0, 0.5, 1, 2))

    def _crawl(self, count: int) -> list[tuple[int, bytes, bytes]]:
        """The pages in the order in which they are published: (partition, key, value)."""
        chance, scale = self.chance, self.scale
        urls = [f"http://{n}.example/" for n in range(max(3, count // chance.choice((1, 2, 4))))]
        centres = [chance.getrandbits(scale.bits) for _ in range(max(2, len(urls) // 2))]
        content: dict[str, tuple[str, int, int]] = {}
        beside = random.Random(self.seed)  # what only an accurate world has leaves the draws of the others as they are
        scopes = beside.choice((1, 1, 2))
        pages = []
        for tick in range(count):
            url = chance.choice(urls)
            if url not in content or chance.random() < 0.4:
                fingerprint = chance.choice(centres)
                for _ in range(chance.randint(0, self.near.near.k + 1)):
                    fingerprint ^= 1 << chance.randrange(scale.bits)
                kind = chance.random()
                shown = "dead" if kind < 0.06 else "bare" if kind < 0.16 else str(fingerprint)
                text_hash = chance.randrange(3) if shown == "bare" else fingerprint
                content[url] = shown, text_hash, beside.randrange(len(TEXTS)) if scale.accurate else -1
            shown, text_hash, text = content[url]
            scope = sum(url.encode()) % scopes if scale.accurate else 0
            fetched = chance.choice((str(4 * tick), str(4 * tick), str(max(0, 4 * tick - chance.randrange(60))), ""))
            partition = sum(url.encode()) % self.world.partitions
            pages.append((partition, url.encode(), f"{shown}|{text_hash}|{fetched}|{text}|{scope}".encode()))
        return pages[::-1]

    # what may happen

    def run(self) -> Schedule:
        """Play the schedule; every check of a promise is made by ``checks.check`` afterwards.

        Raises:
            Violation: a worker refused to go on although nothing was wrong, or the world does not come to rest.
        """
        for _ in range(self.wanted):
            self._start()
        for topic in (PAGES, INDEX):
            self._rebalance(topic)
        moves = self._moves()
        weights = [weight * self.chance.choice((0.3, 1, 1, 2)) for weight, _ in moves]
        actions = [action for _, action in moves]
        for _ in range(self.scale.steps):
            self.world.clock += self.chance.randint(0, 1)
            self._guarded(self.chance.choices(actions, weights)[0])
        self._heal()
        return self

    def _moves(self) -> list[tuple[float, Callable[[], None]]]:
        bad = self.mishaps
        return [
            (12, self._publish),
            (30, self._step),
            (50, self._pass),
            (12, self._land),
            (24, self._land_all),
            (24, self._round),
            (24, self._advance),
            (4, self._start),
            (3, lambda: self._rebalance(PAGES)),
            (3, lambda: self._rebalance(INDEX)),
            (1.0 * bad, self._lose_send),
            (1.0 * bad, self._land_late),
            (0.7 * bad, self._fail_transaction),
            (0.7 * bad, self._evict),
            (0.7 * bad, self._notice),
            (0.5 * bad, self._crash),
            (1.5 * bad, self._turn_deaf),
            (0.8, self._hear_again),
            (1.5, self._compact),
            (3, self._retain),
        ]

    def _publish(self) -> None:
        if self.crawl:
            partition, key, value = self.crawl.pop()
            self.world.publish(partition, key, value, [("url", key)], timestamp=self.world.clock)

    def _step(self) -> None:
        if self.workers:
            worker = self.workers[self.chance.choice(sorted(self.workers))]
            step = self.chance.choice(STEPS)
            self._guarded(step, self, worker)

    def _pass(self) -> None:
        if self.workers:
            worker = self.workers[self.chance.choice(sorted(self.workers))]
            for step in HEALTHY_STEPS:
                self._guarded(step, self, worker)

    def _round(self) -> None:
        """Everybody works a little and the network is quick: without it little would be settled between mishaps."""
        for name in sorted(self.workers):
            for step in HEALTHY_STEPS:
                self._guarded(step, self, self.workers[name])
            self._land_all()
        self._advance()

    def _land_all(self) -> None:
        """What is on its way arrives, but for a slow topic: blocks may take long where claims do not."""
        while sends := [send for send in self.world.landable() if send.topic != self.slow]:
            for send in sends:
                self.world.land(send)

    def _guarded(self, step: Callable[..., object], *arguments: object) -> None:
        try:
            step(*arguments)
        except Stop as error:
            raise Violation(f"a worker refused to go on: {error}") from error

    def _start(self) -> None:
        if len(self.workers) < self.wanted:
            self.started += 1
            name = f"w{self.started}"
            policy = replace(self.policy, writer=name.encode())
            self.workers[name] = Worker(
                MemoryLog(self.world, name), policy, TableFingerprinting(self.chance), self.new_index, self._new_key
            )
            self._guarded(self.poll, self.workers[name])

    def new_index(self) -> PlainIndex | Shard:
        """An empty index for one shard."""
        if self.scale.real_index:
            return Shard.by(self.near, layout=Layout.L4x16)
        return PlainIndex(self.near)

    def _new_key(self) -> bytes:
        return self.chance.randbytes(16)

    def _land(self) -> None:
        if sends := self.world.landable():
            self.world.land(self.chance.choice(sends))

    def _lose_send(self) -> None:
        if sends := self.world.landable():
            lost = self.chance.random() < 0.5
            self.world.land(self.chance.choice(sends), acknowledged=False, lost=lost)

    def _land_late(self) -> None:
        if self.world.limbo:
            late: OnItsWay = self.chance.choice(self.world.limbo)
            self.world.land_late(late)

    def _transaction(self) -> Transaction | None:
        return self.chance.choice(self.world.transactions) if self.world.transactions else None

    def _advance(self) -> None:
        if transaction := self._transaction():
            self.world.advance(transaction)

    def _fail_transaction(self) -> None:
        if transaction := self._transaction():
            kind = self.chance.randrange(3)
            if kind == 0:
                self.world.give_up(transaction)
            else:
                self.world.advance(transaction, commit=kind == 1, acknowledged=False)

    def _rebalance(self, topic: str) -> None:
        group = self.world.groups[topic]
        numbers = range(self.world.partitions if topic == PAGES else self.world.shards)
        if members := group.members:
            sticky = self.chance.random() < 0.8
            kept = group.owners if sticky else {}
            group.assign({number: kept.get(number) or self.chance.choice(members) for number in numbers})

    def _evict(self) -> None:
        if self.workers:
            name = self.chance.choice(sorted(self.workers))
            self.world.groups[self.chance.choice((PAGES, INDEX))].evict(name)

    def _notice(self) -> None:
        for name, worker in self.workers.items():
            if name in self.world.groups[PAGES].evicted:
                worker.log.pages().member.noticed = True

    def _turn_deaf(self) -> None:
        """A worker acts without polling for a while, as one that was paused: perhaps out of its groups already."""
        if self.workers:
            name = self.chance.choice(sorted(self.workers))
            self.deaf.add(name)
            for topic in self.chance.choice(((), (PAGES,), (INDEX,), (PAGES, INDEX))):
                self.world.groups[topic].evict(name)
                self._rebalance(topic)
            self._notice()

    def _hear_again(self) -> None:
        self.deaf.clear()

    def _crash(self) -> None:
        if self.workers:
            name = self.chance.choice(sorted(self.workers))
            self.retired.append(self.workers.pop(name))
            self.world.crash(name)

    def _compact(self) -> None:
        number = self.chance.randrange(self.world.shards)
        self.world.topics[INDEX, number].compact(bury=self.chance.random() < 0.5)

    def _retain(self) -> None:
        """The logs forget what nobody needs: what lies before every replay point that is written or in use."""
        world = self.world
        points = [ReplayPoint.from_metadata(committed.metadata, "simulation") for committed in world.committed.values()]
        for number in range(world.shards):
            blocks = [decode(Block, r.value) for r in surviving(world.topics[INDEX, number].records)]
            last = honest_cover(blocks).last
            points.append(ReplayPoint(last.to + 1, last.next_candidate) if last else ReplayPoint(0, 0))
        for worker in self.workers.values():
            points.extend(follower.place for follower in worker.followers)
            points.extend(ReplayPoint(f.fingerprints.position, f.candidates.position) for f in worker.followers)
        world.topics[FINGERPRINTS, 0].forget(min((point.batch for point in points), default=0))
        world.topics[CANDIDATES, 0].forget(min((point.candidate for point in points), default=0))

    def _meanwhile(self, member: str) -> None:
        """While one worker waits for an answer of the broker, the others may do a lot."""
        if self.world.chance is None or self.interrupted or self.chance.random() > 0.2:
            return
        self.interrupted = True
        for _ in range(self.chance.randint(1, 4)):
            for name, worker in sorted(self.workers.items()):
                if name != member:
                    for step in HEALTHY_STEPS:
                        self._guarded(step, self, worker)
            self._land_all()
        self.interrupted = False

    # the steps of a worker

    def poll(self, worker: Worker) -> None:
        if worker.log.name not in self.deaf:
            worker.poll()

    def flush(self, worker: Worker) -> None:
        worker.flush(seal=self.chance.random() < 0.3)

    def settle(self, worker: Worker) -> None:
        worker.settle(refresh=self.chance.random() < 0.2)

    # the end

    def _heal(self) -> None:
        """From here on nothing goes wrong; everything that was published must come to its verdict."""
        world = self.world
        world.chance = None
        self.deaf.clear()
        while self.crawl:
            self._publish()
        if not self.workers:
            self._start()
        for _ in range(3):
            for worker in self.workers.values():
                self._guarded(self.poll, worker)
        for topic in (PAGES, INDEX):
            self._rebalance(topic)
        pages = sum(world.topics[PAGES, number].end for number in range(world.partitions))
        for _ in range(40 + 8 * pages):
            for worker in self.workers.values():
                for step in HEALTHY_STEPS:
                    self._guarded(step, self, worker)
            world.settle_down()
            consumed = sum(committed.offset for committed in world.committed.values())
            if consumed == pages and self._at_rest():
                break
        else:
            raise Violation(f"the world does not come to rest: {consumed} of {pages} pages are settled")
        for _ in range(3):
            for worker in self.workers.values():
                self._guarded(partial(worker.flush, seal=True))
                self._guarded(worker.tidy)
            world.settle_down()

    def _at_rest(self) -> bool:
        end = self.world.topics[FINGERPRINTS, 0].end
        return all(
            worker.settlement.idle and all(follower.place.batch == end for follower in worker.followers)
            for worker in self.workers.values()
        )


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
    Schedule.settle,
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
    lambda _, worker: worker.settle(),
    lambda _, worker: worker.flush(),
)
