"""The publisher's thread against a real broker that is killed, stopped, or refuses."""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest
from kafka import KafkaAdminClient, KafkaProducer
from kafka.admin import ConfigResource, ConfigResourceType
from kafka.producer.sender import Sender

from crawler_plugin.publishing.connection import BLOCK_MS, producer_options
from crawler_plugin.publishing.outbox import Report
from crawler_plugin.publishing.publisher import Publisher
from crawler_plugin.record import PageRecord
from crawler_plugin.wire.page_headers import PageMeta
from tests.crawler_plugin.crawling import DEADLINE_S, make_topic, records
from tests.waiting import wait_for
from worker.broker.ports import free_port
from worker.broker.server import LocalBroker

pytestmark = pytest.mark.cluster

IMPATIENT: Final[dict[str, Any]] = {"request_timeout_ms": 1_000, "delivery_timeout_ms": 2_500}
AWAY_MS: Final = 2_000
"""How long connecting to a broker that is away may take in one go."""


def page(number: int, size: int = 1_000) -> PageRecord:
    url = f"https://example.com/{number}"
    return PageRecord(url, url.encode(), b"x" * size, tuple(PageMeta(url=url).to_headers()))


class Publishing:
    """A publisher with all its reports added up."""

    def __init__(
        self,
        servers: str,
        prefix: str = "nowhere.",
        *,
        cuts: bool = False,
        block_ms: int = BLOCK_MS,
        **connection: object,
    ) -> None:
        options = producer_options(
            bootstrap_servers=(servers,), max_page_bytes=1_000_000, compression=None, connection=connection
        )
        options |= {"max_block_ms": block_ms, "bootstrap_timeout_ms": block_ms}
        self.news = threading.Event()
        self.publisher = Publisher(options, f"{prefix}pages", self.news.set, cuts=cuts)
        self.sum = Report()
        self.publisher.start()

    def submit(self, *pages: PageRecord) -> None:
        for each in pages:
            self.publisher.submit(each, each.size)

    def until(self, condition: Callable[[], bool]) -> None:
        """Collect reports until this holds."""
        deadline = time.monotonic() + DEADLINE_S
        while not condition():
            assert time.monotonic() < deadline, self.sum
            self.news.wait(0.05)
            self.news.clear()
            self.collect()

    def collect(self) -> None:
        report = self.publisher.collect()
        self.sum.confirmed += report.confirmed
        self.sum.freed += report.freed
        self.sum.send_errors += report.send_errors
        self.sum.refused += report.refused
        self.sum.cut += report.cut
        self.sum.notices += report.notices

    def finish(self, timeout: float) -> None:
        self.publisher.finish(timeout)
        self.until(lambda: self.publisher.has_ended)
        self.collect()


@pytest.fixture(scope="module")
def mortal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalBroker]:
    """A broker that tests may kill."""
    with LocalBroker(data_dir=tmp_path_factory.mktemp("kafka") / "data", announce=print) as running:
        yield running


@pytest.fixture
def own(mortal: LocalBroker, topic_prefix: str) -> LocalBroker:
    """The running broker, whatever the test before did to it, with a topic of this test's own."""
    mortal.start()
    make_topic(mortal.bootstrap_servers, topic_prefix)
    return mortal


def urls(broker: str, prefix: str) -> set[str]:
    return {record.meta.url for record in records(broker, prefix)}


def network_threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if "network-thread" in thread.name]


def wait_until_there_are_no_network_threads() -> None:
    wait_for(lambda: not network_threads(), "the network threads to end", DEADLINE_S)


def test_what_is_confirmed_is_on_the_topic(broker: str, topic_prefix: str) -> None:
    make_topic(broker, topic_prefix)
    publishing = Publishing(broker, topic_prefix)
    pages = [page(number) for number in range(500)]
    publishing.submit(*pages)
    publishing.finish(60)
    assert (publishing.sum.confirmed, publishing.sum.freed) == (500, sum(each.size for each in pages))
    assert publishing.publisher.unconfirmed == 0
    assert urls(broker, topic_prefix) == {each.url for each in pages}
    assert publishing.sum.send_errors == 0
    wait_until_there_are_no_network_threads()


