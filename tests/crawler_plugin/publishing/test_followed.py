"""Crawls whose items wait for the workers' verdicts on their pages."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import threading
from collections import defaultdict
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import pytest
from kafka import KafkaProducer
from kafka.consumer.fetcher import ConsumerRecord
from msgspec.structs import replace

from crawler_plugin.feedback.state_file import FILE, read_known
from crawler_plugin.publishing.followed import MOST_EARLY, FollowedVerdicts, HeardVerdict
from crawler_plugin.record import Origin
from crawler_plugin.waiting_items import ComingVerdict, Told
from crawler_plugin.wire.outcomes import Verdict, dead_letter_headers
from crawler_plugin.wire.topics import DEAD_LETTERS, VERDICTS, topic_specs
from crawler_plugin.wire.urls import canonical_url
from tests.cluster.cluster import Cluster, grow
from tests.cluster.outside import read
from tests.crawler_plugin.crawling import (
    DEADLINE_S,
    Crawl,
    Site,
    crawl,
    make_topic,
    numbered,
    serve,
    to_kafka,
    to_nobody,
)
from tests.local.crawled import WORDS
from tests.waiting import wait_for
from tests.wire.test_outcomes import VERDICT as COPY
from worker.stream.kafka.topic_admin import create_topics

KEPT: Final = ("unique", "refetch")


def page(number: int) -> bytes:
    words = " ".join(f"{word}{number}" for word in WORDS)
    return f"<html><body><p>{words}</p></body></html>".encode()


def site_of_copies(count: int) -> Site:
    """``count`` pages, each with a copy elsewhere, and a page that cannot be read."""
    pages = {f"/page/{number}": page(number) for number in range(count)}
    copies = {f"/copy/{number}": page(number) for number in range(count)}
    return Site(pages | copies | {"/paper": b"%PDF-1.7 no page"})


def feed(folder: Path) -> dict[str, Any]:
    return {"FEEDS": {str(folder / "items.jsonl"): {"format": "jsonlines", "overwrite": True}}}


def items(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "items.jsonl").read_text(encoding="utf-8").splitlines()]


def verdicts(cluster: Cluster, job: str) -> dict[str, list[str]]:
    """The verdicts on each URL of a job, in the order of its fetches."""
    found = [Verdict.decode(record.value) for record in read(cluster.bootstrap, cluster.prefix + VERDICTS)]
    of_job: dict[str, list[str]] = defaultdict(list)
    for record in sorted(found, key=lambda record: record.source):
        if record.job == job:
            of_job[record.url].append(record.verdict)
    return of_job


def rows_of(cluster: Cluster, job: str) -> dict[str, list[str]]:
    """The output of the command ``verdicts --job``, with dead letters; the command fails if its sum is wrong."""
    options = [word for pair in cluster.overrides for word in ("--set", pair)]
    printed = subprocess.run(
        [sys.executable, "-m", "worker", "verdicts", "--job", job, *options],
        cwd=cluster.folder,
        env={name: value for name, value in os.environ.items() if not name.startswith("DEDUP_")},
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )
    assert printed.returncode == 0, printed.stderr
    rows = [json.loads(line) for line in printed.stdout.splitlines()]
    assert {row["job"] for row in rows} == {job}
    assert f"job {job}: {len(rows)} pages = " in printed.stderr
    found: dict[str, list[str]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: (row["partition"], row["offset"])):
        found[row["url"]].append(row["verdict"])
    return found


@pytest.mark.cluster
def test_feeds_of_two_crawls_at_once_hold_what_verdicts_keep_though_the_worker_is_killed_meanwhile(
    broker: str, topic_prefix: str, tmp_path: Path
) -> None:
    site, may_go_on = site_of_copies(12), threading.Event()
    site.before = lambda number: None if number <= 20 else wait_until(may_go_on)
    small = ("topics.partitions=2", "topics.shards=2", "output.mode=verdicts")
    with serve(site), Cluster(broker, topic_prefix, tmp_path, small) as cluster:
        folders = {job: tmp_path / job for job in ("one", "two")}
        for folder in folders.values():
            folder.mkdir()
        waits = to_kafka(broker, topic_prefix) | {"DEDUP_AWAIT": 120, "DEDUP_DROP": True, "DEDUP_FEEDBACK": True}

        def start(job: str, spider: str, **more: Any) -> Crawl:
            more |= feed(folders[job]) | {"DEDUP_JOB": job, "JOBDIR": str(folders[job] / "job")}
            return Crawl(folders[job], spider, site.url("/"), waits | more)

        worker = cluster.start_worker()
        one, two = start("one", "judged"), start("two", "title", DEDUP_CAPTURE=True)
        wait_for(lambda: any("Scraped from" in each.log for each in (one, two)), "an item that passed")
        worker.kill()
        may_go_on.set()
        wait_for(lambda: len(site.asked) >= 2 + 3 * len(site.pages), "all requests")
        cluster.start_worker()
        ended = one.end(), two.end()
        of_items, of_pages = verdicts(cluster, "one"), verdicts(cluster, "two")

        # According to python -m worker verdicts --job each crawl has its own pages, as many as it has published.
        paper = site.url("/paper")
        assert rows_of(cluster, "one") == of_items | {paper: ["dead"]}
        assert rows_of(cluster, "two") == of_pages | {paper: ["dead"] * 2}

        found = {item["url"]: item["dedup"]["verdict"] for item in items(folders["one"])}
        dead = {site.url("/paper"): "dead"}
        assert found == {url: told for url, (told,) in of_items.items() if told in KEPT} | dead
        assert len(of_items) == 24
        assert ended[0].dedup["verdict/duplicate"] + len(found) == 25

        # The crawls have learned the verdicts on their own pages, and no others.
        learned = read_known(folders["one"] / "job" / FILE)
        assert learned is not None
        of_copies = [told for url, (told,) in of_items.items() if "/copy/" in url]
        counts = learned.groups["127.0.0.1/copy/{number}"]
        assert (counts.verdicts, counts.found) == (12, sum(told in KEPT for told in of_copies))

        # Captured responses: two items from each page's first fetch, one from its second. The start page is a page too.
        kept: dict[str, list[str]] = defaultdict(list)
        for item in items(folders["two"]):
            kept[item["url"]].append(item["dedup"]["verdict"])
        expected = {
            url: [told for told in (first, first, second) if told in KEPT]
            for url, (first, second) in ((url, told) for url, told in of_pages.items() if url != site.url("/"))
        }
        told = {url: found for url, found in expected.items() if found} | {site.url("/paper"): ["dead"] * 3}
        assert {url: sorted(found) for url, found in kept.items()} == {
            url: sorted(found) for url, found in told.items()
        }
        for each in ended:
            assert (each.returncode, each.stats["finish_reason"]) == (0, "finished")
            assert not [name for name in each.dedup if name.startswith("without_verdict")]
        assert cluster.stop() == [0]


def wait_until(event: threading.Event) -> None:
    assert event.wait(DEADLINE_S)


@pytest.mark.cluster
def test_items_that_wait_too_long_pass_without_a_verdict_and_it_is_said_why(
    broker: str, topic_prefix: str, tmp_path: Path
) -> None:
    make_topic(broker, topic_prefix)
    site = Site(numbered(5))
    with serve(site):
        impatient = feed(tmp_path) | {"DEDUP_AWAIT": 0.3, "DEDUP_DROP": True}
        ended = crawl(tmp_path, site, "judged", **impatient, **to_kafka(broker, topic_prefix))
        assert {item["url"]: item["dedup"] for item in items(tmp_path)} == dict.fromkeys(site.urls)
        assert (ended.dedup["without_verdict/late"], ended.dedup["confirmed"]) == (5, 5)
        assert f"topic {topic_prefix}dead-letters, {topic_prefix}verdicts not found" in ended.log
        assert "passes without the verdict on its page: it was not there after DEDUP_AWAIT=0.3 seconds" in ended.log

        # No broker at all. The spool takes the pages that find no room.
        away = to_nobody(topic_prefix) | {
            "DEDUP_FLUSH_TIMEOUT": 0,
            "DEDUP_BUFFER_BYTES": 4096,
            "DEDUP_MAX_PAGE_BYTES": 4096,
            "DEDUP_ON_FULL": "spool",
        }
        ended = crawl(tmp_path, site, "judged", **impatient, **away)
        assert {item["url"]: item["dedup"] for item in items(tmp_path)} == dict.fromkeys(site.urls)
        assert (ended.dedup["without_verdict/late"], ended.dedup["without_verdict/spooled"]) == (3, 2)
        assert ended.dedup["spool/written"] == 5


@pytest.fixture
def heard() -> list[tuple[ComingVerdict, Told]]:
    return []


@pytest.fixture
def followed(heard: list[tuple[ComingVerdict, Told]]) -> FollowedVerdicts:
    """Followed verdicts that are not started."""

    def at_once(function: Callable[[], None]) -> None:
        function()

    return FollowedVerdicts(
        {},
        "verdicts",
        "dead-letters",
        Origin({}, "news", "7"),
        call=at_once,
        hear=lambda coming, told: heard.append((coming, told)),
        complain=lambda error: None,
    )


def verdict(offset: int, job: str = "7") -> ConsumerRecord:
    record = replace(COPY, job=job, spider="news", source=(0, offset))
    told: dict[str, Any] = dict.fromkeys(ConsumerRecord.__annotations__ or ConsumerRecord._fields)
    return ConsumerRecord(**told | {"topic": "verdicts", "value": record.encode(), "headers": record.crawl_headers()})


def dead_letter(offset: int) -> ConsumerRecord:
    headers = [*COPY.crawl_headers(), *dead_letter_headers("timeout", "too slow", (0, offset))]
    whose = dict(headers) | {"url": COPY.url.encode(), "job": b"7", "spider": b"news", "odd": b"\xff"}
    told: dict[str, Any] = dict.fromkeys(ConsumerRecord.__annotations__ or ConsumerRecord._fields)
    return ConsumerRecord(**told | {"topic": "dead-letters", "value": b"", "headers": list(whose.items())})


def test_a_verdict_that_comes_before_kafkas_word_on_the_page_is_kept(
    followed: FollowedVerdicts, heard: list[tuple[ComingVerdict, Told]]
) -> None:
    first, second = ComingVerdict(), ComingVerdict()
    followed.arrive(second, (0, 2))
    followed.take([verdict(1), verdict(2), verdict(3, job="8")])
    followed.arrive(first, (0, 1))
    followed.arrive(ComingVerdict(), (0, 3))
    assert [coming for coming, _ in heard] == [second, first]
    assert [told["duplicate_of"] for _, told in heard] == [COPY.duplicate_of] * 2


def test_a_crawl_that_only_listens_hears_all_verdicts_of_its_job_and_keeps_none() -> None:
    heard: list[HeardVerdict] = []
    told: dict[str, Any] = {"hear": None, "listen": heard.append}
    only = FollowedVerdicts(
        {},
        "verdicts",
        "dead-letters",
        Origin({}, "news", "7"),
        call=lambda function: function(),
        complain=print,
        **told,
    )
    only.take([verdict(1), verdict(2, job="8"), verdict(3), dead_letter(4)])
    assert [(each.verdict.url, each.verdict.verdict, each.verdict.source[1]) for each in heard] == [
        (COPY.url, "duplicate", 1),
        (COPY.url, "duplicate", 3),
        (canonical_url(COPY.url), "dead", 4),
    ]
    assert not only._early


@pytest.mark.cluster
def test_verdicts_in_a_partition_that_came_after_the_crawl_began_are_heard(broker: str, topic_prefix: str) -> None:
    options: dict[str, Any] = {"bootstrap_servers": [broker]}
    specs = [spec for spec in topic_specs(prefix=topic_prefix, partitions=1) if spec.topic in (VERDICTS, DEAD_LETTERS)]
    create_topics(options, specs, 1)
    learned: list[str] = []
    followed = FollowedVerdicts(
        options | {"metadata_max_age_ms": 200},
        topic_prefix + VERDICTS,
        topic_prefix + DEAD_LETTERS,
        Origin({}, "news", "7"),
        call=lambda function: function(),
        hear=None,
        listen=lambda heard: learned.append(heard.verdict.url),
        complain=print,
    )
    followed.start()
    followed.wait_until_placed()
    grow(options, topic_prefix + VERDICTS, 2)
    with closing(KafkaProducer(**options)) as producer:
        for number in (0, 1):
            record = replace(COPY, url=f"http://{number}.example/", job="7", spider="news", source=(number, 0))
            place = {"partition": number, "headers": record.crawl_headers()}
            producer.send(topic_prefix + VERDICTS, record.encode(), **place).get(timeout=30)
    wait_for(lambda: len(learned) == 2, "the verdicts of both partitions")
    followed.finish()
    assert sorted(learned) == ["http://0.example/", "http://1.example/"]


def test_verdicts_that_nobody_waits_for_take_bounded_memory(
    followed: FollowedVerdicts, heard: list[tuple[ComingVerdict, Told]]
) -> None:
    gone = ComingVerdict()
    followed.arrive(gone, (0, 0))
    del gone
    gc.collect()
    followed.take([verdict(offset) for offset in range(MOST_EARLY + 1)])
    assert heard == [], "who has gone away is not waited for"
    for offset in (0, 1, MOST_EARLY):
        followed.arrive(ComingVerdict(), (0, offset))
    assert len(heard) == 2
