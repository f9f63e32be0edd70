"""``python -m benchmarks failover``: for how long verdicts stand still when a worker of three dies or leaves, or a
fourth comes.

A broker is started for it, and its index topic filled. Three workers share pages and shards, with one holder a shard
and with two; pages keep coming. Each worker in turn is killed (kill -9), stopped (SIGSTOP) and taken away for good
(SIGUSR1); in the end a fourth one comes. The figure is the longest time in which a reader of committed records got no
verdict on the pages of a worker that lived, the worst of them: without a fault it is a commit (``commit.seconds``).
"""

from __future__ import annotations

import argparse
import json
import os
import secrets
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from itertools import count
from pathlib import Path
from typing import Any, Final

from kafka import KafkaAdminClient

from benchmarks.handover import random_pages
from benchmarks.index_topic import MILLION, fill
from crawler_plugin.wire.errors import Unavailable
from crawler_plugin.wire.outcomes import Verdict
from crawler_plugin.wire.topics import VERDICTS, group_names
from worker.broker.configuration import AMPLE_HEAP_MB
from worker.broker.server import LocalBroker
from worker.compose import parts
from worker.compose.processes import ModuleProcess, addresses_of, see_that_it_runs
from worker.compose.step import policy
from worker.compose.topology import specs
from worker.config import Settings, load_settings
from worker.observe.scrape import is_ready
from worker.stopping import FOR_GOOD
from worker.stream.kafka.connection import client_options
from worker.stream.kafka.output_reader import OutputReader
from worker.stream.kafka.publish import publish_pages
from worker.stream.kafka.topic_admin import create_topics

WORKERS: Final = 3
PAGES_A_SECOND: Final = 100
STOPPED_SECONDS: Final = 60.0
BEFORE_SECONDS: Final = 5.0
READY_SECONDS: Final = 300.0
_SPACE_AN_ENTRY: Final = 140
_LOOK_SECONDS: Final = 0.5


