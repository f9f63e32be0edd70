"""The panels of the Grafana dashboards: what each asks Prometheus for, in which unit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

PAGES: Final = "suffix: pages/s"
SHARE: Final = "percentunit"
SECONDS: Final = "s"
BYTES: Final = "bytes"
COUNT: Final = "short"
CORES: Final = "suffix: cores"

CRAWL: Final = 'job="$job"'
"""Spiders are no instances of a worker."""
HERE: Final = 'job="$job", instance=~"$instance"'
RATE: Final = "[$__rate_interval]"
PARSERS: Final = "start|extract|segment|fingerprint|pipes"
"""The stages of the parsing processes; all others are steps of the loop."""


HELD: Final = (
    "(dedup_shard_state{@} == 1) * on (instance, shard) group_left (role) (dedup_shard_role{@} == 1) "
    "or on (instance, shard) dedup_shard_state{@} == 1"
)
"""Each shard that somebody holds by worker and state; and by role, but for those that may still be given back."""


@dataclass(frozen=True)
class Panel:
    """One panel. ``queries`` map legends to expressions; in these, ``@`` stands for the selected job and instances."""

    title: str
    unit: str
    queries: dict[str, str]
    kind: str = "timeseries"
    width: int = 8
    text: str = ""
    stacked: bool = False
    most: float | None = None
    by: str = ""
    """Of a table with several queries: the label by which their rows are put together."""

    def expressions(self) -> Iterator[tuple[str, str]]:
        """Legend and PromQL of each query, with Grafana's variables in it."""
        for legend, query in self.queries.items():
            yield legend, query.replace("@", HERE)


@dataclass(frozen=True)
class Row:
    """A line with a name above its panels."""

    title: str
    panels: Sequence[Panel]


@dataclass(frozen=True)
class Dashboard:
    """One file."""

    uid: str
    title: str
    text: str
    rows: Sequence[Row]
    one_worker: bool = False


def stat(title: str, unit: str, query: str, text: str = "") -> Panel:
    """A single number."""
    return Panel(title, unit, {"": query}, kind="stat", width=4, text=text)


def share(by: str, metric: str, window: str) -> str:
    """Duplicates among pages with a verdict, by some labels; 0 where there is none."""
    duplicates, judged, every = (
        f"sum{by} (rate({metric}{{@{which}}}{window}))" for which in (', outcome="duplicate"', ', outcome!="dead"', "")
    )
    return f"({duplicates} or 0 * {every}) / {judged}"


def quantile(q: float, metric: str) -> str:
    return f"histogram_quantile({q}, sum by (le) (rate({metric}_bucket{{@}}{RATE})))"


