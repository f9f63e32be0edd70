"""The cost of the plugin to a crawl: the rate with the plugin and without it, and with items, and callbacks, that wait
and that do not. Pages of 20 kB from a site on the same machine, runs of both kinds in turn.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any, Final, NamedTuple

from benchmarks import report
from benchmarks.crawl_spider import SPARES
from crawler_plugin.wire.errors import Unavailable, UsageError
from worker.broker.server import LocalBroker
from worker.compose.processes import ModuleProcess
from worker.compose.topology import specs
from worker.config import Settings
from worker.sizing.scaling import at_broker
from worker.stream.kafka.connection import client_options
from worker.stream.kafka.topic_admin import create_topics

PACED: Final = 50.0
"""Pages a second at which items wait."""
PATIENCE_S: Final = 10
MOST_S: Final = 300.0
LATE: Final = ("without_verdict", "callback_without_verdict")
VERSIONS: Final = ("scrapy", "twisted", "kafka-python", "crc32c")


class Rate(NamedTuple):
    """The rate of one crawl."""

    pages_a_second: float
    cpu_us: float
    """Microseconds of CPU time a page in the crawl's process, its start and end included."""
    stats: Mapping[str, Any]


def configure(parser: argparse.ArgumentParser) -> None:
    """Options of this benchmark."""
    parser.add_argument("--pages", type=int, default=3000, help="of a crawl as fast as it can (default: 3000)")
    parser.add_argument("--paced-pages", type=int, default=750, help="of one at 50 pages a second (default: 750)")
    parser.add_argument("--runs", type=int, default=5, help="of each kind (default: 5)")
    parser.add_argument("--out", type=Path, help="write the tables into this file")


def run(arguments: argparse.Namespace, load: Callable[[], Settings]) -> int:
    """Measure and print.

    Raises:
        UsageError: a number that cannot be a number of pages or runs.
    """
    for name in ("pages", "paced_pages", "runs"):
        if getattr(arguments, name) < 1:
            raise UsageError(f"--{name.replace('_', '-')} {getattr(arguments, name)}: give a whole number from 1")
    with ExitStack() as running:
        folder = Path(running.enter_context(tempfile.TemporaryDirectory(prefix="crawl-dedup-bench-")))
        here = at_broker(load(), running.enter_context(LocalBroker(data_dir=folder / "kafka")))
        create_topics(client_options(here.kafka), specs(here), 1)
        to_kafka = {
            "ADDONS": {"crawler_plugin.Addon": 500},
            "DEDUP_BOOTSTRAP_SERVERS": here.kafka.bootstrap_servers,
            "DEDUP_CAPTURE": True,
            "DEDUP_SPOOL": "none",
        }
        overrides = (f"kafka.bootstrap_servers={here.kafka.bootstrap_servers}", "metrics.port=0", "page.processes=1")
        flags = [word for pair in overrides for word in ("--set", pair)]
        paced = {"DOWNLOAD_DELAY": 1 / PACED, "RANDOMIZE_DOWNLOAD_DELAY": False, **to_kafka}
        waits = paced | {"DEDUP_AWAIT": PATIENCE_S, "DEDUP_DROP": True}
        called = {"DEDUP_AWAIT": PATIENCE_S, "DEDUP_AWAIT_RESPONSES": True}
        with ModuleProcess("worker", "worker", flags, folder):
            alternate(folder, 200, 1, {"warm": waits})
            three = {"without": paced, "with": waits, "called": paced | called}
            slow = alternate(folder, arguments.paced_pages, arguments.runs, three)
            both = {"without": to_kafka, "with": to_kafka | called}
            judged = alternate(folder, arguments.pages, arguments.runs, both)
        kinds: dict[str, dict[str, Any]] = {"without": {}, "sparing": {SPARES: True}, "with": to_kafka}
        fast = alternate(folder, arguments.pages, arguments.runs, kinds)
    sections = (
        ("The plugin", table(fast)),
        ("The plugin, and a crawl that spares the collector itself", table(fast | {"without": fast["sparing"]})),
        (f"Waiting, at {PACED:.0f} pages a second", table(slow)),
        (f"Callbacks that wait, at {PACED:.0f} pages a second", table(slow | {"with": slow["called"]})),
        ("Callbacks that wait, as fast as it can", table(judged)),
    )
    rates = slow["with"] + slow["called"] + judged["with"]
    late = sum(int(rate.stats.get(f"dedup/{kind}/late", 0)) for rate in rates for kind in LATE)
    print(*(f"{heading}\n\n{text}\n" for heading, text in sections), f"late: {late}", sep="\n")
    if arguments.out:
        report.write(
            arguments.out,
            title="What a crawl feels of the plugin",
            how=f"`python -m benchmarks crawl-rate --pages {arguments.pages} --paced-pages {arguments.paced_pages} "
            f"--runs {arguments.runs}`: pages of 20 kB from a site on the same machine, each with links and an item; "
            "runs of all kinds in turn, each a process of its own. The rate is Scrapy's, from opening the spider until "
            "Kafka has confirmed the last page. Broker, site and worker are on the same cores. In the first two tables "
            "the crawl goes as fast as it can, with `DEDUP_CAPTURE`, and no worker runs. The plugin has Python's "
            "garbage collector pass over everything loaded before the first crawl; the second table shows what it "
            f"costs a crawl that calls `gc.freeze()` itself. In the third the crawl goes at {PACED:.0f} pages a "
            f"second, where items wait (`DEDUP_AWAIT={PATIENCE_S}`, `DEDUP_DROP`) or do not; in the last two callbacks "
            "wait (`DEDUP_AWAIT_RESPONSES`), first at that rate, then as fast as they can, with a worker at work in "
            f"both kinds of runs. {late} items and callbacks passed without their verdict.",
            versions=[f"{name} {version(name)}" for name in VERSIONS],
            absent=(),
            sections=sections,
        )
    return 0


