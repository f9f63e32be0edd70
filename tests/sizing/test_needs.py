"""What a crawl needs follows from its pages, its different pages and the settings."""

from __future__ import annotations

import argparse
import re
from dataclasses import replace

import pytest

from crawler_plugin.wire.errors import UsageError
from crawler_plugin.wire.messages import OPTIONAL_WIDTHS, Claim, encode
from tests.columns import batch_of
from worker.cli import size
from worker.config import Settings, load_settings
from worker.sizing.needs import (
    CLAIM_BYTES,
    DEDUPLICATED_BYTES,
    ENTRIES_A_SHARD,
    ENTRY_BYTES,
    PAGES_A_SECOND_AND_CORE,
    PEAK,
    SKETCHED_BYTES,
    URL_BYTES,
    Crawl,
    Growth,
)

SMALL = Crawl(
    pages_a_day=86_400,
    distinct=1000,
    page_bytes=40_000,
    growth=Growth(empty=300_000, entry=80),
    sketched=False,
    page_memory=512 << 20,
    retention_days=7,
    replicas=1,
    speed=100,
)
MIB = 1 << 20
UNITS = {"KiB": 1 << 10, "MiB": MIB, "GiB": 1 << 30, "TiB": 1 << 40}


def run(*words: str, settings: Settings | None = None) -> int:
    parser = argparse.ArgumentParser()
    size.configure(parser)
    return size.run(parser.parse_args(["--sample", "0", *words]), lambda: settings or Settings())


def test_a_small_crawl_needs_one_core_and_the_defaults() -> None:
    assert (SMALL.mean, SMALL.cores, SMALL.partitions, SMALL.shards) == (1.0, 1, 8, 8)
    assert SMALL.partitions == Settings().topics.partitions
    assert SMALL.shards == Settings().topics.shards


def test_two_holders_of_each_shard_take_twice_the_memory_and_nothing_more_on_the_brokers() -> None:
    twice = replace(SMALL, holders=2)
    assert twice.index_bytes == 2 * SMALL.index_bytes
    assert (twice.log_bytes, twice.index_topic_bytes) == (SMALL.log_bytes, SMALL.index_topic_bytes)


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


def test_where_no_page_is_copied_the_brokers_keep_each_once() -> None:
    alone = replace(SMALL, copies=False)
    assert SMALL.log_bytes - alone.log_bytes == 7 * 86_400 * (SMALL.page_bytes + DEDUPLICATED_BYTES)
    assert alone.index_topic_bytes == SMALL.index_topic_bytes


def test_by_itself_the_command_plans_more_pages_a_core_and_less_disk_where_no_page_is_copied(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def planned(*words: str, mode: str) -> list[str]:
        settings = load_settings(config=None, overrides=[f"output.mode={mode}"], environ={})
        run("--pages-per-day", "10000000", *words, settings=settings)
        lines = capsys.readouterr().out.splitlines()
        return [line for line in lines if "pages/s each" in line or "topics.retention_days" in line]

    tag, alone = planned(mode="tag"), planned(mode="verdicts")
    assert (f"{PAGES_A_SECOND_AND_CORE} pages/s" in tag[0], tag[1].split()[-2:]) == (True, ["5.5", "TiB"])
    assert (f"{PAGES_A_SECOND_AND_CORE} pages/s" in alone[0], alone[1].split()[-2:]) == (False, ["2.8", "TiB"])
    assert planned("--pages-a-second", "100", mode="tag")[0] == planned("--pages-a-second", "100", mode="verdicts")[0]


def test_a_sketch_and_its_bands_stand_in_each_claim_and_each_entry_on_the_brokers() -> None:
    def claim(sketch: bytes = b"", bands: bytes = b"") -> int:
        one = Claim(partition=1, offset=5, clock=7, url="http://a/", fingerprint=1 << 63, sketch=sketch, bands=bands)
        return len(encode(batch_of([one])))

    assert claim(sketch=b"\1" * 32, bands=b"\1" * 32) - claim() == SKETCHED_BYTES
    assert OPTIONAL_WIDTHS["sketch"] + OPTIONAL_WIDTHS["bands"] == SKETCHED_BYTES
    accurate = replace(SMALL, sketched=True)
    assert accurate.log_bytes - SMALL.log_bytes == 7 * 86_400 * SKETCHED_BYTES
    assert accurate.index_topic_bytes == 1000 * (ENTRY_BYTES + SKETCHED_BYTES)


def test_a_shard_takes_memory_before_its_first_entry() -> None:
    assert SMALL.index_bytes == 8 * 300_000 + 1000 * (80 + URL_BYTES)
    assert replace(SMALL, distinct=90_000_000).index_bytes == 16 * 300_000 + 90_000_000 * (80 + URL_BYTES)


@pytest.mark.parametrize("predicate", ["simhash", "accurate"])
def test_the_figures_of_the_command_follow_from_each_other(predicate: str, capsys: pytest.CaptureFixture[str]) -> None:
    settings = load_settings(config=None, overrides=[f"near.predicate={predicate}"], environ={})
    run("--pages-per-day", "10000000", "--distinct", "50000000", "--sample", "100000", settings=settings)
    printed = capsys.readouterr().out

    def figure(label: str) -> float:
        (number, unit), *more = re.findall(rf"^  {label} +([\d,.]+)(?: (\w+))?$", printed, re.MULTILINE)
        assert not more, "one line of this label"
        return float(number.replace(",", "")) * UNITS.get(unit, 1)

    entry = figure("bytes an entry, of the later half of them")
    together = figure("50,000,000 entries in 8 shards")
    assert together == pytest.approx(8 * figure("a shard besides, .*") + 50_000_000 * entry, rel=0.02)
    assert figure("50,000,000 entries") == pytest.approx(50_000_000 * figure("together"), rel=0.03)
    assert figure("memory of the index with URLs, .*") == pytest.approx(together + 50_000_000 * URL_BYTES, rel=0.03)
    assert figure("memory of parsers, one a core: .*") == pytest.approx(2 * (180 + 512) * MIB, rel=0.1)
    assert len({len(line) for line in printed.partition("\nA crawl")[2].splitlines()[1:]}) == 1, "figures are aligned"
    on_brokers = ENTRY_BYTES + (predicate == "accurate") * SKETCHED_BYTES
    assert figure("on the brokers: the index, .*") == pytest.approx(50_000_000 * on_brokers, rel=0.03)


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