@dataclass(frozen=True)
class Standstill:
    """The longest time in seconds without a verdict on the pages of a worker that lived, ``before`` and afterwards."""

    replicas: int
    what: str
    entries: int
    before: float
    longest: float

    def line(self) -> str:
        """The result as a line for people."""
        return (
            f"{self.replicas} holders a shard, {self.entries / MILLION:g}M survivors, {self.what}: verdicts on pages "
            f"of the live workers stood still for {self.longest:.1f} s at most ({self.before:.1f} s before)"
        )


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments: how many survivors, and how many faults."""
    parser.add_argument("--entries", type=int, default=MILLION, metavar="N", help=f"survivors (default: {MILLION:,})")
    parser.add_argument("--replicas", type=int, choices=(1, 2), help="holders a shard (default: both, in turn)")
    parser.add_argument("--turns", type=int, default=WORKERS, help="workers to do each to (default: all)")
    parser.add_argument("--seconds", type=float, default=STOPPED_SECONDS, help="how long one is away (default: 60)")
    parser.add_argument("--json", action="store_true", help="an object a measurement and line")


def run(arguments: argparse.Namespace, load: Callable[[], Settings]) -> int:
    """Measure and print."""
    for replicas in (arguments.replicas,) if arguments.replicas else (1, 2):
        for found in measure(replicas, arguments.entries, arguments.turns, arguments.seconds):
            print(json.dumps(asdict(found)) if arguments.json else found.line(), flush=True)
    return 0


def measure(replicas: int, entries: int, turns: int, seconds: float) -> Iterator[Standstill]:
    """Measure all faults with this many holders a shard, on a broker of its own.

    Raises:
        Unavailable: a worker ended that should go on, or does not become ready.
    """
    with (
        tempfile.TemporaryDirectory() as folder,
        LocalBroker(
            data_dir=Path(folder) / "broker",
            heap_mb=AMPLE_HEAP_MB,
            minimum_free_bytes=entries * _SPACE_AN_ENTRY,
        ) as broker,
        _crew(broker.bootstrap_servers, replicas, entries, Path(folder)) as crew,
    ):
        for _ in range(WORKERS):
            crew.start()
        crew.wait_until_ready()
        with crew.crawled():
            for turn in range(turns):
                for signal_ in (signal.SIGKILL, signal.SIGSTOP, FOR_GOOD):
                    name, worker = list(crew.workers.items())[turn % WORKERS if signal_ == signal.SIGSTOP else 0]
                    others = crew.partitions_of(set(crew.workers) - {name})

                    def strike(pid: int = worker.pid, signal_: signal.Signals = signal_) -> None:
                        os.kill(pid, signal_)

                    yield crew.standstill(f"{signal_.name} of worker {name}", strike, others, seconds)
                    if signal_ == signal.SIGSTOP:
                        os.kill(worker.pid, signal.SIGCONT)
                    else:
                        crew.bury(name)
                        crew.start()
                    crew.wait_until_ready()
            yield crew.standstill("a fourth worker", crew.start, crew.partitions_of(set(crew.workers)), seconds / 2)


class _Crew:
    """Workers, a crawl that goes on, and a reader of committed records."""

    def __init__(self, settings: Settings, overrides: list[str], entries: int, folder: Path) -> None:
        self.workers: dict[str, ModuleProcess] = {}
        self._settings = settings
        self._overrides = overrides
        self._entries = entries
        self._folder = folder
        self._options = client_options(settings.kafka)
        self._admin: Any = KafkaAdminClient(**self._options)
        self._numbers = count(1)
        self._seen: list[tuple[float, int]] = []
        self._over = threading.Event()

    def start(self) -> None:
        name = str(next(self._numbers))
        given = [*self._overrides, f"kafka.instance_id={name}", "metrics.port=0", "page.processes=1"]
        arguments = [part for pair in given for part in ("--set", pair)]
        self.workers[name] = ModuleProcess(f"worker {name}", "worker", arguments, self._folder)

    def bury(self, name: str) -> None:
        """Forget a worker that was killed."""
        self.workers.pop(name).stop()

    def close(self) -> None:
        """End all workers, including stopped ones."""
        for worker in self.workers.values():
            with suppress(ProcessLookupError):
                os.kill(worker.pid, signal.SIGCONT)
            worker.stop()
        self._admin.close()

    def wait_until_ready(self) -> None:
        """Wait until each worker has pages, shards, and nothing to restore."""
        deadline = time.monotonic() + READY_SECONDS
        while not (self._all_are_ready() and self._is_shared_out()):
            for worker in self.workers.values():
                see_that_it_runs(worker)
            if time.monotonic() > deadline:
                raise Unavailable(
                    f"the workers are not ready after {READY_SECONDS:g} s; the end of one's output:\n"
                    f"{next(iter(self.workers.values())).last_lines()}\nTry again when the machine is less busy"
                )
            time.sleep(_LOOK_SECONDS)

    def _all_are_ready(self) -> bool:
        addresses = addresses_of(list(self.workers.values()))
        return len(addresses) == len(self.workers) and all(map(is_ready, addresses))

    def _is_shared_out(self) -> bool:
        pages, shards = self._owned(0), self._owned(1)
        holders = min(self._settings.index.replicas, len(self.workers))
        return (
            set(self.workers) == pages.keys() == shards.keys()
            and all(pages.values())
            and sum(map(len, shards.values())) == holders * self._settings.topics.shards
        )

    def _owned(self, group: int) -> dict[str, list[int]]:
        """Partitions by worker, in the group on pages (0) or on shards (1)."""
        name = group_names(self._settings.kafka.group, self._settings.topics.generation)[group]
        return {
            member["group_instance_id"].rpartition("-")[0]: [
                number
                for topic in (member["member_assignment"] or {}).get("assigned_partitions", ())
                for number in topic["partitions"]
            ]
            for member in self._admin.describe_groups([name])[name]["members"]
        }

    def partitions_of(self, names: Collection[str]) -> dict[str, frozenset[int]]:
        """Partitions of pages, by worker."""
        return {name: frozenset(numbers) for name, numbers in self._owned(0).items() if name in names}

    @contextmanager
    def crawled(self) -> Iterator[None]:
        """Publish pages, and read their verdicts, while the block runs."""
        options, prefix = self._options, self._settings.topics.prefix
        pages = random_pages(self._over, PAGES_A_SECOND)
        threads = [
            threading.Thread(target=publish_pages, args=(options, prefix, pages), daemon=True),
            threading.Thread(target=self._read, daemon=True),
        ]
        for thread in threads:
            thread.start()
        try:
            deadline = time.monotonic() + READY_SECONDS
            while not self._seen and time.monotonic() < deadline:
                time.sleep(_LOOK_SECONDS)
            yield
        finally:
            self._over.set()
            for thread in threads:
                thread.join()

    def _read(self) -> None:
        with OutputReader(self._options, self._settings.topics.prefix, (VERDICTS,)) as reader:
            while not self._over.is_set():
                found = reader.read(0.05)
                now = time.monotonic()
                self._seen += [(now, output.source[0]) for output in found if isinstance(output, Verdict)]

    def standstill(
        self, what: str, strike: Callable[[], None], living: dict[str, frozenset[int]], seconds: float
    ) -> Standstill:
        """Let the fault happen, and note when readers get verdicts of each worker's pages, before and afterwards."""
        begun = time.monotonic()
        time.sleep(BEFORE_SECONDS)
        at = time.monotonic()
        strike()
        time.sleep(seconds)
        end = time.monotonic()
        seen = list(self._seen)
        return Standstill(
            self._settings.index.replicas,
            what,
            self._entries,
            max(longest_gap([t for t, number in seen if number in own], begun, at) for own in living.values()),
            max(longest_gap([t for t, number in seen if number in own], at, end) for own in living.values()),
        )


def longest_gap(times: list[float], begin: float, end: float) -> float:
    """The longest time in seconds between two of these moments, at least one of them between ``begin`` and ``end``."""
    last = max((moment for moment in times if moment <= begin), default=begin)
    longest = 0.0
    for moment in (*(moment for moment in times if begin < moment <= end), end):
        longest, last = max(longest, moment - last), moment
    return longest


@contextmanager
def _crew(bootstrap: str, replicas: int, entries: int, folder: Path) -> Iterator[_Crew]:
    """A crew without workers yet, with topics of this many survivors."""
    overrides = [f"kafka.bootstrap_servers={bootstrap}", f"index.replicas={replicas}"]
    settings = load_settings(config=None, overrides=overrides, environ={})
    create_topics(client_options(settings.kafka), specs(settings), 1)
    fill(settings, policy(settings, parts.scheme(settings, parts.recipe(settings)), secrets.token_bytes(8)), entries)
    crew = _Crew(settings, overrides, entries, folder)
    try:
        yield crew
    finally:
        crew.close()
