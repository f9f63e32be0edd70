"""``python -m benchmarks latency``: from a page's publication to its verdict, at steady rates.

A broker and one worker with its settings are started for it. It publishes pages at a rate for some seconds, each
under a URL of its own, while a thread reads verdicts as any reader of committed records does. Before that come half as
many seconds at the first rate, which do not count.
"""

from __future__ import annotations

import argparse
import itertools
import json
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import quantiles
from typing import Final

from crawler_plugin.wire.errors import Unavailable
from crawler_plugin.wire.outcomes import Verdict
from crawler_plugin.wire.topics import DEAD_LETTERS, VERDICTS
from worker.broker.server import LocalBroker
from worker.compose.processes import ModuleProcess, see_that_it_runs, wait_until_ready
from worker.compose.topology import specs
from worker.config import Settings
from worker.sizing.pages import Page, pages_of, repeated
from worker.sizing.scaling import READY_SECONDS, at_broker
from worker.stream.kafka.connection import client_options
from worker.stream.kafka.output_reader import OutputReader
from worker.stream.kafka.publish import publish_pages
from worker.stream.kafka.topic_admin import create_topics
from worker.stream.partition.fingerprint_pool import identity

RATES: Final = (15, 60, 150, 300, 400)
SECONDS: Final = 15.0
PATIENCE_SECONDS: Final = 120.0


@dataclass(frozen=True)
class Latency:
    """Seconds from publication to verdict for the pages of one rate: the most for half of them, 99 of 100, and all."""

    pages_a_second: float
    pages: int
    half: float
    ninety_ninth: float
    longest: float

    def line(self) -> str:
        """The result as a line for people."""
        return (
            f"{self.pages_a_second:g} pages a second, {self.pages:,} of them: half had their verdict within "
            f"{self.half:.2f} s, 99 of 100 within {self.ninety_ninth:.2f} s, all within {self.longest:.2f} s"
        )


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments: which pages, at which rates, for how long."""
    parser.add_argument("--docs", type=Path, required=True, help="folder with docs.jsonl.xz (id, url, html a line)")
    parser.add_argument(
        "--rates",
        type=lambda text: [float(rate) for rate in text.split(",")],
        default=RATES,
        metavar="N,N,…",
        help=f"pages a second (default: {','.join(map(str, RATES))})",
    )
    parser.add_argument("--seconds", type=float, default=SECONDS, help=f"of each rate (default: {SECONDS:g})")
    parser.add_argument("--json", action="store_true", help="an object a rate and line")


def run(arguments: argparse.Namespace, load: Callable[[], Settings]) -> int:
    """Measure and print."""
    for found in measure(load(), pages_of(arguments.docs, None), arguments.rates, arguments.seconds):
        print(json.dumps(asdict(found)) if arguments.json else found.line(), flush=True)
    return 0


def measure(settings: Settings, pages: Sequence[Page], rates: Sequence[float], seconds: float) -> Iterator[Latency]:
    """Measure one rate after the other, with one worker.

    Raises:
        Unavailable: the worker ended, or a verdict did not come within two minutes.
    """
    with tempfile.TemporaryDirectory(prefix="crawl-dedup-bench-") as name:
        folder = Path(name)
        with LocalBroker(data_dir=folder / "kafka") as broker:
            here = at_broker(settings, broker)
            create_topics(client_options(here.kafka), specs(here), 1)
            (folder / "config.yaml").write_text(json.dumps(here.model_dump(mode="json")), encoding="utf-8")
            arguments = ["--config", str(folder / "config.yaml"), "--set", "metrics.port=0"]
            with ModuleProcess("the worker", "worker", arguments, folder) as worker:
                wait_until_ready([worker], here.topics.shards, here.topics.partitions, READY_SECONDS)
                endless = repeated(pages, 1 << 30)
                with _told(here) as told:
                    _at_rate(here, worker, told, endless, rates[0], seconds / 2)
                    for rate in rates:
                        yield _at_rate(here, worker, told, endless, rate, seconds)


@contextmanager
def _told(settings: Settings) -> Iterator[dict[str, float]]:
    """Times at which each verdict, or dead letter, was read; a thread notes them while the block runs."""
    told: dict[str, float] = {}
    over = threading.Event()

    def read() -> None:
        with OutputReader(client_options(settings.kafka), settings.topics.prefix, (VERDICTS, DEAD_LETTERS)) as reader:
            while not over.is_set():
                found = reader.read(0.02)
                now = time.monotonic()
                told.update((output.url, now) for output in found if isinstance(output, Verdict))

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    try:
        yield told
    finally:
        over.set()
        thread.join()


def _at_rate(
    settings: Settings,
    worker: ModuleProcess,
    told: Mapping[str, float],
    pages: Iterator[Page],
    rate: float,
    seconds: float,
) -> Latency:
    published: dict[str, float] = {}

    def paced() -> Iterator[Page]:
        begun = time.monotonic()
        for number, (meta, body) in enumerate(itertools.islice(pages, round(rate * seconds))):
            time.sleep(max(0.0, begun + number / rate - time.monotonic()))
            published[identity(meta.url)] = time.monotonic()
            yield meta, body

    publish_pages(client_options(settings.kafka), settings.topics.prefix, paced())
    deadline = time.monotonic() + PATIENCE_SECONDS
    while missing := published.keys() - told.keys():
        see_that_it_runs(worker)
        if time.monotonic() > deadline:
            raise Unavailable(f"{len(missing)} pages have no verdict: try fewer pages a second with --rates")
        time.sleep(0.1)
    took = sorted(told[url] - at for url, at in published.items())
    hundredths = quantiles(took, n=100)
    return Latency(rate, len(took), hundredths[49], hundredths[98], took[-1])
