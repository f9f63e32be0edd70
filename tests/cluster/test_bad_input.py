"""Faults of the broker, the topics or a page give a clear message or a dead letter, and no other page is lost."""

from __future__ import annotations

import re
import urllib.request
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from confluent_kafka import Message, Producer
from kafka import KafkaProducer

from crawler_plugin.wire.messages import Claim
from crawler_plugin.wire.outcomes import Verdict
from crawler_plugin.wire.page_headers import PageMeta, text_headers
from crawler_plugin.wire.topics import DEAD_LETTERS, DEDUPLICATED, INDEX, PAGES, VERDICTS
from tests.cluster.cluster import SMALL, Cluster, WorkerProcess, alter, running
from tests.cluster.outside import read, traces
from tests.guarantees import check_guarantees
from tests.waiting import wait_for
from worker.broker.ports import free_port
from worker.broker.server import LocalBroker

pytestmark = pytest.mark.cluster

HTML: Final = "text/html; charset=utf-8"
Page = tuple[PageMeta, bytes]


def article(number: int, host: str = "good.example") -> Page:
    """A page unlike all others of another number."""
    words = " ".join(f"word{number * number * 7919 + place * (number + 3)}" for place in range(60))
    return PageMeta(url=f"http://{host}/{number}", content_type=HTML), f"<p>{words}</p>".encode()


def ended(worker: WorkerProcess, code: int, *patterns: str) -> None:
    """Check that the worker ends by itself with this code and a message that has all these patterns, and no
    traceback."""
    wait_for(lambda: not worker.alive, "the worker to end", 120)
    said = worker.said()
    assert worker.process.returncode == code, said[-3000:]
    assert "Traceback" not in said, said
    error = re.search(r"worker: error: .*", said)
    assert error, said[-3000:]
    for pattern in patterns:
        assert re.search(pattern, error[0]), error[0]


# the broker


@pytest.mark.long
def test_a_broker_that_is_away_is_waited_for_and_one_that_is_lost_ends_the_worker(tmp_path: Path) -> None:
    with (
        LocalBroker(data_dir=tmp_path / "broker") as broker,
        Cluster(broker.bootstrap_servers, "crawl.", tmp_path, SMALL) as cluster,
    ):
        port = free_port()
        without = cluster.start_worker(f"kafka.bootstrap_servers=127.0.0.1:{port}", "kafka.patience_seconds=5")
        worker = running(cluster.start_worker("kafka.patience_seconds=1", "shutdown.seconds=3"))
        cluster.publish(article(number) for number in range(20))
        wait_for(cluster.committed, "the first pages to be committed")
        ended(without, 3, rf"kafka\.bootstrap_servers=127\.0\.0\.1:{port}", "python -m worker broker")

        broker.kill()
        broker.start()
        cluster.publish(article(number) for number in range(20, 40))
        wait_for(lambda: cluster.committed() or not worker.alive, "the pages after the outage to be committed")
        assert worker.alive, worker.said()[-3000:]

        broker.kill()
        ended(worker, 3, "python -m worker topics check|python -m worker broker")

        broker.start()
        cluster.workers.clear()
        running(cluster.start_worker())
        cluster.publish(article(number) for number in range(30, 50))
        cluster.wait_until_committed()
        found = check_guarantees(traces(cluster.bootstrap, cluster.prefix))
        assert sorted(record.verdict for record in found.values() if record) == ["refetch"] * 10 + ["unique"] * 50
        assert cluster.stop() == [0]


# pages


# the topics


def test_topics_that_are_missing_or_otherwise_than_agreed_end_the_worker(cluster: Cluster, broker: str) -> None:
    nowhere = cluster.start_worker(f"topics.prefix={cluster.prefix}nowhere.")
    alter(cluster, INDEX, cleanup_policy="delete")
    alter(cluster, PAGES, message_timestamp_type="CreateTime")
    altered = cluster.start_worker()
    ended(nowhere, 3, "nowhere.pages: missing", "python -m worker topics create")
    policy = "index: cleanup.policy should be compact, is delete"
    stamps = "pages: message.timestamp.type should be LogAppendTime, is CreateTime"
    ended(altered, 4, policy, stamps, "--alter-config")


# records


class NotUtf8(str):
    """A header's name that only a foreign client writes."""

    def encode(self, *given: object) -> bytes:
        return b"\xff\xfe"


class Foreign:
    """A program that writes records to our topics that we never would."""

    def __init__(self, cluster: Cluster) -> None:
        self._prefix = cluster.prefix
        self._producer: Any = KafkaProducer(**cluster.options)
        self._other = Producer({"bootstrap.servers": cluster.bootstrap})

    def send(
        self, topic: str, value: bytes | None, key: bytes | None = b"key", headers: Any = (), partition: int = 0
    ) -> str:
        """Returns the record's reference."""
        if any(content is None for _, content in headers):
            return self._send_with_librdkafka(topic, value, key, headers, partition)
        sent = self._producer.send(
            self._prefix + topic, value=value, key=key, headers=list(headers), partition=partition
        )
        return f"{partition}:{sent.get(timeout=30).offset}"

    def _send_with_librdkafka(
        self, topic: str, value: bytes | None, key: bytes | None, headers: Any, partition: int
    ) -> str:
        """Headers without a value, which kafka-python reads and does not write."""
        sent: list[str] = []

        def heard(error: object, message: Message) -> None:
            assert error is None, error
            sent.append(f"{message.partition()}:{message.offset()}")

        self._other.produce(
            self._prefix + topic, value=value, key=key, headers=headers, partition=partition, on_delivery=heard
        )
        assert self._other.flush(30) == 0
        return sent[0]

    def close(self) -> None:
        self._producer.close(timeout=10)


