"""The needs of a crawl or an archive of a given size: cores, partitions, shards, memory, disk.

All figures for this were measured, and stand here once, with the page that describes the measurement.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from worker.compose.machine import PARSER_BYTES, SHARE
from worker.fingerprint.sketch import SKETCH_BYTES
from worker.index.kernels.plan import EXPIRED_FROM

DAY_SECONDS: Final = 86_400
HOUR_SECONDS: Final = 3600
PEAK: Final = 3.0
"""A crawl's busiest hour compared with its mean. With a lower figure, pages wait longer at these hours, and nothing
else happens."""
LOAD: Final = 0.7
"""Share of a core that is planned for; the rest is for catching up after a restart."""
FEWEST: Final = 8
"""Partitions and shards, the settings' defaults: changing them takes some steps, having them costs next to nothing."""
WORKERS_TO_COME: Final = 4.0
"""How many times as many partitions and shards as workers are planned, so that the crawl can grow."""

# Microseconds of a core, of the slowest of three runs (docs/benchmarks/pipeline.md).
PARSER_US: Final = 1119
"""A page in its parser. `scan` takes as much for it (docs/benchmarks/scan.md: 871 pages a second and core)."""
PARSED_BYTES: Final = 43_000
"""Bytes of these pages, in the mean. Half of a parser's work grows with the markup, the other half with the text
(docs/benchmarks/index.md, step by step)."""
WORKER_US: Final = 581
"""A page in the worker that owns it, without the work of all workers for each claim."""
WITHOUT_COPIES_US: Final = 365
"""The same if no page is copied (``output.mode=verdicts``)."""
JUDGE_US: Final = 13.0
"""A record in `judge`, reading and writing included: of a million seeded ones, a fifth of them copies, 12.4 each
(`python -m benchmarks seeded-records`), Intel Xeon, 26 November 2026."""

# Microseconds that a claim costs each worker, one straight line through all rows of docs/benchmarks/order.md, which it
# meets within a tenth.
CLAIM_US: Final = 1.0
"""To read it, and to decide and store."""
ASK_US: Final = 1.5
"""To ask one shard of a million entries."""
ANSWER_US: Final = 0.0039
"""To read the answer of one shard."""
MOST_WORKERS: Final = 400
"""Nothing was measured for more workers."""
LOOK_UPS: Final = {1_000_000: 4.32, 10_000_000: 1.50, 50_000_000: 0.42}
"""Millions of look-ups a second and core by entries (docs/benchmarks/index.md): a larger shard is slower to ask."""

RESTORE_US: Final = 0.61
"""Microseconds for a survivor, of the core that restores its shard from the topic, at most: fifty million took 30.3 s
(docs/benchmarks/restore.md)."""
ENTRIES_A_SHARD: Final = 33_000_000
"""A larger shard may take more than half a minute to restore, and until then no page gets a verdict. Smaller ones
restore no sooner if a worker has several of them, and each costs it a look-up for each claim."""

# Bytes on the broker, measured with 1,400 pages, half of them copies, under URLs of 67 characters, 8 partitions and 8
# shards, without sketches, before compression; the body's own bytes are in pages and deduplicated in addition. Batches
# were small: in full ones a claim takes 37 bytes.
PAGES_BYTES: Final = 241
DEDUPLICATED_BYTES: Final = 367
VERDICT_BYTES: Final = 633 + 90  # the second part, spider and job in the record and as headers, computed
CLAIM_BYTES: Final = 69 + 17  # the second part: site, title, its words and doubt, computed
ANSWER_BYTES: Final = 73
ENTRY_BYTES: Final = 68 + 17  # 600 pages, none of them copies, measured; site, title, its words and doubt: computed
SKETCHED_BYTES: Final = 2 * SKETCH_BYTES
"""A sketch and its bands, in each claim and each entry on the broker, where the predicate is accurate."""

PAGES_LEFT: Final = 0.173
"""Share of the bytes of `pages` that zstd leaves, as spiders send them by default (DEDUP_COMPRESSION): for 2,211 pages
of documentation and news (docs/benchmarks/compression.md)."""
OUTPUTS_LEFT: Final = 0.189
"""The same for the outputs (`topics.compression`), with `output.mode=tag`."""

