"""Real crawls whose pages go to the spool, at their end, at a second Ctrl-C or when the buffer is full, and come out of
it again."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path
from typing import Any

import pytest

from crawler_plugin.spool.file import Spool
from tests.crawler_plugin.crawling import (
    Crawl,
    Ended,
    Site,
    crawl,
    make_topic,
    marks,
    numbered,
    published,
    records,
    serve,
    to_kafka,
    to_nobody,
)
from tests.crawler_plugin.publishing.test_delivery import LITTLE, TROUBLE
from tests.crawler_plugin.spool.test_main import send
from worker.broker.server import LocalBroker

pytestmark = pytest.mark.cluster

SPOOLED = r"(\d+) pages that Kafka has not confirmed"


def nowhere() -> dict[str, Any]:
    return to_nobody("nowhere.")


def in_spool(path: Path) -> set[str]:
    """URLs of the pages in the spool, which stay there."""
    spool = Spool.open(path, 0)
    urls = set()
    while (stored := spool.take()) is not None:
        urls.add(stored.page.url)
    spool.close()
    return urls


def balance(ended: Ended) -> bool:
    """Whether the sums of the stats hold."""
    count = ended.dedup.get
    into: int = count("published", 0) + count("spool/found", 0)
    outcomes = ("confirmed", "rejected/oversize_at_broker", "spool/left", "unconfirmed")
    out: int = sum(count(name, 0) for name in outcomes)
    return into == out


def test_a_crawl_without_its_topic_spools_its_pages_and_the_next_one_with_this_jobdir_sends_them(
    broker: str, topic_prefix: str, tmp_path: Path
) -> None:
    jobdir = tmp_path / "job"
    job = {"JOBDIR": str(jobdir), "DEDUP_SPOOL": None, "DEDUP_FLUSH_TIMEOUT": 1}
    with serve(Site(numbered(30))) as site:
        first = crawl(tmp_path, site, **to_kafka(broker, topic_prefix), **job)
        asked = len(site.asked)
        make_topic(broker, topic_prefix)
        second = crawl(tmp_path, site, **to_kafka(broker, topic_prefix), **job | {"DEDUP_FLUSH_TIMEOUT": 60})
    assert (first.stats["finish_reason"], first.returncode) == ("finished", 0), "nothing is lost"
    assert (first.dedup["spool/left"], first.dedup["unconfirmed"]) == (30, 0)
    assert re.search(rf"{SPOOLED}.* went to {jobdir}/dedup\.spool, the next crawl with that spool sends", first.log)
    assert f"python -m crawler_plugin.spool {jobdir}/dedup.spool" in first.log
    assert len(site.asked) == asked + 1, "Scrapy fetches none of them again, only the start page"
    assert {record.meta.url for record in records(broker, topic_prefix)} == site.urls
    assert (second.dedup["spool/found"], second.dedup["confirmed"], second.dedup["spool/left"]) == (30, 30, 0)
    assert balance(first)
    assert balance(second)
    assert not (jobdir / "dedup.spool").exists()
    assert marks(broker, topic_prefix) == {("job", "site"): [0, 30]}, "of the crawl, and of the one that went on"


def test_a_second_interrupt_spools_at_once_what_the_crawl_holds_and_it_is_told_in_one_line(tmp_path: Path) -> None:
    with serve(Site(numbered(40, size=20_000))) as site:
        stopped = Crawl(tmp_path, "site", site.url("/"), nowhere() | LITTLE)
        stopped.wait_for_log(TROUBLE)
        stopped.send_signal(signal.SIGINT)
        stopped.wait_for_log("shutting down gracefully")
        stopped.send_signal(signal.SIGINT)
        ended = stopped.end()
    (count,) = re.findall(r"stopped by force; (\d+) pages that Kafka had not confirmed went to", ended.log)
    kept = in_spool(tmp_path / "pages.spool")
    assert int(count) == len(kept) > 0
    scraped = set(re.findall(r"Scraped from <200 (\S+)>", ended.log))
    assert scraped <= kept, "and besides those that waited for room in the buffer"


def test_with_a_full_buffer_a_crawl_spools_and_goes_on(broker: str, topic_prefix: str, tmp_path: Path) -> None:
    told = {**LITTLE, "DEDUP_ON_FULL": "spool", "DEDUP_FLUSH_TIMEOUT": 1}
    with serve(Site(numbered(60, size=20_000))) as site:
        first = crawl(tmp_path, site, **to_kafka(broker, topic_prefix), **told)
        assert set(site.asked) >= set(site.pages), "it did not stand still"
        kept = in_spool(tmp_path / "pages.spool")
        assert kept == site.urls
        make_topic(broker, topic_prefix)
        told["DEDUP_FLUSH_TIMEOUT"] = 60
        second = crawl(tmp_path, Site({}, address=site.address), **to_kafka(broker, topic_prefix), **told)
    assert first.dedup["spool/written"] == 60
    assert first.stats["dedup/buffered_bytes_max"] <= 120_000
    assert {record.meta.url for record in records(broker, topic_prefix)} >= kept
    assert balance(first)
    assert balance(second)


def test_a_crawl_gives_up_waiting_and_spools(tmp_path: Path) -> None:
    told = {**LITTLE, "DEDUP_GIVE_UP_SECONDS": 1, "DEDUP_FLUSH_TIMEOUT": 0}
    with serve(Site(numbered(60, size=20_000))) as site:
        ended = crawl(tmp_path, site, **nowhere(), **told)
    assert ended.stats["finish_reason"] == "finished"
    assert in_spool(tmp_path / "pages.spool") == site.urls
    assert balance(ended)


@pytest.mark.parametrize("way", [{"DEDUP_ON_FULL": "fail"}, {"DEDUP_GIVE_UP_SECONDS": 1, "DEDUP_SPOOL_BYTES": 2_000}])
def test_a_crawl_that_can_take_no_more_pages_is_closed_and_says_what_it_lost(
    tmp_path: Path, way: dict[str, Any]
) -> None:
    with serve(Site(numbered(60, size=20_000))) as site:
        ended = crawl(tmp_path, site, **nowhere(), **LITTLE, **way, DEDUP_FLUSH_TIMEOUT=0)
    lost = ended.dedup["unconfirmed"]
    assert ended.stats["finish_reason"] == ("dedup_unconfirmed" if lost else "dedup_full")
    assert ended.returncode == (1 if lost else 0)
    assert bool(lost) == ("DEDUP_SPOOL_BYTES" in way)
    assert len(in_spool(tmp_path / "pages.spool")) == ended.dedup["spool/left"] > 0
    assert "so the crawl is closed (dedup_full)" in ended.log
    assert len(site.asked) < 61
    assert balance(ended)


def test_the_end_of_a_crawl_says_how_long_it_waits(tmp_path: Path) -> None:
    with serve(Site(numbered(5))) as site:
        ended = crawl(tmp_path, site, **nowhere(), DEDUP_FLUSH_TIMEOUT=12)
    said = re.findall(r"waiting for Kafka to confirm 5 pages, (\d+) s more; then they go to the spool", ended.log)
    assert len(said) == 2
    assert 0 < int(said[1]) < int(said[0]) < 12


def test_the_crawl_and_who_sends_its_spool_tell_together_as_many_pages_as_there_are(tmp_path: Path) -> None:
    """The broker hangs in mid-crawl: it may confirm the pages that it has taken while the crawl ends, or never."""
    kafka = LocalBroker(data_dir=tmp_path / "kafka", announce=print)
    with kafka, serve(Site(numbered(60))) as site:
        make_topic(kafka.bootstrap_servers, "late.")

        def hang(number: int) -> None:
            if number == 40:
                os.kill(kafka.pid or 0, signal.SIGSTOP)

        site.before = hang
        told = {**to_kafka(kafka.bootstrap_servers, "late."), "DEDUP_JOB": "night", "DEDUP_FLUSH_TIMEOUT": 2}
        crawling = Crawl(tmp_path, "site", site.url("/"), told)
        crawling.wait_for_log("Closing spider")
        os.kill(kafka.pid or 0, signal.SIGCONT)
        ended = crawling.end()
        left = ended.dedup["spool/left"]
        assert ended.dedup["confirmed"] + left == 60
        if left:
            sent = send(tmp_path / "pages.spool")
            assert (sent.returncode, f"{left} pages sent, 0 left" in sent.stderr) == (0, True), sent.stderr
        (told_pages,) = marks(kafka.bootstrap_servers, "late.").values()
        assert sum(pages or 0 for pages in told_pages) == 60
        assert set(published(kafka.bootstrap_servers, "late.", site)) == set(site.pages)


def test_a_spool_whose_pages_are_to_go_elsewhere_is_refused_where_it_was_named_and_passed_over_where_not(
    broker: str, topic_prefix: str, tmp_path: Path
) -> None:
    make_topic(broker, f"{topic_prefix}other.")
    jobdir = tmp_path / "job"
    job = {"JOBDIR": str(jobdir), "DEDUP_SPOOL": None, "DEDUP_FLUSH_TIMEOUT": 0}
    elsewhere = to_kafka(broker, f"{topic_prefix}other.")
    spool = jobdir / "dedup.spool"
    with serve(Site(numbered(5))) as site:
        crawl(tmp_path, site, **to_kafka(broker, topic_prefix), **job)
        before, asked = spool.read_bytes(), len(site.asked)
        refused = crawl(tmp_path, site, **elsewhere, DEDUP_SPOOL=str(spool))
        assert (refused.returncode, refused.stats["finish_reason"]) == (1, "dedup_refused")
        assert len(site.asked) == asked
        goes_on = crawl(tmp_path, site, **elsewhere, **job)
    assert (goes_on.returncode, goes_on.stats["finish_reason"]) == (0, "finished")
    for ended in (refused, goes_on):
        said = f"the pages in {spool} are to go to {topic_prefix}pages at {broker}, and this crawl publishes to "
        assert ended.log.count(said) == 1
        assert f"python -m crawler_plugin.spool {spool}" in ended.log
    assert spool.read_bytes() == before
    assert records(broker, f"{topic_prefix}other.") == []


def test_crawls_of_one_spider_in_one_folder_do_not_meet_and_the_next_one_sends_what_they_left_however_they_ended(
    broker: str, topic_prefix: str, tmp_path: Path
) -> None:
    told = {**to_kafka(broker, topic_prefix), **LITTLE, "DEDUP_SPOOL": None, "DEDUP_ON_FULL": "spool"}
    with serve(Site(numbered(40, size=20_000))) as site:
        crawls = []
        for name in ("ended", "killed", "next"):
            (tmp_path / name).mkdir()
        for name in ("ended", "killed"):
            settings = told | {"DEDUP_FLUSH_TIMEOUT": 600 if name == "killed" else 3, "DEDUP_JOB": name}
            crawls.append(Crawl(tmp_path / name, "site", site.url("/"), settings, cwd=tmp_path))
        crawls[1].wait_for_log("waiting for Kafka to confirm")
        crawls[1].send_signal(signal.SIGKILL)
        crawls[1].end()
        crawls[0].end()
        spools = sorted(tmp_path.glob("*.spool"))
        assert [each.name for each in spools] == ["dedup-site.spool", "dedup-site~2.spool"]
        left = sum(len(in_spool(each)) for each in spools)
        make_topic(broker, topic_prefix)
        last = Crawl(tmp_path / "next", "site", site.url("/"), told, cwd=tmp_path).end()
    assert last.dedup["spool/found"] == left > 70
    assert (last.dedup["confirmed"], last.dedup["spool/left"]) == (left + 40, 0)
    assert list(tmp_path.glob("*.spool")) == []


@pytest.mark.parametrize("has_reactor", [True, False], ids=["CrawlerProcess", "AsyncCrawlerProcess"])
def test_two_crawls_cannot_share_a_spool_and_the_second_says_so_in_one_line(tmp_path: Path, has_reactor: bool) -> None:
    path = tmp_path / "pages.spool"
    spool = Spool.open(path, 0)
    with serve(Site(numbered(3))) as site:
        ended = crawl(tmp_path, site, **nowhere(), TWISTED_REACTOR_ENABLED=has_reactor, LOG_LEVEL="ERROR")
    spool.close()
    (line,) = ended.log.splitlines()
    assert f"CRITICAL: {path} is in use by another crawl or command; give each crawl a file of its own" in line
    assert (site.asked, ended.returncode, ended.stats["finish_reason"]) == ([], 1, "dedup_refused")


def test_a_crawl_goes_on_without_the_spool_that_it_has_by_default_and_not_without_one_that_was_named(
    tmp_path: Path,
) -> None:
    jobdir = tmp_path / "job"
    (jobdir / "dedup.spool").mkdir(parents=True)
    with serve(Site(numbered(3))) as site:
        by_default = crawl(tmp_path, site, **nowhere(), JOBDIR=str(jobdir), DEDUP_SPOOL=None, DEDUP_FLUSH_TIMEOUT=0)
        asked = len(site.asked)
        named = crawl(tmp_path, site, **nowhere(), DEDUP_SPOOL=str(jobdir / "dedup.spool"))
    assert asked == 4
    assert by_default.dedup["unconfirmed"] == 3
    assert by_default.stats["finish_reason"] == "dedup_unconfirmed"
    for ended in (by_default, named):
        assert ended.log.count("dedup.spool cannot be written (Is a directory)") == 1
        assert "Traceback" not in ended.log
    assert (len(site.asked), named.returncode, named.stats["finish_reason"]) == (asked, 1, "dedup_refused")
