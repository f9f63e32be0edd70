"""``python -m benchmarks senders``: how long claims wait for their verdict while many workers send them.

Three processes decide, with a third of the shards each; one process sends for the given number of workers, by their
rule: a worker has one batch in flight and gathers the next one at the same time. All of it goes over a real broker on
this machine. The pages do not exist, and no process writes verdicts: this measures the order alone.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import secrets
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from multiprocessing.synchronize import Event
from pathlib import Path
from statistics import median, quantiles
from typing import Final

import numpy as np

from benchmarks import report
from benchmarks.claim_cost import claims_of
from crawler_plugin.wire.errors import UsageError
from crawler_plugin.wire.messages import encode
from crawler_plugin.wire.topics import ANSWERS, FINGERPRINTS
from worker.broker.server import LocalBroker
from worker.compose import parts
from worker.compose.step import policy
from worker.compose.topology import specs
from worker.compose.worker import kafka_log
from worker.config import Settings
from worker.sizing.scaling import at_broker
from worker.stream.barrier import Ends
from worker.stream.kafka.connection import client_options
from worker.stream.kafka.topic_admin import create_topics
from worker.stream.log import Bounds, Ticket
from worker.stream.log_follower import DecidedBatch, Follower, LogSubscriber
from worker.stream.observer import Observer
from worker.stream.policy import SCHEME_HEADER, Policy, ReplayPoint
from worker.stream.shard.live import LiveShard, Standing
from worker.verdict.claims import Claims

DECIDERS: Final = 3
WARM_UP_SECONDS: Final = 3.0
_WAIT: Final = 0.005
BEGIN: Final = ReplayPoint(0, 0)
MOST_PAGES: Final = 1 << 40


@dataclass(frozen=True)
class Waits:
    """Milliseconds from a claim's arrival until its sender reads the decision of its batch."""

    senders: int
    pages_a_second: float
    claims_a_batch: float
    median_ms: float
    ninety_ninth_ms: float


@dataclass(eq=False)
class Sender(LogSubscriber):
    """One worker, as the order sees it: claims come at random moments, at a steady rate."""

    number: int
    send: Callable[[bytes, int, int], Ticket]
    rate: float
    chance: np.random.Generator
    clock: Callable[[], float] = time.monotonic
    writer: bytes = field(default_factory=lambda: secrets.token_bytes(8))
    ticket: Ticket | None = None
    came: list[float] = field(default_factory=list)
    in_flight: list[float] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)
    batches: int = 0

    def step(self, now: float, since: float, most: int) -> None:
        """Take up the claims that came since the last step, and send them if nothing is in flight."""
        arrived = self.chance.poisson(self.rate * (now - since))
        self.came.extend(now - (now - since) * self.chance.random(arrived))
        if self.ticket is None and self.came:
            self.in_flight, self.came = self.came[:most], self.came[most:]
            self.ticket = self.send(self.writer, self.number, len(self.in_flight))

    def on_decided(self, decided: DecidedBatch) -> None:
        """Note the time of its own batch."""
        if decided.writer == self.writer:
            now = self.clock()
            self.waits.extend(now - came for came in self.in_flight)
            self.batches += 1
            self.ticket = None

    def forget(self) -> None:
        """Count from here on."""
        self.waits.clear()
        self.batches = 0


def senders_of(
    rules: Policy,
    count: int,
    pages_a_second: float,
    chance: np.random.Generator,
    append: Callable[[bytes], Ticket],
    clock: Callable[[], float] = time.monotonic,
) -> list[Sender]:
    """``count`` workers with this many pages a second together, all pages unlike each other."""
    sent = [0] * count

    def send(writer: bytes, partition: int, claims: int) -> Ticket:
        codes = chance.integers(0, 1 << 64, claims, np.uint64)
        sources = [(partition, sent[partition] + place) for place in range(claims)]
        sent[partition] += claims
        rows = claims_of(rules, sources, codes, int(time.time() * 1000), chance)
        return append(encode(Claims.of(rows).to_batch(rules.scheme, writer)))

    return [Sender(number, send, pages_a_second / count, chance, clock) for number in range(count)]


