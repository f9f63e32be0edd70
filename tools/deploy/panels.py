"""The panels of the Grafana dashboards: the Prometheus query of each, and its unit."""

from __future__ import annotations

from typing import Final

from tools.deploy.parts import (
    BACKLOG,
    BYTES,
    CORES,
    COUNT,
    CRAWL,
    DUPLICATES,
    HELD,
    PAGES,
    PARSERS,
    PUBLISHED,
    RATE,
    RESPONSES,
    SECONDS,
    SHARE,
    UNIQUE,
    Dashboard,
    Panel,
    Row,
    counted,
    pages_by,
    quantile,
    share,
    share_by,
    stat,
)

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
                    "While a shard has none, no page gets a verdict.",
                ),
            ),
        ),
        Row(
            "Amounts, backlog and memory",
            (
                stat("Judged in the last hour", BYTES, "sum(increase(dedup_page_bytes_total{@}[1h]))"),
                stat(
                    "Saved in the last hour",
                    BYTES,
                    f"sum(increase(dedup_page_bytes_total{{@{DUPLICATES}}}[1h]))",
                    "Bodies of duplicates, as they came.",
                ),
                stat("Pages that wait", COUNT, BACKLOG),
                stat(
                    "Time to catch up",
                    SECONDS,
                    f"0 * ({BACKLOG} <= 10 * sum(rate(dedup_pages_total{{@}}{RATE}))) "
                    f"or {BACKLOG} / (-deriv({BACKLOG}[10m:]) > 0)",
                    "At the speed of the last ten minutes; 0 if the pages that wait came in ten seconds. No number: "
                    "more pages wait than before.",
                ),
                stat(
                    "Index, of its memory limit",
                    SHARE,
                    "sum(dedup_index_bytes{@}) / (sum(dedup_memory_limit_bytes{@}) > 0)",
                ),
                stat(
                    "Written to Kafka a second",
                    BYTES,
                    f"sum(rate(dedup_written_bytes_total{{@}}{RATE}))",
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
                        "pages": pages_by("host", "dedup_host_pages_total"),
                        "copies": f"{pages_by('host', 'dedup_host_pages_total', DUPLICATES)} "
                        f"or 0 * {pages_by('host', 'dedup_host_pages_total')}",
                        "duplicates": share_by("host", "dedup_host_pages_total"),
                    },
                    kind="table",
                    by="host",
                    text="Hosts with the most pages, and hosts that bring little but duplicates; `/hosts` of each "
                    "worker has all of them.",
                ),
                Panel(
                    "Sections of sites that bring little but copies, last hour",
                    COUNT,
                    {
                        "pages": pages_by("section", "dedup_section_pages_total"),
                        "duplicates": share_by("section", "dedup_section_pages_total"),
                    },
                    kind="table",
                    by="section",
                    text="Host and first part of the path, with # for numbers.",
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
                    text="Bits in which a duplicate differs from the page that is kept.",
                ),
                Panel(
                    "From response to new page, last hour",
                    COUNT,
                    {
                        "responses": f"sum by (spider, crawl) ({counted(RESPONSES, '1h')})",
                        "published": f"sum by (spider, crawl) ({counted(PUBLISHED, '1h')})",
                        "with verdict": pages_by("spider, crawl", "dedup_crawl_pages_total"),
                        "unique": pages_by("spider, crawl", "dedup_crawl_pages_total", UNIQUE),
                    },
                    kind="table",
                    by="crawl",
                    width=12,
                    text="The first two only if the spiders' metrics are scraped.",
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
                    text="With `near.track_changes`: pairs of words that the last text of the URL did not have.",
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
                    text="From sending a batch of claims until the answers of all shards decide it.",
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
                    "Skew: largest shard divided by the mean",
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
                    text="Only if `DEDUP_STATS_PORT` is set and scraped.",
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
                    "Bytes written, by topic",
                    BYTES,
                    {"{{topic}}": f"sum by (topic) (rate(dedup_written_bytes_total{{@}}{RATE}))"},
                    stacked=True,
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
                    text="All parsing processes of the worker together. `extract` takes the text out, `segment` cuts "
                    "it into tokens, `pipes` carries pages and results.",
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
                    text="What the next owner would read from the logs.",
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
