"""A script for workers: pages and mishaps in one list, over the in-memory twin of the log.

``Stage.play`` takes pages and events in the order in which they happen. Pages are only published; the events say how
far the workers get before the next event.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from enum import Enum, auto
from itertools import count
from typing import Any, Final, Literal, NamedTuple, Self

from crawler_plugin.wire.messages import Answer, Batch, Claim, Hit, encode
from crawler_plugin.wire.outcomes import Verdict
from crawler_plugin.wire.page_headers import PageMeta, text_headers
from crawler_plugin.wire.topics import ANSWERS, DEAD_LETTERS, FINGERPRINTS, INDEX, PAGES, VERDICTS
from tests.columns import answer_of, batch_of
from tests.simulation.checks import check, everything
from tests.simulation.crawl import claim_of
from tests.simulation.machine import Machine
from tests.simulation.memory_log import MemoryLog, OnItsWay, Transaction, World, active
from tests.simulation.plain_index import PlainIndex
from tests.simulation.schedule import SCHEME, Share
from worker.fingerprint.near import SimHashNear
from worker.fingerprint.scheme import Scheme
from worker.fingerprint.scoped import ScopedNear
from worker.pool.process_pool import PoolUsage
from worker.stream.log import Record
from worker.stream.observer import Observer
from worker.stream.policy import Policy
from worker.stream.resources import WorkerResources
from worker.stream.shard.live import Index
from worker.stream.worker import Fingerprinting, Worker

WORDS: Final = Scheme.of({"near.k": 1, "shards": 2})


class Page(NamedTuple):
    """A page of the script; ``fingerprint`` None stands for a page of too few features, "dead" for an unreadable
    page."""

    url: str
    fingerprint: int | Literal["dead"] | None = 0
    text: int = 0
    fetched: int | None = 0
    partition: int = 0
    site: int = 0
    title: int = 0
    doubt: int = 0

    @property
    def bits(self) -> int:
        """The fingerprint of a page that has one."""
        assert isinstance(self.fingerprint, int)
        return self.fingerprint

    @property
    def value(self) -> bytes:
        shown = "bare" if self.fingerprint is None else str(self.fingerprint)
        fetched = "" if self.fetched is None else str(self.fetched)
        return f"{shown}|{self.text}|{fetched}|-1|0|{self.site}|{self.title}|{self.doubt}".encode()


class Event(Enum):
    """An event of the workers."""

    CLAIM = auto()
    """Pages get as far as the log of fingerprints; no shard answers."""
    ANSWER = auto()
    """Claims are answered and decided; nothing is committed."""
    COMMIT = auto()
    """Everything that was published is committed."""
    FLUSH = auto()
    """Every shard writes a block of everything decided since its last block."""
    LOSE_BLOCKS = auto()
    """The same, but none of these blocks arrives, and their writer dies."""
    COMPACT = auto()
    """The index topic keeps the last record of each key, and no tombstones."""
    CRASH = auto()
    """The worker that owns everything is killed; a new one owns everything."""
    REBALANCE = auto()
    """A new worker takes over everything, and the old one learns of it."""
    TAKE_OVER = auto()
    """A new worker takes over everything, and the old one, which hears nothing of it, goes on."""
    REDELIVER = auto()
    """The decided pages are about to be committed when the transaction is aborted."""
    UNACKNOWLEDGED = auto()
    """The decided pages are committed, but the worker gets an error."""


CLAIM, ANSWER, COMMIT, FLUSH, LOSE_BLOCKS, COMPACT = list(Event)[:6]
CRASH, REBALANCE, TAKE_OVER, REDELIVER, UNACKNOWLEDGED = list(Event)[6:]


class Straight:
    """Fingerprints are there at once, in the order of the pages; ``keep`` holds some back."""

    def __init__(self) -> None:
        self.done: list[Claim] = []
        self.submitted: list[int] = []
        self.keep: Callable[[Claim], bool] = lambda claim: False

    usage = PoolUsage()

    def submit(self, record: Record) -> None:
        self.submitted.append(record.offset)
        self.done.append(claim_of(record))

    def claims(self, wait: float = 0.0) -> list[Claim]:
        given = [claim for claim in self.done if not self.keep(claim)]
        self.done = [claim for claim in self.done if self.keep(claim)]
        return given


class Listener(Observer):
    """Remembers the calls, by name of the method."""

    def __init__(self) -> None:
        self.told: dict[str, list[tuple[Any, ...]]] = {}

    def __getattribute__(self, name: str) -> Any:
        if name.startswith("_") or name in ("told", "times") or not hasattr(Observer, name):
            return super().__getattribute__(name)
        return lambda *told: self.told.setdefault(name, []).append(told)

    def times(self, name: str) -> int:
        """How often this method was called."""
        return len(self.told.get(name, []))


def policy(**changes: Any) -> Policy:
    """Distance 1, two shards, no expiry."""
    plain = Policy(
        scheme=SCHEME,
        scheme_text=WORDS.encode(),
        shards=2,
        near=ScopedNear(SimHashNear(1)),
        writer=b"w",
        flush_entries=1000,
    )
    return replace(plain, **changes)


def claim(offset: int, fingerprint: int | None = 0, *, partition: int = 0, **fields: Any) -> Claim:
    """A claim of which only the given values matter."""
    given = {"url": f"http://{partition}-{offset}.example/", "clock": 0, "tokens": 9, **fields}
    return Claim(partition=partition, offset=offset, fingerprint=fingerprint, **given)


def batch(*claims: Claim, writer: bytes = b"w", scheme: bytes = SCHEME) -> Batch:
    return batch_of(claims, scheme, writer)


def answer(number: int, shard: int, *hits: Hit, void: Sequence[int] = (), **fields: Any) -> Answer:
    return answer_of(hits, void, **{"scheme": SCHEME, "batch": number, "shard": shard, **fields})


def write(world: World, message: Batch | Answer | bytes, topic: str | None = None) -> int:
    """Put a message at the end of its log; returns its offset."""
    topic = topic or (FINGERPRINTS if isinstance(message, Batch) else ANSWERS)
    value = message if isinstance(message, bytes) else encode(message)
    return world.topics[topic, 0].append(0, None, value, (), 0)


class Stage:
    """Workers over one world; the last started worker owns everything. ``resources`` is what they share, if it is
    given, and ``now`` the time of their clocks.
    """

    now: float = 0.0
    resources: WorkerResources | None = None
    new_listener: Callable[[], Listener] = Listener
    new_fingerprinting: Callable[[], Fingerprinting] = Straight
    machines: Sequence[Machine] = ()
    share: Share = Share()

    def __init__(self, *, partitions: int = 1, **changes: Any) -> None:
        self.policy = policy(**changes)
        self.near = self.policy.near
        self.ttl = self.policy.ttl
        self.world = World(partitions=partitions, shards=self.policy.shards)
        self.workers: dict[str, Worker] = {}
        self.observers: dict[str, Listener] = {}
        self.deaf: set[str] = set()
        self._names = (f"w{number}" for number in count(1))
        self._keys = (number.to_bytes(16, "big") for number in count(1))
        self.take_over()

    # playing a script

    def play(self, *script: Page | Event) -> Self:
        """Publish the pages and let the events happen."""
        for item in script:
            if isinstance(item, Page):
                self.publish(item)
            else:
                getattr(self, item.name.lower())()
        return self

    def publish(self, page: Page) -> int:
        """Returns its offset."""
        key = page.url.encode()
        headers = PageMeta(url=page.url, fetched=page.fetched).to_headers()
        return self.world.publish(page.partition, key, page.value, headers)

    def claim(self) -> None:
        for _ in range(6):
            self._all("poll", "take_up", "read", "claim")
            self.land(FINGERPRINTS)

    def answer(self) -> None:
        self.claim()
        for _ in range(6):
            self._all("poll", "take_up", "read", "claim", "answer", "decide")
            self.land(FINGERPRINTS, ANSWERS)

    def commit(self) -> None:
        for _ in range(30 + 6 * self.published):
            self._all("poll", "take_up", "read", "claim", "answer", "decide", "commit", "flush")
            self.world.settle_down()
            if sum(committed.offset for committed in self.world.committed.values()) == self.published:
                break
        else:
            raise AssertionError(f"not everything was committed: {self.world.committed} of {self.published} pages")
        for _ in range(3):  # the workers see the transaction's end, and read all logs to their ends
            self._all("poll", "take_up", "read", "answer", "decide", "commit")
            self.world.settle_down()

    def flush(self) -> None:
        for _ in range(3):
            for worker in self.workers.values():
                worker.flush(seal=True)
            self.land(INDEX)

    def lose_blocks(self) -> None:
        self.worker.flush(seal=True)
        for send in self.on_their_way(INDEX):
            self.world.land(send, lost=True)
        self.world.limbo.clear()
        self.crash()

    def compact(self) -> None:
        for number in range(self.world.shards):
            self.world.topics[INDEX, number].compact(bury=True)

    def crash(self) -> None:
        name = next(reversed(self.workers))
        del self.workers[name]
        self.world.crash(name)
        self.take_over()

    def rebalance(self) -> None:
        self.take_over()
        self.deaf.clear()
        self._all("poll")

    def start(self) -> str:
        """A new worker, which owns nothing yet; returns its name."""
        name = next(self._names)
        self.observers[name] = self.new_listener()
        self.workers[name] = Worker(
            MemoryLog(self.world, name),
            replace(self.policy, writer=name.encode()),
            self.new_fingerprinting(),
            self.new_index,
            lambda: next(self._keys),
            self.observers[name],
            self.local(),
            lambda: self.now,
        )
        return name

    def local(self) -> WorkerResources:
        """The resources of the next worker: its own unless all share some."""
        return self.resources or WorkerResources()

    def take_over(self) -> None:
        self._all("poll")
        self.deaf |= self.workers.keys()
        name = self.start()
        self._all("poll")
        self.assign(dict.fromkeys(range(self.world.partitions), name), PAGES)
        self.assign(dict.fromkeys(range(self.world.shards), name), INDEX)
        self._all("poll")

    def redeliver(self) -> None:
        self.world.advance(self.begin_settling(), commit=False)
        self.worker.commit()

    def unacknowledged(self) -> None:
        self.world.advance(self.begin_settling(), acknowledged=False)
        self.worker.commit()

    # further parts for tests

    def gather(self) -> None:
        """Let the workers send their claims; no claim arrives."""
        for _ in range(6):
            self._all("poll", "take_up", "read", "claim")

    def begin_settling(self) -> Transaction:
        """Let the current worker's transaction get to the point where the broker has taken its offsets."""
        self.answer()
        assert self.worker.commit()
        (transaction,) = self.world.transactions
        self.world.advance(transaction)
        return transaction

    @property
    def worker(self) -> Worker:
        """The worker that owns everything."""
        return self.workers[next(reversed(self.workers))]

    @property
    def observer(self) -> Listener:
        """The observer of the worker that owns everything."""
        return self.observers[next(reversed(self.workers))]

    @property
    def published(self) -> int:
        return sum(self.world.topics[PAGES, number].end for number in range(self.world.partitions))

    def assign(self, owners: dict[int, str], topic: str) -> None:
        """Rebalance one group; its members hear of it at their next poll."""
        self.world.groups[topic].assign(active(owners) if topic == INDEX else owners)

    def new_index(self) -> Index:
        return PlainIndex(self.near)

    def on_their_way(self, topic: str) -> list[OnItsWay]:
        return [send for send in self.world.sends if send.topic == topic]

    def land(self, *topics: str) -> None:
        """Let everything on its way to these topics arrive."""
        for topic in topics:
            for send in self.on_their_way(topic):
                self.world.land(send)

    def _all(self, *steps: str) -> None:
        for step in steps:
            for name, worker in list(self.workers.items()):
                if step != "poll" or name not in self.deaf:
                    getattr(worker, step)()

    # the results

    def verdicts(self) -> list[str]:
        """The verdicts that readers of committed records see, one line per page, in the order of the sources."""
        lines = []
        for record in everything(self.world, VERDICTS):
            verdict = Verdict.decode(record.value)
            words = [verdict.url, verdict.verdict, verdict.duplicate_of or ""]
            lines.append((verdict.source, " ".join(words).strip()))
        for record in everything(self.world, DEAD_LETTERS):
            headers = text_headers(record.headers)
            partition, offset = headers["dedup-source"].split(":")
            lines.append(
                ((int(partition), int(offset)), f"{(record.key or b'').decode()} dead {headers['dedup-reason']}")
            )
        return [line for _, line in sorted(lines)]

    def check(self) -> None:
        """Check the same promises as the simulation: accounts, survivors, the oracle, rebuilt shards."""
        check(self)  # type: ignore[arg-type]
        assert not any(listener.times("failed") for listener in self.observers.values())
