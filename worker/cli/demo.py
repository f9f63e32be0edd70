"""``python -m worker demo``: a crawl of a site written for it, through a real Kafka to verdicts; 0 only if it adds up.

1. a broker in a temporary folder, and the topics on it;
2. the site, a spider with the plugin, and workers, each a process of its own;
3. pages are counted on their way, until all that the spider published is committed;
4. what came out: sums, sections, examples, two pages side by side;
5. everything ends and is removed, or stays until Ctrl-C with ``--keep``.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, Final, NoReturn

from worker.errors import CheckFailed, Unavailable, UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from worker.demo.children import DemoProcess
    from worker.demo.expected_counts import ExpectedCounts
    from worker.demo.scrape import WorkerShare
    from worker.demo.server import SiteServer
    from worker.demo.site import SitePage
    from worker.demo.watching import Watching

WORKERS: Final = 2
MOST_WORKERS: Final = 8
"""As many as there are partitions; more would idle."""
PREFIX: Final = "demo."
STALL_SECONDS: Final = 90.0
"""How long nothing may move."""

_LOOK_SECONDS: Final = 0.25
_ENDINGS: Final = (signal.SIGTERM, signal.SIGHUP)
_SIGNALLED: Final = 128
"""Exit status of what a signal has ended, less the signal's number, as shells have it."""
_WIDTH_OF_FILES: Final = 110
"""Columns where the output goes to a file or a pipe: what the tables and rows of bits take."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments. Settings do not count: the demo runs with the default ones."""
    parser.description = (
        "Starts a Kafka broker, crawls a local site of some hundred pages with Scrapy and the plugin, lets workers "
        "that share pages and index judge them, and checks that the counts add up. Default settings, free ports, a "
        "folder that goes away."
    )
    parser.add_argument(
        "--workers", type=_workers, default=WORKERS, metavar="N", help="workers that share the pages (%(default)s)"
    )
    parser.add_argument(
        "--keep", action="store_true", help="leave broker and workers running until Ctrl-C, and say how to look at them"
    )


def run(arguments: argparse.Namespace, load: Callable[[], Any]) -> int:
    """0 if every page is accounted for and repeats are found as what they are.

    Raises:
        CheckFailed: it does not add up.
        UsageError: the demo extra is not installed.
        Unavailable: broker, spider or worker does not start, or stands still.
    """
    try:
        from rich.console import Console
    except ImportError as error:
        raise UsageError("the demo needs its extra: pip install 'crawl-dedup[demo]'") from error
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=_WIDTH_OF_FILES)
    with _ended_in_order_by_sigterm(), tempfile.TemporaryDirectory(prefix="crawl-dedup-demo-") as folder:
        wrong = Demo(console, Path(folder), workers=arguments.workers, keep=arguments.keep).run()
    if wrong:
        raise CheckFailed(
            "the demo does not add up:\n" + "\n".join(f"  {line}" for line in wrong) + "\nRun it again with --keep, "
            "and look at the topics and logs that it names"
        )
    return 0


