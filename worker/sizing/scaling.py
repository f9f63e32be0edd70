"""The gain from one more worker.

Real workers as processes, each bound to a core and with one parsing process, so that a worker is about a core. The
broker has to share these cores: otherwise one worker would have two of them, its own and one for the broker.

1. a fresh broker and its topics; the workers share out shards and partitions;
2. some pages go through all of it: tables are loaded and compilers have run;
3. the workers stand still (SIGSTOP) while the pages are published, and all go on at once;
4. that moment is the beginning, the last verdict the end.
"""

from __future__ import annotations

import json
import os
import signal
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from crawler_plugin.wire.errors import Unavailable
from crawler_plugin.wire.page_headers import PageMeta
from worker.broker.server import LocalBroker
from worker.compose.processes import ModuleProcess, addresses_of, see_that_it_runs, wait_until_ready
from worker.compose.topology import specs
from worker.config import Settings
from worker.observe.scrape import COMMITTED, samples, scrape
from worker.sizing.pages import Page
from worker.stream.kafka.connection import client_options
from worker.stream.kafka.publish import publish_pages
from worker.stream.kafka.topic_admin import create_topics
from worker.terminal import aligned

WARM_UP_PAGES: Final = 400
READY_SECONDS: Final = 180.0
STALL_SECONDS: Final = 180.0

_STAGES: Final = "dedup_stage_seconds_total"
_LOOK_SECONDS: Final = 0.1
_PROTOCOL: Final = ("read", "wait", "take_up", "answer", "decide", "flush")
"""Steps of the loop that would not exist without index and logs: reading both, answering, deciding, storing."""
_LOOP: Final = (*_PROTOCOL, "poll", "claim", "commit")


@dataclass(frozen=True)
class Scaling:
    """The measurements of one run with this many workers. Times are in seconds; of CPU, except ``wall``.

    ``steps`` are those of the workers' loops. ``busy`` is the share of elapsed time, 0 to 1, for which the parsing
    processes had something to do, whether they got a core for it or waited for one; for the rest of it they waited for
    pages.
    """

    workers: int
    pages: int
    wall: float
    loops: float
    parsers: float
    broker: float
    busy: float
    steps: dict[str, float]

    @property
    def pages_a_second(self) -> float:
        """By elapsed time."""
        return self.pages / self.wall

    @property
    def pages_a_cpu_second(self) -> float:
        """By all CPU time, including the broker's; other programs hardly change this number."""
        return self.pages / (self.loops + self.parsers + self.broker)

    @property
    def protocol(self) -> float:
        """Share of index and protocol in the workers' CPU time, 0 to 1."""
        return sum(self.steps.get(step, 0.0) for step in _PROTOCOL) / (self.loops + self.parsers)

    def as_json(self) -> str:
        """All of it, an object."""
        rates = {"pages_a_second": self.pages_a_second, "pages_a_cpu_second": self.pages_a_cpu_second}
        return json.dumps(asdict(self) | rates | {"protocol": self.protocol})


@dataclass(frozen=True)
class Spent:
    """CPU seconds since processes began, and seconds for which the parsers ran or waited for a core."""

    loops: float
    parsers: float
    broker: float
    runnable: float
    steps: dict[str, float]


def measure_workers(settings: Settings, pages: Sequence[Page], count: int) -> Scaling:
    """One run with this many workers.

    Raises:
        Unavailable: a worker ended, or nothing was committed for three minutes.
    """
    with ExitStack() as running:
        folder = Path(running.enter_context(tempfile.TemporaryDirectory(prefix="crawl-dedup-bench-")))
        broker = running.enter_context(LocalBroker(data_dir=folder / "kafka"))
        here = at_broker(settings, broker)
        options, prefix = client_options(here.kafka), here.topics.prefix
        create_topics(options, specs(here), 1)
        (folder / "config.yaml").write_text(json.dumps(here.model_dump(mode="json")), encoding="utf-8")
        cores = sorted(os.sched_getaffinity(0))[:count]
        bind(broker.pid or 0, cores)
        workers = [running.enter_context(_worker(number, folder)) for number in range(count)]
        for number, worker in enumerate(workers):
            bind(worker.pid, [cores[number % len(cores)]])
        wait_until_ready(workers, here.topics.shards, here.topics.partitions, READY_SECONDS)
        warm_up = [(PageMeta(url=f"http://warm-up.example/{n}"), body) for n, (_, body) in enumerate(pages)]
        committed = publish_pages(options, prefix, warm_up[:WARM_UP_PAGES])
        _wait_until_committed(workers, committed)
        for worker in workers:
            os.kill(worker.pid, signal.SIGSTOP)
        try:
            committed += publish_pages(options, prefix, pages)
        finally:
            for worker in workers:
                os.kill(worker.pid, signal.SIGCONT)
        begun, before = time.perf_counter(), _spent(workers, broker)
        _wait_until_committed(workers, committed)
        wall, after = time.perf_counter() - begun, _spent(workers, broker)
    return Scaling(
        workers=count,
        pages=len(pages),
        wall=wall,
        loops=after.loops - before.loops,
        parsers=after.parsers - before.parsers,
        broker=after.broker - before.broker,
        busy=min(1.0, (after.runnable - before.runnable) / wall / count),
        steps={step: after.steps.get(step, 0.0) - before.steps.get(step, 0.0) for step in _LOOP},
    )


