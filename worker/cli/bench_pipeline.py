"""``python -m worker bench pipeline``: pages a second and core, from HTML bytes in Kafka to verdicts in Kafka."""

from __future__ import annotations

import argparse
import dataclasses
import json
import lzma
import os
import resource
import secrets
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from worker.broker.server import LocalBroker
from worker.cli import compose
from worker.cli.bench_scaling import Scaling, cpu_of, measure_workers, scaling_lines
from worker.cli.run import MIB, kafka_log, policy, rhythm
from worker.cli.topology import specs
from worker.config import Settings
from worker.errors import UsageError
from worker.fingerprint.fingerprinted import Fingerprinted
from worker.fingerprint.fingerprinter import Fingerprinter
from worker.messages import PageMeta
from worker.pool.process_pool import ProcessPool
from worker.pool.stopwatch import START
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
from worker.verdict.decide import Decision

Page = tuple[PageMeta, bytes]


@dataclass
class Report:
    """What one run took. Times are CPU seconds: ``own`` by step of the worker's thread, ``process`` all its threads,
    ``parsers`` the child processes, ``parsing`` by stage what they told of it; ``wall`` is from the first page consumed
    to the last one committed."""

    pages: int
    megabytes: float
    wall: float
    process: float
    parsers: float
    own: dict[str, float]
    parsing: dict[str, float]

    @property
    def pages_a_second_and_core(self) -> float:
        """Pages by all CPU time that the worker and its children took."""
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
class Stopwatch(Observer):
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


def configure(parser: argparse.ArgumentParser) -> None:
    """Which pages, how often, with how many parsers."""
    parser.add_argument("--docs", type=Path, required=True, help="folder with docs.jsonl.xz (id, url, html a line)")
    parser.add_argument("--pages", type=int, help="so many of its pages (default: all)")
    parser.add_argument("--laps", type=int, default=1, help="each page so many times, under another URL (default: 1)")
    parser.add_argument("--runs", type=int, default=1, help="measure so many times (default: 1)")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1, help="parsers (default: one a core)")
    parser.add_argument(
        "--workers",
        type=_counts,
        metavar="N,N,…",
        help="measure so many workers in turn instead, as processes with one parser and one core each: 1,2,4",
    )
    parser.add_argument("--json", action="store_true", help="an object a run and line")


def run(arguments: argparse.Namespace, load: Callable[[], Settings]) -> int:
    """Measure and print."""
    settings = load()
    once = pages_of(arguments.docs, arguments.pages)
    pages = list(repeated(once, arguments.laps)) if arguments.laps > 1 else once
    if arguments.workers:
        return _run_scaling(settings, pages, arguments)
    for _ in range(arguments.runs):
        report = measure(settings, pages, arguments.processes)
        if arguments.json:
            figures = dataclasses.asdict(report) | {"pages_a_second_and_core": report.pages_a_second_and_core}
            print(json.dumps(figures | {"shares": report.shares()}), flush=True)
        else:
            print(*report_lines(report), sep="\n", flush=True)
    return 0


def _run_scaling(settings: Settings, pages: Sequence[Page], arguments: argparse.Namespace) -> int:
    """In turn, so that whatever else the machine does meets all alike."""
    done: list[Scaling] = []
    for _ in range(arguments.runs):
        for count in arguments.workers:
            done.append(measure_workers(settings, pages, count))
            if arguments.json:
                print(done[-1].as_json(), flush=True)
    if not arguments.json:
        print(*scaling_lines(done), sep="\n", flush=True)
    return 0


def _counts(text: str) -> list[int]:
    counts = [int(count) for count in text.split(",")]
    if min(counts) < 1:
        raise argparse.ArgumentTypeError("write numbers above 0 with commas between them, such as 1,2,4")
    return counts


def pages_of(folder: Path, most: int | None) -> list[Page]:
    """The HTML pages of ``docs.jsonl.xz`` in a folder of labelled pages, in the file's order.

    Raises:
        UsageError: no such file.
    """
    file = folder / "docs.jsonl.xz"
    if not file.is_file():
        raise UsageError(f"{file} is not there: give --docs a folder with docs.jsonl.xz (id, url, html a line)")
    found: list[Page] = []
    with lzma.open(file, "rt", encoding="utf-8") as lines:
        for line in lines:
            document = json.loads(line)
            if document.get("html"):
                meta = PageMeta(url=document["url"], status=200, content_type="text/html; charset=utf-8")
                found.append((meta, document["html"].encode()))
            if most is not None and len(found) >= most:
                break
    return found


def repeated(pages: Sequence[Page], times: int) -> Iterator[Page]:
    """The pages several times over, under a new URL each time."""
    for lap in range(times):
        for meta, body in pages:
            yield PageMeta(url=f"{meta.url}?lap={lap}", status=200, content_type=meta.content_type), body


def measure(settings: Settings, pages: Sequence[Page], processes: int) -> Report:
    """One run: a fresh broker, all pages published, then one worker until all are committed."""
    made = compose.recipe(settings)
    scheme = compose.scheme(settings, made)
    with tempfile.TemporaryDirectory() as folder, LocalBroker(data_dir=Path(folder)) as broker:
        here = settings.model_copy(
            update={"kafka": settings.kafka.model_copy(update={"bootstrap_servers": broker.bootstrap_servers})}
        )
        options = client_options(here.kafka)
        create_topics(options, specs(here), 1)
        publish_pages(options, here.topics.prefix, pages)
        writer = secrets.token_bytes(8)
        with ProcessPool[Source, Fingerprinted](
            partial(Fingerprinter, made),
            Fingerprinted,
            processes=processes,
            timeout_seconds=here.page.timeout_seconds,
            memory_bytes=here.page.memory_mb * MIB,
        ) as pool:
            log = kafka_log(here, options, writer)
            stopwatch = Stopwatch(len(pages))
            rules = policy(here, scheme, writer)
            most = limits(specs(here), ())
            parsing = FingerprintPool(pool, most.outputs, scope_of=compose.scope_of(here, made), ttl=rules.ttl)
            new_index = compose.new_index(here)
            worker = Worker(log, rules, parsing, new_index, partial(secrets.token_bytes, 16), stopwatch)
            runner = Runner(worker, parsing, Watch(log, worker, here.kafka.patience_seconds), rhythm(here), stopwatch)
            stopwatch.runner = runner
            _warm_up(pool, processes)
            new_index()  # loads the kernels: a start's cost, too
            begun, used, parsed = time.perf_counter(), _own_cpu(), sum(map(cpu_of, pool.pids))
            runner.run()
            wall, used, parsed = time.perf_counter() - begun, _own_cpu() - used, sum(map(cpu_of, pool.pids)) - parsed
            told = {stage: seconds for stage, seconds in pool.stage_seconds.items() if stage != START}
            worker.close()
            log.close(here.shutdown.seconds)
    size = sum(len(body) for _, body in pages) / 1e6
    return Report(len(pages), size, wall, used, parsed, stopwatch.own, told)


def report_lines(report: Report) -> Iterator[str]:
    """For people."""
    yield (
        f"{report.pages} pages, {report.megabytes:.1f} MB of HTML: {report.wall:.1f} s of wall clock, "
        f"{report.process:.2f} s CPU in the worker, {report.parsers:.2f} s in its parsers"
    )
    yield f"{report.pages_a_second_and_core:.0f} pages a second and core, {os.cpu_count()} cores here"
    for name, share in report.shares().items():
        yield f"  {share:6.1%}  {name}"


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
