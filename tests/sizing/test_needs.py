"""The needs of a crawl follow from its pages, its different pages and the settings."""

from __future__ import annotations

import argparse
import re
from dataclasses import replace

import pytest

from crawler_plugin.wire.errors import UsageError
from crawler_plugin.wire.messages import OPTIONAL_WIDTHS, Claim, encode
from tests.columns import batch_of
from tools.docs import HANDBOOK
from worker.cli import size
from worker.config import Settings, load_settings
from worker.sizing.needs import (
    ANSWER_BYTES,
    ANSWER_US,
    ASK_US,
    CLAIM_BYTES,
    CLAIM_US,
    DEDUPLICATED_BYTES,
    ENTRIES_A_SHARD,
    ENTRY_BYTES,
    LOAD,
    LOOK_UPS,
    MOST_IN_AN_INDEX,
    MOST_WORKERS,
    OUTPUTS_LEFT,
    PAGES_LEFT,
    PARSED_BYTES,
    PARSER_US,
    PEAK,
    RECORD_BYTES,
    SKETCHED_BYTES,
    URL_BYTES,
    WITHOUT_COPIES_US,
    WORKER_US,
    Crawl,
    Growth,
    RecordsOfPages,
    parser_us,
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
        assert crawl.cores * 100 > pages * PEAK
        assert crawl.cores >= crawl.parser_cores
        assert crawl.partitions >= min(MOST_WORKERS, 4 * crawl.workers)
        assert crawl.partitions % 8 == 0
        assert crawl.shards >= crawl.partitions


@pytest.mark.parametrize("distinct", [1, 8 * ENTRIES_A_SHARD, 8 * ENTRIES_A_SHARD + 1, 2_000_000_000])
def test_no_shard_is_larger_than_what_restores_quickly(distinct: int) -> None:
    crawl = replace(SMALL, distinct=distinct)
    assert distinct / crawl.shards <= ENTRIES_A_SHARD
    assert crawl.shards == 8 or distinct / (crawl.shards - 8) > ENTRIES_A_SHARD


def test_the_brokers_keep_each_page_twice_for_its_time_and_the_index_for_good() -> None:
    a_day = replace(SMALL, retention_days=1)
    copied = OUTPUTS_LEFT * (40_000 + DEDUPLICATED_BYTES)
    assert a_day.log_bytes > 86_400 * (PAGES_LEFT * 40_000 + copied + CLAIM_BYTES)
    assert SMALL.log_bytes == pytest.approx(7 * a_day.log_bytes, abs=7)
    assert replace(SMALL, replicas=3).log_bytes == pytest.approx(3 * SMALL.log_bytes, abs=3)
    assert SMALL.index_topic_bytes == replace(SMALL, retention_days=1).index_topic_bytes == 1000 * ENTRY_BYTES


def test_where_no_page_is_copied_the_brokers_keep_each_once() -> None:
    alone = replace(SMALL, copies=False)
    copied = 7 * 86_400 * (SMALL.page_bytes + DEDUPLICATED_BYTES)
    assert SMALL.log_bytes - alone.log_bytes == pytest.approx(OUTPUTS_LEFT * copied, abs=1)
    plain, alone = replace(SMALL, packed=False), replace(alone, packed=False)
    assert plain.log_bytes - alone.log_bytes == pytest.approx(copied, abs=1)
    assert alone.index_topic_bytes == SMALL.index_topic_bytes


def test_by_itself_the_command_plans_fewer_cores_and_less_disk_where_no_page_is_copied(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def planned(mode: str) -> list[str]:
        settings = load_settings(config=None, overrides=[f"output.mode={mode}", "topics.retention_days=7"], environ={})
        run("--pages-per-day", "1000000000", settings=settings)
        return re.findall(
            r"^  (?:cores,|on the brokers: 7 days) .*? ([\d,.]+)(?: TiB)?$", capsys.readouterr().out, re.M
        )

    tag, alone = planned("tag"), planned("verdicts")
    assert int(tag[0]) > int(alone[0])
    assert float(tag[1].replace(",", "")) > 1.9 * float(alone[1].replace(",", ""))


def test_a_sketch_and_its_bands_stand_in_each_claim_and_each_entry_on_the_brokers() -> None:
    def claim(sketch: bytes = b"", bands: bytes = b"") -> int:
        one = Claim(partition=1, offset=5, clock=7, url="http://a/", fingerprint=1 << 63, sketch=sketch, bands=bands)
        return len(encode(batch_of([one])))

    assert claim(sketch=b"\1" * 32, bands=b"\1" * 32) - claim() == SKETCHED_BYTES
    assert OPTIONAL_WIDTHS["sketch"] + OPTIONAL_WIDTHS["bands"] == SKETCHED_BYTES
    accurate = replace(SMALL, sketched=True)
    assert accurate.log_bytes - SMALL.log_bytes == pytest.approx(7 * 86_400 * SKETCHED_BYTES, abs=1)
    assert accurate.index_topic_bytes == 1000 * (ENTRY_BYTES + SKETCHED_BYTES)


def test_a_shard_takes_memory_before_its_first_entry() -> None:
    assert SMALL.index_bytes == 8 * 300_000 + 1000 * (80 + URL_BYTES)
    assert replace(SMALL, distinct=300_000_000).index_bytes == 16 * 300_000 + 300_000_000 * (80 + URL_BYTES)


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
    assert together == pytest.approx(8 * figure("for each shard in addition, .*") + 50_000_000 * entry, rel=0.02)
    assert figure("50,000,000 entries") == pytest.approx(50_000_000 * figure("together"), rel=0.03)
    assert figure("memory of the index with URLs, .*") == pytest.approx(together + 50_000_000 * URL_BYTES, rel=0.03)
    assert figure("memory of parsers, one a core: .*") == (120 + 512) * MIB
    assert len({len(line) for line in printed.partition("\nA crawl")[2].splitlines()[1:]}) == 1, "figures are aligned"
    on_brokers = ENTRY_BYTES + (predicate == "accurate") * SKETCHED_BYTES
    assert figure("on the brokers: the index, .*") == pytest.approx(50_000_000 * on_brokers, rel=0.03)


def test_the_command_plans_by_the_settings(capsys: pytest.CaptureFixture[str]) -> None:
    overrides = ["topics.retention_days=2", "topics.replication_factor=3"]
    settings = load_settings(config=None, overrides=overrides, environ={})
    assert run("--pages-per-day", "10000000", "--distinct", "600000000", settings=settings) == 0
    printed = capsys.readouterr().out
    assert "10,000,000 pages a day (115.7 a second), 600,000,000 different" in printed
    assert re.search(r"topics.shards, at least; both are chosen once +24$", printed, re.MULTILINE)
    assert "2 days (topics.retention_days), copies: 3" in printed
    assert all(len(line) <= 120 for line in printed.splitlines())


def test_without_pages_a_day_there_is_no_plan(capsys: pytest.CaptureFixture[str]) -> None:
    run("--distinct", "1000")
    assert "topics.partitions" not in capsys.readouterr().out


@pytest.mark.parametrize(
    "words",
    [
        ("--pages-per-day", "0"),
        ("--pages-per-day", "-1"),
        ("--page-kb", "0"),
        ("--pages-a-second", "0"),
        ("--peak", "0"),
        ("--growth", "0.5"),
        ("--records", "0"),
    ],
)
def test_numbers_that_no_crawl_has_are_refused(words: tuple[str, ...]) -> None:
    with pytest.raises(UsageError, match="give other numbers"):
        run(*words)


MONTH = replace(
    SMALL, pages_a_day=3_000_000_000, distinct=2_000_000_000, sketched=True, speed=None, copies=False, peak=1, to_come=1
)


class TestMeasuredOnes:
    """The figures equal those on the pages that say how they were measured."""

    def text(self, name: str) -> str:
        return (HANDBOOK / "benchmarks" / name).read_text(encoding="utf-8")

    def test_what_a_claim_costs_is_within_a_tenth_of_each_row_of_the_table(self) -> None:
        rows = re.findall(r"^\| (\d+) \| (\d+) \| ([\d.]+) \|", self.text("order.md"), re.MULTILINE)
        assert len(rows) >= 7
        assert int(rows[-1][0]) == MOST_WORKERS
        for workers, shards, microseconds in rows:
            asked = -(-int(shards) // int(workers))
            line = CLAIM_US + asked * ASK_US + int(shards) * ANSWER_US
            assert line == pytest.approx(float(microseconds), rel=0.1), workers

    def test_what_a_page_costs_stands_in_the_table_of_runs(self) -> None:
        row = r"^\| (default|`output.*?`) \| \d \| \d+ \| (\d+) \| ([\d,]+) "
        runs = re.findall(row, self.text("pipeline.md"), re.MULTILINE)
        assert max(int(worker) for settings, worker, _ in runs if settings == "default") == WORKER_US
        assert max(int(worker) for settings, worker, _ in runs if settings != "default") == WITHOUT_COPIES_US
        assert max(int(parser.replace(",", "")) for _, _, parser in runs) == PARSER_US

    def test_look_ups_stand_in_the_table_of_sizes(self) -> None:
        for entries, millions in LOOK_UPS.items():
            assert re.search(rf"^\| {entries:,} entries.*?\| {millions:.2f}M \|", self.text("index.md"), re.MULTILINE)

    def test_what_zstd_leaves_stands_in_the_table_of_bytes(self) -> None:
        row = rf"^\| `tag` \|.*\| {PAGES_LEFT} \| {OUTPUTS_LEFT} \|"
        assert re.search(row, self.text("compression.md"), re.MULTILINE)


class TestCeiling:
    @pytest.mark.parametrize("pages", [500, 5000, 34_722, 60_000])
    def test_workers_are_the_fewest_that_order_all_pages(self, pages: int) -> None:
        crawl = replace(MONTH, pages_a_day=pages * 86_400)
        assert not crawl.is_past_the_ceiling
        assert crawl.ordered(crawl.workers) * LOAD >= pages
        assert crawl.workers == 1 or crawl.ordered(crawl.workers - 1) * LOAD < pages

    def test_a_larger_shard_is_slower_to_ask(self) -> None:
        among = [replace(MONTH, distinct=64 * entries).ordered(64) for entries in (10**5, 10**6, 10**7, 3 * 10**7)]
        assert among[0] == among[1] > among[2] > among[3]

    def test_a_worker_that_holds_twice_as_many_shards_orders_less(self) -> None:
        assert replace(MONTH, holders=2).ordered(64) < MONTH.ordered(64)

    def test_both_logs_are_read_by_every_worker(self) -> None:
        a_claim_and_its_answers = CLAIM_BYTES + SKETCHED_BYTES + ANSWER_BYTES
        assert MONTH.order_bytes == pytest.approx(MONTH.workers * MONTH.rate * a_claim_and_its_answers)

    def test_a_worker_restores_all_its_shards(self) -> None:
        """Fifty million survivors in eight shards of one process took 30.3 s (docs/benchmarks/restore.md)."""
        assert replace(SMALL, distinct=50_000_000).restore_seconds == pytest.approx(30.3, rel=0.01)
        assert MONTH.restore_seconds < 30

    def test_a_speed_that_was_measured_is_that_of_both_parts_together(self) -> None:
        for copies in (True, False):
            assert sum(replace(MONTH, speed=250, copies=copies).page_us) == pytest.approx(4000)
        assert sum(MONTH.page_us) == pytest.approx(WITHOUT_COPIES_US + parser_us(MONTH.page_bytes))

    def test_the_command_warns_past_it_and_says_what_to_do(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("COLUMNS", "80")
        month = ("--pages-per-day", "3500000000", "--distinct", "2000000000", "--growth", "1")
        settings = load_settings(config=None, overrides=["output.mode=verdicts"], environ={})
        run(*month, settings=settings)
        told = capsys.readouterr().out
        assert "warning: past the ceiling. The busiest hour has 121,528 pages a second" in " ".join(told.split())
        assert "`judge`" in told
        assert "topics.prefix" in told
        assert all(len(line) <= 80 for line in told.splitlines())
        run(*month, "--peak", "1", settings=settings)
        assert "warning" not in capsys.readouterr().out


class TestRecords:
    def test_cores_and_disk_follow_from_pages_and_memory_from_survivors(self) -> None:
        needed = RecordsOfPages(pages=3_600_000, distinct=1000, page_bytes=PARSED_BYTES, growth=SMALL.growth)
        assert needed.reading_hours == pytest.approx(PARSER_US / 1000)
        assert needed.disk_bytes == 3_600_000 * RECORD_BYTES
        assert needed.index_bytes == 300_000 + 1000 * 80
        assert needed.machine_bytes > needed.index_bytes
        assert replace(needed, distinct=2000).reading_hours == needed.reading_hours
        assert replace(needed, page_bytes=3 * PARSED_BYTES).reading_hours == pytest.approx(2 * needed.reading_hours)

    def test_all_pages_survive_where_nobody_says_how_many(self, capsys: pytest.CaptureFixture[str]) -> None:
        run("--records", "70000000")
        assert "An archive of 70,000,000 pages, 70,000,000 different" in capsys.readouterr().out

    def test_more_survivors_than_one_index_numbers_are_a_warning(self, capsys: pytest.CaptureFixture[str]) -> None:
        run("--records", str(MOST_IN_AN_INDEX))
        assert "warning" not in capsys.readouterr().out
        run("--records", str(MOST_IN_AN_INDEX + 1))
        assert "warning: one `judge` holds at most 2,147,483,648 survivors" in capsys.readouterr().out