OVERVIEW: Final = Dashboard(
    uid="dedup-overview",
    title="crawl-dedup: overview",
    text="Duplicate rates, throughput, lag, latency and the index of one crawl, over all its workers.",
    rows=(
        Row(
            "Now",
            (
                stat("Duplicates in the last hour", SHARE, share("", "dedup_pages_total", "[1h]")),
                stat("Pages a second", PAGES, f"sum(rate(dedup_pages_total{{@}}{RATE}))"),
                stat("The oldest page waits", SECONDS, "max(dedup_lag_seconds{@})"),
                stat("Latency, 95 of 100 pages", SECONDS, quantile(0.95, "dedup_latency_seconds")),
                stat("Entries in the index", COUNT, "sum(max by (shard) (dedup_index_entries{@}))"),
                stat(
                    "Shards without owner",
                    COUNT,
                    'max(dedup_shards{job="$job"}) - count(count by (shard) (dedup_shard_state{job="$job"}))',
                    "While one has none, no page gets a verdict.",
                ),
            ),
        ),
        Row(
            "Duplicates",
            (
                Panel(
                    "Share of duplicates by language",
                    SHARE,
                    {"{{language}}": share(" by (language)", "dedup_pages_total", "[15m]")},
                    most=1,
                ),
                Panel(
                    "Hosts, last hour",
                    COUNT,
                    {
                        "pages": "sum by (host) (increase(dedup_host_pages_total{@}[1h]))",
                        "copies": 'sum by (host) (increase(dedup_host_pages_total{@, outcome="duplicate"}[1h])) '
                        "or 0 * sum by (host) (increase(dedup_host_pages_total{@}[1h]))",
                        "duplicates": share(" by (host)", "dedup_host_pages_total", "[1h]"),
                    },
                    kind="table",
                    by="host",
                    text="Those with most pages, and those that bring little but duplicates; `/hosts` of each worker "
                    "has all of them.",
                ),
                Panel(
                    "Sections of sites that bring little but copies, last hour",
                    COUNT,
                    {
                        "pages": "sum by (section) (increase(dedup_section_pages_total{@}[1h]))",
                        "duplicates": share(" by (section)", "dedup_section_pages_total", "[1h]"),
                    },
                    kind="table",
                    by="section",
                    text="Host and first part of the path, # in place of numbers.",
                ),
                Panel(
                    "Share of duplicates by spider and crawl",
                    SHARE,
                    {
                        "{{spider}} {{crawl}}": share(" by (spider, crawl)", "dedup_crawl_pages_total", "[15m]"),
                    },
                    most=1,
                ),
                Panel(
                    "Pages by outcome",
                    PAGES,
                    {"{{outcome}}": f"sum by (outcome) (rate(dedup_pages_total{{@}}{RATE}))"},
                    stacked=True,
                ),
                Panel(
                    "Distance of duplicates, last hour",
                    "suffix: pages",
                    {"{{le}}": "sum by (le) (increase(dedup_distance_bucket{@}[1h]))"},
                    kind="histogram",
                    text="Bits that differ from the page that is kept.",
                ),
                Panel(
                    "From response to new page, last hour",
                    COUNT,
                    {
                        "responses": f"sum by (spider, crawl) (increase(dedup_spider_responses_total{{{CRAWL}}}[1h]))",
                        "published": "sum by (spider, crawl) "
                        f"(increase(dedup_spider_published_pages_total{{{CRAWL}}}[1h]))",
                        "with verdict": "sum by (spider, crawl) (increase(dedup_crawl_pages_total{@}[1h]))",
                        "unique": 'sum by (spider, crawl) (increase(dedup_crawl_pages_total{@, outcome="unique"}[1h]))',
                    },
                    kind="table",
                    by="crawl",
                    width=12,
                    text="The first two where the spiders' metrics are scraped.",
                ),
                Panel(
                    "Dead letters by reason",
                    PAGES,
                    {
                        "{{reason}}": f"sum by (reason) (rate(dedup_dead_letters_total{{@}}{RATE}))",
                        "all": f'sum(rate(dedup_pages_total{{@, outcome="dead"}}{RATE}))',
                    },
                    width=6,
                ),
                Panel(
                    "Pages fetched again: share of their text that is new, last hour",
                    "suffix: pages",
                    {"{{le}}": "sum by (le) (increase(dedup_changes_bucket{@}[1h]))"},
                    kind="histogram",
                    width=6,
                    text="With `near.track_changes`: pairs of words that the last text of the URL had not.",
                ),
            ),
        ),
        Row(
            "Speed",
            (
                Panel("The oldest page waits", SECONDS, {"{{instance}}": "dedup_lag_seconds{@}"}),
                Panel("Pages that wait", "suffix: pages", {"all": "sum(max by (partition) (dedup_lag_records{@}))"}),
                Panel(
                    "From arrival to verdict",
                    SECONDS,
                    {f"{int(q * 100)} of 100": quantile(q, "dedup_latency_seconds") for q in (0.5, 0.95, 0.99)},
                ),
                Panel(
                    "Pages by worker",
                    PAGES,
                    {"{{instance}}": f"sum by (instance) (rate(dedup_pages_total{{@}}{RATE}))"},
                    stacked=True,
                ),
                Panel(
                    "A round of the protocol",
                    SECONDS,
                    {f"{int(q * 100)} of 100": quantile(q, "dedup_round_seconds") for q in (0.5, 0.95)},
                    text="From sending a batch of claims to its being decided by all shards.",
                ),
                Panel(
                    "Cores by worker, parsers included",
                    CORES,
                    {
                        "{{instance}}": f"sum by (instance) (rate(process_cpu_seconds_total{{@}}{RATE})) + "
                        f'sum by (instance) (rate(dedup_stage_seconds_total{{@, stage=~"{PARSERS}"}}{RATE}))'
                    },
                    stacked=True,
                ),
            ),
        ),
        Row(
            "Index",
            (
                Panel("Entries by shard", COUNT, {"{{shard}}": "max by (shard) (dedup_index_entries{@})"}),
                Panel(
                    "Skew: largest shard by the mean",
                    "none",
                    {
                        "skew": "max(max by (shard) (dedup_index_entries{@})) / "
                        "avg(max by (shard) (dedup_index_entries{@}))"
                    },
                    text="1 when all shards hold the same.",
                ),
                Panel(
                    "Memory",
                    BYTES,
                    {"{{part}}": "sum by (part) (dedup_index_bytes{@})"},
                    stacked=True,
                ),
                Panel(
                    "Candidates a look-up",
                    COUNT,
                    {
                        "mean": f"sum(rate(dedup_candidates_total{{@}}{RATE})) / "
                        f"sum(rate(dedup_look_ups_total{{@}}{RATE}))",
                    },
                ),
                Panel(
                    "Fullest bucket, buckets that were split",
                    COUNT,
                    {
                        "entries, shard {{shard}}": "max by (shard) (dedup_index_largest_bucket_entries{@})",
                        "split, all shards": "sum(max by (shard) (dedup_index_split_buckets{@}))",
                    },
                ),
                Panel(
                    "Restoring: share of blocks read",
                    SHARE,
                    {"{{shard}}": "min by (shard) (dedup_restore_progress_ratio{@})"},
                    most=1,
                ),
            ),
        ),
        Row(
            "Spiders",
            (
                Panel(
                    "Pages that spiders publish",
                    PAGES,
                    {
                        "published": f"sum(rate(dedup_spider_published_pages_total{{{CRAWL}}}{RATE}))",
                        "confirmed": f"sum(rate(dedup_spider_confirmed_pages_total{{{CRAWL}}}{RATE}))",
                        "to the spool": f"sum(rate(dedup_spider_spooled_pages_total{{{CRAWL}}}{RATE}))",
                        "skipped": f"sum(rate(dedup_spider_skipped_pages_total{{{CRAWL}}}{RATE}))",
                    },
                    text="Where `DEDUP_STATS_PORT` is set and scraped.",
                ),
                Panel(
                    "Bytes that Kafka has not confirmed",
                    BYTES,
                    {"{{spider}} {{crawl}}": f"sum by (spider, crawl) (dedup_spider_unconfirmed_bytes{{{CRAWL}}})"},
                ),
                Panel(
                    "Pages in spools, pages that wait for room",
                    COUNT,
                    {
                        "spool": f"sum(dedup_spider_spool_pages{{{CRAWL}}})",
                        "waiting": f"sum(dedup_spider_waiting_pages{{{CRAWL}}})",
                    },
                ),
            ),
        ),
        Row(
            "Who holds what",
            (
                Panel(
                    "Shards: who holds each, in which role and state",
                    COUNT,
                    {"": HELD},
                    kind="table",
                    by="shard",
                    width=12,
                ),
                Panel(
                    "The broker's last answer",
                    SECONDS,
                    {"{{instance}}": "dedup_broker_silence_seconds{@}"},
                    width=12,
                ),
            ),
        ),
        Row(
            "Kafka",
            (
                Panel(
                    "Sent again after errors",
                    "suffix: /s",
                    {
                        "claims": f"sum(rate(dedup_resent_claims_total{{@}}{RATE}))",
                        "transactions": f"sum(rate(dedup_commit_failures_total{{@}}{RATE}))",
                        "blocks": f"sum(rate(dedup_flush_errors_total{{@}}{RATE}))",
                    },
                ),
                Panel(
                    "Distance of replay points to what Kafka removes",
                    SHARE,
                    {"{{log}}": "min by (log) (dedup_replay_margin_ratio{@})"},
                    most=1,
                    text="At 0, the next owner would refuse to start.",
                ),
                Panel(
                    "Void: batches of another scheme, foreign records",
                    "suffix: /s",
                    {
                        "batches": f"sum(rate(dedup_foreign_batches_total{{@}}{RATE}))",
                        "records of {{topic}}": f"sum by (topic) (rate(dedup_unreadable_records_total{{@}}{RATE}))",
                    },
                ),
            ),
        ),
    ),
)