def waits_of(senders: Sequence[Sender], seconds: float) -> Waits:
    """The waits that the senders saw within ``seconds``."""
    waits = [1000 * wait for sender in senders for wait in sender.waits]
    batches = sum(sender.batches for sender in senders)
    slowest = quantiles(waits, n=100, method="inclusive")[98]
    return Waits(len(senders), len(waits) / seconds, len(waits) / batches, median(waits), slowest)


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments: how many senders, how many pages a second, for how long."""
    parser.add_argument("--senders", default="1,3,10,100", metavar="N,N,…", help="(default: %(default)s)")
    parser.add_argument("--pages-a-second", type=float, default=500.0, help="of all senders (default: 500)")
    parser.add_argument("--seconds", type=float, default=20.0, help="to measure each (default: 20)")
    parser.add_argument("--json", action="store_true", help="as an object a line")


def run(arguments: argparse.Namespace, load: Callable[[], Settings]) -> int:
    """Measure and print."""
    try:
        numbers = [int(number) for number in arguments.senders.split(",")]
    except ValueError:
        raise UsageError(f"--senders {arguments.senders} is no list of numbers; give one such as 1,10,100") from None
    if min(*numbers, arguments.seconds, arguments.pages_a_second) <= 0:
        raise UsageError("--senders, --seconds and --pages-a-second must be positive; give larger numbers")
    settings = load()
    measured = [measure(settings, number, arguments.pages_a_second, arguments.seconds) for number in numbers]
    for each in measured if arguments.json else ():
        print(json.dumps(each.__dict__))
    if not arguments.json:
        print(table(measured))
    return 0


def table(measured: Sequence[Waits]) -> str:
    """A Markdown table with a row for each number of senders."""
    columns = ("senders", "pages/s", "claims a batch", "median, ms", "99th percentile, ms")
    rows = [
        (
            f"{each.senders}",
            f"{each.pages_a_second:.0f}",
            f"{each.claims_a_batch:.1f}",
            f"{each.median_ms:.0f}",
            f"{each.ninety_ninth_ms:.0f}",
        )
        for each in measured
    ]
    return report.table(columns, rows, texts=0)


def measure(settings: Settings, senders: int, pages_a_second: float, seconds: float) -> Waits:
    """Measure on a broker of its own."""
    spawn = multiprocessing.get_context("spawn")
    with ExitStack() as running:
        folder = Path(running.enter_context(tempfile.TemporaryDirectory(prefix="crawl-dedup-bench-")))
        broker = running.enter_context(LocalBroker(data_dir=folder))
        here = at_broker(settings, broker)
        create_topics(client_options(here.kafka), specs(here), 1)
        stop, ready = spawn.Event(), [spawn.Event() for _ in range(DECIDERS)]
        for number in range(DECIDERS):
            decider = spawn.Process(target=_decide, args=(here, number, ready[number], stop), daemon=True)
            decider.start()
            running.callback(decider.join, 10.0)
        running.callback(stop.set)
        for each in ready:
            each.wait()
        return _send(here, senders, pages_a_second, seconds)


def _send(settings: Settings, count: int, pages_a_second: float, seconds: float) -> Waits:
    with _order(settings) as (rules, follower, append):
        append_claims = partial(append, FINGERPRINTS)
        senders = senders_of(rules, count, pages_a_second, np.random.default_rng(count), append_claims)
        for sender in senders:
            follower.join(sender)
        begun = since = time.monotonic()
        warm = False
        while since < begun + WARM_UP_SECONDS + seconds:
            now = time.monotonic()
            if not warm and now > begun + WARM_UP_SECONDS:
                warm = True
                for sender in senders:
                    sender.forget()
            for sender in senders:
                sender.step(now, since, rules.claims_a_batch)
            since = now
            follower.read(_WAIT)
            follower.decide()
        return waits_of(senders, seconds)


def _decide(settings: Settings, number: int, ready: Event, stop: Event) -> None:
    """Decide with a third of the shards, and answer until told to stop."""
    with _order(settings) as (rules, follower, append):
        new_index = parts.new_index(settings)
        shards = [LiveShard(shard, rules, new_index(), Standing()) for shard in range(number, rules.shards, DECIDERS)]
        for shard in shards:
            follower.join(shard)
        asked = -1
        ready.set()
        while not stop.is_set():
            follower.read(_WAIT)
            follower.decide()
            if follower.pending and follower.pending[0].offset > asked:
                asked = follower.pending[0].offset
                for shard in shards:
                    append(ANSWERS, encode(shard.answer(follower.pending[0])))


@contextmanager
def _order(settings: Settings) -> Iterator[tuple[Policy, Follower, Callable[[str, bytes], Ticket]]]:
    scheme = parts.scheme(settings, parts.recipe(settings))
    writer = secrets.token_bytes(8)
    rules = policy(settings, scheme, writer)
    log = kafka_log(settings, client_options(settings.kafka), writer)
    headers = [(SCHEME_HEADER, rules.scheme_text)]
    ends = Ends(lambda places: [Bounds(0, MOST_PAGES) for _ in places], lambda *_: True)
    follower = Follower(log, rules, BEGIN, Observer(), ends)
    try:
        yield rules, follower, lambda topic, value: log.append(topic, 0, None, value, headers)
    finally:
        follower.close()
        log.close(settings.shutdown.seconds)
