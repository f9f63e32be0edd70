"""Pages a second and core, from HTML bytes in Kafka to verdicts in Kafka."""

from __future__ import annotations

import os
import resource
import secrets
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from crawler_plugin.wire.page_headers import PageMeta
from worker.broker.server import LocalBroker
from worker.compose import parts
from worker.compose.step import fingerprinters, policy
from worker.compose.topology import specs
from worker.compose.worker import kafka_log, rhythm
from worker.config import Settings
from worker.fingerprint.fingerprinted import Fingerprinted
from worker.pool.process_pool import ProcessPool
from worker.pool.stopwatch import START
from worker.sizing.pages import Page
from worker.sizing.scaling import at_broker, cpu_of
from worker.stream.kafka.connection import client_options
from worker.stream.kafka.publish import publish_pages
from worker.stream.kafka.topic_admin import create_topics
from worker.stream.log import Record
from worker.stream.observer import Observer
from worker.stream.partition.fingerprint_pool import FingerprintPool, Source
from worker.stream.preflight import limits
from worker.stream.runner import Runner
from worker.stream.watchdog import Watch
from worker.stream.worker import Worker
from worker.terminal import aligned
from worker.verdict.decide import Decision


@dataclass
class PipelineRun:
    """The measurements of one run. Times are CPU seconds: ``own`` by step of the worker's thread, ``process`` all its
    threads, ``parsers`` the child processes, ``parsing`` by stage as they reported it; ``wall`` is from the first page
    consumed to the last one committed."""

    pages: int
    megabytes: float
    wall: float
    process: float
    parsers: float
    own: dict[str, float]
    parsing: dict[str, float]

    @property
    def pages_a_second_and_core(self) -> float:
        """Pages divided by all CPU time of the worker and its children."""
        return self.pages / (self.process + self.parsers)

    def shares(self) -> dict[str, float]:
        """Share of each stage in the CPU time, 0 to 1, largest first; they add up to 1."""
        total = self.process + self.parsers
        parsing = self.parsing or {"what they did not tell": 1.0}
        within = sum(parsing.values())
        shares = {f"parsers: {name}": self.parsers * part / within / total for name, part in parsing.items()}
        protocol = sum(self.own.get(name, 0.0) for name in ("answer", "decide", "flush"))
        claims = self.own.get("claim", 0.0)
        shares["index and protocol"] = protocol / total
        shares["pages to and from the parsers"] = claims / total
        shares["Kafka client and transactions"] = max(0.0, self.process - protocol - claims) / total
        return dict(sorted(shares.items(), key=lambda share: -share[1]))


@dataclass
class PipelineObserver(Observer):
    """Listens to the worker and stops its runner when all pages are committed."""

    expected: int
    committed_pages: int = 0
    own: dict[str, float] = field(default_factory=dict)
    runner: Runner | None = None

    def stage(self, name: str, seconds: float) -> None:
        """Add up."""
        self.own[name] = self.own.get(name, 0.0) + seconds

    def committed(self, pages: Sequence[tuple[Record, Decision]]) -> None:
        """Count, and stop at the last page."""
        self.committed_pages += len(pages)
        if self.committed_pages >= self.expected and self.runner is not None:
            self.runner.stop()

    def passed(self, now: float) -> None:
        """Nothing: no probe asks."""

    def sample(self, worker: Worker, watch: Watch) -> None:
        """Nothing: no scrape comes."""


def measure(settings: Settings, pages: Sequence[Page], processes: int) -> PipelineRun:
    """One run: a fresh broker, all pages published, then one worker until all are committed."""
    made = parts.recipe(settings)
    scheme = parts.scheme(settings, made)
    with tempfile.TemporaryDirectory() as folder, LocalBroker(data_dir=Path(folder)) as broker:
        here = at_broker(settings, broker)
        options = client_options(here.kafka)
        create_topics(options, specs(here), 1)
        publish_pages(options, here.topics.prefix, pages)
        writer = secrets.token_bytes(8)
        with fingerprinters(here, made, processes) as pool:
            log = kafka_log(here, options, writer)
            observer = PipelineObserver(len(pages))
            rules = policy(here, scheme, writer)
            most = limits(specs(here), ())
            parsing = FingerprintPool(pool, most.outputs, scope_of=parts.scope_of(here, made), ttl=rules.ttl)
            new_index = parts.new_index(here)
            worker = Worker(log, rules, parsing, new_index, partial(secrets.token_bytes, 16), observer)
            runner = Runner(worker, parsing, Watch(log, worker, here.kafka.patience_seconds), rhythm(here), observer)
            observer.runner = runner
            _warm_up(pool, processes)
            new_index()  # loads the kernels: a start's cost, too
            begun, used, parsed = time.perf_counter(), _own_cpu(), sum(map(cpu_of, pool.pids))
            runner.run()
            wall, used, parsed = time.perf_counter() - begun, _own_cpu() - used, sum(map(cpu_of, pool.pids)) - parsed
            told = {stage: seconds for stage, seconds in pool.stage_seconds.items() if stage != START}
            worker.close()
            log.close(here.shutdown.seconds)
    size = sum(len(body) for _, body in pages) / 1e6
    return PipelineRun(len(pages), size, wall, used, parsed, observer.own, told)


def run_lines(done: PipelineRun) -> Iterator[str]:
    """For people."""
    yield (
        f"{done.pages} pages, {done.megabytes:.1f} MB of HTML: {done.wall:.1f} s of wall clock, "
        f"{done.process:.2f} s CPU in the worker, {done.parsers:.2f} s in its parsers"
    )
    yield f"{done.pages_a_second_and_core:.0f} pages a second and core, {os.cpu_count()} cores here"
    yield from aligned(((f"{share:.1%}", name) for name, share in done.shares().items()), right=(0,), indent="  ")


def _warm_up(pool: ProcessPool[Source, Fingerprinted], processes: int) -> None:
    """Let every parser load its dictionary: that is a start's cost, not a page's."""
    source = Source(0, 0, 0, "http://warm.example/")
    for _ in range(processes):
        pool.submit(source, b"warm up \xe9\xa2\x84\xe7\x83\xad", PageMeta(url=source.url))
    back = 0
    while back < processes:
        back += len(pool.results(1.0))


def _own_cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime
