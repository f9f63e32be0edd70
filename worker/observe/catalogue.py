"""Every metric of the worker, declared once: name, kind, meaning, unit, labels. The exposition is made of these.

Names follow Prometheus' conventions: base units at the end of the name (seconds, bytes, ratio), counters in ``_total``,
labels of few values. ``process_…`` and ``python_…`` come from the client library in addition.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final, NewType

Labels = tuple[str, ...]
"""Values of a metric's labels, in the order of their names."""


class Kind(Enum):
    """The types of metrics in Prometheus."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, kw_only=True)
class Metric:
    """One declared metric.

    ``text`` is its meaning, in one line; ``unit`` is for people. ``bounds`` are a histogram's upper bounds, ascending
    and inclusive, without the infinite one. ``seeds`` are label values that are exposed with 0 from the start: the
    first increase of a series that was not there before is invisible to ``rate()``.
    """

    name: str
    kind: Kind
    text: str
    unit: str
    labels: tuple[str, ...] = ()
    bounds: tuple[float, ...] = ()
    seeds: tuple[Labels, ...] = ()

    def __post_init__(self) -> None:
        if (self.kind is Kind.COUNTER) != self.name.endswith("_total"):
            raise ValueError(f"{self.name}: counters and only they end in _total")
        if (self.kind is Kind.HISTOGRAM) != bool(self.bounds) or list(self.bounds) != sorted(set(self.bounds)):
            raise ValueError(f"{self.name}: histograms and only they have bounds, and these ascend")
        if any(len(seed) != len(self.labels) for seed in self.seeds):
            raise ValueError(f"{self.name}: each seed gives one value for each of {self.labels}")


Counter = NewType("Counter", Metric)
Gauge = NewType("Gauge", Metric)
Histogram = NewType("Histogram", Metric)

_declared: list[Metric] = []


def _declare(metric: Metric) -> Metric:
    _declared.append(metric)
    return metric


def _counter(name: str, unit: str, text: str, *labels: str, seeds: tuple[Labels, ...] = ()) -> Counter:
    return Counter(_declare(Metric(name=name, kind=Kind.COUNTER, text=text, unit=unit, labels=labels, seeds=seeds)))


def _gauge(name: str, unit: str, text: str, *labels: str) -> Gauge:
    return Gauge(_declare(Metric(name=name, kind=Kind.GAUGE, text=text, unit=unit, labels=labels)))


def _histogram(name: str, unit: str, text: str, bounds: tuple[float, ...]) -> Histogram:
    return Histogram(_declare(Metric(name=name, kind=Kind.HISTOGRAM, text=text, unit=unit, bounds=bounds)))


# pages and their verdicts

PAGES: Final = _counter(
    "dedup_pages_total",
    "pages",
    "Committed pages: their verdict or dead letter is visible to readers of committed records. outcome is unique, "
    "duplicate, refetch or dead; language is the script of the text (zh, ja, ko, latin, cyrillic, arabic, thai, other; "
    "none without text).",
    "outcome",
    "language",
    seeds=(
        *((outcome, language) for outcome in ("unique", "duplicate", "refetch") for language in ("zh", "latin")),
        ("dead", "none"),
    ),
)
PAGE_BYTES: Final = _counter(
    "dedup_page_bytes_total",
    "bytes",
    "Bodies of committed pages as they came, not compressed, by outcome; bodies of duplicates need not be kept.",
    "outcome",
    seeds=(("unique",), ("duplicate",), ("refetch",), ("dead",)),
)
DUPLICATES: Final = _counter(
    "dedup_duplicates_total",
    "pages",
    "Committed duplicates by the reason of their verdict: exact-text, exact-bytes, hamming or sketch.",
    "reason",
    seeds=(("exact-text",), ("exact-bytes",), ("hamming",), ("sketch",)),
)
SUSPECT_DUPLICATES: Final = _counter(
    "dedup_suspect_duplicates_total",
    "pages",
    "Committed duplicates of a suspect: a page that takes nearly a whole URL template as duplicates although their "
    "titles all differ. They are not dropped.",
)
HOST_PAGES: Final = _counter(
    "dedup_host_pages_total",
    "pages",
    "Committed pages by the host of their URL: the metrics.hosts hosts with the most pages of late, and 20 more that "
    "bring little but duplicates. other is all other hosts together, none is pages without a host. The series of a "
    "host that falls out ends; /hosts has all hosts.",
    "host",
    "outcome",
)
CRAWL_PAGES: Final = _counter(
    "dedup_crawl_pages_total",
    "pages",
    "Committed pages by the headers spider and job of the page: the 20 pairs with the most pages of late. other is all "
    "other pairs together, none a page without that header. The job's label is crawl, because Prometheus has a label "
    "job of its own.",
    "spider",
    "crawl",
    "outcome",
)
SECTION_PAGES: Final = _counter(
    "dedup_section_pages_total",
    "pages",
    "Committed pages by section of a site, which is the host and the first part of the path, with # for numbers: up to "
    "20 sections that bring little but duplicates, and no others.",
    "section",
    "outcome",
)
DEAD_LETTERS: Final = _counter(
    "dedup_dead_letters_total",
    "pages",
    "Pages that could not be fingerprinted and were committed as dead letters, by reason.",
    "reason",
)
DISTANCE: Final = _histogram(
    "dedup_distance",
    "bits",
    "Hamming distance of each committed duplicate to the page that it duplicates; duplicates without fingerprint have "
    "none.",
    (0, 1, 2, 3, 4, 6, 8, 12, 16),
)
CANONICAL: Final = _counter(
    "dedup_canonical_total",
    "pages",
    "Committed pages that name a canonical URL (rel=canonical, else og:url), by the page they name and by their "
    "verdict. names is self, original (the page that the verdict names) or other. Page and verdict agree in "
    "original/duplicate, self/unique and self/refetch.",
    "names",
    "outcome",
    seeds=(("self", "unique"), ("original", "duplicate")),
)
CHANGES: Final = _histogram(
    "dedup_changes",
    "share",
    "Share of a committed page's pairs of neighbouring words that the last surviving text of its URL did not have "
    "(near.track_changes); 0 for the same text. Pages without such a text are not counted.",
    (0, 0.01, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9),
)
FINDINGS: Final = _counter(
    "dedup_findings_total",
    "findings",
    "Findings about survivors, written to the topic findings, by kind: preferred, soft-404 or suspect.",
    "kind",
    seeds=(("preferred",), ("soft-404",), ("suspect",)),
)
FINDINGS_SKIPPED: Final = _counter(
    "dedup_findings_skipped_total",
    "pages",
    "Pages that the search for findings left out: their URL is too long (long-url), too many batches waited when "
    "theirs came (behind), or the search failed, see dedup_observer_errors_total. Verdicts do not wait for it.",
    "reason",
    seeds=(("long-url",), ("behind",), ("failed",)),
)
UNREAD_HEADERS: Final = _counter(
    "dedup_unread_headers_total",
    "headers",
    "Headers of committed pages that could not be read and were left out, by name: status, fetched, form, encoding, "
    "content_type, spider or job. The page has its verdict without them; a page whose url cannot be read is a dead "
    "letter.",
    "header",
    seeds=(("status",), ("fetched",)),
)
LATENCY: Final = _histogram(
    "dedup_latency_seconds",
    "seconds",
    "Time from a page's arrival at the broker until its verdict is visible, by two clocks: the broker's and this "
    "machine's.",
    (0.1, 0.25, 0.5, 1, 2, 5, 10, 30, 60, 300, 1800, 7200),
)

# how far behind

LAG_RECORDS: Final = _gauge(
    "dedup_lag_records",
    "pages",
    "Pages of an owned partition that are on the broker and not committed.",
    "partition",
)
LAG_SECONDS: Final = _gauge(
    "dedup_lag_seconds",
    "seconds",
    "Age of the oldest page that is held and not committed, by the broker's time stamp; if pages wait on the broker "
    "and none arrives, the time since that began. 0 if no page waits.",
)
HELD_PAGES: Final = _gauge("dedup_held_pages", "pages", "Pages consumed and not committed yet.")
HELD_BYTES: Final = _gauge(
    "dedup_held_bytes",
    "bytes",
    "Memory of the pages consumed and not committed yet, with 1 KiB added for each; bounded by commit.megabytes.",
)
PARSING: Final = _gauge("dedup_parsing_pages", "pages", "Pages that the parsing processes hold.")

# the protocol between workers

ROUNDS: Final = _counter("dedup_rounds_total", "batches", "Batches that were decided, whichever worker claimed them.")
BATCH_CLAIMS: Final = _histogram(
    "dedup_batch_claims",
    "claims",
    "Claims in each batch that this worker sent for the first time; batches grow with the load.",
    (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024),
)
ROUND_SECONDS: Final = _histogram(
    "dedup_round_seconds",
    "seconds",
    "Time from when this worker sends a batch until it is decided: all shards of all workers have answered.",
    (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
)
CLAIMS_RESENT: Final = _counter("dedup_resent_claims_total", "claims", "Claims sent again after a send error.")
ANSWERS: Final = _counter("dedup_answers_total", "answers", "Answers that this worker's shards gave to batches.")
STOOD_IN: Final = _counter(
    "dedup_stood_in_answers_total",
    "answers",
    "Those of dedup_answers_total that a standby gave, because the shard's active holder had been silent for "
    "index.hedge_ms.",
)
COMMITS: Final = _counter("dedup_commits_total", "transactions", "Transactions that were committed.")
COMMIT_FAILURES: Final = _counter(
    "dedup_commit_failures_total",
    "transactions",
    "Transactions of unknown outcome; their partitions go on from the committed offset. If such a transaction was "
    "committed after all, its pages are in no count.",
)
WRITTEN_BYTES: Final = _counter(
    "dedup_written_bytes_total",
    "bytes",
    "Bytes handed to the Kafka client, by topic, compressed as topics.compression says. Brokers keep them "
    "topics.replication_factor times; a record that is sent again after an error counts again.",
    "topic",
    seeds=(
        *(("deduplicated",), ("verdicts",), ("dead-letters",), ("jobs",)),
        *(("fingerprints",), ("answers",), ("index",), ("findings",)),
    ),
)
REPLAY_MARGIN: Final = _gauge(
    "dedup_replay_margin_ratio",
    "ratio",
    "How far Kafka is from removing the oldest record of a log that this worker's partitions and shards would read "
    "again: 1 at the log's end or while nothing was removed, 0 if the next removal loses a needed record.",
    "log",
)
UNREADABLE: Final = _counter(
    "dedup_unreadable_records_total",
    "records",
    "Records on our own topics that no version of this program wrote; they are passed over.",
    "topic",
    seeds=(("fingerprints",), ("answers",), ("index",)),
)
FOREIGN_BATCHES: Final = _counter(
    "dedup_foreign_batches_total",
    "batches",
    "Batches of another scheme, void as a whole: a worker with other settings writes to the same topics.",
)

# the index

ENTRIES: Final = _gauge("dedup_index_entries", "entries", "Survivors that an owned shard holds in memory.", "shard")
INDEX_BYTES: Final = _gauge(
    "dedup_index_bytes",
    "bytes",
    "Memory of an owned shard by part: tables (columns and look-up tables) or urls (compressed URLs).",
    "shard",
    "part",
)
MEMORY_LIMIT: Final = _gauge(
    "dedup_memory_limit_bytes",
    "bytes",
    "Memory that the index of this worker may take (index.memory_mb); 0 is no limit. The worker ends with exit code 4 "
    "before the sum of dedup_index_bytes goes above it.",
)
LARGEST_BUCKET: Final = _gauge(
    "dedup_index_largest_bucket_entries",
    "entries",
    "Entries in the fullest bucket of an owned shard: what its slowest look-up reads. Shards are measured in turn, "
    "larger ones less often.",
    "shard",
)
SPLITS: Final = _gauge(
    "dedup_index_split_buckets",
    "buckets",
    "Buckets of an owned shard that became so full that they were split: many different pages share a part of their "
    "fingerprint.",
    "shard",
)
LOOK_UPS: Final = _counter("dedup_look_ups_total", "look-ups", "Fingerprints looked up in this worker's shards.")
CANDIDATES: Final = _counter(
    "dedup_candidates_total",
    "entries",
    "Index entries compared in look-ups; divided by dedup_look_ups_total: candidates per look-up.",
)
FORGOTTEN: Final = _counter(
    "dedup_forgotten_entries_total",
    "entries",
    "Entries that `python -m worker forget` had a shard forget. Each holder of the shard counts them, and again at "
    "each restart that reads the record again. Their memory is freed when they expire or the shard is restored.",
)
EXPIRED: Final = _counter("dedup_expired_entries_total", "entries", "Entries removed from memory, past near.ttl_days.")
UNFLUSHED: Final = _gauge(
    "dedup_unflushed_entries", "entries", "Survivors of an owned shard that are in no sealed block yet.", "shard"
)
FLUSHED_BLOCKS: Final = _counter(
    "dedup_flushed_blocks_total", "blocks", "Blocks of survivors acknowledged by the topic index."
)
FLUSHED_ENTRIES: Final = _counter("dedup_flushed_entries_total", "entries", "Survivors in these blocks.")
FLUSH_ERRORS: Final = _counter(
    "dedup_flush_errors_total", "blocks", "Blocks whose sending failed; each is sent again under another key."
)
DAMAGED_BLOCKS: Final = _counter(
    "dedup_damaged_blocks_total", "blocks", "Blocks dropped in a restore, because blocks before them are missing."
)
RESTORE_PROGRESS: Final = _gauge(
    "dedup_restore_progress_ratio",
    "ratio",
    "Share of an owned shard's blocks that was read, 0 to 1; 1 once the shard is restored.",
    "shard",
)

# the worker itself

SHARD_STATE: Final = _gauge(
    "dedup_shard_state",
    "truth value",
    "1 for the state in which an owned shard is, 0 for the others: restoring, replaying, answering.",
    "shard",
    "state",
)
SHARD_ROLE: Final = _gauge(
    "dedup_shard_role",
    "truth value",
    "1 for the role in which this worker holds an owned shard, 0 for the other: active, standby. Neither is 1 while a "
    "shard that was taken away may still be given back.",
    "shard",
    "role",
)
PARTITION_STATE: Final = _gauge(
    "dedup_partition_state",
    "truth value",
    "1 for the state in which an owned partition of pages is, 0 for the others: locating, replaying, claiming, and "
    "unclaimed for one beyond topics.partitions, whose pages wait.",
    "partition",
    "state",
)
STAGE_SECONDS: Final = _counter(
    "dedup_stage_seconds_total",
    "seconds",
    "CPU time by step: of the worker's loop (poll, take_up, read, wait, answer, decide, claim, commit, flush), and of "
    "its parsing processes together (start, extract, segment, fingerprint, pipes).",
    "stage",
)
PARSER_REPLACEMENTS: Final = _counter(
    "dedup_parser_replacements_total", "processes", "Parsing processes that crashed, hung or ran out of memory."
)
OBSERVER_ERRORS: Final = _counter(
    "dedup_observer_errors_total",
    "errors",
    "Exceptions in the code that counts, logs and looks for findings, by the method that raised them. They cost "
    "numbers, log lines and findings, but no page and no verdict; the first of each kind is in the log.",
    "method",
    seeds=(("sample",), ("committed",)),
)
LOOP_AGE: Final = _gauge(
    "dedup_loop_age_seconds", "seconds", "Time since the loop's last pass, as of the scrape; /livez judges by it."
)
BROKER_SILENCE: Final = _gauge(
    "dedup_broker_silence_seconds",
    "seconds",
    "Time since the broker last answered this worker, as of the scrape; it is asked every five seconds.",
)
READY: Final = _gauge("dedup_ready", "truth value", "1 when /readyz says 200, as of the scrape.")
LEAVING: Final = _gauge(
    "dedup_leaving",
    "truth value",
    "1 from the moment when the worker was told to leave for good (SIGUSR1). At its end it waits for a scrape, so that "
    "no alert takes it for absent.",
)
SHARDS: Final = _gauge("dedup_shards", "shards", "Shards of the index of all workers together: topics.shards.")
HOLDERS: Final = _gauge("dedup_shard_holders", "workers", "Workers that are to hold each shard: index.replicas.")
PARTITIONS: Final = _gauge(
    "dedup_partitions", "partitions", "Partitions of pages of all workers together: topics.partitions."
)
BUILD_INFO: Final = _gauge(
    "dedup_build_info",
    "always 1",
    "Versions of this program, Python and the Kafka client.",
    "version",
    "python",
    "kafka_client",
)
SETTINGS_INFO: Final = _gauge(
    "dedup_settings_info",
    "always 1",
    "Settings of the worker: the scheme (a hash of all that a verdict depends on), near.predicate, near.k, "
    "index.layout, topics.shards, output.mode, topics.generation. They are the same in all workers of one job.",
    "scheme",
    "predicate",
    "k",
    "layout",
    "shards",
    "output",
    "generation",
)

CATALOGUE: Final[tuple[Metric, ...]] = tuple(_declared)
"""All of them, in the order in which they are shown."""
