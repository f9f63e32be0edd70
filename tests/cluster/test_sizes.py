"""Pages of any size: a page that cannot be passed on becomes a dead letter, and no other page waits for it or is
lost."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
from kafka import KafkaProducer

from crawler_plugin.wire.outcomes import Verdict
from crawler_plugin.wire.page_headers import PageMeta
from crawler_plugin.wire.topics import DEAD_LETTERS, DEDUPLICATED, OUTPUT_MARGIN_BYTES, PAGES, VERDICTS
from tests.cluster.cluster import SMALL, Cluster, alter, running
from tests.cluster.outside import read, traces
from tests.cluster.test_bad_input import HTML, article, dead_letters, ended, of
from tests.guarantees import check_guarantees
from tests.waiting import wait_for

pytestmark = pytest.mark.cluster

MIB: Final = 1 << 20
LARGE: Final = b"<p>" + b"word " * (7 * MIB // 5)
"""7 MiB that gzip makes small, so that the broker takes it with any headers."""


def squeeze(cluster: Cluster, body: bytes, headers: list[tuple[str, bytes | None]], partition: int) -> str:
    """Publish a record that only compression makes small enough for the broker; returns its reference."""
    producer: Any = KafkaProducer(**cluster.options, compression_type="gzip", max_request_size=64 * MIB)
    try:
        sent = producer.send(cluster.prefix + PAGES, key=b"key", value=body, headers=headers, partition=partition)
        return f"{partition}:{sent.get(timeout=60).offset}"
    finally:
        producer.close(timeout=5)


def test_the_largest_page_passes_and_one_that_only_compression_made_small_is_a_dead_letter(
    broker: str, topic_prefix: str, tmp_path: Path
) -> None:
    most = 131072
    with Cluster(broker, topic_prefix, tmp_path, (*SMALL, f"topics.max_message_bytes={most}")) as cluster:
        cluster.start_worker()
        fits, too_large = largest(cluster, lambda size: b"<p>" + b"word " * (size // 5) + b"x" * (size % 5), most)
        assert most - 500 < fits < too_large == fits + 1
        body = b"<p>" + b"another " * 200_000
        sent = squeeze(cluster, body, of(b"http://large/gzip"), partition=1)
        cluster.publish([article(1)])
        cluster.wait_until_committed()
        check_guarantees(traces(cluster.bootstrap, cluster.prefix))
        passed = [len(record.value or b"") for record in read(broker, topic_prefix + DEDUPLICATED)]
        assert max(passed) == fits + len("<p>")
        ((source, (reason, detail, value)),) = dead_letters(cluster).items()
        assert (source, reason, value) == (sent, "oversize", None)
        assert int(detail.split()[0]) >= len(body), detail
        assert cluster.stop() == [0]


def largest(cluster: Cluster, body: Callable[[int], bytes], most: int) -> tuple[int, int]:
    """The largest size that the broker takes on ``pages``, and the smallest that it refuses; publishes some pages."""
    headers = PageMeta(url="http://large/", content_type=HTML).to_headers()
    fits, too_large = most // 2, 2 * most
    while too_large - fits > 1:
        size = (fits + too_large) // 2
        # A producer that was refused sends no more: make a new one for each size.
        producer: Any = KafkaProducer(**cluster.options, max_request_size=8 * most)
        try:
            producer.send(
                cluster.prefix + PAGES, key=b"http://large/", value=body(size), headers=headers, partition=0
            ).get(timeout=30)
            fits = size
        except Exception as error:
            assert "MessageSizeTooLarge" in type(error).__name__, error
            too_large = size
        finally:
            producer.close(timeout=1)
    return fits, too_large


def test_a_page_whose_headers_do_not_fit_beside_it_costs_only_itself(cluster: Cluster) -> None:
    """Once, every transaction with this page failed for ever, along with its pages of other partitions."""
    cluster.start_worker()
    cluster.publish(article(number) for number in range(10))
    room = 8 * MIB + OUTPUT_MARGIN_BYTES - len(LARGE)
    headers = [*of(b"http://large/headers"), ("status", b"200"), ("theirs", b"x" * (room - 1000))]
    source = squeeze(cluster, LARGE, headers, partition=1)
    unread = squeeze(cluster, LARGE, [("n" * (2 * MIB), b"")], partition=0)
    cluster.publish(article(number) for number in range(10, 20))
    cluster.wait_until_committed()
    found = check_guarantees(traces(cluster.bootstrap, cluster.prefix))
    assert sorted(record.verdict for record in found.values() if record) == ["unique"] * 20
    letters = dead_letters(cluster)
    assert {place: (reason, value) for place, (reason, _, value) in letters.items()} == {
        source: ("oversize", None),
        unread: ("oversize", None),
    }
    assert str(len(LARGE)) in letters[source][1]
    written = {
        len(record.headers): dict(record.headers) for record in read(cluster.bootstrap, cluster.prefix + DEAD_LETTERS)
    }
    assert (written[5]["url"], written[5]["status"]) == (b"http://large/headers", b"200")
    assert sorted(written) == [3, 5], "what the crawler said of the page, and our three"
    assert cluster.stop() == [0]


@pytest.mark.long
@pytest.mark.parametrize("topic", [DEDUPLICATED, VERDICTS])
def test_a_record_that_a_topic_does_not_take_any_more_ends_the_worker_and_is_not_left_out(
    cluster: Cluster, topic: str
) -> None:
    """The page's claim is in the log, and other verdicts name it: a copy that is read later is a duplicate of it."""
    url = "http://large.example/" + "x" * 3000
    large = PageMeta(url=url, content_type=HTML), article(1)[1] + b" " * 200_000
    copy = PageMeta(url="http://copy.example/", content_type=HTML), article(1)[1]
    worker = running(cluster.start_worker())
    cluster.publish([article(7)])
    wait_for(cluster.committed, "the first page to be committed")
    alter(cluster, topic, max_message_bytes="2500")
    cluster.publish([article(8), large])
    ((partition, offset),) = sources_of(cluster, url)
    ended(
        worker,
        2,
        rf"refused the record of page {partition}:{offset} \(partition:offset in {cluster.prefix}{PAGES}\) "
        rf"for topic {cluster.prefix}{topic} as too large",
        r"max\.message\.bytes",
        r"topics\.max_message_bytes",
    )
    cluster.workers.clear()
    ended(cluster.start_worker(), 2, rf"{cluster.prefix}{topic} takes records of at most 2500 bytes", "--alter-config")
    cluster.workers.clear()

    alter(cluster, topic, max_message_bytes=str(9 * MIB))
    cluster.publish([copy])
    running(cluster.start_worker())
    cluster.wait_until_committed()
    found = check_guarantees(traces(cluster.bootstrap, cluster.prefix))
    assert {record.url: record.duplicate_of for record in found.values() if record} == {
        article(7)[0].url: None,
        article(8)[0].url: None,
        url: None,
        copy[0].url: url,
    }
    assert cluster.stop() == [0]


def sources_of(cluster: Cluster, url: str) -> list[tuple[int, int]]:
    """The places of the pages with this URL."""
    records = read(cluster.bootstrap, cluster.prefix + PAGES)
    return [(record.partition, record.offset) for record in records if record.key == url.encode()]


def test_pages_too_large_for_a_topic_that_was_made_smaller_before_the_start_are_dead_letters(cluster: Cluster) -> None:
    alter(cluster, DEDUPLICATED, max_message_bytes="200000")
    running(cluster.start_worker())
    cluster.publish([article(1), (PageMeta(url="http://large/", content_type=HTML), b"word " * 50_000), article(2)])
    cluster.wait_until_committed()
    verdicts = [Verdict.decode(record.value or b"") for record in read(cluster.bootstrap, cluster.prefix + VERDICTS)]
    assert sorted(verdict.url for verdict in verdicts) == [article(1)[0].url, article(2)[0].url]
    ((reason, detail, _),) = dead_letters(cluster).values()
    assert reason == "oversize"
    assert "at most 200000 can be passed on" in detail
    assert cluster.stop() == [0]
