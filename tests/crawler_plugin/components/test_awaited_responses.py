"""Crawls whose callbacks run once the verdict on their response is there."""

from __future__ import annotations

import signal
import threading
from collections import Counter
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import pytest
from kafka import KafkaProducer
from msgspec.structs import replace

from crawler_plugin.wire.outcomes import Verdict
from crawler_plugin.wire.topics import DEAD_LETTERS, VERDICTS, topic_specs
from tests.cluster.cluster import Cluster
from tests.cluster.outside import read
from tests.crawler_plugin.crawling import (
    Crawl,
    Ended,
    Site,
    article,
    crawl,
    make_topic,
    numbered,
    records,
    serve,
    to_kafka,
    to_nobody,
)
from tests.crawler_plugin.judging.test_local import CONFIG, SCRAPY, expect, page, settings_of, site_of_copies, text
from tests.crawler_plugin.odd_site import odd_site
from tests.waiting import wait_for
from tests.wire.test_outcomes import VERDICT as COPY
from worker.stream.kafka.topic_admin import create_topics

AWAITED: Final = {"DEDUP_CAPTURE": True, "DEDUP_AWAIT_RESPONSES": True, "RETRY_ENABLED": False}
SELECT: Final = {"TWISTED_REACTOR": "twisted.internet.selectreactor.SelectReactor"}


def known(ended: Ended, site: Site) -> dict[str, list[str]]:
    """The verdicts that callbacks got, by path; the reason where there was no verdict."""
    found: dict[str, list[str]] = {}
    for url, told in ended.stats.get("spider/known", []):
        word = str(told) if not isinstance(told, dict) else told["verdict"] or f"no: {told['reason']}"
        found.setdefault(url.removeprefix(site.url("")), []).append(word)
    return found


def of(words: Iterable[str], word: str) -> dict[str, list[str]]:
    return {f"/{name}": [word] for name in words}


@pytest.mark.parametrize(
    "loop",
    [
        {"CONCURRENT_REQUESTS": 1},
        SELECT,
        pytest.param(
            {"TWISTED_REACTOR_ENABLED": False},
            marks=pytest.mark.skipif(SCRAPY < (2, 15), reason="Scrapy below 2.15 always has a Twisted reactor"),
        ),
    ],
    ids=["asyncio, one request at a time", "select", "no reactor"],
)
def test_every_callback_knows_the_verdict_on_its_response_or_why_there_is_none(
    tmp_path: Path, loop: dict[str, Any]
) -> None:
    site = odd_site()
    site.pages |= {f"/{name}": page(text(number)) for number, name in enumerate(("first", "again", "hands_on"))}
    site.pages |= {"/second": site.pages["/first"], "/lie": b"%PDF-1.7 no page"}
    odd = {
        "ROBOTSTXT_OBEY": True,
        "JOBDIR": str(tmp_path / "job"),  # requests from callbacks are written to the disk
        "ITEM_PIPELINES": {"scrapy.pipelines.files.FilesPipeline": 1},
        "ADDONS": {"crawler_plugin.Addon": 500},
        "FILES_STORE": str(tmp_path / "files"),
    }
    with serve(site):
        ended = crawl(tmp_path, site, "heard", **settings_of(tmp_path, **CONFIG), **AWAITED, **odd, **loop)
    assert (ended.returncode, ended.stats["finish_reason"]) == (0, "finished")
    found = known(ended, site)
    assert sorted([*found.pop("/first"), *found.pop("/second")]) == ["duplicate", "unique"]
    uncaptured = "picture.png", "paper.pdf", "untyped_bytes", "gone", "robots.txt", "picture.png?handed_on"
    pages = set(site.pages) | {"/", "/rows.json", "/notes.txt", "/feed.rss", "/untyped", "/arrived"}
    single = {path.removeprefix("/") for path in pages - {"/first", "/second", "/again", "/lie"}}
    assert found == of(single, "unique") | of(["lie"], "dead") | of(["switched_off"], "False") | of(
        uncaptured, "no: not_captured"
    ) | {"/again": ["unique", "refetch"]}
    assert ended.stats["spider_exceptions/count"] == 2, "those of the spider's own"

    # Listeners hear of each page once, with its request and response.
    heard = Counter(verdict for _, verdict, _, _ in ended.stats["spider/judged"])
    told = Counter(word for words in known(ended, site).values() for word in words)
    assert heard == {word: told[word] for word in ("unique", "duplicate", "refetch", "dead")}
    assert all(
        url == requested == answered or "/moved" in requested or "/arrived" in url
        for url, _, requested, answered in ended.stats["spider/judged"]
    )


