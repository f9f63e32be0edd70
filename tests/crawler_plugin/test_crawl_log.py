"""What a crawl counts and says: each line names the next move, and each kind of trouble is told once."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from scrapy import Spider
from scrapy.crawler import Crawler
from scrapy.settings import Settings
from scrapy.utils.test import get_crawler

from crawler_plugin import stats
from crawler_plugin.crawl_log import NAMED_PAGES, CrawlLog
from crawler_plugin.publishing.outbox import Notice, Report
from crawler_plugin.settings import PluginSettings
from crawler_plugin.spool.file import Appended, Spool
from crawler_plugin.spool.numbered import Opened
from tests.crawler_plugin.spool.test_records import page


class Logged:
    """A crawl's log, with what was said in it."""

    def __init__(self, caplog: pytest.LogCaptureFixture) -> None:
        caplog.set_level(logging.INFO, logger="crawler_plugin")
        self._caplog = caplog
        self._crawler: Crawler = get_crawler(Spider)
        self._crawler.spider = Spider("shop")
        self.log = CrawlLog(self._crawler, PluginSettings.read(Settings({"DEDUP_MAX_PAGE_BYTES": 5_000})))

    @property
    def stats(self) -> dict[str, object]:
        assert self._crawler.stats is not None
        return {name: value for name, value in self._crawler.stats.get_stats().items() if name in NAMES}

    @property
    def lines(self) -> list[tuple[int, str]]:
        assert all(vars(record)["spider"] is self._crawler.spider for record in self._caplog.records)
        return [(record.levelno, record.getMessage()) for record in self._caplog.records]


NAMES = {*stats.STATS, "finish_reason"}


@pytest.fixture
def logged(caplog: pytest.LogCaptureFixture) -> Logged:
    return Logged(caplog)


def test_the_first_of_a_kind_is_said_and_all_are_counted(logged: Logged) -> None:
    for number in range(3):
        logged.log.skip(stats.SKIPPED + "no_body", f"item {number} has no body")
    logged.log.skip(stats.SKIPPED + "bad_url", "no URL", logging.INFO)
    assert logged.stats == {"dedup/skipped/no_body": 3, "dedup/skipped/bad_url": 1}
    assert logged.lines == [
        (logging.WARNING, "item 0 has no body. Further ones are only counted, as dedup/skipped/no_body"),
        (logging.INFO, "no URL. Further ones are only counted, as dedup/skipped/bad_url"),
    ]


def test_published_pages_and_the_time_that_they_waited_are_added_up(logged: Logged) -> None:
    for number in range(2):
        logged.log.published(page(number))
        logged.log.waited(0.5)
    assert logged.stats == {
        stats.PUBLISHED: 2,
        stats.PUBLISHED_BYTES: page(0).size + page(1).size,
        stats.WAITED_PAGES: 2,
        stats.WAITED_SECONDS: 1.0,
    }
    assert logged.lines == []


@pytest.mark.parametrize(
    ("is_cut", "stat", "what"), [(True, stats.TRUNCATED, "cut off there"), (False, stats.OVERSIZE, "not sent")]
)
def test_a_page_above_the_limit_is_told_with_the_setting_to_raise(
    logged: Logged, is_cut: bool, stat: str, what: str
) -> None:
    logged.log.too_large(page(1), is_cut=is_cut)
    assert logged.stats == {stat: 1}
    ((_, line),) = logged.lines
    assert f"{page(1).url}: {page(1).size} bytes are more than DEDUP_MAX_PAGE_BYTES=5000, the page is {what}. " in line


def test_what_an_earlier_crawl_left_is_told_and_damage_by_its_place(logged: Logged, tmp_path: Path) -> None:
    path = tmp_path / "pages.spool"
    earlier = Spool.open(path, 10**9)
    earlier.append([page(1), page(2)])
    earlier.close()
    with path.open("ab") as file:
        file.write(b"torn")
    spool = Spool.open(path, 10**9)
    logged.log.found_in(Opened(spool))
    spool.close()
    assert logged.stats == {stats.SPOOL_FOUND: 2, stats.SPOOL_DAMAGED: 1}
    assert logged.lines[0] == (logging.INFO, f"2 pages that an earlier crawl left in {path} are sent, too")
    assert logged.lines[1][0] == logging.ERROR
    assert str(path) in logged.lines[1][1]