def test_a_broker_away_for_longer_than_kafka_python_tries_gets_everything_by_a_new_producer(
    own: LocalBroker, topic_prefix: str
) -> None:
    publishing = Publishing(own.bootstrap_servers, topic_prefix, block_ms=AWAY_MS, **IMPATIENT)
    publishing.submit(*map(page, range(50)))
    publishing.until(lambda: publishing.sum.confirmed == 50)
    own.kill()
    publishing.submit(*map(page, range(50, 100)))
    publishing.until(lambda: publishing.sum.send_errors > 0)
    assert publishing.publisher.unconfirmed == 50
    assert publishing.sum.confirmed == 50
    own.start()
    publishing.finish(60)
    assert publishing.sum.confirmed == 100
    assert urls(own.bootstrap_servers, topic_prefix) == {page(number).url for number in range(100)}
    wait_until_there_are_no_network_threads()


def test_a_broker_that_freezes_and_thaws_gets_everything(own: LocalBroker, topic_prefix: str) -> None:
    publishing = Publishing(own.bootstrap_servers, topic_prefix, **IMPATIENT)
    publishing.submit(page(0))
    publishing.until(lambda: publishing.sum.confirmed == 1)
    assert own.pid is not None
    os.kill(own.pid, signal.SIGSTOP)
    try:
        publishing.submit(*map(page, range(1, 30)))
        publishing.until(lambda: publishing.sum.send_errors > 0)
    finally:
        os.kill(own.pid, signal.SIGCONT)
    publishing.finish(60)
    assert publishing.sum.confirmed == 30
    assert urls(own.bootstrap_servers, topic_prefix) == {page(number).url for number in range(30)}