@pytest.fixture
def foreign(cluster: Cluster) -> Iterator[Foreign]:
    made = Foreign(cluster)
    yield made
    made.close()


def of(url: bytes | None, **more: bytes | None) -> list[tuple[str, bytes | None]]:
    return [("url", url), *more.items()]


NO_PAGES: Final[dict[str, tuple[dict[str, Any], str]]] = {
    "no headers": ({"value": b"<p>text</p>"}, "bad-headers"),
    "no url": ({"value": b"<p>text</p>", "headers": [("status", b"200")]}, "bad-headers"),
    "a null header": ({"value": b"<p>text</p>", "headers": of(None)}, "bad-headers"),
    "a binary header": ({"value": b"<p>text</p>", "headers": of(b"\xff\xfe")}, "bad-headers"),
    "a bad url": ({"value": b"<p>text</p>", "headers": of(b"nothing")}, "bad-url"),
    "a long url": ({"value": b"<p>text</p>", "headers": of(b"http://a/" + b"x" * 5000)}, "bad-url"),
    "no body": ({"value": None, "headers": of(b"http://a/null")}, "no-body"),
    "a picture": ({"value": b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 20, "headers": of(b"http://a/png")}, "not-text"),
    "a header name that is no text": (
        {"value": b"x", "headers": [(NotUtf8("name"), b"value")]},
        "unreadable-record",
    ),
}


UNREAD: Final[dict[str, tuple[list[tuple[str, bytes]], str | None, int | None]]] = {
    "a status with its phrase": ([("status", b"200 OK"), ("fetched", b"7")], "status", 7),
    "a time in ISO 8601": ([("status", b"200"), ("fetched", b"2024-01-01T00:00:00Z")], None, 1_704_067_200_000),
    "a time as a fraction": ([("status", b"200"), ("fetched", b"1704067200.5")], "fetched", None),
    "a time out of range": ([("status", b"200"), ("fetched", b"9" * 23)], "fetched", None),
    "a form of neither kind": ([("status", b"200"), ("form", b"video")], "form", None),
    "a spider that is no text": ([("status", b"200"), ("spider", b"\xff")], "spider", None),
}
"""Headers of a page, the header that is left out, and the fetch time in the page's verdict."""


def test_an_optional_header_that_cannot_be_read_is_left_out_and_counted_and_costs_no_page(
    cluster: Cluster, foreign: Foreign
) -> None:
    worker = running(cluster.start_worker())
    due = {}
    for number, (headers, unread, fetched) in enumerate(UNREAD.values()):
        page, body = article(number)
        given = [("url", page.url.encode()), ("content_type", HTML.encode()), *headers]
        foreign.send(PAGES, body, headers=given, partition=number % 2)
        due[page.url] = (None if unread == "status" else 200, fetched)
    cluster.wait_until_committed()
    assert dead_letters(cluster) == {}
    found = [Verdict.decode(record.value) for record in read(cluster.bootstrap, cluster.prefix + VERDICTS)]
    assert {one.url: (one.status, one.fetched) for one in found} == due
    assert {one.verdict for one in found} == {"unique"}
    address = re.search(r"metrics: (http://\S+/metrics)", worker.said())
    assert address
    with urllib.request.urlopen(address[1], timeout=30) as answer:
        counted = re.findall(r'dedup_unread_headers_total\{header="(\w+)"\} (\S+)', answer.read().decode())
    left_out = Counter(unread for _, unread, _ in UNREAD.values() if unread)
    assert {name: float(count) for name, count in counted} == left_out
    assert worker.stop() == 0


def dead_letters(cluster: Cluster) -> dict[str, tuple[str, str, bytes | None]]:
    """Reason, detail and body by reference."""
    found = {}
    for record in read(cluster.bootstrap, cluster.prefix + DEAD_LETTERS):
        headers = text_headers(record.headers)
        found[headers["dedup-source"]] = (headers["dedup-reason"], headers["dedup-detail"], record.value)
    return found