@dataclass(frozen=True)
class Demo:
    """One run of the demo in a folder of its own."""

    console: Console
    folder: Path
    workers: int
    keep: bool

    def run(self) -> list[str]:
        """What does not add up, a sentence each."""
        from worker.config import TopicSettings
        from worker.demo.expected_counts import UNIQUE
        from worker.demo.server import SiteServer
        from worker.demo.watching import wait_until_ready

        with ExitStack() as running:
            self._rule("1. A real Kafka broker on this machine, and the topics")
            kernels = self._kernels(running)
            servers = self._broker(running)
            options = self._topics(servers)
            self._wait_for(kernels)
            self._rule("2. A site, a spider with the plugin, workers")
            site = running.enter_context(SiteServer())
            workers = [running.enter_context(self._worker(number, servers)) for number in range(1, self.workers + 1)]
            topics = TopicSettings()
            wait_until_ready(workers, topics.shards, topics.partitions, STALL_SECONDS)
            spider = running.enter_context(self._spider(site, servers))
            self._rule("3. The crawl")
            expected, watching = self._watched(options, site, spider, workers)
            self._rule("4. What came out")
            unique = expected.outcomes[UNIQUE]
            shares = watching.shares_holding(unique, STALL_SECONDS)
            wrong = expected.disagreements()
            if (held := sum(share.survivors for share in shares.values())) != unique:
                wrong.append(f"the workers' shards hold {held} pages, but {unique} are unique")
            self._show(expected, watching, shares, servers)
            if self.keep:
                self._stay(servers, watching.addresses, workers)
            wrong += [
                f"{worker.name} ended with exit status {status}; the end of its output:\n{worker.last_lines()}"
                for worker in workers
                if (status := worker.stop())
            ]
        if not wrong:
            self._rule("It adds up")
        return wrong

    def _rule(self, title: str) -> None:
        self.console.rule(title, align="left")

    def _kernels(self, running: ExitStack) -> list[DemoProcess]:
        from worker.demo.children import DemoProcess
        from worker.demo.kernels import PARTS

        return [
            running.enter_context(DemoProcess(f"kernels of {part}", "worker.demo.kernels", [part], self.folder))
            for part in PARTS
        ]

    def _wait_for(self, kernels: Sequence[DemoProcess]) -> None:
        """However long it takes: only a worker that stands still is a reason to give up."""
        if any(child.status is None for child in kernels):
            self.console.print("compiling what workers run for this CPU, which is done once")
        while any(child.status is None for child in kernels):
            time.sleep(_LOOK_SECONDS)

    def _broker(self, running: ExitStack) -> str:
        from worker.broker.server import LocalBroker

        began = time.monotonic()
        broker = LocalBroker(data_dir=self.folder / "kafka", announce=self.console.print)
        servers = running.enter_context(broker).bootstrap_servers
        self.console.print(f"bootstrap.servers={servers}, ready in {time.monotonic() - began:.1f} s")
        return servers

    def _topics(self, servers: str) -> dict[str, Any]:
        from worker.config import KafkaSettings
        from worker.stream.kafka.connection import client_options
        from worker.stream.kafka.topic_admin import create_topics
        from worker.topics import topic_specs

        options = client_options(KafkaSettings(bootstrap_servers=servers))
        specs = topic_specs(prefix=PREFIX)
        create_topics(options, specs, replication_factor=1)
        self.console.print(", ".join(f"{spec.name} ({spec.partitions})" for spec in specs), soft_wrap=True)
        return options

    def _worker(self, number: int, servers: str) -> DemoProcess:
        from worker.demo.children import DemoProcess

        settings = {
            "kafka.bootstrap_servers": servers,
            "kafka.group": PREFIX.rstrip("."),
            "topics.prefix": PREFIX,
            "metrics.port": "0",
            "page.processes": str(max(1, (os.cpu_count() or 1) // self.workers)),
        }
        arguments = [argument for key, value in settings.items() for argument in ("--set", f"{key}={value}")]
        self.console.print(f"worker {number}: python -m worker {' '.join(arguments)}", markup=False, soft_wrap=True)
        return DemoProcess(f"worker {number}", "worker", arguments, self.folder)

    def _spider(self, site: SiteServer, servers: str) -> DemoProcess:
        from worker.demo.children import DemoProcess

        pages, start = len(site.site.pages), site.site.start
        self.console.print(f"site: {start} and a copier, {pages} pages; spider: ADDONS = crawler_plugin.Addon")
        return DemoProcess("spider", "worker.demo.spider", [start, servers, PREFIX, str(self._stats_file)], self.folder)

    @property
    def _stats_file(self) -> Path:
        return self.folder / "stats.json"

    def _watched(
        self, options: dict[str, Any], site: SiteServer, spider: DemoProcess, workers: Sequence[DemoProcess]
    ) -> tuple[ExpectedCounts, Watching]:
        """Wait until everything that was published is committed, and read it once more from the beginning."""
        from worker.demo.expected_counts import Counts, ExpectedCounts
        from worker.demo.progress import Progress
        from worker.demo.watching import Watching
        from worker.stream.kafka.output_reader import PageCount, read_outputs

        with (
            Watching(options, PREFIX, site, spider, workers) as watching,
            Progress(self.console, site.site.visits) as progress,
        ):
            while not watching.is_over:
                watching.look(_LOOK_SECONDS)
                progress.show(watching.stations)
                watching.check(STALL_SECONDS)
        if spider.status:
            raise Unavailable(
                f"the spider ended with exit status {spider.status}; the end of its output:\n{spider.last_lines()}"
            )
        stats = json.loads(self._stats_file.read_text(encoding="utf-8"))
        with PageCount(options, PREFIX) as pages:
            counts = Counts(fetched=site.served, confirmed=stats.get("dedup/confirmed", 0), in_pages=pages.now())
        return ExpectedCounts.of(site.site, counts, read_outputs(options, PREFIX)), watching

    def _show(
        self, expected: ExpectedCounts, watching: Watching, shares: Mapping[str, WorkerShare], servers: str
    ) -> None:
        from worker.compose import parts
        from worker.config import Settings
        from worker.demo import tables
        from worker.demo.site import PageKind
        from worker.fingerprint.fingerprinter import Fingerprinter
        from worker.messages import PageMeta

        fingerprinter = Fingerprinter(parts.recipe(Settings()))

        def text_of(page: SitePage) -> str:
            return fingerprinter.text_of(page.body, PageMeta(url=page.url, content_type=page.content_type))

        self.console.print(tables.sums(expected))
        self.console.print(tables.sections(expected))
        self.console.print(tables.owners(shares))
        rate = expected.outcomes.total() / watching.seconds
        self.console.print(
            f"{watching.seconds:.1f} s from the first page to the last verdict, {rate:.0f} pages a second"
        )
        examples = tables.examples(expected)
        for example in examples:
            lines = tables.example(*example, text_of)
            self.console.print("\n".join(lines), markup=False, soft_wrap=True)
        reposts = [(page, original) for _, page, original in examples if PageKind.REPOST in (page.kind, original.kind)]
        for page, original in reposts[:1]:
            self._rule("5. Two of them side by side, as python -m worker compare shows them")
            sides = [(side.url, fingerprinter.explain(text_of(side), side.url)) for side in (page, original)]
            self.console.print(_side_by_side(sides, parts.near(Settings()).near), markup=False, soft_wrap=True)
        self._rule("Where to look")
        for address in watching.addresses:
            self.console.print(f"metrics: {address}", soft_wrap=True)
        self.console.print(f"bootstrap.servers={servers}, topics {PREFIX}*", soft_wrap=True)

    def _stay(self, servers: str, addresses: Sequence[str], workers: Sequence[DemoProcess]) -> None:
        """Let everything run until Ctrl-C or SIGTERM, which are the ways to end this and no failure."""
        self.console.print(f"logs: {self.folder}", soft_wrap=True)
        for address in addresses:
            self.console.print(f"look: curl {address}", soft_wrap=True)
        self.console.print("broker, site and workers run until Ctrl-C")
        with suppress(KeyboardInterrupt, SystemExit):
            while all(worker.status is None for worker in workers):
                time.sleep(_LOOK_SECONDS)


def _side_by_side(sides: Sequence[tuple[str, Any]], near: Any) -> str:
    from worker.evaluate.side_by_side import as_text
    from worker.fingerprint.comparison import compare
    from worker.fingerprint.measures import BlockLayout

    (a_name, a), (b_name, b) = sides
    return as_text(compare(a, b, near=near, layout=BlockLayout.parse("4x16")), (a_name, b_name))


def _workers(text: str) -> int:
    number = int(text)
    if not 1 <= number <= MOST_WORKERS:
        raise argparse.ArgumentTypeError(f"write a number from 1 to {MOST_WORKERS}")
    return number


@contextmanager
def _ended_in_order_by_sigterm() -> Iterator[None]:
    """SIGTERM, Ctrl-C and a closed terminal unwind the demo, so that its processes and its folder go with it.

    A second one changes nothing. Ctrl-C is asked for by name, since a shell has jobs in its background ignore it.
    """

    def end(number: int, frame: FrameType | None) -> NoReturn:
        for ending in _ENDINGS:
            signal.signal(ending, signal.SIG_IGN)
        sys.exit(_SIGNALLED + number)

    before = {ending: signal.signal(ending, end) for ending in _ENDINGS}
    before[signal.SIGINT] = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        for ending, handler in before.items():
            signal.signal(ending, handler)
