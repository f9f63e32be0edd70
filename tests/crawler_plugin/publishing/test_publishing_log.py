"""Log lines about pages on their way to Kafka: each line names the next step."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from scrapy.settings import Settings

from crawler_plugin import stats
from crawler_plugin.config.settings import PluginSettings
from crawler_plugin.publishing.outbox import Notice, Report
from crawler_plugin.publishing.publishing_log import NAMED_PAGES, PublishingLog
from crawler_plugin.spool.file import Appended, Spool
from tests.crawler_plugin.logged import Logged
from tests.crawler_plugin.spool.test_records import page


@pytest.fixture
def logged(caplog: pytest.LogCaptureFixture) -> Logged:
    return Logged(caplog)


@pytest.fixture
def says(logged: Logged) -> PublishingLog:
    return PublishingLog(logged.log, PluginSettings.read(Settings()))


def test_published_pages_and_their_bytes_are_added_up(logged: Logged, says: PublishingLog) -> None:
    for number in range(2):
        says.published(page(number))
    assert logged.stats == {
        stats.PUBLISHED: 2,
        stats.PUBLISHED_BYTES: page(0).size + page(1).size,
    }
    assert logged.lines == []


def test_a_report_is_counted_and_its_notices_are_said_by_their_weight(logged: Logged, says: PublishingLog) -> None:
    report = Report(confirmed=5, freed=1, refused=[page(1), page(2)], cut=[page(3)], send_errors=1)
    report.notices += [Notice(True, "Kafka takes no pages"), Notice(False, "Kafka takes pages again")]
    says.collected(report)
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


def test_a_report_of_nothing_leaves_no_trace(logged: Logged, says: PublishingLog) -> None:
    says.collected(Report())
    assert (logged.stats, logged.lines) == ({}, [])


def test_the_sum_of_a_crawl_that_lost_nothing_is_silent(logged: Logged, says: PublishingLog) -> None:
    says.sum_up([], None, most_buffered=17, heard="a complaint of long ago")
    assert logged.stats == {stats.UNCONFIRMED: 0, stats.MOST_BUFFERED: 17}
    assert logged.lines == []


def test_lost_pages_are_named_as_far_as_they_are_few_with_the_last_complaint(
    logged: Logged, says: PublishingLog
) -> None:
    pages = [page(number) for number in range(NAMED_PAGES + 2)]
    says.sum_up(pages, None, most_buffered=0, heard="ECONNREFUSED")
    assert logged.stats == {
        stats.UNCONFIRMED: len(pages),
        stats.MOST_BUFFERED: 0,
    }
    ((level, line),) = logged.lines
    assert level == logging.ERROR
    named = ", ".join(each.url for each in pages[:NAMED_PAGES])
    assert f": {named} and 2 more (last message: ECONNREFUSED). See that the broker at 127.0.0.1:9092" in line


def test_pages_that_stay_in_the_spool_are_told_with_the_command_that_sends_them(
    logged: Logged, says: PublishingLog, tmp_path: Path
) -> None:
    path = tmp_path / "a shop.spool"
    spool = Spool.open(path, 10**9)
    spool.append([page(1)])
    says.sum_up([], spool, most_buffered=0, heard=None)
    says.stopped_by_force([page(1), page(2)], Appended(1, "disk full"), spool)
    spool.close()
    assert logged.stats[stats.SPOOL_LEFT] == 1
    command = f"python -m crawler_plugin.spool '{path}'"
    (left, forced, lost) = logged.lines
    assert left == (
        logging.WARNING,
        f"1 page that Kafka has not confirmed went to {path}, the next crawl with that spool sends them; to "
        f"send them now: {command}",
    )
    assert forced[1].endswith(command)
    assert lost == (
        logging.ERROR,
        "the crawl was stopped by force and lost 1 page that Kafka had not confirmed (disk full): "
        f"{page(2).url}. Crawl them again",
    )


def test_a_crawl_that_waits_or_is_closed_says_so_with_what_can_be_done(logged: Logged, says: PublishingLog) -> None:
    says.waits_at_its_end(7, 25.0, has_spool=True)
    says.waits_at_its_end(7, 20.0, has_spool=False)
    says.full()
    waits, waits_without_spool, full = logged.lines
    assert waits == (
        logging.INFO,
        "waiting for Kafka to confirm 7 pages, 25 s more; then they go to the spool (DEDUP_FLUSH_TIMEOUT)",
    )
    assert "then they are lost" in waits_without_spool[1]
    assert full[0] == logging.ERROR
    assert "so the crawl is closed (dedup_full). See that the broker at 127.0.0.1:9092 runs" in full[1]