def test_what_is_no_page_is_a_dead_letter_with_reason_and_reference(cluster: Cluster, foreign: Foreign) -> None:
    worker = cluster.start_worker()
    due = {}
    for number, (fields, reason) in enumerate(NO_PAGES.values()):
        cluster.publish([article(number)])
        due[foreign.send(PAGES, **fields, partition=number % 2)] = (reason, fields["value"])
    cluster.wait_until_committed()
    found = dead_letters(cluster)
    assert {source: reason for source, (reason, _, _) in found.items()} == {s: reason for s, (reason, _) in due.items()}
    assert all(detail for _, detail, _ in found.values()), "each says why, in words"
    for source, (reason, value) in due.items():
        assert found[source][2] == (b"" if reason == "unreadable-record" else value)
    verdicts = check_guarantees(traces(cluster.bootstrap, cluster.prefix))
    assert sum(record is not None and record.verdict == "unique" for record in verdicts.values()) == len(NO_PAGES)
    assert worker.stop() == 0

    # The next owner comes to the same end.
    running(cluster.start_worker())
    cluster.publish([article(1000)])
    cluster.wait_until_committed()
    assert dead_letters(cluster) == found


MIB: Final = 1 << 20


def peak_bytes(worker: WorkerProcess) -> int:
    """The most memory that a worker has had so far."""
    status = Path(f"/proc/{worker.process.pid}/status").read_text()
    return int(re.findall(r"VmHWM:\s*(\d+) kB", status)[0]) * 1024


def test_pages_that_unpack_to_more_than_memory_cost_only_themselves(cluster: Cluster) -> None:
    """In each codec one batch: a page, a bomb, another page."""
    worker = running(cluster.start_worker())
    cluster.publish(article(number) for number in range(100))
    cluster.wait_until_committed()
    before = peak_bytes(worker)
    due: list[str] = []

    def heard(error: object, message: Message) -> None:
        assert error is None, error
        if len(message.value() or b"") > MIB:
            due.append(f"{message.partition()}:{message.offset()}")

    for number, codec in enumerate(("gzip", "snappy", "lz4", "zstd")):
        settings = {"compression.type": codec, "message.max.bytes": 10**9, "batch.size": 10**9, "linger.ms": 500}
        foreign = Producer({"bootstrap.servers": cluster.bootstrap, **settings})
        for meta, body in (
            article(200 + number),
            (PageMeta(url=f"http://bomb.example/{codec}", content_type=HTML), b"x" * (64 * MIB)),
            article(300 + number),
        ):
            foreign.produce(
                cluster.prefix + PAGES,
                body,
                meta.url.encode(),
                headers=[*meta.to_headers()],  # by its type the list may also hold text and None
                partition=number % 2,
                callback=heard,
            )
        assert foreign.flush(60) == 0
    cluster.wait_until_committed()
    found = dead_letters(cluster)
    assert {source: reason for source, (reason, _, _) in found.items()} == dict.fromkeys(due, "oversize")
    assert len(due) == 4
    verdicts = check_guarantees(traces(cluster.bootstrap, cluster.prefix))
    assert sum(record is not None and record.verdict == "unique" for record in verdicts.values()) == 108
    assert peak_bytes(worker) - before < 100 * MIB
    assert cluster.stop() == [0]


SCHEME: Final = b"foreign!"
CLAIM: Final = Claim(partition=0, offset=10**6, clock=0, url="http://foreign/", fingerprint=0)


# parsers

BOLD: Final = b"<b>" * 1_300_000
"""A tree of many times the page's size."""


def test_a_page_that_takes_its_parser_down_is_a_dead_letter_and_no_other_page_suffers(cluster: Cluster) -> None:
    worker = cluster.start_worker("page.memory_mb=128")
    bad = {"bold": BOLD, "italic": BOLD.replace(b"b", b"i")}
    pages = [article(number) for number in range(60)]
    for place, (name, body) in enumerate(bad.items()):
        pages.insert(10 + 15 * place, (PageMeta(url=f"http://bad.example/{name}", content_type=HTML), body))
    cluster.publish(pages)
    cluster.wait_until_committed()
    found = check_guarantees(traces(cluster.bootstrap, cluster.prefix))
    assert sum(record is not None for record in found.values()) == 60
    dead = dead_letters(cluster)
    assert sorted(value or b"" for _, _, value in dead.values()) == sorted(bad.values())
    assert {reason for reason, _, _ in dead.values()} == {"parser-memory"}
    assert worker.stop() == 0


def test_a_page_of_another_client_without_key_and_without_text_is_a_page(cluster: Cluster, foreign: Foreign) -> None:
    cluster.start_worker()
    headers = of(b"HTTP://good.example/1", theirs=None, content_type=HTML.encode())
    keyless = foreign.send(PAGES, article(1)[1], key=None, headers=headers)
    bare = foreign.send(PAGES, b"", headers=of(b"http://empty.example/"))
    cluster.wait_until_committed()
    written = [Verdict.decode(record.value or b"") for record in read(cluster.bootstrap, f"{cluster.prefix}{VERDICTS}")]
    found = {
        f"{record.source[0]}:{record.source[1]}": (record.url, record.verdict, record.reason) for record in written
    }
    assert found == {
        keyless: ("http://good.example/1", "unique", "first"),
        bare: ("http://empty.example/", "unique", "no-features"),
    }
    passed = {record.key: record for record in read(cluster.bootstrap, cluster.prefix + DEDUPLICATED)}
    assert passed.keys() == {None, b"key"}
    assert passed[None].value == article(1)[1]
    assert dict(passed[None].headers)["theirs"] == b"", "a header without a value comes out as an empty one"
    assert cluster.stop() == [0]