def alternate(folder: Path, pages: int, runs: int, kinds: Mapping[str, Mapping[str, Any]]) -> dict[str, list[Rate]]:
    """Crawls of all kinds in turn, ``runs`` times; the kind that comes first in one turn comes last in the next."""
    found: dict[str, list[Rate]] = {name: [] for name in kinds}
    names = list(kinds)
    with ModuleProcess("site", "benchmarks.crawled_site", [str(pages)], folder) as site:
        port = _said(site, "port ")
        for _ in range(runs):
            for name in names:
                found[name].append(crawl(folder, f"http://127.0.0.1:{port}/0", kinds[name]))
            names.reverse()
    return found


def crawl(folder: Path, start: str, settings: Mapping[str, Any]) -> Rate:
    """One crawl in a process of its own."""
    common = {"LOG_LEVEL": "INFO", "CONCURRENT_REQUESTS_PER_DOMAIN": 16, "TELNETCONSOLE_ENABLED": False}
    told = json.dumps(common | dict(settings))
    with ModuleProcess("crawl", "benchmarks.crawl_spider", [start, told], folder) as spider:
        return Rate(**json.loads(_said(spider, "rate ")))


def _said(process: ModuleProcess, start: str) -> str:
    """The rest of the line that begins with this word.

    Raises:
        Unavailable: the process has ended without such a line, or takes too long.
    """
    deadline = time.monotonic() + MOST_S
    while (said := process.find(start)) is None:
        if process.status is not None or time.monotonic() > deadline:
            raise Unavailable(f"the {process.name} does not work:\n{process.last_lines()}")
        time.sleep(0.1)
    return said


def table(measured: Mapping[str, list[Rate]]) -> str:
    """A Markdown table with a row for each pair of runs and one for the medians."""
    pairs = list(zip(measured["without"], measured["with"], strict=True))
    rows = [_row(str(number), *pair) for number, pair in enumerate(pairs, start=1)]
    middle = [
        Rate(median(rate.pages_a_second for rate in rates), median(rate.cpu_us for rate in rates), {})
        for rates in (measured["without"], measured["with"])
    ]
    columns = ("run", "pages/s without", "with", "share", "CPU µs a page without", "with")
    return report.table(columns, [*rows, _row("median", *middle)])


def _row(name: str, without: Rate, with_it: Rate) -> tuple[str, ...]:
    share = with_it.pages_a_second / without.pages_a_second
    rates = (f"{without.pages_a_second:.1f}", f"{with_it.pages_a_second:.1f}", f"{share:.1%}")
    return (name, *rates, f"{without.cpu_us:.0f}", f"{with_it.cpu_us:.0f}")
