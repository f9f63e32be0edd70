"""Follows a crawl from outside: the site's requests, the workers' metrics, and what readers of the outputs see."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from typing import Final, Self

from crawler_plugin.wire.errors import Unavailable
from crawler_plugin.wire.outcomes import Verdict
from crawler_plugin.wire.topics import DEAD_LETTERS, VERDICTS
from worker.demo.children import DemoProcess
from worker.demo.expected_counts import DEAD
from worker.demo.progress import Stations
from worker.demo.scrape import CLAIMED, Sample, WorkerShare, are_shared_out, is_ready, samples, share_of, summed
from worker.demo.server import SiteServer
from worker.stream.kafka.connection import Options
from worker.stream.kafka.output_reader import OutputReader, PageCount
from worker.verdict import decide

METRICS: Final = "metrics: "
"""What a worker prints before the address of its metrics."""

_LOOK_SECONDS: Final = 0.2


def wait_until_ready(workers: Sequence[DemoProcess], shards: int, partitions: int, patience: float) -> None:
    """Come back when the workers have shared pages and index out, so that what follows is work and no start-up.

    The first worker owns all of it for a moment, and is ready; the wait goes on until each worker has its share.

    Args:
        shards: all that there are, and ``partitions`` those of pages.
        patience: seconds.

    Raises:
        Unavailable: a worker has ended, or they are not that far after ``patience`` seconds.
    """
    deadline = time.monotonic() + patience
    while not _are_ready(workers, shards, partitions):
        for worker in workers:
            see_that_it_runs(worker)
        if time.monotonic() > deadline:
            ends = "\n".join(f"{worker.name}:\n{worker.last_lines()}" for worker in workers)
            raise Unavailable(
                f"the workers have not shared out pages and index after {patience:g} s; the ends of their outputs:\n"
                f"{ends}\nTry again when the machine is less busy"
            )
        time.sleep(_LOOK_SECONDS)


def addresses_of(workers: Sequence[DemoProcess]) -> list[str]:
    """Where the workers show their metrics, of those that have said so."""
    return [address for worker in workers if (address := worker.find(METRICS)) is not None]


def see_that_it_runs(worker: DemoProcess) -> None:
    """Raises ``Unavailable`` with the end of its output if it does not."""
    if worker.status is not None:
        raise Unavailable(
            f"{worker.name} ended with exit status {worker.status}; the end of its output:\n"
            f"{worker.last_lines()}\nTry again once that is mended"
        )


def _are_ready(workers: Sequence[DemoProcess], shards: int, partitions: int) -> bool:
    addresses = addresses_of(workers)
    return (
        len(addresses) == len(workers)
        and all(map(is_ready, addresses))
        and are_shared_out([share_of(samples(address)) for address in addresses], shards, partitions)
    )


class Watching:
    """What is known of a crawl that runs: ``stations``, and whether it ``is_over``, all that was published committed.

    Args:
        options: how to reach the broker.
        prefix: of the topics' names.
    """

    def __init__(
        self, options: Options, prefix: str, site: SiteServer, spider: DemoProcess, workers: Sequence[DemoProcess]
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
        """See that it goes on.

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
        """Each worker's share, once their shards hold so many pages; after ``patience`` seconds whatever they hold."""
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