URL_BYTES: Final = 30
"""Bytes of memory for an entry: compressed URLs, at most."""
WORKER_BYTES: Final = 300 * 1024**2
"""Resident memory of a worker's own process without its index, under load. Two runs of half an hour took 259 and 283
MiB (docs/benchmarks/memory.md), and a size that is recommended must suffice. A hundred MiB of it are programs that
several workers on a machine share."""


RECORD_BYTES: Final = 135
"""On disk, for a record of `fingerprint` whose page is like no other. Records of 3,430 real pages, some of them copies,
took 89, those of 2,755 with more copies 47."""
MOST_IN_AN_INDEX: Final = EXPIRED_FROM
"""Survivors, by the numbers that the tables have for them."""


@dataclass(frozen=True)
class Growth:
    """How a shard's memory grows, URLs not counted: bytes before its first entry, and bytes for each entry."""

    empty: float
    entry: float

    def of(self, entries: int, shards: int) -> int:
        """Bytes of this many entries in this many shards."""
        return math.ceil(shards * self.empty + entries * self.entry)


def parser_us(page_bytes: int) -> float:
    """Microseconds of a core that a page of this size takes in its parser."""
    return PARSER_US * (1 + page_bytes / PARSED_BYTES) / 2


@dataclass(frozen=True, kw_only=True)
class Crawl:
    """The known data: pages a day, different pages that the index holds at the end, bytes of a page's body.

    ``growth`` is that of the index's memory, and ``sketched`` says whether entries have sketches; ``copies`` whether
    pages go out with their verdicts, and ``packed`` whether outputs are compressed; ``retention_days`` and ``replicas``
    are the topics'; ``holders`` are the workers that hold each shard; ``speed`` is in pages a second and core, of these
    very pages, if that was measured; ``page_memory`` is the memory that a page may take in its parser, in bytes. The
    busiest hour has ``peak`` times the mean, and there may later be ``to_come`` times as many workers.
    """

    pages_a_day: int
    distinct: int
    page_bytes: int
    growth: Growth
    sketched: bool
    page_memory: int
    retention_days: float
    replicas: int
    speed: float | None = None
    copies: bool = True
    packed: bool = True
    holders: int = 1
    peak: float = PEAK
    to_come: float = WORKERS_TO_COME

    @property
    def mean(self) -> float:
        """Pages a second."""
        return self.pages_a_day / DAY_SECONDS

    @property
    def rate(self) -> float:
        """Pages a second at the busiest hour."""
        return self.mean * self.peak

    @property
    def page_us(self) -> tuple[float, float]:
        """Microseconds of a core that a page takes in its worker and in its parser."""
        worker, parser = WORKER_US if self.copies else WITHOUT_COPIES_US, parser_us(self.page_bytes)
        scale = 1.0 if self.speed is None else 1e6 / self.speed / (worker + parser)
        return worker * scale, parser * scale

    @cached_property
    def workers(self) -> int:
        """The fewest workers that order all pages of the busiest hour with a core each; or the most that were
        measured."""
        enough = (count for count in range(1, MOST_WORKERS) if self.rate <= LOAD * self.ordered(count))
        return next(enough, MOST_WORKERS)

    @property
    def is_past_the_ceiling(self) -> bool:
        """Whether no measured number of workers orders this many pages."""
        return self.rate > LOAD * self.ordered(self.workers)

    def ordered(self, workers: int) -> float:
        """Pages a second with this many workers, one full core each, their parsers not counted."""
        return 1e6 / (self.page_us[0] / workers + self._claim_us(workers))

    @property
    def parser_cores(self) -> int:
        """Cores for all parsers together, at the busiest hour."""
        return self._cores(self.page_us[1])

    @property
    def cores(self) -> int:
        """Cores for all workers together, at the busiest hour, parsers included."""
        return self._cores(sum(self.page_us) + self.workers * self._claim_us(self.workers))

    @property
    def partitions(self) -> int:
        """Partitions of ``pages``: for the largest number of workers that share them, and later ones; a multiple of
        eight."""
        return self._room(self.workers)

    @property
    def shards(self) -> int:
        """Shards of the index: none too large to be restored quickly, and one for each worker that may come."""
        return self._shards(self.workers)

    @property
    def restore_seconds(self) -> float:
        """Seconds until a worker has restored its shards from the topic, one after the other, at most."""
        return self._shards_each(self.workers) * self.distinct / self.shards * RESTORE_US / 1e6

    @property
    def index_bytes(self) -> int:
        """Memory of the index in all workers together, in both roles if shards have two holders."""
        return self.holders * (self.growth.of(self.distinct, self.shards) + self.distinct * URL_BYTES)

    @property
    def parser_bytes(self) -> int:
        """Memory of all parsing processes together at most, one for each core: each with the largest page."""
        return self.parser_cores * (PARSER_BYTES + self.page_memory)

    @property
    def in_bytes(self) -> int:
        """Bytes that the brokers receive in a second at the busiest hour, without copies among themselves."""
        return math.ceil(self.rate * self._page_bytes)

    @property
    def order_bytes(self) -> int:
        """Bytes that all workers together read in a second at the busiest hour from the logs of claims and answers, at
        most."""
        return math.ceil(self.workers * self.rate * (self._claim_bytes + ANSWER_BYTES))

    @property
    def log_bytes(self) -> int:
        """On the brokers, all copies: the data that is kept for ``retention_days``."""
        return math.ceil(self.pages_a_day * self.retention_days * self._page_bytes * self.replicas)

    @property
    def index_topic_bytes(self) -> int:
        """On the brokers, all copies: the topic that shards are restored from, which is kept for good."""
        return self.distinct * (ENTRY_BYTES + self.sketched * SKETCHED_BYTES) * self.replicas

    @property
    def _page_bytes(self) -> float:
        outputs = VERDICT_BYTES + self.copies * (self.page_bytes + DEDUPLICATED_BYTES)
        packed = PAGES_LEFT * (self.page_bytes + PAGES_BYTES) + (OUTPUTS_LEFT if self.packed else 1) * outputs
        return packed + self._claim_bytes + ANSWER_BYTES

    @property
    def _claim_bytes(self) -> int:
        return CLAIM_BYTES + self.sketched * SKETCHED_BYTES

    def _cores(self, microseconds: float) -> int:
        return max(1, math.ceil(self.rate * microseconds / 1e6 / LOAD))

    def _room(self, workers: int) -> int:
        """For later workers, but not for more than can order pages together."""
        return _eights(max(workers, min(self.to_come * workers, MOST_WORKERS)))

    def _shards(self, workers: int) -> int:
        return max(_eights(self.distinct / ENTRIES_A_SHARD), self._room(workers))

    def _shards_each(self, workers: int) -> int:
        return math.ceil(self.holders * self._shards(workers) / workers)

    def _claim_us(self, workers: int) -> float:
        shards = self._shards(workers)
        return (
            CLAIM_US + self._shards_each(workers) * ASK_US * _times_as_slow(self.distinct / shards) + shards * ANSWER_US
        )