def at_broker(settings: Settings, broker: LocalBroker) -> Settings:
    """The same settings with this broker."""
    kafka = settings.kafka.model_copy(update={"bootstrap_servers": broker.bootstrap_servers})
    return settings.model_copy(update={"kafka": kafka})


def scaling_lines(runs: Sequence[Scaling]) -> Iterator[str]:
    """For people: a line for each number of workers, from the run in the middle by pages a second."""
    counts = sorted({run.workers for run in runs})
    middle = {count: _middle([run for run in runs if run.workers == count]) for count in counts}
    first = middle[counts[0]]
    cores = len(os.sched_getaffinity(0))
    yield f"{first.pages} pages, {cores} cores here; each worker has one, and the broker runs on the workers' cores"
    head = "workers", "pages/s", "ratio", "pages/CPU s", "ratio", "loops", "parsers", "broker", "busy", "index+protocol"
    rows = [
        (
            f"{run.workers}",
            f"{run.pages_a_second:.0f}",
            f"{run.pages_a_second / first.pages_a_second:.2f}",
            f"{run.pages_a_cpu_second:.0f}",
            f"{run.pages_a_cpu_second / first.pages_a_cpu_second:.2f}",
            f"{run.loops:.1f} s",
            f"{run.parsers:.1f} s",
            f"{run.broker:.1f} s",
            f"{run.busy:.0%}",
            f"{run.protocol:.1%}",
        )
        for run in middle.values()
    ]
    yield from aligned([head, *rows], right=range(len(head)))
    yield "loops, parsers, broker: CPU seconds; busy: share of the time in which the parsers had pages to parse"


def _middle(runs: Sequence[Scaling]) -> Scaling:
    return sorted(runs, key=lambda run: run.pages_a_second)[len(runs) // 2]


def _worker(number: int, folder: Path) -> ModuleProcess:
    overrides = ("metrics.port=0", "page.processes=1")
    arguments = [argument for pair in overrides for argument in ("--set", pair)]
    return ModuleProcess(f"worker {number + 1}", "worker", ["--config", "config.yaml", *arguments], folder)


def bind(pid: int, cores: Sequence[int]) -> None:
    """Bind a process to these cores, with all its threads; later threads, and children, are bound like their maker."""
    for thread in Path(f"/proc/{pid}/task").iterdir():
        with suppress(ProcessLookupError):
            os.sched_setaffinity(int(thread.name), cores)


def _wait_until_committed(workers: Sequence[ModuleProcess], pages: int) -> None:
    addresses = addresses_of(workers)
    moved, last = time.monotonic(), -1
    while (committed := scrape(addresses)[COMMITTED]) < pages:
        for worker in workers:
            see_that_it_runs(worker)
        if committed != last:
            moved, last = time.monotonic(), committed
        if time.monotonic() - moved > STALL_SECONDS:
            ends = "\n".join(f"{worker.name}:\n{worker.last_lines()}" for worker in workers)
            raise Unavailable(
                f"{committed} of {pages} pages are committed, and no more for {STALL_SECONDS:g} s; the ends of the "
                f"outputs:\n{ends}\nTry again when the machine is less busy"
            )
        time.sleep(_LOOK_SECONDS)


def _spent(workers: Sequence[ModuleProcess], broker: LocalBroker) -> Spent:
    parsers = [pid for worker in workers for pid in _parsers_of(worker.pid)]
    steps: dict[str, float] = {}
    for address in addresses_of(workers):
        for sample in samples(address):
            if sample.name == _STAGES:
                steps[sample.labels["stage"]] = steps.get(sample.labels["stage"], 0.0) + sample.value
    return Spent(
        loops=sum(cpu_of(worker.pid) for worker in workers),
        parsers=sum(map(cpu_of, parsers)),
        broker=cpu_of(broker.pid) if broker.pid else 0.0,
        runnable=sum(map(_runnable, parsers)),
        steps=steps,
    )


def cpu_of(pid: int) -> float:
    """CPU seconds of a living process, from Linux's /proc; fields 14 and 15 of proc_pid_stat(5)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _parsers_of(pid: int) -> list[int]:
    """The children of a worker's main thread; other threads make none."""
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _runnable(pid: int) -> float:
    """Seconds for which a process of one thread ran or waited for a core: /proc/PID/schedstat, proc(5)."""
    ran, waited, _ = Path(f"/proc/{pid}/schedstat").read_text().split()
    return (int(ran) + int(waited)) / 1e9
