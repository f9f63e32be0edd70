"""What a crawl of a given size needs: cores, partitions, shards, memory, disk on the brokers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from worker.compose.machine import PARSER_BYTES
from worker.fingerprint.sketch import SKETCH_BYTES

DAY_SECONDS: Final = 86_400
PEAK: Final = 3.0
"""A crawl's busiest hour beside its mean. Below it, pages wait longer at these hours, and nothing else happens."""
LOAD: Final = 0.7
"""Share of a core that is planned for; the rest of it is for catching up after a restart."""
PAGES_A_SECOND_AND_CORE: Final = 400
"""Measured: 450 with two workers and their broker on two cores (docs/benchmarks/pipeline.md), rounded down."""
WITHOUT_COPIES: Final = 1.05
"""Times as many where no page is copied (``output.mode=verdicts``). Measured in turn with the other, three times each:
1.04, 1.14 and 1.04 times (docs/explanation/cost.md)."""
ENTRIES_A_SHARD: Final = 10_000_000
"""A larger shard takes longer to restore, and while one restores no page gets a verdict."""
FEWEST: Final = 8
"""Partitions and shards, the settings' defaults: they cannot be changed later, and cost next to nothing."""
WORKERS_TO_COME: Final = 4
"""Times as many partitions and shards as workers are planned, so that the crawl can grow."""

# Bytes on the broker, measured with 1,400 pages, half of them copies, under URLs of 67 characters, 8 partitions and 8
# shards, without sketches, not compressed; the body's own bytes are in pages and deduplicated besides. Batches were
# small: in full ones a claim takes 37 bytes.
PAGES_BYTES: Final = 241
DEDUPLICATED_BYTES: Final = 367
VERDICT_BYTES: Final = 633 + 90  # the second part, spider and job in the record and as headers, reckoned
CLAIM_BYTES: Final = 69 + 17  # the second part: site, title, its words and doubt, reckoned
ANSWER_BYTES: Final = 73
ENTRY_BYTES: Final = 68 + 17  # 600 pages, none of them copies, measured; site, title, its words and doubt: reckoned
SKETCHED_BYTES: Final = 2 * SKETCH_BYTES
"""A sketch and its bands, in each claim and each entry on the broker, where the predicate is accurate."""

URL_BYTES: Final = 30
"""Of memory, an entry: compressed URLs, at most."""
WORKER_BYTES: Final = 450 * 1024**2
"""Resident memory of a worker's own process besides its index, under load. Two runs of half an hour took 325 and 430
MiB (docs/benchmarks/memory.md), and a size that is told must suffice. A hundred MiB of it are programs that several
workers on a machine share."""


@dataclass(frozen=True)
class Growth:
    """How a shard's memory grows, URLs not counted: bytes before its first entry, and bytes an entry."""

    empty: float
    entry: float

    def of(self, entries: int, shards: int) -> int:
        """Bytes of so many entries in so many shards."""
        return math.ceil(shards * self.empty + entries * self.entry)


@dataclass(frozen=True, kw_only=True)
class Crawl:
    """What is known before: pages a day, different pages the index holds at last, bytes of a page's body.

    ``growth`` is that of the index's memory, and ``sketched`` says whether entries have sketches; ``copies`` whether
    pages go out with their verdicts; ``retention_days`` and ``replicas`` are the topics'; ``holders`` are the workers
    that hold each shard; ``speed`` is in pages a second and core; ``page_memory`` is what a page may take in its
    parser, in bytes.
    """

    pages_a_day: int
    distinct: int
    page_bytes: int
    growth: Growth
    sketched: bool
    page_memory: int
    retention_days: float
    replicas: int
    speed: float = PAGES_A_SECOND_AND_CORE
    copies: bool = True
    holders: int = 1

    @property
    def mean(self) -> float:
        """Pages a second."""
        return self.pages_a_day / DAY_SECONDS

    @property
    def cores(self) -> int:
        """Cores for all workers together, at the busiest hour."""
        return max(1, math.ceil(self.mean * PEAK / (self.speed * LOAD)))

    @property
    def partitions(self) -> int:
        """Of ``pages``: the largest number of workers that share them, and more to come; a multiple of eight."""
        return _eights(WORKERS_TO_COME * self.cores)

    @property
    def shards(self) -> int:
        """Of the index: none too large to be restored quickly, and one for each worker that may come."""
        return max(_eights(self.distinct / ENTRIES_A_SHARD), self.partitions)

    @property
    def index_bytes(self) -> int:
        """Memory of the index in all workers together, in both roles where shards have two holders."""
        return self.holders * (self.growth.of(self.distinct, self.shards) + self.distinct * URL_BYTES)

    @property
    def parser_bytes(self) -> int:
        """Memory of all parsing processes together at most, one a core: each with the largest page."""
        return self.cores * (PARSER_BYTES + self.page_memory)

    @property
    def log_bytes(self) -> int:
        """On the brokers, all copies: what is kept for ``retention_days``."""
        claim = CLAIM_BYTES + self.sketched * SKETCHED_BYTES
        page = self.page_bytes + PAGES_BYTES + VERDICT_BYTES + claim + ANSWER_BYTES
        page += self.copies * (self.page_bytes + DEDUPLICATED_BYTES)
        return math.ceil(self.pages_a_day * self.retention_days * page * self.replicas)

    @property
    def index_topic_bytes(self) -> int:
        """On the brokers, all copies: the topic that shards are restored from, which is kept for good."""
        return self.distinct * (ENTRY_BYTES + self.sketched * SKETCHED_BYTES) * self.replicas


def _eights(count: float) -> int:
    return max(FEWEST, math.ceil(count / 8) * 8)
