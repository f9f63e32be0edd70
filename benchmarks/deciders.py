"""``python -m benchmarks deciders``: how long claims wait where as many workers decide as send, in one process.

More workers than this machine has cores cannot be timed on it. So the log is in memory, and time is reckoned: a batch
takes one hop to the deciders, which is an argument; then the time in which the slowest of them looks it up; then a hop
back; then the time in which the slowest reads all answers and decides. The benchmark measures the time of each of them
in CPU time, one after the other. Claims come at random moments of the reckoned time; a worker has one batch in flight,
as in ``senders``.
"""

from __future__ import annotations

import argparse
import gc
import json
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

import numpy as np

from benchmarks.claim_cost import filled
from benchmarks.senders import MOST_PAGES, Waits, senders_of, table, waits_of
from crawler_plugin.wire.errors import UsageError
from crawler_plugin.wire.messages import encode
from crawler_plugin.wire.topics import ANSWERS, FINGERPRINTS
from worker.compose import parts
from worker.compose.step import policy
from worker.config import Settings
from worker.stream.barrier import Ends
from worker.stream.log import Bounds, Readable, Reader, Record, Sent, Ticket
from worker.stream.log_follower import Follower
from worker.stream.observer import Observer
from worker.stream.policy import Policy, ReplayPoint
from worker.stream.shard.live import LiveShard, Standing

HOP_MS: Final = 1.2
"""Seconds from one worker's append until another worker reads it, by default: half of the time of two hops over a real
broker that had nothing else to do."""
ENTRIES: Final = 10_000
"""Entries in each shard at the beginning."""
EMPTY: Final = Record(0, 0, None, b"", (), 0)


@dataclass(frozen=True)
class Landed(Ticket):
    """A send that has arrived."""

    state: Sent = Sent.DONE


@dataclass(eq=False)
class ListReader(Reader):
    """Reads a list from one end to the other."""

    records: list[Record]
    place: int = 0

    @property
    def position(self) -> int:
        return self.place

    def read(self, wait: float = 0.0) -> Sequence[Record]:
        """All records that have come since the last call; it does not wait."""
        new = self.records[self.place :]
        self.place = len(self.records)
        return new

    def close(self) -> None:
        """Do nothing: nothing is open."""


@dataclass(eq=False)
class ListLog(Readable):
    """Both logs as lists. The first entries of the shards came in batches that no worker reads again."""

    topics: dict[str, list[Record]] = field(default_factory=lambda: {FINGERPRINTS: [EMPTY] * ENTRIES, ANSWERS: []})

    def reader(self, topic: str, partition: int, offset: int) -> ListReader:
        """A new reader."""
        return ListReader(self.topics[topic], offset)

    def bounds(self, topic: str, partition: int) -> Bounds:
        """The first and the next offset: the log keeps everything."""
        return Bounds(0, len(self.topics[topic]))

    def has_partition(self, topic: str, partition: int) -> bool:
        """True for each partition."""
        return True

    def append(self, topic: str, value: bytes) -> Ticket:
        """Append at once."""
        records = self.topics[topic]
        records.append(Record(0, len(records), None, value, (), 0))
        return Landed()


@dataclass(eq=False)
class Decider:
    """One worker's side of the order, with one shard; each step returns its CPU time in seconds."""

    follower: Follower
    shard: LiveShard
    append: Callable[[str, bytes], Ticket]

    def __post_init__(self) -> None:
        self.follower.join(self.shard)

    def answer(self) -> float:
        """Take in the new claims, and answer the first undecided batch."""
        begun = time.process_time()
        self.follower.read()
        self.append(ANSWERS, encode(self.shard.answer(self.follower.pending[0])))
        return time.process_time() - begun

    def decide(self) -> float:
        """Read all answers and decide."""
        begun = time.process_time()
        self.follower.read()
        self.follower.decide()
        return time.process_time() - begun


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments: how many workers, pages a second and batches."""
    parser.add_argument("--workers", default="1,3,10,100", metavar="N,N,…", help="(default: %(default)s)")
    parser.add_argument("--pages-a-second", type=float, default=500.0, help="of all workers (default: 500)")
    parser.add_argument("--batches", type=int, default=400, help="to measure each (default: 400)")
    parser.add_argument("--hop-ms", type=float, default=HOP_MS, help="over the broker, one way (default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="as an object a line")


def run(arguments: argparse.Namespace, load: Callable[[], Settings]) -> int:
    """Reckon and print."""
    try:
        numbers = [int(number) for number in arguments.workers.split(",")]
    except ValueError:
        raise UsageError(f"--workers {arguments.workers} is no list of numbers; give one such as 1,10,100") from None
    if min(*numbers, arguments.batches, arguments.pages_a_second) <= 0 or arguments.hop_ms < 0:
        raise UsageError("--workers, --batches and --pages-a-second must be positive; give larger numbers")
    settings = load()
    scheme = parts.scheme(settings, parts.recipe(settings))
    rules = replace(policy(settings, scheme, secrets.token_bytes(8)), partitions=1 << 20)
    waits = [
        measure(replace(rules, shards=number), arguments.pages_a_second, arguments.batches, arguments.hop_ms / 1000)
        for number in numbers
    ]
    for each in waits if arguments.json else ():
        print(json.dumps(each.__dict__))
    if not arguments.json:
        print(table(waits))
    return 0


def measure(rules: Policy, pages_a_second: float, batches: int, hop: float) -> Waits:
    """Measure as many workers as shards, ``hop`` seconds apart; the first quarter of the batches does not count."""
    count = rules.shards
    chance = np.random.default_rng(count)
    log = ListLog()
    deciders = [decider(log, rules, number, chance) for number in range(count)]
    watching = _follower(log, rules)
    now = since = begun = 0.0
    senders = senders_of(rules, count, pages_a_second, chance, partial(log.append, FINGERPRINTS), lambda: now)
    for sender in senders:
        watching.join(sender)
    decided = 0
    gc.collect()
    gc.disable()  # each worker has a process of its own elsewhere, and collects no other worker's objects
    while decided < batches:
        for sender in senders:
            sender.step(now, since, rules.claims_a_batch)
        since = now
        watching.read()
        if not watching.pending:
            now += hop
            continue
        now += max(decider.answer() for decider in deciders) + hop
        now += max(decider.decide() for decider in deciders)
        watching.read()
        decided += watching.decide()
        if decided == batches // 4:
            begun = now
            for sender in senders:
                sender.forget()
    gc.enable()
    return waits_of(senders, now - begun)


def decider(log: ListLog, rules: Policy, number: int, chance: np.random.Generator) -> Decider:
    """A decider whose shard has its memory already: the first entries of a shard take longer than all later ones."""
    shard = filled(chance.integers(0, 1 << 64, ENTRIES, np.uint64), rules, chance)
    return Decider(_follower(log, rules), LiveShard(number, rules, shard, Standing()), log.append)


def _follower(log: ListLog, rules: Policy) -> Follower:
    return Follower(
        log,
        rules,
        ReplayPoint(ENTRIES, 0),
        Observer(),
        Ends(lambda places: [Bounds(0, MOST_PAGES) for _ in places], log.has_partition),
    )
