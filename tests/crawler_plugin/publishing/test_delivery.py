"""Crawls whose broker is away, comes late, dies and comes back, or never comes."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from crawler_plugin.spool.file import Spool
from tests.crawler_plugin.crawling import (
    IMPATIENT,
    Crawl,
    Site,
    crawl,
    make_topic,
    numbered,
    records,
    serve,
    to_kafka,
    to_nobody,
)
from worker.broker.ports import free_port
from worker.broker.server import LocalBroker

pytestmark = pytest.mark.cluster

PREFIX = "faults."
LITTLE = {"DEDUP_MAX_PAGE_BYTES": 30_000, "DEDUP_BUFFER_BYTES": 120_000, "SCRAPER_SLOT_MAX_ACTIVE_SIZE": 100_000}
"""Room for a few of the large pages, here and among the waiting items that Scrapy holds: so a crawl stands still."""
TROUBLE = "Kafka takes no pages"


@pytest.fixture
def away(tmp_path: Path) -> Iterator[LocalBroker]:
    """A broker with a port that is not started."""
    broker = LocalBroker(data_dir=tmp_path / "kafka", port=free_port(), announce=print)
    yield broker
    broker.stop()


def test_a_crawl_waits_for_a_broker_that_comes_late_and_loses_nothing(away: LocalBroker, tmp_path: Path) -> None:
    with serve(Site(numbered(60, size=20_000))) as site:
        waiting = Crawl(tmp_path, "site", site.url("/"), to_kafka(away.bootstrap_servers, PREFIX) | LITTLE | IMPATIENT)
        waiting.wait_for_log(TROUBLE)
        asked = len(site.asked)
        away.start()
        make_topic(away.bootstrap_servers, PREFIX)
        ended = waiting.end()
    assert asked < 60, "the crawl must not go on while nothing is confirmed"
    assert {record.meta.url for record in records(away.bootstrap_servers, PREFIX)} == site.urls
    assert (ended.dedup["confirmed"], ended.dedup["unconfirmed"]) == (60, 0)
    assert ended.stats["dedup/buffered_bytes_max"] <= 120_000
    assert ended.stats["dedup/waited_pages"] > 0
    assert "ECONNREFUSED" in ended.log, "the log says why"
    assert ended.log.count("ECONNREFUSED") < 10, "and not ten times a second"
    assert "Kafka takes pages again" in ended.log


def test_a_topic_that_is_made_late_gets_every_page(broker: str, topic_prefix: str, tmp_path: Path) -> None:
    with serve(Site(numbered(10))) as site:
        waiting = Crawl(tmp_path, "site", site.url("/"), to_kafka(broker, topic_prefix))
        waiting.wait_for_log(rf"{TROUBLE} \(topic {topic_prefix}pages .*not found")
        make_topic(broker, topic_prefix)
        ended = waiting.end()
    assert {record.meta.url for record in records(broker, topic_prefix)} == site.urls
    assert ended.dedup["unconfirmed"] == 0
    assert "python -m worker topics create" in ended.log


def test_a_broker_that_dies_in_mid_crawl_and_comes_back_gets_every_page(away: LocalBroker, tmp_path: Path) -> None:
    away.start()
    make_topic(away.bootstrap_servers, PREFIX)

    def fate(number: int) -> None:
        if number == 40:
            away.kill()
        elif number == 100:
            away.start()

    with serve(Site(numbered(150, size=20_000), before=fate)) as site:
        one_by_one = {"CONCURRENT_REQUESTS": 1}  # so that no response arrives while the broker is killed or started
        ended = crawl(tmp_path, site, **to_kafka(away.bootstrap_servers, PREFIX), **one_by_one)
    assert {record.meta.url for record in records(away.bootstrap_servers, PREFIX)} == site.urls
    assert (ended.dedup["published"], ended.dedup["confirmed"], ended.dedup["unconfirmed"]) == (150, 150, 0)
    assert "Traceback" not in ended.log


@pytest.mark.parametrize("reactor", ["asyncioreactor.AsyncioSelectorReactor", "selectreactor.SelectReactor"])
def test_without_broker_and_spool_a_crawl_ends_as_a_failure_and_names_what_is_lost(
    tmp_path: Path, reactor: str
) -> None:
    nowhere = to_nobody(PREFIX)
    with serve(Site(numbered(8))) as site:
        reactor = f"twisted.internet.{reactor}"
        without = {"DEDUP_SPOOL": "none", "DEDUP_FLUSH_TIMEOUT": 1}
        ended = crawl(tmp_path, site, **nowhere, **without, TWISTED_REACTOR=reactor)
    assert (ended.dedup["published"], ended.dedup["unconfirmed"]) == (8, 8)
    assert ended.stats["finish_reason"] == "dedup_unconfirmed"
    assert ended.returncode == 1
    assert "ERROR: 8 pages were not confirmed by Kafka within DEDUP_FLUSH_TIMEOUT=1 s" in ended.log
    assert "ECONNREFUSED" in ended.log
    assert "and 3 more" in ended.log
    assert ended.stats["log_count/ERROR"] == 1
    assert "Exception ignored" not in ended.log
    assert "Traceback" not in ended.log


@pytest.mark.parametrize("interrupts", [0, 2])
def test_a_crawl_whose_broker_hangs_ends_without_a_trace_of_kafka_python(
    away: LocalBroker, tmp_path: Path, interrupts: int
) -> None:
    away.start()
    make_topic(away.bootstrap_servers, PREFIX)
    assert away.pid is not None

    def hang(number: int) -> None:
        if number == 20:
            os.kill(away.pid or 0, signal.SIGSTOP)

    try:
        with serve(Site(numbered(60), before=hang)) as site:
            told = {**to_kafka(away.bootstrap_servers, PREFIX), "DEDUP_FLUSH_TIMEOUT": 60 if interrupts else 1}
            hanging = Crawl(tmp_path, "site", site.url("/"), told)
            for _ in range(interrupts):
                hanging.wait_for_log("waiting for Kafka to confirm|shutting down gracefully")
                hanging.send_signal(signal.SIGINT)
                hanging.wait_for_log("shutting down gracefully")
            ended = hanging.end()
    finally:
        os.kill(away.pid, signal.SIGCONT)
    assert "pages that Kafka" in ended.log
    assert "Exception ignored" not in ended.log
    assert "Traceback" not in ended.log


def test_a_crawl_without_pages_does_not_wait_for_a_broker(tmp_path: Path) -> None:
    with serve(Site({})) as site:
        # With the default timeout of 30 s the crawl would not end before the deadline of a second try to connect.
        ended = crawl(tmp_path, site, **to_nobody(PREFIX), DEDUP_FLUSH_TIMEOUT=86400)
    assert ended.dedup == {"unconfirmed": 0, "spool/found": 0, "spool/left": 0}
    assert ended.stats["finish_reason"] == "finished"


@pytest.mark.parametrize("reactor", ["asyncioreactor.AsyncioSelectorReactor", "selectreactor.SelectReactor"])
def test_a_crawl_that_is_closed_while_it_waits_comes_to_its_end(tmp_path: Path, reactor: str) -> None:
    nowhere = to_nobody(PREFIX)
    closing = {"CLOSESPIDER_TIMEOUT": 2, "TWISTED_REACTOR": f"twisted.internet.{reactor}", "DEDUP_FLUSH_TIMEOUT": 1}
    with serve(Site(numbered(40, size=20_000))) as site:
        ended = crawl(tmp_path, site, **nowhere, **LITTLE, **closing)
    assert ended.stats["finish_reason"] == "closespider_timeout"
    assert ended.stats["dedup/waited_pages"] > 0
    assert ended.dedup["unconfirmed"] == 0
    assert ended.dedup["spool/left"] == ended.dedup["published"] == ended.stats["item_scraped_count"]


def test_a_crawl_that_is_interrupted_while_it_waits_comes_to_its_end(tmp_path: Path) -> None:
    nowhere = to_nobody(PREFIX) | LITTLE | {"DEDUP_FLUSH_TIMEOUT": 1}
    with serve(Site(numbered(40, size=20_000))) as site:
        waiting = Crawl(tmp_path, "site", site.url("/"), nowhere)
        waiting.wait_for_log(TROUBLE)
        waiting.send_signal(signal.SIGINT)
        ended = waiting.end()
    assert ended.stats["finish_reason"] == "shutdown"
    assert ended.dedup["unconfirmed"] == 0
    assert ended.dedup["spool/left"] == ended.dedup["published"] == ended.stats["item_scraped_count"]


def test_a_crawl_that_is_stopped_by_force_ends_without_a_trace_of_its_threads_and_keeps_its_pages(
    tmp_path: Path,
) -> None:
    nowhere = to_nobody(PREFIX) | LITTLE
    with serve(Site(numbered(40, size=20_000))) as site:
        waiting = Crawl(tmp_path, "site", site.url("/"), nowhere)
        waiting.wait_for_log(TROUBLE)
        waiting.send_signal(signal.SIGINT)
        waiting.wait_for_log("shutting down gracefully")
        waiting.send_signal(signal.SIGINT)
        ended = waiting.end()
    assert "forcing unclean shutdown" in ended.log
    assert "Exception in thread" not in ended.log
    assert "Exception ignored" not in ended.log
    told = re.search(
        r"stopped by force; (\d+) pages that Kafka had not confirmed went to (\S+pages\.spool),", ended.log
    )
    assert told is not None, ended.log
    spool = Spool.open(Path(told[2]), 0)
    assert int(told[1]) == spool.left > 0
    spool.close()