@dataclass(frozen=True, kw_only=True)
class RecordsOfPages:
    """An archive of this many pages, read with `fingerprint` and judged with `judge`; ``distinct`` of them survive.

    ``growth`` is that of the index's memory, ``page_bytes`` a page's body.
    """

    pages: int
    distinct: int
    page_bytes: int
    growth: Growth

    @property
    def reading_hours(self) -> float:
        """Hours of one core."""
        return self.pages * parser_us(self.page_bytes) / 1e6 / HOUR_SECONDS

    @property
    def judging_hours(self) -> float:
        """Hours of one core."""
        return self.pages * JUDGE_US / 1e6 / HOUR_SECONDS

    @property
    def disk_bytes(self) -> int:
        """Bytes of all records."""
        return self.pages * RECORD_BYTES

    @property
    def index_bytes(self) -> int:
        """Memory of the index that judges, of which there is one; the names of pages are on disk."""
        return self.growth.of(self.distinct, 1)

    @property
    def machine_bytes(self) -> int:
        """Memory of a machine that lets an index of this size grow (``index.memory_mb=auto``)."""
        return math.ceil(self.index_bytes / SHARE)

    @property
    def is_too_much(self) -> bool:
        """Whether there are more survivors than one index holds."""
        return self.distinct > MOST_IN_AN_INDEX


def _times_as_slow(entries: float) -> float:
    """How much slower a look-up among this many entries is than among a million: a line of logarithms between
    measurements."""
    sizes, speeds = np.log(list(LOOK_UPS)), np.log(list(LOOK_UPS.values()))
    return float(np.exp(speeds[0] - np.interp(math.log(max(1.0, entries)), sizes, speeds)))


def _eights(count: float) -> int:
    return max(FEWEST, math.ceil(count / 8) * 8)
