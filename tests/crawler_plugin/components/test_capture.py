"""Crawls whose responses are captured: exactly the responses that callbacks get are on the topic."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.http import Response

from tests.crawler_plugin.crawling import (
    IMPATIENT,
    Answer,
    Crawl,
    Ended,
    Site,
    article,
    crawl,
    make_topic,
    numbered,
    published,
    records,
    serve,
    to_kafka,
    to_nobody,
)
from tests.crawler_plugin.odd_site import FLOW, odd_site
from worker.broker.ports import free_port
from worker.broker.server import LocalBroker

pytestmark = pytest.mark.cluster

CAPTURE = {"DEDUP_CAPTURE": True}
ASYNCIO = "twisted.internet.asyncioreactor.AsyncioSelectorReactor"
SELECT = "twisted.internet.selectreactor.SelectReactor"
PUBLISHED = {f"/{name}" for name in FLOW} | {
    "/",
    "/rows.json",
    "/notes.txt",
    "/feed.rss",
    "/untyped",
    "/arrived",
}


def skipped(ended: Ended) -> dict[str, int]:
    return {name.removeprefix("skipped/"): count for name, count in ended.dedup.items() if name.startswith("skipped/")}


@pytest.mark.parametrize("reactor", [ASYNCIO, SELECT])
def test_every_response_that_a_callback_gets_is_published_if_it_is_a_page_and_nothing_else_is(
    broker: str, topic_prefix: str, tmp_path: Path, reactor: str
) -> None:
    make_topic(broker, topic_prefix)
    odd = {
        "ROBOTSTXT_OBEY": True,
        "RETRY_ENABLED": False,
        "DUPEFILTER_CLASS": "scrapy.dupefilters.BaseDupeFilter",  # so that the page of a redirect is fetched twice
        "ITEM_PIPELINES": {"scrapy.pipelines.files.FilesPipeline": 1},
        "ADDONS": {"crawler_plugin.Addon": 500},
        "FILES_STORE": str(tmp_path / "files"),
        "TWISTED_REACTOR": reactor,
    }
    with serve(odd_site()) as site:
        ended = crawl(tmp_path, site, "captured", **to_kafka(broker, topic_prefix), **CAPTURE, **odd)
    told = {
        record.meta.url: {name: value for name, value in record.headers.items() if name.startswith("dedup-")}
        for record in records(broker, topic_prefix)
    }
    said = {url: flags for url, flags in told.items() if flags}
    assert said == {site.url("/notes.txt"): {"dedup-store": b"no", "dedup-pardon": b"yes"}}
    found = published(broker, topic_prefix, site)
    # The spider fetches the page with the media for its link, and the media pipeline fetches it for items.
    assert found.pop("/media.html") == 1 < site.asked.count("/media.html")
    assert found.pop("/arrived") == 2, "by its link, and at the end of a redirect"
    assert found == dict.fromkeys(PUBLISHED - {"/arrived"}, 1)
    got = Counter(url.removeprefix(site.url("")) for url in ended.stats["spider/got"])
    kept_back = {"/picture.png", "/paper.pdf", "/untyped_bytes", "/switched_off", "/gone", "/robots.txt"}
    assert set(got) == PUBLISHED | kept_back | {"/media.html"}, "what callbacks got, and nobody else"
    assert skipped(ended) == {
        "content_type": 3,
        "switched_off": 1,
        "status": 1,
        "robots_txt": 1,
        "captured": ended.stats["item_scraped_count"],
    }
    assert ended.dedup["confirmed"] == ended.dedup["published"] == sum(found.values()) + 3
    assert ended.stats["spider_exceptions/ValueError"] == 2


def test_a_captured_page_says_what_is_known_of_it(broker: str, topic_prefix: str, tmp_path: Path) -> None:
    make_topic(broker, topic_prefix)
    with serve(
        Site({"/page/1": article(1)}, {"/odd": Answer(201, {"Content-Type": "text/html; charset=gbk"})})
    ) as site:
        crawl(tmp_path, site, **to_kafka(broker, topic_prefix), **CAPTURE, DEDUP_JOB="monday")
    found = {record.meta.url: record for record in records(broker, topic_prefix)}
    assert set(found) == {site.url("/"), site.url("/page/1"), site.url("/odd")}
    assert found[site.url("/page/1")].value == article(1)
    odd = found[site.url("/odd")]
    assert (odd.value, odd.meta.status, odd.meta.content_type) == (b"", 201, "text/html; charset=gbk")
    assert (odd.meta.spider, odd.meta.job, odd.meta.form, odd.meta.encoding) == ("site", "monday", "bytes", None)
    assert odd.meta.fetched is not None


def test_types_and_statuses_are_as_set(broker: str, topic_prefix: str, tmp_path: Path) -> None:
    make_topic(broker, topic_prefix)
    chosen = {"DEDUP_CAPTURE_TYPES": ["application/pdf", "text/html"], "DEDUP_CAPTURE_STATUS": "404, 200"}
    with serve(odd_site()) as site:
        crawl(tmp_path, site, "captured", **to_kafka(broker, topic_prefix), **CAPTURE, **chosen, RETRY_ENABLED=False)
    found = set(published(broker, topic_prefix, site))
    assert {"/paper.pdf", "/gone", "/arrived", "/"} <= found
    assert not found & {"/rows.json", "/notes.txt", "/picture.png", "/broken"}


def test_what_comes_out_of_the_cache_is_published_too(broker: str, topic_prefix: str, tmp_path: Path) -> None:
    make_topic(broker, topic_prefix)
    cache = {"HTTPCACHE_ENABLED": True, "HTTPCACHE_DIR": str(tmp_path / "cache")}
    with serve(Site(numbered(3))) as site:
        for _ in range(2):
            ended = crawl(tmp_path, site, **to_kafka(broker, topic_prefix), **CAPTURE, **cache)
    assert ended.stats["httpcache/hit"] == 4
    assert published(broker, topic_prefix, site) == dict.fromkeys(["/", *site.pages], 2)


def test_the_robots_txt_that_a_spider_reads_itself_is_no_page(broker: str, topic_prefix: str, tmp_path: Path) -> None:
    make_topic(broker, topic_prefix)
    site = Site({"/page/1": article(1)})
    with serve(site):
        sitemap = f"<urlset><url><loc>{site.url('/page/1')}</loc></url></urlset>".encode()
        site.others["/sitemap.xml"] = Answer(200, {"Content-Type": "application/xml"}, sitemap)
        robots = f"Sitemap: {site.url('/sitemap.xml')}\n".encode()
        site.others["/robots.txt"] = Answer(200, {"Content-Type": "text/plain"}, robots)
        ended = crawl(tmp_path, site, "sitemaps", **to_kafka(broker, topic_prefix), **CAPTURE)
    assert set(published(broker, topic_prefix, site)) == {"/sitemap.xml", "/page/1"}
    assert skipped(ended) == {"robots_txt": 1}


SIZE = 20_000
LITTLE = {"DEDUP_MAX_PAGE_BYTES": 30_000, "DEDUP_BUFFER_BYTES": 120_000, "CONCURRENT_REQUESTS": 4}
"""Room for five pages; four more may be under way."""


@pytest.fixture
def away(tmp_path: Path) -> Iterator[LocalBroker]:
    """A broker with a port that is not started."""
    broker = LocalBroker(data_dir=tmp_path / "kafka", port=free_port(), announce=print)
    yield broker
    broker.stop()


@pytest.mark.parametrize("spider", ["site", "raising"])
def test_requests_wait_while_the_budget_is_spent_whatever_callbacks_do(
    away: LocalBroker, tmp_path: Path, spider: str
) -> None:
    with serve(Site(numbered(60, size=SIZE))) as site:
        told = to_kafka(away.bootstrap_servers, "late.") | LITTLE | CAPTURE | IMPATIENT
        waiting = Crawl(tmp_path, spider, site.url("/"), told)
        waiting.wait_for_log("Kafka takes no pages")
        asked = len(site.asked)
        away.start()
        make_topic(away.bootstrap_servers, "late.")
        ended = waiting.end()
    assert asked <= 1 + 5 + 4, "the crawl must not go on while nothing is confirmed"
    assert published(away.bootstrap_servers, "late.", site) == dict.fromkeys(["/", *site.pages], 1)
    assert (ended.dedup["confirmed"], ended.dedup["unconfirmed"]) == (61, 0)
    assert ended.stats["dedup/waited_pages"] > 0
    assert ended.stats["dedup/buffered_bytes_max"] <= 120_000


@pytest.mark.parametrize("reactor", [ASYNCIO, SELECT])
def test_a_crawl_that_is_closed_while_its_requests_wait_comes_to_its_end(tmp_path: Path, reactor: str) -> None:
    nowhere = to_nobody("nowhere.")
    closing = {"CLOSESPIDER_TIMEOUT": 2, "TWISTED_REACTOR": reactor, "DEDUP_FLUSH_TIMEOUT": 1}
    with serve(Site(numbered(40, size=SIZE))) as site:
        ended = crawl(tmp_path, site, **nowhere, **LITTLE, **CAPTURE, **closing)
    assert ended.stats["finish_reason"] == "closespider_timeout"
    assert ended.stats["dedup/waited_pages"] > 0
    assert ended.dedup["spool/left"] == ended.dedup["published"] == len(site.asked)
    assert ended.dedup["unconfirmed"] == 0


class Rendering:
    """Marks responses as scrapy-playwright does, for the given paths."""

    def __init__(self, paths: list[str]) -> None:
        self._paths = paths

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Rendering:
        return cls(crawler.settings.getlist("RENDERED"))

    def process_response(self, request: Request, response: Response) -> Response:
        return response.replace(flags=["playwright"]) if urlsplit(response.url).path in self._paths else response


@pytest.mark.parametrize(
    ("rendered", "warnings"), [((), 0), (("/page/1", "/page/2"), 1), (("/", "/page/0", "/page/1", "/page/2"), 0)]
)
def test_pages_that_a_browser_rendered_have_a_header_and_a_crawl_that_mixes_them_is_warned_once(
    broker: str, topic_prefix: str, tmp_path: Path, rendered: tuple[str, ...], warnings: int
) -> None:
    make_topic(broker, topic_prefix)
    with serve(Site(numbered(3))) as site:
        ended = crawl(
            tmp_path,
            site,
            "captured",
            **CAPTURE,
            **to_kafka(broker, topic_prefix),
            RENDERED=list(rendered),
            DOWNLOADER_MIDDLEWARES={f"{__name__}.Rendering": 1},
        )
    found = records(broker, topic_prefix)
    assert len(found) == 4
    marked = {record.meta.url.removeprefix(site.url("")) for record in found if "rendered" in record.headers}
    assert marked == set(rendered)
    assert all(record.headers.get("rendered", b"playwright") == b"playwright" for record in found)
    assert ended.log.count("rendered by scrapy-playwright, and pages before it") == warnings
