"""Every metric of a running crawl, declared once, and the numbers of a crawl as Prometheus reads them.

The counters are the plugin's Scrapy stats; the gauges come from the crawl's delivery at each scrape. Every metric has
the labels ``spider`` and ``crawl``, as the workers' metrics per crawl have.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from crawler_plugin import stats

COUNTER: Final = "counter"
GAUGE: Final = "gauge"
LONGEST: Final = 100
"""The most characters of a spider's or crawl's name that are shown; workers cut these labels at the same length."""


class SpiderMetric(NamedTuple):
    """One declared metric.

    ``label`` is its label in addition to spider and crawl. ``sources`` are the stats that a counter shows, by the value
    of that label, which is empty where there is none; a gauge has no sources, but one of the names of ``CrawlGauges``.
    """

    name: str
    kind: str
    text: str
    unit: str
    label: str = ""
    sources: Mapping[str, str] = {}


class CrawlGauges(NamedTuple):
    """The gauges of a crawl at one moment, by their names without ``dedup_spider_``."""

    waiting_pages: int
    unconfirmed_pages: int
    unconfirmed_bytes: int
    spool_pages: int
    silence_seconds: float


class CrawlNumbers(NamedTuple):
    """One crawl at one moment: its Scrapy stats, and its gauges, which a crawl without Kafka does not have."""

    spider: str
    crawl: str
    stats: Mapping[str, object]
    gauges: CrawlGauges | None


def _by(prefix: str) -> dict[str, str]:
    return {name.removeprefix(prefix): name for name in stats.STATS if name.startswith(prefix)}


PREFIX: Final = "dedup_spider_"
SPIDER_METRICS: Final[tuple[SpiderMetric, ...]] = (
    SpiderMetric(
        "dedup_spider_responses_total",
        COUNTER,
        "Responses that the crawl has received: Scrapy's response_received_count.",
        "responses",
        sources={"": "response_received_count"},
    ),
    SpiderMetric(
        "dedup_spider_published_pages_total",
        COUNTER,
        "Pages handed over, for sending or to the spool.",
        "pages",
        sources={"": stats.PUBLISHED},
    ),
    SpiderMetric(
        "dedup_spider_confirmed_pages_total",
        COUNTER,
        "Pages that Kafka has confirmed, those of the spool included.",
        "pages",
        sources={"": stats.CONFIRMED},
    ),
    SpiderMetric(
        "dedup_spider_spooled_pages_total",
        COUNTER,
        "Pages written to the spool.",
        "pages",
        sources={"": stats.SPOOL_WRITTEN},
    ),
    SpiderMetric(
        "dedup_spider_skipped_pages_total",
        COUNTER,
        "Items and responses that were not published, by reason: the last word of the stat dedup/skipped/…, and "
        "oversize.",
        "pages",
        label="reason",
        sources=_by(stats.SKIPPED) | {"oversize": stats.OVERSIZE},
    ),
    SpiderMetric(
        "dedup_spider_send_errors_total",
        COUNTER,
        "Errors after which the plugin connected and sent pages again.",
        "errors",
        sources={"": stats.SEND_ERRORS},
    ),
    SpiderMetric(
        "dedup_spider_verdicts_total",
        COUNTER,
        "Pages whose verdict has come back to the crawl (DEDUP_AWAIT, DEDUP_MODE=local), by verdict.",
        "pages",
        label="verdict",
        sources=_by(stats.VERDICT),
    ),
    SpiderMetric(
        "dedup_spider_waiting_pages",
        GAUGE,
        "Pages that wait for room, since DEDUP_BUFFER_BYTES are unconfirmed.",
        "pages",
    ),
    SpiderMetric(
        "dedup_spider_unconfirmed_pages",
        GAUGE,
        "Pages in memory that Kafka has not confirmed, those read from the spool included.",
        "pages",
    ),
    SpiderMetric(
        "dedup_spider_unconfirmed_bytes",
        GAUGE,
        "Bytes of DEDUP_BUFFER_BYTES in use by unconfirmed pages, with 1 KiB added for each page.",
        "bytes",
    ),
    SpiderMetric("dedup_spider_spool_pages", GAUGE, "Pages in the spool.", "pages"),
    SpiderMetric(
        "dedup_spider_silence_seconds",
        GAUGE,
        "Time for which Kafka has confirmed no page although pages wait for it; 0 if none wait.",
        "seconds",
    ),
)
"""All metrics, in the order in which they are shown. With DEDUP_MODE=local the gauges are left out."""


def exposition(crawls: Iterable[CrawlNumbers]) -> bytes:
    """All metrics in Prometheus' text format, version 0.0.4.

    Crawls of one process that have the same spider and name are added up: a series may appear only once.
    """
    crawls = list(crawls)
    lines: list[str] = []
    for metric in SPIDER_METRICS:
        series: dict[tuple[str, str, str], float] = {}
        for crawl in crawls:
            for value, number in _numbers(metric, crawl):
                key = crawl.spider[:LONGEST], crawl.crawl[:LONGEST], value
                series[key] = series.get(key, 0) + number
        lines += [f"# HELP {metric.name} {metric.text}", f"# TYPE {metric.name} {metric.kind}"]
        for (spider, crawl_name, value), number in sorted(series.items()):
            labels = {"spider": spider, "crawl": crawl_name} | ({metric.label: value} if metric.label else {})
            shown = ",".join(f'{name}="{_escaped(label)}"' for name, label in labels.items())
            lines.append(f"{metric.name}{{{shown}}} {number:.10g}")
    return "".join(f"{line}\n" for line in lines).encode(errors="replace")


def _numbers(metric: SpiderMetric, crawl: CrawlNumbers) -> Iterator[tuple[str, float]]:
    if metric.kind == COUNTER:
        for value, name in metric.sources.items():
            number = crawl.stats.get(name, 0)
            yield value, number if isinstance(number, (int, float)) else 0
    elif crawl.gauges is not None:
        yield "", getattr(crawl.gauges, metric.name.removeprefix(PREFIX))


def _escaped(label: str) -> str:
    return label.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")