WORKER: Final = Dashboard(
    uid="dedup-worker",
    title="crawl-dedup: one worker",
    text="What one worker owns, what it does with its time, and what it holds.",
    one_worker=True,
    rows=(
        Row(
            "Now",
            (
                stat("Ready", "bool_yes_no", "dedup_ready{@}", "What is missing: `/readyz` of the worker."),
                stat("The loop's last pass", SECONDS, "dedup_loop_age_seconds{@}"),
                stat("Pages a second", PAGES, f"sum(rate(dedup_pages_total{{@}}{RATE}))"),
                stat("The oldest page waits", SECONDS, "dedup_lag_seconds{@}"),
                stat("Partitions", COUNT, "count(count by (partition) (dedup_partition_state{@})) or vector(0)"),
                stat("Shards", COUNT, "count(count by (shard) (dedup_shard_state{@})) or vector(0)"),
            ),
        ),
        Row(
            "Pages",
            (
                Panel(
                    "Pages by outcome",
                    PAGES,
                    {"{{outcome}}": f"sum by (outcome) (rate(dedup_pages_total{{@}}{RATE}))"},
                    stacked=True,
                ),
                Panel(
                    "Pages in hand",
                    "suffix: pages",
                    {"held": "dedup_held_pages{@}", "with the parsers": "dedup_parsing_pages{@}"},
                ),
                Panel("Bodies in hand", BYTES, {"held": "dedup_held_bytes{@}"}),
                Panel(
                    "CPU time of the loop by step",
                    CORES,
                    {"{{stage}}": f'sum by (stage) (rate(dedup_stage_seconds_total{{@, stage!~"{PARSERS}"}}{RATE}))'},
                    width=6,
                    stacked=True,
                ),
                Panel(
                    "CPU time of the parsers by stage",
                    CORES,
                    {"{{stage}}": f'sum by (stage) (rate(dedup_stage_seconds_total{{@, stage=~"{PARSERS}"}}{RATE}))'},
                    width=6,
                    stacked=True,
                    text="Of its parsing processes together. `extract` takes the text out, `segment` cuts it into "
                    "tokens, `pipes` carries pages and results.",
                ),
                Panel(
                    "Pages that wait, by partition",
                    "suffix: pages",
                    {"{{partition}}": "dedup_lag_records{@}"},
                    width=6,
                ),
                Panel(
                    "Parsers that had to be replaced",
                    "suffix: /s",
                    {"parsers": f"rate(dedup_parser_replacements_total{{@}}{RATE})"},
                    width=6,
                ),
            ),
        ),
        Row(
            "Protocol",
            (
                Panel(
                    "A round of the protocol",
                    SECONDS,
                    {f"{int(q * 100)} of 100": quantile(q, "dedup_round_seconds") for q in (0.5, 0.95)},
                ),
                Panel(
                    "Claims in a batch",
                    COUNT,
                    {f"{int(q * 100)} of 100": quantile(q, "dedup_batch_claims") for q in (0.5, 0.95)},
                ),
                Panel(
                    "Batches, answers, transactions",
                    "suffix: /s",
                    {
                        "batches decided": f"rate(dedup_rounds_total{{@}}{RATE})",
                        "answers": f"rate(dedup_answers_total{{@}}{RATE})",
                        "transactions": f"rate(dedup_commits_total{{@}}{RATE})",
                    },
                ),
            ),
        ),
        Row(
            "Index",
            (
                Panel("Entries by shard", COUNT, {"{{shard}}": "dedup_index_entries{@}"}, stacked=True),
                Panel(
                    "Not yet in a block",
                    COUNT,
                    {"{{shard}}": "dedup_unflushed_entries{@}"},
                    text="What the next owner would take from the logs.",
                ),
                Panel(
                    "Memory",
                    BYTES,
                    {
                        "index: {{part}}": "sum by (part) (dedup_index_bytes{@})",
                        "memory limit of the index": "dedup_memory_limit_bytes{@}",
                        "process, without its parsers": "process_resident_memory_bytes{@}",
                    },
                ),
                Panel("Its shards", COUNT, {"": HELD}, kind="table", by="shard"),
                Panel(
                    "State of its shards",
                    COUNT,
                    {"{{state}}": "sum by (state) (dedup_shard_state{@})"},
                    stacked=True,
                ),
                Panel(
                    "State of its partitions",
                    COUNT,
                    {"{{state}}": "sum by (state) (dedup_partition_state{@})"},
                    stacked=True,
                ),
                Panel(
                    "Replay points",
                    SHARE,
                    {"{{log}}": "dedup_replay_margin_ratio{@}"},
                    most=1,
                ),
            ),
        ),
        Row(
            "What runs",
            (
                Panel("Build", "none", {"": "dedup_build_info{@}"}, kind="table", width=12),
                Panel("Settings", "none", {"": "dedup_settings_info{@}"}, kind="table", width=12),
            ),
        ),
    ),
)

DASHBOARDS: Final = (OVERVIEW, WORKER)
