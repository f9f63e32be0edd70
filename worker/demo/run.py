"""One run of the demo, step by step.

1. a broker in a temporary folder, and the topics on it;
2. the site, a spider with the plugin, and workers, each a process of its own;
3. pages are counted on their way, until all that the spider published is committed;
4. the results: sums, sections, examples, two pages side by side;
5. everything ends and is removed; if kept, it stays until Ctrl-C, and the output says how to look at it.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from rich.console import Console

from crawler_plugin.wire.errors import Unavailable
from crawler_plugin.wire.page_headers import PageMeta
from crawler_plugin.wire.topics import topic_specs
from worker.broker.server import LocalBroker
from worker.compose.kernels import PARTS
from worker.compose.processes import ModuleProcess, addresses_of, wait_until_ready
from worker.config import KafkaSettings, Settings, TopicSettings
from worker.demo import tables
from worker.demo.expected_counts import UNIQUE, Counts, ExpectedCounts
from worker.demo.progress import Progress, waiting
from worker.demo.server import SiteServer
from worker.demo.site import PageKind, SitePage
from worker.demo.watching import Watching
from worker.observe.scrape import WorkerShare
from worker.stream.kafka.connection import client_options
from worker.stream.kafka.output_reader import PageCount, read_outputs
from worker.stream.kafka.topic_admin import create_topics

_NAME: Final = "demo"
"""The name of the consumer group and of the crawl."""
PREFIX: Final = f"{_NAME}."
STALL_SECONDS: Final = 90.0
"""The longest time without progress."""
NEXT: Final = """\
All of it has ended, and its folder is gone.
python -m worker demo --keep      lets it run, and says how to look at it
docs/tutorial/first-crawl.md      a crawl of your own without copies, in one terminal
docs/tutorial/with-kafka.md       the same through Kafka, for many crawls and machines"""
_READY_SECONDS: Final = 900.0
"""How long the workers may take to start, however busy the machine is."""
_LOOK_SECONDS: Final = 0.25


@dataclass(frozen=True)
class Demo:
    """One run of the demo in a folder of its own."""

    console: Console
    folder: Path
    workers: int
    keep: bool

    def run(self) -> list[str]:
        """Everything that does not add up, a sentence each."""
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
            what = "waiting for the workers to share out pages and index: ten seconds or so"
            with waiting(self.console, what) as tell:
                wait_until_ready(workers, topics.shards, topics.partitions, _READY_SECONDS, tell)
            spider = running.enter_context(self._spider(site, servers))
            self._rule("3. The crawl")
            expected, watching = self._watched(options, site, spider, workers)
            self._rule("4. What came out")
            unique = expected.outcomes[UNIQUE]
            shares = watching.shares_holding(unique, STALL_SECONDS)
            wrong = expected.disagreements()
            if (held := sum(share.survivors for share in shares.values())) != unique:
                wrong.append(f"the workers' shards hold {held} pages, but {unique} are unique")
            self._show(expected, watching.seconds, shares)
            if self.keep:
                self._rule("It does not add up" if wrong else "It adds up")
                self._stay(servers, workers)
            wrong += [
                f"{worker.name} ended with exit status {status}; the end of its output:\n{worker.last_lines()}"
                for worker in workers
                if (status := worker.stop())
            ]
        if not wrong and not self.keep:
            self._rule("It adds up")
            self.console.print(NEXT, markup=False, soft_wrap=True)
        return wrong

    def _rule(self, title: str) -> None:
        self.console.rule(title, align="left")

    def _kernels(self, running: ExitStack) -> list[ModuleProcess]:
        return [
            running.enter_context(ModuleProcess(f"kernels of {part}", "worker.compose.kernels", [part], self.folder))
            for part in PARTS
        ]

    def _wait_for(self, kernels: Sequence[ModuleProcess]) -> None:
        """However long it takes: only a worker that stands still is a reason to give up."""
        if all(child.status is not None for child in kernels):
            return
        what = "compiling 500 functions for this CPU, which is done once: half a minute of two cores, or more"
        with waiting(self.console, what) as tell:
            while any(child.status is None for child in kernels):
                done = [re.findall(r"(\d{1,9}) functions done", child.last_lines()) for child in kernels]
                tell(f"{sum(int(counts[-1]) for counts in done if counts)} functions done")
                time.sleep(_LOOK_SECONDS)

    def _broker(self, running: ExitStack) -> str:
        began = time.monotonic()
        self.console.print("starting it takes five seconds or so")
        broker = LocalBroker(data_dir=self.folder / "kafka", announce=self.console.print)
        servers = running.enter_context(broker).bootstrap_servers
        self.console.print(f"bootstrap.servers={servers}, ready in {time.monotonic() - began:.1f} s")
        return servers

    def _topics(self, servers: str) -> dict[str, Any]:
        options = client_options(KafkaSettings(bootstrap_servers=servers))
        specs = topic_specs(prefix=PREFIX)
        create_topics(options, specs, replication_factor=1)
        self.console.print(", ".join(f"{spec.name} ({spec.partitions})" for spec in specs), soft_wrap=True)
        return options

    def _worker(self, number: int, servers: str) -> ModuleProcess:
        settings = {
            "kafka.bootstrap_servers": servers,
            "kafka.group": _NAME,
            "topics.prefix": PREFIX,
            "metrics.port": "0",
            "page.processes": str(max(1, (os.cpu_count() or 1) // self.workers)),
        }
        arguments = [argument for key, value in settings.items() for argument in ("--set", f"{key}={value}")]
        self.console.print(f"worker {number}: python -m worker {' '.join(arguments)}", markup=False, soft_wrap=True)
        return ModuleProcess(f"worker {number}", "worker", arguments, self.folder)

    def _spider(self, site: SiteServer, servers: str) -> ModuleProcess:
        pages, start = len(site.site.pages), site.site.start
        self.console.print(f"site: {start} and a copier, {pages} pages; spider: ADDONS = crawler_plugin.Addon")
        return ModuleProcess(
            "spider", "worker.demo.spider", [start, servers, PREFIX, _NAME, str(self._stats_file)], self.folder
        )

    @property
    def _stats_file(self) -> Path:
        return self.folder / "stats.json"

    def _watched(
        self, options: dict[str, Any], site: SiteServer, spider: ModuleProcess, workers: Sequence[ModuleProcess]
    ) -> tuple[ExpectedCounts, Watching]:
        """Wait until everything that was published is committed, and read it once more from the beginning."""
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

    def _show(self, expected: ExpectedCounts, seconds: float, shares: Mapping[str, WorkerShare]) -> None:
        from worker.compose import parts  # only now: the kernels of these modules are compiled if that was never done
        from worker.evaluate.literature.comparison import compare
        from worker.evaluate.literature.explained import Explained, Explainer
        from worker.evaluate.literature.measures import BlockLayout
        from worker.page.extract import Extracted
        from worker.results.explain.side_by_side import as_text

        explainer = Explainer(parts.recipe(Settings()))

        def read(page: SitePage) -> Extracted:
            return explainer.fingerprinter.read(page.body, PageMeta(url=page.url, content_type=page.content_type))

        def explained(page: SitePage) -> Explained:
            return explainer.explain(read(page), page.url, page.body)

        self.console.print(tables.sums(expected))
        self.console.print(tables.sections(expected))
        self.console.print(tables.owners(shares))
        rate = expected.outcomes.total() / seconds
        self.console.print(f"{seconds:.1f} s from the first page to the last verdict, {rate:.0f} pages a second")
        examples = tables.examples(expected)
        for example in examples:
            lines = tables.example(*example, lambda page: read(page).text)
            self.console.print("\n".join(lines), markup=False, soft_wrap=True)
        reposts = [(page, original) for _, page, original in examples if PageKind.REPOST in (page.kind, original.kind)]
        for page, original in reposts[:1]:
            self._rule("5. Two of them side by side, as python -m worker compare shows them")
            both = compare(
                explained(page), explained(original), near=parts.near(Settings()).near, layout=BlockLayout.parse("4x16")
            )
            self.console.print(as_text(both, (page.url, original.url)), markup=False, soft_wrap=True)

    def _stay(self, servers: str, workers: Sequence[ModuleProcess]) -> None:
        """Keep everything running until Ctrl-C or SIGTERM, which are the ways to end this and no failure."""
        self._rule("Where to look")
        self.console.print("Broker, site and workers run until Ctrl-C. In another terminal:")
        settings = f"--set kafka.bootstrap_servers={servers} --set topics.prefix={PREFIX}"
        for what, command in (
            ("the workers' metrics", " ".join(["curl", *addresses_of(workers)])),
            ("what became of each page", f"{sys.executable} -m worker verdicts --job {_NAME} {settings}"),
            ("what each shard of the index holds", f"{sys.executable} -m worker index inspect {settings}"),
            ("what was logged", f"ls {self.folder}"),
        ):
            self.console.print(f"# {what}\n{command}", markup=False, soft_wrap=True)
        with suppress(KeyboardInterrupt, SystemExit):
            while all(worker.status is None for worker in workers):
                time.sleep(_LOOK_SECONDS)