@pytest.mark.cluster
def test_with_workers_callbacks_and_listeners_hear_what_they_find_though_one_is_killed_meanwhile(
    broker: str, topic_prefix: str, tmp_path: Path
) -> None:
    site, may_go_on = site_of_copies(), threading.Event()
    site.pages |= {"/lie": b"%PDF-1.7 no page"}
    site.before = lambda number: None if number <= 4 else expect(may_go_on)
    small = ("topics.partitions=2", "topics.shards=2", "output.mode=verdicts")
    with serve(site), Cluster(broker, topic_prefix, tmp_path, small) as cluster:
        told = to_kafka(broker, topic_prefix) | AWAITED | {"DEDUP_AWAIT": 120, "DEDUP_JOB": "one"}
        worker = cluster.start_worker()
        begun = Crawl(tmp_path, "heard", site.url("/"), told)
        begun.wait_for_log("heard: unique")
        worker.kill()
        may_go_on.set()
        wait_for(lambda: len(site.asked) == 1 + len(site.pages), "all requests", pause=0.05)
        cluster.start_worker()
        ended = begun.end()
        assert cluster.stop() == [0]
        found = [Verdict.decode(each.value) for each in read(broker, topic_prefix + VERDICTS)]
    assert (ended.returncode, ended.stats["finish_reason"]) == (0, "finished")
    written = {verdict.url: verdict.verdict for verdict in found} | {site.url("/lie"): "dead"}
    assert {site.url(path): word for path, (word,) in known(ended, site).items()} == written
    assert Counter(written.values()) == {"unique": 5, "duplicate": 4, "dead": 1}
    assert sorted(ended.stats["spider/judged"]) == sorted([url, word, url, url] for url, word in written.items())


@pytest.mark.cluster
def test_without_workers_or_a_broker_callbacks_are_called_all_the_same_and_a_crawl_that_is_closed_ends(
    broker: str, topic_prefix: str, tmp_path: Path
) -> None:
    make_topic(broker, topic_prefix, max_message_bytes=8192)
    site = Site(numbered(5) | {"/large": article(9, 9000)})
    impatient = AWAITED | {"DEDUP_AWAIT": 0.3, "CONCURRENT_REQUESTS": 1}
    with serve(site):
        here = impatient | {"DEDUP_OVERSIZE": "reject"} | to_kafka(broker, topic_prefix)
        ended = crawl(tmp_path, site, "heard", **here)
        late = {path: ["no: late"] for path in ("/", *site.pages)}
        assert known(ended, site) == late | {"/large": ["no: too_large"]}
        counted = {name: count for name, count in ended.dedup.items() if name.startswith("callback_without_verdict/")}
        assert counted == {"callback_without_verdict/late": 6, "callback_without_verdict/too_large": 1}
        assert (ended.dedup["confirmed"], ended.stats["item_scraped_count"]) == (6, 6)

        # No broker. The spool takes the pages that find no room, and the rest at the end.
        away = to_nobody(topic_prefix) | {
            "DEDUP_FLUSH_TIMEOUT": 0,
            "DEDUP_BUFFER_BYTES": 4096,
            "DEDUP_MAX_PAGE_BYTES": 4096,
            "DEDUP_ON_FULL": "spool",
        }
        ended = crawl(tmp_path, site, "heard", **impatient, **away)
        words = Counter(word for (word,) in known(ended, site).values())
        assert words == {"no: late": 3, "no: spooled": 4}
        assert ended.dedup["spool/written"] == 7

        # Closed while a callback waits.
        patient = impatient | {"DEDUP_AWAIT": 3, "DEDUP_SPOOL": "none"} | to_kafka(broker, topic_prefix)
        waiting = Crawl(tmp_path, "heard", site.url("/"), patient)
        waiting.wait_for_log(r"Crawled \(200\)")
        waiting.send_signal(signal.SIGINT)
        ended = waiting.end()
    assert (ended.returncode, ended.stats["finish_reason"]) == (0, "shutdown")
    assert known(ended, site) == {"/": ["no: late"]}


@pytest.mark.cluster
def test_what_only_listens_hears_of_the_pages_of_its_job_and_spider(
    broker: str, topic_prefix: str, tmp_path: Path
) -> None:
    make_topic(broker, topic_prefix)
    specs = [spec for spec in topic_specs(prefix=topic_prefix, partitions=1) if spec.topic in (VERDICTS, DEAD_LETTERS)]
    create_topics({"bootstrap_servers": [broker]}, specs, 1)
    may_end = threading.Event()
    site = Site(numbered(1), before_page={"/page/0": lambda: expect(may_end)})
    with serve(site), closing(KafkaProducer(bootstrap_servers=[broker])) as producer:
        told = to_kafka(broker, topic_prefix) | {"DEDUP_CAPTURE": True, "DEDUP_JOB": "one"}
        listening = Crawl(tmp_path, "heard", site.url("/"), told)
        wait_for(lambda: len(records(broker, topic_prefix)) == 1, "the first page", pause=0.1)
        for job in ("two", "one"):
            verdict = replace(COPY, job=job, spider="heard")
            sent = producer.send(topic_prefix + VERDICTS, verdict.encode(), headers=verdict.crawl_headers())
            sent.get(timeout=30)
        listening.wait_for_log("heard: duplicate")
        may_end.set()
        ended = listening.end()
    assert ended.stats["spider/judged"] == [[COPY.url_as_given or COPY.url, "duplicate", None, None]]
    assert set(known(ended, site)) == {"/", "/page/0"}
