"""A crawl's metrics for Prometheus: named by its conventions, read by its own parser, whatever spiders are called."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from crawler_plugin import stats
from crawler_plugin.metrics.declared import (
    COUNTER,
    LONGEST,
    PREFIX,
    SPIDER_METRICS,
    CrawlGauges,
    CrawlNumbers,
    exposition,
)

GAUGES = CrawlGauges(
    waiting_pages=1, unconfirmed_pages=2, unconfirmed_bytes=3_000_000_001, spool_pages=4, silence_seconds=0.5
)


def samples(*crawls: CrawlNumbers) -> dict[tuple[str, ...], float]:
    """All samples, by name and the values of the labels."""
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(exposition(crawls).decode())
        for sample in family.samples
    }


def test_names_and_units_keep_to_prometheus_conventions_and_nothing_is_declared_twice() -> None:
    assert len({metric.name for metric in SPIDER_METRICS}) == len(SPIDER_METRICS)
    for metric in SPIDER_METRICS:
        assert re.fullmatch(rf"{PREFIX}[a-z]+(_[a-z]+)*", metric.name)
        assert (metric.kind == COUNTER) == metric.name.endswith("_total") == bool(metric.sources)
        assert metric.text.endswith(".")
        assert (len(metric.sources) > 1) == bool(metric.label)
    gauges = {metric.name.removeprefix(PREFIX) for metric in SPIDER_METRICS if metric.kind != COUNTER}
    assert gauges == set(CrawlGauges._fields)


def test_counters_are_stats_of_the_plugin_or_scrapys_own() -> None:
    sources = {name for metric in SPIDER_METRICS for name in metric.sources.values()}
    assert sources - set(stats.STATS) == {"response_received_count"}


def test_a_crawl_is_shown_by_spider_and_crawl_and_what_it_has_not_counted_is_0() -> None:
    counted = {stats.PUBLISHED: 7, stats.SKIPPED + "no_body": 3, "response_received_count": 12, "start_time": object()}
    shown = samples(CrawlNumbers("新闻", "may", counted, GAUGES))
    assert shown["dedup_spider_published_pages_total", "新闻", "may"] == 7
    assert shown["dedup_spider_responses_total", "新闻", "may"] == 12
    assert shown["dedup_spider_confirmed_pages_total", "新闻", "may"] == 0
    assert shown["dedup_spider_skipped_pages_total", "新闻", "may", "no_body"] == 3
    assert shown["dedup_spider_skipped_pages_total", "新闻", "may", "oversize"] == 0
    assert shown["dedup_spider_unconfirmed_bytes", "新闻", "may"] == 3_000_000_001
    assert shown["dedup_spider_silence_seconds", "新闻", "may"] == 0.5


def test_a_crawl_that_judges_its_pages_itself_has_verdicts_and_no_gauges() -> None:
    shown = samples(CrawlNumbers("news", "may", {stats.VERDICT + "unique": 5}, None))
    assert shown["dedup_spider_verdicts_total", "news", "may", "unique"] == 5
    assert not [key for key in shown if key[0] == "dedup_spider_unconfirmed_bytes"]


def test_crawls_of_one_process_are_told_apart_or_added_up() -> None:
    one, two = CrawlNumbers("a", "may", {stats.PUBLISHED: 1}, GAUGES), CrawlNumbers("b", "may", {}, None)
    shown = samples(one, one, two)
    assert shown["dedup_spider_published_pages_total", "a", "may"] == 2
    assert shown["dedup_spider_waiting_pages", "a", "may"] == 2
    assert shown["dedup_spider_published_pages_total", "b", "may"] == 0


@given(st.text(max_size=LONGEST))
def test_every_name_comes_back_as_it_was(name: str) -> None:
    shown = samples(CrawlNumbers(name, name, {stats.PUBLISHED: 1}, None))
    told = name.encode(errors="replace").decode()
    assert shown["dedup_spider_published_pages_total", told, told] == 1


@pytest.mark.prometheus
@pytest.mark.skipif(not shutil.which("promtool"), reason="promtool is not on PATH (Debian's package prometheus)")
def test_promtool_finds_nothing_wrong_with_it() -> None:
    shown = exposition([CrawlNumbers('a "spider"', "back\\slash\n", {stats.PUBLISHED: 1}, GAUGES)])
    checked = subprocess.run(["promtool", "check", "metrics"], input=shown, capture_output=True, check=False)
    assert (checked.returncode, checked.stdout + checked.stderr) == (0, b"")