def test_a_spool_that_takes_no_more_is_an_error_that_is_said_once(logged: Logged) -> None:
    logged.log.stored(Appended(3, None))
    logged.log.stored(Appended(1, "no space left"))
    logged.log.stored(Appended(0, "no space left"))
    assert logged.stats == {stats.SPOOL_WRITTEN: 4, stats.SPOOL_ERRORS: 2}
    ((level, line),) = logged.lines
    assert level == logging.ERROR
    assert line.startswith("the spool does not take a page (no space left): make room there or raise DEDUP_SPOOL_BYTES")


def test_a_report_is_counted_and_its_notices_are_said_by_their_weight(logged: Logged) -> None:
    report = Report(confirmed=5, freed=1, refused=[page(1), page(2)], cut=[page(3)], send_errors=1)
    report.notices += [Notice(True, "Kafka takes no pages"), Notice(False, "Kafka takes pages again")]
    logged.log.collected(report)
    assert logged.stats == {
        stats.CONFIRMED: 5,
        stats.SEND_ERRORS: 1,
        stats.TRUNCATED: 1,
        stats.OVERSIZE: 2,
        stats.OVERSIZE_AT_BROKER: 2,
    }
    assert [line for line in logged.lines if "Kafka takes" in line[1]] == [
        (logging.WARNING, "Kafka takes no pages"),
        (logging.INFO, "Kafka takes pages again"),
    ]
    (refusal,) = (line for _, line in logged.lines if "too large for dedup.pages" in line)
    assert "Lower DEDUP_MAX_PAGE_BYTES or raise max.message.bytes of that topic" in refusal


def test_a_report_of_nothing_leaves_no_trace(logged: Logged) -> None:
    logged.log.collected(Report())
    assert (logged.stats, logged.lines) == ({}, [])


def test_the_sum_of_a_crawl_that_lost_nothing_is_silent(logged: Logged) -> None:
    logged.log.sum_up([], None, most_buffered=17, heard="a complaint of long ago")
    assert logged.stats == {stats.UNCONFIRMED: 0, stats.MOST_BUFFERED: 17}
    assert logged.lines == []


def test_lost_pages_are_named_as_far_as_they_are_few_with_the_last_complaint(logged: Logged) -> None:
    pages = [page(number) for number in range(NAMED_PAGES + 2)]
    logged.log.sum_up(pages, None, most_buffered=0, heard="ECONNREFUSED")
    logged.log.failed()
    assert logged.stats == {
        stats.UNCONFIRMED: len(pages),
        stats.MOST_BUFFERED: 0,
        "finish_reason": stats.LOST,
    }
    ((level, line),) = logged.lines
    assert level == logging.ERROR
    named = ", ".join(each.url for each in pages[:NAMED_PAGES])
    assert (
        f": {named} and 2 more (the last that was heard: ECONNREFUSED). See that the broker at 127.0.0.1:9092" in line
    )


def test_pages_that_stay_in_the_spool_are_told_with_the_command_that_sends_them(logged: Logged, tmp_path: Path) -> None:
    path = tmp_path / "a shop.spool"
    spool = Spool.open(path, 10**9)
    spool.append([page(1)])
    logged.log.sum_up([], spool, most_buffered=0, heard=None)
    logged.log.stopped_by_force([page(1), page(2)], Appended(1, "disk full"), spool)
    spool.close()
    assert logged.stats[stats.SPOOL_LEFT] == 1
    command = f"python -m crawler_plugin.spool '{path}'"
    (left, forced, lost) = logged.lines
    assert left == (
        logging.WARNING,
        f"1 pages that Kafka has not confirmed are in {path}, the next crawl with that spool sends them, or now: "
        + command,
    )
    assert forced[1].endswith(command)
    assert lost == (
        logging.ERROR,
        "the crawl was stopped by force and 1 pages that Kafka had not confirmed are lost (disk full): "
        f"{page(2).url}. Crawl them again",
    )


def test_a_crawl_that_waits_or_is_closed_says_so_with_what_can_be_done(logged: Logged) -> None:
    logged.log.waits_at_its_end(7, 25.0, has_spool=True)
    logged.log.waits_at_its_end(7, 20.0, has_spool=False)
    logged.log.full()
    waits, waits_without_spool, full = logged.lines
    assert waits == (
        logging.INFO,
        "waiting for Kafka to confirm 7 pages, 25 s more; then they go to the spool (DEDUP_FLUSH_TIMEOUT)",
    )
    assert "then they are lost" in waits_without_spool[1]
    assert full[0] == logging.ERROR
    assert "so the crawl is closed (dedup_full). See that the broker at 127.0.0.1:9092 runs" in full[1]
