"""Parts of kafka-python without a public name: they exist, and do what we need."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from importlib.metadata import requires
from pathlib import Path

import kafka
import pytest
from kafka import KafkaAdminClient, KafkaProducer, errors
from kafka.producer.sender import Sender
from packaging.requirements import Requirement
from packaging.version import Version

from crawler_plugin.wire.kafka_client.private import (
    AttentiveClient,
    ReceivedAnswer,
    cut_off,
    login_failures,
    make_admin,
    sent_together,
)
from crawler_plugin.wire.page_headers import PageMeta
from tests.crawler_plugin.crawling import make_topic, records
from tests.waiting import wait_for
from tests.wire.kafka_client.parts import OF_EVERYBODY, Part, lacking
from worker.broker.ports import free_port
from worker.broker.server import LocalBroker

DEADLINE_S = 60.0
HEADERS = PageMeta(url="https://example.com/").to_headers()
LAST_WORDS = b"you may not come in"


def test_the_installed_kafka_python_has_every_part_that_is_touched() -> None:
    assert lacking(OF_EVERYBODY) == []


def test_a_part_that_a_version_lacks_is_told_with_version_and_name() -> None:
    (sentence,) = lacking([Part(Sender, "force_close"), Part(KafkaProducer, "_sender"), Part(Sender, "_no_such_part")])
    assert sentence.startswith(f"kafka-python {kafka.__version__} has no kafka.producer.sender.Sender._no_such_part: ")
    assert "bound kafka-python to earlier versions in pyproject.toml" in sentence


def test_the_dependency_is_bounded_to_the_minor_version_that_these_tests_run_with() -> None:
    (needed,) = (
        requirement
        for line in requires("crawl-dedup-scrapy") or ()
        if (requirement := Requirement(line)).name == "kafka-python" and not requirement.marker
    )
    installed = Version(kafka.__version__)
    assert installed in needed.specifier
    assert f"{installed.major}.{installed.minor}.9999" in needed.specifier
    assert f"{installed.major}.{installed.minor + 1}.0" not in needed.specifier


@pytest.fixture
def dismissive() -> Iterator[tuple[int, threading.Thread]]:
    """The port of a server that sends something and hangs up, and its thread, which ends then."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.sendall(LAST_WORDS)

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        yield listener.getsockname()[1], thread


def test_what_comes_together_with_the_end_of_a_connection_is_read_and_the_end_after_it(
    dismissive: tuple[int, threading.Thread],
) -> None:
    port, thread = dismissive
    client = AttentiveClient(bootstrap_servers=[f"127.0.0.1:{port}"])
    (node,) = client._manager.cluster.bootstrap_brokers()
    client._net.start()
    try:
        transport = client._manager.run(client._manager._build_transport, node)
        thread.join(DEADLINE_S)  # both have arrived, since it is the same machine
        assert transport._sock_recv() == (LAST_WORDS, None)
        received, error = transport._sock_recv()
        assert received == b""
        assert isinstance(error, errors.KafkaConnectionError)
    finally:
        client._net.stop()


def test_an_answer_is_read_as_it_was_gathered() -> None:
    answer = ReceivedAnswer(6)
    answer.write(b"abcdef")
    answer.seek(0)
    assert answer.read(2) == b"ab"
    rest = answer.read()
    assert isinstance(rest, memoryview)
    assert bytes(rest) == b"cdef"
    assert answer.tell() == 6
    assert answer.read() == b""


def test_an_admin_client_that_finds_no_broker_leaves_no_thread() -> None:
    before = set(threading.enumerate())
    with pytest.raises(errors.KafkaError):
        make_admin(bootstrap_servers=[f"127.0.0.1:{free_port()}"], bootstrap_timeout_ms=300)
    wait_for(lambda: set(threading.enumerate()) <= before, "the client's thread to end", DEADLINE_S)
    with pytest.raises(errors.KafkaConfigurationError):
        make_admin(no_such_option=1)


@pytest.mark.cluster
def test_an_admin_client_that_finds_its_broker_is_one_and_was_refused_by_nobody(broker: str) -> None:
    admin = make_admin(bootstrap_servers=[broker], kafka_client=AttentiveClient)
    try:
        assert isinstance(admin, KafkaAdminClient)
        assert login_failures(admin._client) == []
        assert isinstance(admin.list_topics(), list)
    finally:
        admin.close()


@pytest.mark.cluster
def test_what_is_sent_together_wakes_the_producer_once_and_arrives(
    broker: str, topic_prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_topic(broker, topic_prefix)
    producer = KafkaProducer(bootstrap_servers=[broker], batch_size=1024, linger_ms=0)
    try:
        topic, woken = f"{topic_prefix}pages", []
        producer.partitions_for(topic)
        wake = producer._sender._client.wakeup

        def wake_and_count() -> None:
            woken.append(1)
            wake()

        monkeypatch.setattr(producer._sender._client, "wakeup", wake_and_count)
        with sent_together(producer):
            sent = [producer.send(topic, b"x" * 800, key=b"%d" % number, headers=HEADERS) for number in range(20)]
            assert woken == []
        assert woken == [1]
        for future in sent:
            future.get(timeout=DEADLINE_S)
    finally:
        producer.close(timeout=DEADLINE_S)


@pytest.mark.cluster
def test_a_producer_that_is_cut_off_ends_its_thread_and_sends_nothing_later(tmp_path: Path) -> None:
    with LocalBroker(data_dir=tmp_path / "kafka", announce=print) as own:
        make_topic(own.bootstrap_servers, "cut.")
        before = set(threading.enumerate())
        producer = KafkaProducer(bootstrap_servers=[own.bootstrap_servers])
        producer.send("cut.pages", b"sent", key=b"1", headers=HEADERS).get(timeout=DEADLINE_S)
        own.kill()
        producer.send("cut.pages", b"never sent", key=b"2", headers=HEADERS)
        cut_off(producer)
        wait_for(lambda: set(threading.enumerate()) <= before, "the producer's thread to end", DEADLINE_S)
        own.start()
        assert [record.key for record in records(own.bootstrap_servers, "cut.")] == ["1"]
