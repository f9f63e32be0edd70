"""One server per process and address: crawls come and go, taken ports are passed over, and a real crawl is seen while
it runs."""

from __future__ import annotations

import http.client
import re
import threading
from contextlib import closing
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from crawler_plugin import stats
from crawler_plugin.metrics.declared import CrawlNumbers
from crawler_plugin.metrics.server import LOCAL, ListenAddress, hide, show
from tests.crawler_plugin.crawling import Crawl, Site, make_topic, numbered, serve, to_kafka, to_nobody
from tests.waiting import wait_for
from worker.broker.ports import free_port

ANY = ListenAddress(LOCAL, 0)


def ask(address: ListenAddress, path: str = "/metrics", method: str = "GET") -> tuple[int, str]:
    with closing(http.client.HTTPConnection(address.host, address.port, timeout=30)) as connection:
        connection.request(method, path)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()


def one() -> CrawlNumbers:
    return CrawlNumbers("one", "may", {stats.PUBLISHED: 1}, None)


def two() -> CrawlNumbers:
    return CrawlNumbers("two", "may", {}, None)


def test_crawls_of_one_process_share_a_server_which_ends_with_the_last_of_them() -> None:
    address = show(ANY, one)
    assert show(ANY, two) == address
    assert all(f'spider="{name}"' in ask(address)[1] for name in ("one", "two"))
    hide(ANY, one)
    assert 'spider="one"' not in ask(address)[1]
    hide(ANY, two)
    with pytest.raises(OSError):
        ask(address)
    hide(ANY, two)  # and again, as for a crawl that could not be shown


def test_only_metrics_are_told_and_only_who_asks_with_get_is() -> None:
    address = show(ANY, one)
    try:
        assert ask(address, "/metrics?name=all")[0] == 200
        assert ask(address, method="HEAD") == (200, "")
        assert ask(address, "/") == (404, "There is /metrics.\n")
        assert ask(address, method="POST")[0] == 501
    finally:
        hide(ANY, one)


def test_an_address_of_another_machine_is_an_error() -> None:
    with pytest.raises(OSError):
        show(ListenAddress("192.0.2.1", 0), one)
    with pytest.raises(OSError):
        show(ListenAddress("no.such.host.invalid", 0), one)


def where(crawl: Crawl) -> ListenAddress:
    crawl.wait_for_log(r"metrics of this crawl: http://")
    found = re.search(r"metrics of this crawl: http://([\d.]+):(\d+)/metrics", crawl.log)
    assert found is not None
    return ListenAddress(found[1], int(found[2]))


def numbers(address: ListenAddress) -> dict[str, float]:
    """The values by name without prefix; where there is a third label, its value follows behind a space."""
    return {
        " ".join([sample.name.removeprefix("dedup_spider_"), *list(sample.labels.values())[2:]]): sample.value
        for family in text_string_to_metric_families(ask(address)[1])
        for sample in family.samples
        if (sample.labels["spider"], sample.labels["crawl"]) == ("site", "may")
    }


@pytest.mark.cluster
def test_a_crawl_is_seen_while_it_runs_and_its_numbers_end_with_it(
    broker: str, topic_prefix: str, tmp_path: Path
) -> None:
    make_topic(broker, topic_prefix)
    go_on = threading.Event()

    def wait() -> None:
        go_on.wait(120)

    site = Site(numbered(20), before_page={"/page/19": wait})
    with serve(site):
        settings = to_kafka(broker, topic_prefix) | {"DEDUP_STATS_PORT": 0, "DEDUP_JOB": "may"}
        crawl = Crawl(tmp_path, "site", site.url("/"), settings)
        try:
            address = where(crawl)
            wait_for(lambda: numbers(address)["confirmed_pages_total"] >= 19, "Kafka to confirm what was fetched")
            seen = numbers(address)
            assert seen["published_pages_total"] == seen["confirmed_pages_total"]
            assert seen["responses_total"] >= seen["published_pages_total"]
            assert [seen[f"{name}"] for name in ("unconfirmed_pages", "unconfirmed_bytes", "silence_seconds")] == [
                0
            ] * 3
        finally:
            go_on.set()
            ended = crawl.end()
    assert ended.returncode == 0, ended.log
    assert ended.dedup["published"] == seen["published_pages_total"] + 1
    with pytest.raises(OSError):
        ask(address)


@pytest.mark.cluster
def test_what_waits_for_a_broker_that_is_away_is_seen_and_a_port_that_cannot_be_had_ends_no_crawl(
    topic_prefix: str, tmp_path: Path
) -> None:
    with serve(Site(numbered(8, size=5000))) as site:
        settings = to_nobody(topic_prefix) | {
            "DEDUP_JOB": "may",
            "DEDUP_STATS_PORT": str(free_port()),
            "DEDUP_MAX_PAGE_BYTES": 10_000,
            "DEDUP_BUFFER_BYTES": 20_000,
            "DEDUP_GIVE_UP_SECONDS": 5,
            "DEDUP_FLUSH_TIMEOUT": 0,
        }
        crawl = Crawl(tmp_path, "site", site.url("/"), settings)
        address = where(crawl)
        wait_for(lambda: numbers(address)["waiting_pages"] > 0, "a page to find no room", pause=0.05)
        seen = numbers(address)
        assert seen["confirmed_pages_total"] == 0
        assert 0 < seen["unconfirmed_bytes"] <= 20_000
        assert seen["silence_seconds"] > 0
        wait_for(lambda: numbers(address)["spooled_pages_total"] > 0, "pages to go to the spool", pause=0.02)
        assert numbers(address)["spool_pages"] > 0
        crawl.send_signal(15)
        crawl.end()
        (tmp_path / "other").mkdir()
        settings |= {"DEDUP_STATS_PORT": "192.0.2.1:9564", "DEDUP_ON_FULL": "spool"}
        other = Crawl(tmp_path / "other", "site", site.url("/"), settings).end()
    assert "cannot listen on 192.0.2.1:9564" in other.log
    assert other.dedup["spool/left"] >= 8
