"""Real crawls of a real site into a real Kafka: the records on the topic afterwards, and the crawl's own report."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import scrapy
from confluent_kafka import Message, Producer

from crawler_plugin.wire.topics import PAGES
from tests.crawler_plugin.crawling import ROOT, Site, article, crawl, make_topic, numbered, records, serve, to_kafka

pytestmark = pytest.mark.cluster

ASYNCIO = "twisted.internet.asyncioreactor.AsyncioSelectorReactor"
SELECT = "twisted.internet.selectreactor.SelectReactor"
SCRAPY = tuple(int(part) for part in scrapy.__version__.split(".")[:2])


def test_a_crawl_leaves_nothing_of_kafka_in_its_log(broker: str, topic_prefix: str, tmp_path: Path) -> None:
    make_topic(broker, topic_prefix)
    with serve(Site(numbered(3))) as site:
        ended = crawl(tmp_path, site, **to_kafka(broker, topic_prefix))
    assert ended.dedup["confirmed"] == 3
    assert "[kafka" not in ended.log
    assert "Exception ignored" not in ended.log
    assert "Traceback" not in ended.log


@pytest.mark.skipif(SCRAPY < (2, 15), reason="Scrapy below 2.15 always has a Twisted reactor")
def test_a_crawl_without_a_twisted_reactor_publishes_too(broker: str, topic_prefix: str, tmp_path: Path) -> None:
    make_topic(broker, topic_prefix)
    with serve(Site(numbered(6, size=20_000))) as site:
        little = {"DEDUP_MAX_PAGE_BYTES": 30_000, "DEDUP_BUFFER_BYTES": 50_000}
        ended = crawl(tmp_path, site, **to_kafka(broker, topic_prefix), **little, TWISTED_REACTOR_ENABLED=False)
    assert {record.meta.url for record in records(broker, topic_prefix)} == site.urls
    assert ended.dedup["confirmed"] == 6


def test_compressed_pages_arrive_as_they_were(broker: str, topic_prefix: str, tmp_path: Path) -> None:
    make_topic(broker, topic_prefix)
    with serve(Site(numbered(10, size=20_000))) as site:
        ended = crawl(tmp_path, site, **to_kafka(broker, topic_prefix), DEDUP_COMPRESSION="gzip")
    found = records(broker, topic_prefix)
    assert {record.meta.url: record.value for record in found} == {
        site.url(path): body for path, body in site.pages.items()
    }
    assert ended.dedup["confirmed"] == 10


def test_a_page_that_is_too_large_is_cut_off(broker: str, topic_prefix: str, tmp_path: Path) -> None:
    make_topic(broker, topic_prefix)
    site = Site({"/page/small": article(1), "/page/large": article(2, size=50_000)})
    with serve(site):
        ended = crawl(tmp_path, site, **to_kafka(broker, topic_prefix), DEDUP_MAX_PAGE_BYTES=8192)
    found = {record.meta.url: record for record in records(broker, topic_prefix)}
    large = found[site.url("/page/large")]
    headers = sum(len(name) + len(value) for name, value in large.meta.to_headers())
    assert len(large.key) + len(large.value) + headers == 8192
    assert article(2, size=50_000).startswith(large.value)
    assert found[site.url("/page/small")].value == article(1)
    assert (ended.dedup["truncated"], ended.dedup["confirmed"]) == (1, 2)
    assert "DEDUP_MAX_PAGE_BYTES=8192" in ended.log


def test_a_page_that_is_too_large_is_left_out_if_the_project_says_so(
    broker: str, topic_prefix: str, tmp_path: Path
) -> None:
    make_topic(broker, topic_prefix)
    site = Site({"/page/small": article(1), "/page/large": article(2, size=50_000)})
    with serve(site):
        limits = {"DEDUP_MAX_PAGE_BYTES": 8192, "DEDUP_OVERSIZE": "reject"}
        ended = crawl(tmp_path, site, **to_kafka(broker, topic_prefix), **limits)
    assert {record.meta.url for record in records(broker, topic_prefix)} == {site.url("/page/small")}
    assert (ended.dedup["rejected/oversize"], ended.dedup["published"]) == (1, 1)
    assert ended.stats["item_scraped_count"] == 2


def test_a_page_that_is_too_large_for_the_topic_is_cut_off_or_left_out_and_costs_no_other(
    broker: str, topic_prefix: str, tmp_path: Path
) -> None:
    make_topic(broker, topic_prefix, partitions=2, max_message_bytes=20_000)
    small = numbered(60)
    large = {f"/large/{number}": os.urandom(30_000) for number in range(3)}
    with serve(Site(small | large)) as site:
        told = to_kafka(broker, topic_prefix)
        rejecting = crawl(tmp_path, site, **told, DEDUP_OVERSIZE="reject")
        assert {record.meta.url for record in records(broker, topic_prefix)} == {site.url(path) for path in small}
        cutting = crawl(tmp_path, site, **told)
    assert rejecting.dedup["rejected/oversize_at_broker"] == rejecting.dedup["rejected/oversize"] == 3
    assert (rejecting.dedup["confirmed"], rejecting.dedup["published"]) == (60, 63)
    assert "raise max.message.bytes" in rejecting.log
    assert (cutting.dedup["truncated"], cutting.dedup["confirmed"]) == (3, 63)
    cut = [record for record in records(broker, topic_prefix) if "/large/" in record.key]
    assert len(cut) == 3
    for record in cut:
        whole = large[record.meta.url.removeprefix(site.url(""))]
        assert whole.startswith(record.value)
        assert 19_000 < len(record.value) < 20_000
    for ended in (rejecting, cutting):
        assert "send_errors" not in ended.dedup, "nothing was sent that the broker refuses"


def test_a_page_lies_where_every_kafka_client_looks_for_its_key(broker: str, topic_prefix: str, tmp_path: Path) -> None:
    make_topic(broker, topic_prefix, partitions=7)
    with serve(Site(numbered(20))) as site:
        crawl(tmp_path, site, **to_kafka(broker, topic_prefix))
    expected: dict[str, int] = {}
    # Java's partitioner, as another client implements it.
    producer = Producer({"bootstrap.servers": broker, "partitioner": "murmur2_random"})

    def delivered(_: object, sent: Message) -> None:
        key, partition = sent.key(), sent.partition()
        assert key is not None
        assert partition is not None
        expected[key.decode()] = partition

    found = records(broker, topic_prefix)
    for record in found:
        producer.produce(
            topic_prefix + PAGES,
            key=record.key,
            on_delivery=delivered,
        )
    assert producer.flush(30) == 0
    assert {record.key: record.partition for record in found} == expected
    assert len(set(expected.values())) > 1


def test_a_project_is_crawled_with_settings_of_the_command_line(broker: str, topic_prefix: str, tmp_path: Path) -> None:
    make_topic(broker, topic_prefix)
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "__init__.py").touch()
    (tmp_path / "scrapy.cfg").write_text("[settings]\ndefault = shop.settings\n")
    (tmp_path / "shop" / "settings.py").write_text(
        'SPIDER_MODULES = ["tests.crawler_plugin.spiders"]\n'
        'ADDONS = {"crawler_plugin.Addon": 500}\n'
        f'DEDUP_BOOTSTRAP_SERVERS = "{broker}"\n'
    )
    with serve(Site(numbered(4))) as site:
        command = [sys.executable, "-m", "scrapy", "crawl", "renamed", "-a", f"start={site.url('/')}"]
        told = {
            "DEDUP_TOPIC_PREFIX": topic_prefix,
            "DEDUP_BUFFER_BYTES": "10000000",
            "DEDUP_FIELDS": '{"url": "link", "body": "html", "status": null}',
        }
        arguments = [part for name, value in told.items() for part in ("-s", f"{name}={value}")]
        ended = subprocess.run(
            [*command, *arguments],
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": str(ROOT), "SCRAPY_JOB": "job-17"},
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
        )
    found = records(broker, topic_prefix)
    assert {record.meta.url for record in found} == site.urls, ended.stderr
    assert {record.meta.job for record in found} == {"job-17"}
