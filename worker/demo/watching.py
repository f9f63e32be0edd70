"""Follows a crawl from outside: the site's requests, the workers' metrics, and what readers of the outputs see."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from typing import Final, Self

from crawler_plugin.wire.errors import Unavailable
from crawler_plugin.wire.outcomes import Verdict
from crawler_plugin.wire.topics import DEAD_LETTERS, VERDICTS
from worker.compose.processes import METRICS, ModuleProcess, see_that_it_runs
from worker.demo.expected_counts import DEAD
from worker.demo.progress import Stations
from worker.demo.server import SiteServer
from worker.observe.scrape import CLAIMED, Sample, WorkerShare, samples, share_of, summed
from worker.stream.kafka.connection import Options
from worker.stream.kafka.output_reader import OutputReader, PageCount
from worker.verdict import decide

_LOOK_SECONDS: Final = 0.2


class Watching:
    """The observed state of a crawl: ``stations``, and whether it ``is_over``, with all published pages committed.

    Args:
        options: how to reach the broker.
        prefix: of the topics' names.
    """

    def __init__(
        self, options: Options, prefix: str, site: SiteServer, spider: ModuleProcess, workers: Sequence[ModuleProcess]
    ) -> None:
        self._site = site
        self._spider = spider
        self._workers = workers
        self._pages = PageCount(options, prefix)
        self._outputs = OutputReader(options, prefix, (VERDICTS, DEAD_LETTERS))
        self._committed: Counter[str] = Counter()
        self._first: float | None = None
        self._moved = time.monotonic()
        self.stations = Stations()
        self.is_over = False

    @property
    def seconds(self) -> float:
        """From the first page that was seen to the last change."""
        return self._moved - (self._moved if self._first is None else self._first)

    def look(self, wait: float) -> None:
        """Bring ``stations`` up to date; waits up to ``wait`` seconds for something new."""
        crawled = self._spider.status is not None  # asked before pages are counted, so that then the count is final
        for output in self._outputs.read(wait):
            assert isinstance(output, Verdict)
            self._committed[DEAD if output.verdict == decide.DEAD else output.verdict] += 1
        committed = self._committed.total()
        shown = self._samples()
        seen = Stations(
            crawled=self._site.served,
            published=self._pages.now(),
            claimed=max(sum(summed(found)[CLAIMED] for found in shown.values()), committed),
            committed=dict(self._committed),
            shares={name: share_of(found) for name, found in shown.items()},
        )
        if seen != self.stations:
            self._moved = time.monotonic()
            if self._first is None and seen.crawled:
                self._first = self._moved
        self.stations = seen
        self.is_over = crawled and seen.total_committed >= seen.published

    def check(self, patience: float) -> None:
        """Check that the crawl goes on.

        Raises:
            Unavailable: a worker has ended, or nothing has moved for ``patience`` seconds.
        """
        for worker in self._workers:
            see_that_it_runs(worker)
        if time.monotonic() - self._moved > patience:
            ends = "\n".join(f"{child.name}:\n{child.last_lines()}" for child in (self._spider, *self._workers))
            raise Unavailable(
                f"nothing has moved for {patience:g} s ({self.stations}); the ends of the outputs:\n{ends}\n"
                "Try again when the machine is less busy"
            )

    def shares_holding(self, survivors: int, patience: float) -> dict[str, WorkerShare]:
        """Each worker's share, once their shards hold this many pages; after ``patience`` seconds whatever they
        hold."""
        deadline = time.monotonic() + patience
        while True:
            shares = {name: share_of(found) for name, found in self._samples().items()}
            if sum(share.survivors for share in shares.values()) == survivors or time.monotonic() > deadline:
                return shares
            time.sleep(_LOOK_SECONDS)

    def _samples(self) -> dict[str, list[Sample]]:
        addresses = {worker.name: worker.find(METRICS) for worker in self._workers}
        return {name: samples(address) for name, address in addresses.items() if address is not None}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._outputs.close()
        self._pages.close()
