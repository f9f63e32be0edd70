"""What a crawl needs follows from its pages, its different pages and the settings."""

from __future__ import annotations

import argparse
import re
from dataclasses import replace

import pytest

from worker.cli import size
from worker.cli.sizing import CLAIM_BYTES, DEDUPLICATED_BYTES, ENTRIES_A_SHARD, ENTRY_BYTES, PEAK, Crawl
from worker.config import Settings, load_settings
from worker.errors import UsageError

SMALL = Crawl(
    pages_a_day=86_400, distinct=1000, page_bytes=40_000, entry_bytes=80, retention_days=7, replicas=1, speed=100
)


def run(*words: str, settings: Settings | None = None) -> int:
    parser = argparse.ArgumentParser()
    size.configure(parser)
    return size.run(parser.parse_args(["--sample", "0", *words]), lambda: settings or Settings())


def test_a_small_crawl_needs_one_core_and_the_defaults() -> None:
    assert (SMALL.mean, SMALL.cores, SMALL.partitions, SMALL.shards) == (1.0, 1, 8, 8)
    assert SMALL.partitions == Settings().topics.partitions
    assert SMALL.shards == Settings().topics.shards


def test_cores_do_the_busiest_hour_with_something_to_spare() -> None:
    for pages in (1, 20, 100, 1000, 5000):
        crawl = replace(SMALL, pages_a_day=pages * 86_400)
        assert crawl.cores * crawl.speed > pages * PEAK
        assert crawl.partitions >= 4 * crawl.cores
        assert crawl.partitions % 8 == 0
        assert crawl.shards >= crawl.partitions


@pytest.mark.parametrize("distinct", [1, 80_000_000, 80_000_001, 1_000_000_000])
def test_no_shard_is_larger_than_what_restores_quickly(distinct: int) -> None:
    crawl = replace(SMALL, distinct=distinct)
    assert distinct / crawl.shards <= ENTRIES_A_SHARD
    assert crawl.shards == 8 or distinct / (crawl.shards - 8) > ENTRIES_A_SHARD


def test_the_brokers_keep_each_page_twice_for_its_time_and_the_index_for_good() -> None:
    a_day = replace(SMALL, retention_days=1)
    assert a_day.log_bytes > 86_400 * (2 * 40_000 + DEDUPLICATED_BYTES + CLAIM_BYTES)
    assert SMALL.log_bytes == 7 * a_day.log_bytes
    assert replace(SMALL, replicas=3).log_bytes == 3 * SMALL.log_bytes
    assert SMALL.index_topic_bytes == replace(SMALL, retention_days=1).index_topic_bytes == 1000 * ENTRY_BYTES


def test_the_command_plans_by_the_settings(capsys: pytest.CaptureFixture[str]) -> None:
    overrides = ["topics.retention_days=2", "topics.replication_factor=3"]
    settings = load_settings(config=None, overrides=overrides, environ={})
    assert run("--pages-per-day", "10000000", "--distinct", "200000000", settings=settings) == 0
    printed = capsys.readouterr().out
    assert "10,000,000 pages a day (115.7 a second), 200,000,000 different" in printed
    assert re.search(r"topics.shards, at least; chosen once +24$", printed, re.MULTILINE)
    assert "2 days (topics.retention_days), copies: 3" in printed
    assert all(len(line) <= 120 for line in printed.splitlines())


def test_without_pages_a_day_there_is_no_plan(capsys: pytest.CaptureFixture[str]) -> None:
    run("--distinct", "1000")
    assert "topics.partitions" not in capsys.readouterr().out


@pytest.mark.parametrize(
    "words", [("--pages-per-day", "0"), ("--pages-per-day", "-1"), ("--page-kb", "0"), ("--pages-a-second", "0")]
)
def test_numbers_that_no_crawl_has_are_refused(words: tuple[str, ...]) -> None:
    with pytest.raises(UsageError, match="give other numbers"):
        run(*words)