def test_a_producer_whose_own_thread_does_nothing_any_more_is_replaced(
    broker: str, topic_prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_topic(broker, topic_prefix)
    monkeypatch.setattr("crawler_plugin.publishing.publisher.STALL_MARGIN_S", 0.5)
    deaf: list[object] = []
    run_once = Sender.run_once

    def first_one_goes_deaf(sender: Sender) -> None:
        if sender in deaf:
            time.sleep(0.01)
        else:
            run_once(sender)

    monkeypatch.setattr(Sender, "run_once", first_one_goes_deaf)
    publishing = Publishing(broker, topic_prefix, **IMPATIENT)
    publishing.submit(page(0))
    publishing.until(lambda: publishing.sum.confirmed == 1)
    deaf += [thread for thread in threading.enumerate() if isinstance(thread, Sender)]
    publishing.submit(*map(page, range(1, 10)))
    publishing.finish(60)
    assert deaf
    assert publishing.sum.confirmed == 10
    assert urls(broker, topic_prefix) == {page(number).url for number in range(10)}
    assert "no news of any page" in publishing.sum.notices[0].message


def test_the_client_is_touched_by_the_publishers_thread_alone(
    broker: str, topic_prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_topic(broker, topic_prefix)
    touched: list[tuple[str, str]] = []

    def noting(name: str) -> Callable[..., object]:
        method = getattr(KafkaProducer, name)

        def call(*arguments: object, **options: object) -> object:
            touched.append((name, threading.current_thread().name))
            return method(*arguments, **options)

        return call

    for name in ("__init__", "send", "flush", "close"):
        monkeypatch.setattr(KafkaProducer, name, noting(name))
    publishing = Publishing(broker, topic_prefix)
    publishing.submit(page(0))
    publishing.finish(60)
    monkeypatch.undo()
    assert {name for name, _ in touched} >= {"__init__", "send", "close"}
    assert {thread for _, thread in touched} == {"dedup-publisher"}


def test_the_end_comes_at_the_timeout_and_leaves_no_thread_that_would_send_later(
    own: LocalBroker, topic_prefix: str
) -> None:
    publishing = Publishing(own.bootstrap_servers, topic_prefix)
    publishing.submit(page(0))
    publishing.until(lambda: publishing.sum.confirmed == 1)
    own.kill()
    publishing.submit(*map(page, range(1, 10)))
    publishing.finish(0.5)
    assert [each.url for each in publishing.publisher.unspooled] == [page(number).url for number in range(1, 10)]
    assert publishing.sum.send_errors == 0, "the end is no error"
    wait_until_there_are_no_network_threads()
    own.start()
    assert urls(own.bootstrap_servers, topic_prefix) == {page(0).url}


def test_where_the_limit_may_not_be_read_a_refusal_tells_it_and_costs_one_producer_and_no_other_page(
    broker: str, topic_prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("crawler_plugin.publishing.connection._largest_page", lambda admin, topic: None)
    producers = counted(monkeypatch)
    make_topic(broker, topic_prefix, partitions=2, max_message_bytes=20_000)
    publishing = Publishing(broker, topic_prefix)
    publishing.submit(page(0), page(1, size=30_000), *map(page, range(2, 50)))
    publishing.until(lambda: len(publishing.sum.refused) == 1)
    large = [page(number, size=30_000 + number) for number in range(60, 80)]
    publishing.submit(*map(page, range(50, 60)), *large)
    publishing.finish(60)
    assert {each.url for each in publishing.sum.refused} == {page(1).url, *(each.url for each in large)}
    assert publishing.sum.confirmed == 59
    assert urls(broker, topic_prefix) == {page(number).url for number in range(60)} - {page(1).url}
    assert publishing.sum.notices == [], "nothing is wrong with the broker"
    assert len(producers) == 2


def test_a_limit_that_is_lowered_meanwhile_is_read_again(
    broker: str, topic_prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    producers = counted(monkeypatch)
    make_topic(broker, topic_prefix, max_message_bytes=100_000)
    publishing = Publishing(broker, topic_prefix, cuts=True)
    publishing.submit(page(0, size=30_000))
    publishing.until(lambda: publishing.sum.confirmed == 1)
    lower_the_limit(broker, f"{topic_prefix}pages", 20_000)
    publishing.submit(*(page(number, size=30_000) for number in range(1, 20)))
    publishing.finish(60)
    assert (publishing.sum.confirmed, len(publishing.sum.cut)) == (20, 19)
    assert publishing.sum.refused == []
    assert len(producers) == 2


def counted(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """All producers that are made from here on."""
    made: list[object] = []
    make = KafkaProducer.__init__

    def counting(producer: KafkaProducer, **options: object) -> None:
        made.append(producer)
        make(producer, **options)

    monkeypatch.setattr(KafkaProducer, "__init__", counting)
    return made


def lower_the_limit(broker: str, topic: str, limit: int) -> None:
    """Lower the topic's limit, and return when the broker applies it."""
    admin = KafkaAdminClient(bootstrap_servers=broker)
    told = {"max.message.bytes": str(limit)}
    admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, topic, told)])
    asked = ConfigResource(ConfigResourceType.TOPIC, topic, list(told))

    def in_force() -> bool:
        found = admin.describe_configs([asked], config_filter="all")["topic"][topic]
        return bool(found["max.message.bytes"]["value"] == str(limit))

    wait_for(in_force, "the lower limit", DEADLINE_S)
    admin.close()


def test_trouble_is_said_once_with_its_reason_and_its_end_too(own: LocalBroker, topic_prefix: str) -> None:
    servers = own.bootstrap_servers
    own.kill()
    publishing = Publishing(servers, topic_prefix, block_ms=AWAY_MS)
    publishing.submit(page(0))
    publishing.until(lambda: bool(publishing.sum.notices))
    own.start()
    publishing.until(lambda: len(publishing.sum.notices) > 1)
    publishing.finish(60)
    trouble, over = publishing.sum.notices
    assert trouble.is_trouble
    assert "ECONNREFUSED" in trouble.message
    assert servers in trouble.message
    assert "correct DEDUP_BOOTSTRAP_SERVERS" in trouble.message
    assert not over.is_trouble


def test_an_end_without_pages_does_not_wait_for_a_broker() -> None:
    publishing = Publishing(f"127.0.0.1:{free_port()}", block_ms=AWAY_MS)
    publishing.publisher.finish(86_400)
    publishing.until(lambda: publishing.publisher.has_ended)


def test_a_publisher_that_was_never_started_ends_at_once() -> None:
    woken = threading.Event()
    publisher = Publisher({}, "x.pages", woken.set)
    publisher.finish(60)
    assert publisher.has_ended
    assert woken.is_set()


def test_kafka_python_is_silent_while_a_publisher_runs_and_heard_by_it() -> None:
    logger = logging.getLogger("kafka")
    assert (logger.level, logger.propagate) == (logging.NOTSET, True)
    publishing = Publishing(f"127.0.0.1:{free_port()}", block_ms=AWAY_MS)
    publishing.until(lambda: publishing.publisher.last_heard is not None)
    assert not logger.propagate
    publishing.finish(0)
    assert (logger.level, logger.propagate) == (logging.NOTSET, True)
