"""A small crawl through the real broker and a real worker, and a spider at work, watched by a real Prometheus."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Final

from crawler_plugin.wire.page_headers import PageMeta
from tests.cluster.cluster import Cluster, WorkerProcess
from tests.crawler_plugin.crawling import Crawl, Site, numbered, serve, to_kafka
from tests.observe.prometheus import Prometheus
from tests.waiting import wait_for
from worker.demo.articles import articles

SMALL: Final = ("topics.partitions=2", "topics.shards=2")
HTML: Final = "text/html; charset=utf-8"
CRAWLS: Final = (("新闻", "新闻 2026-05"), ("archive", "archive-12"))
TRAP: Final = "trap.example"
HOSTS: Final = ("news.example", "mirror.example", "archive.example")


def pages(lap: int) -> Iterator[tuple[PageMeta, bytes]]:
    """Chinese and English articles, some on two hosts, and a page that is not text; each lap has twice as many."""
    for number, article in enumerate(articles()[:: max(1, 4 >> lap)]):
        for copy in range(1 + number % 2):
            spider, job = CRAWLS[number % len(CRAWLS)]
            url = f"http://{HOSTS[(number + copy) % len(HOSTS)]}/{lap}/{article.slug}"
            body = f"<html><body><article>{''.join(f'<p>{p}</p>' for p in article.paragraphs)}</article></body></html>"
            yield PageMeta(url=url, content_type=HTML, spider=spider, job=job), body.encode()
    for number in range(30):
        yield PageMeta(url=f"http://{TRAP}/calendar/{lap}-{number}", content_type=HTML), b"<p>Nothing on this day.</p>"
    yield PageMeta(url=f"http://files.example/{lap}", content_type="application/pdf", spider="archive"), b"%PDF-1.7"


@contextmanager
def spider_at_work(bootstrap: str, prefix: str, folder: Path) -> Iterator[str]:
    """The ``host:port`` of the metrics of a spider that has published some pages and waits for another one."""
    go_on = threading.Event()
    site = Site(numbered(12), before_page={"/page/11": partial(_wait, go_on)})
    with serve(site):
        settings = to_kafka(bootstrap, prefix) | {"DEDUP_STATS_PORT": 0, "DEDUP_JOB": "watched"}
        crawl = Crawl(folder, "site", site.url("/"), settings)
        try:
            crawl.wait_for_log("metrics of this crawl: http://")
            found = re.search(r"metrics of this crawl: http://(\S+)/metrics", crawl.log)
            assert found is not None
            yield found[1]
        finally:
            go_on.set()
            crawl.end()


@contextmanager
def watched_crawl(bootstrap: str, prefix: str, folder: Path, workers: int = 1) -> Iterator[tuple[Cluster, Prometheus]]:
    """Workers whose page counts Prometheus has seen once, and then seen rise."""
    with Cluster(bootstrap, prefix, folder, (*SMALL, "near.track_changes=true")) as cluster:
        started = [cluster.start_worker() for _ in range(workers)]
        for worker in started:
            wait_for(partial(_has_said_or_ended, worker), "a worker to say where its metrics are")
        with (
            spider_at_work(bootstrap, prefix, folder) as spider,
            Prometheus(folder, *map(metrics_of, started), spiders=[spider]) as prometheus,
        ):
            prometheus.query("dedup_ready")
            cluster.publish(pages(0))
            cluster.wait_until_committed()
            prometheus.query("sum(dedup_host_pages_total) > 0")
            prometheus.query("dedup_spider_confirmed_pages_total > 0")
            cluster.publish(pages(1))
            cluster.publish(islice(pages(0), 10))  # again: none of them is new
            cluster.wait_until_committed()
            yield cluster, prometheus


def _wait(event: threading.Event) -> None:
    event.wait()


def _has_said_or_ended(worker: WorkerProcess) -> bool:
    return bool(metrics_of(worker)) or not worker.alive


def metrics_of(worker: WorkerProcess) -> str:
    """``host:port`` of its metrics, empty until the worker has printed it."""
    found = re.search(r"^metrics: http://(\S+)/metrics$", worker.said(), re.MULTILINE)
    return found[1] if found else ""
