"""Appends and transactions against the real broker: failures, their messages, and the work after them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kafka import KafkaAdminClient
from kafka.admin import ConfigResource, ConfigResourceType

from crawler_plugin.wire.errors import Unavailable
from crawler_plugin.wire.topics import ANSWERS, DEDUPLICATED, FINGERPRINTS, PAGES, topic_specs
from tests.open_transactions import open_transactions
from tests.stream.contract import Member, output
from tests.stream.kafka.under_test import GROUP, KafkaUnderTest
from tests.waiting import wait_for
from worker.broker.ports import free_port
from worker.broker.server import LocalBroker
from worker.config import KafkaSettings
from worker.stream.kafka import producers
from worker.stream.kafka.connection import client_options
from worker.stream.kafka.failing_sends import LEAST_FAILURES
from worker.stream.kafka.log import KafkaLog
from worker.stream.kafka.producers import Appender, request_ms
from worker.stream.kafka.record_batches import MOST_FRAMING
from worker.stream.kafka.topic_admin import create_topics
from worker.stream.log import Committed, Sent

pytestmark = pytest.mark.cluster

MARKER_BYTES = 78
"""The records of a committed transaction in a partition, soon after the commit."""
MAX_BYTES = int(next(spec for spec in topic_specs() if spec.topic == FINGERPRINTS).config["max.message.bytes"])


@pytest.fixture
def world(broker: str, topic_prefix: str) -> Iterator[KafkaUnderTest]:
    with KafkaUnderTest.on(broker, topic_prefix) as world:
        yield world


def test_after_a_record_that_the_broker_refuses_the_next_one_is_sent(world: KafkaUnderTest) -> None:
    """A producer of kafka-python never sends again after this; ``max_bytes`` is larger here than the topic's limit."""
    appender = Appender(world.options, world.prefix, max_bytes=4 * MAX_BYTES, delivery_seconds=20)
    try:
        too_large = appender.append(FINGERPRINTS, 0, None, b"x" * (MAX_BYTES + 1), [])
        assert world.ended(too_large) == [Sent.FAILED]
        after = [appender.append(FINGERPRINTS, 0, None, b"%d" % number, []) for number in range(3)]
        assert world.ended(*after) == [Sent.DONE] * 3
    finally:
        appender.close(5)
    member = world.member("a")
    found = world.read_to_end(member, member.log.reader(FINGERPRINTS, 0, 0), FINGERPRINTS)
    assert [record.value for record in found] == [b"0", b"1", b"2"]


def test_a_record_that_is_too_large_for_the_client_fails_alone(world: KafkaUnderTest) -> None:
    appender = Appender(world.options, world.prefix, max_bytes=MAX_BYTES, delivery_seconds=20)
    try:
        states = world.ended(
            appender.append(FINGERPRINTS, 0, None, b"0", []),
            appender.append(FINGERPRINTS, 0, None, b"x" * (2 * MAX_BYTES), []),
            appender.append(FINGERPRINTS, 0, None, b"2", []),
        )
    finally:
        appender.close(5)
    assert states == [Sent.DONE, Sent.FAILED, Sent.DONE]


@pytest.mark.parametrize(("told", "within", "used"), [(15, 30, 15_000), (15, 20, 10_000), (2.5, 20, 2_500)])
def test_a_request_takes_as_long_as_it_may_and_a_second_one_fits(told: float, within: float, used: int) -> None:
    options = client_options(KafkaSettings(request_timeout_seconds=told))
    assert request_ms(options, within) == used


def test_an_append_to_a_prepared_topic_asks_the_broker_nothing_first(tmp_path: Path) -> None:
    with LocalBroker(data_dir=tmp_path / "data") as own:
        options = client_options(KafkaSettings(bootstrap_servers=own.bootstrap_servers))
        create_topics(options, topic_specs(prefix="", partitions=1, shards=1), 1)
        appender = Appender(options, "", max_bytes=MAX_BYTES, delivery_seconds=20)
        appender.prepare([FINGERPRINTS])
        own.kill()
        taken = [appender.append(topic, 0, None, b"0", []).future is not None for topic in (FINGERPRINTS, ANSWERS)]
        appender.close(0)
    assert taken == [True, False]


def test_appends_to_a_broker_that_is_not_there_fail_and_do_not_raise(world: KafkaUnderTest) -> None:
    nowhere = world.options | {"bootstrap_servers": [f"127.0.0.1:{free_port()}"]}
    appender = Appender(nowhere, world.prefix, max_bytes=MAX_BYTES, delivery_seconds=2)
    ticket = appender.append(FINGERPRINTS, 0, None, b"0", [])
    assert world.ended(ticket) == [Sent.FAILED]
    appender.close(1)


def test_appends_that_all_fail_are_told_and_end_the_worker_when_patience_is_over(world: KafkaUnderTest) -> None:
    nowhere = f"{world.prefix}nowhere."
    create_topics(world.options, [spec for spec in topic_specs(prefix=nowhere) if spec.topic == PAGES], 1)
    log = KafkaLog(world.options, prefix=nowhere, group=f"{nowhere}g", writer="w", patience_seconds=0)
    world.members.append(Member("w", log))
    for count in range(1, LEAST_FAILURES):
        assert world.ended(log.append(FINGERPRINTS, 0, None, b"0")) == [Sent.FAILED]
        (line,) = log.failing()
        assert line.startswith(f"appends keep failing, {count} in "), line
        assert f"a record of topic {nowhere}{FINGERPRINTS}: KafkaTimeoutError" in line
    assert world.ended(log.append(FINGERPRINTS, 0, None, b"0")) == [Sent.FAILED]
    with pytest.raises(Unavailable, match=f"the last {LEAST_FAILURES} appends failed, .*topics check"):
        log.failing()


def test_an_append_that_waits_for_long_is_told_although_the_client_says_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(producers, "LONG_SECONDS", 0.2)
    with LocalBroker(data_dir=tmp_path / "data") as own:
        options = client_options(KafkaSettings(bootstrap_servers=own.bootstrap_servers))
        create_topics(options, topic_specs(prefix="", partitions=1, shards=1), 1)
        appender = Appender(options, "", max_bytes=MAX_BYTES, delivery_seconds=60)
        appender.prepare([FINGERPRINTS])
        own.kill()
        assert appender.told() == []
        appender.append(FINGERPRINTS, 0, None, b"0", [])
        wait_for(appender.told, "the appender to say that it waits")
        assert appender.told()[0].startswith(f"a record of topic {FINGERPRINTS} waits for the broker")
        appender.close(0)


def test_a_refused_transaction_is_over_before_it_is_reported(world: KafkaUnderTest) -> None:
    """Otherwise the consumed offsets could still change after they were read."""
    one, other = world.started(), world.member("other")
    stale = one.log.pages().membership()
    world.balance(one, other)
    (lost,) = other.pages
    ticket = one.log.transact([output(lost, b"late")], {lost: Committed(3, "")}, stale)
    assert world.ended(ticket) == [Sent.FAILED]
    admin = KafkaAdminClient(**world.options)
    try:
        open_ones = open_transactions(admin, f"{world.prefix}{GROUP}-")
    finally:
        admin.close()
    assert open_ones == []
    assert world.outputs(DEDUPLICATED, lost) == []


def test_headers_without_value_and_records_without_key_and_value_are_written_as_near_as_can_be(
    world: KafkaUnderTest,
) -> None:
    """kafka-python reads both and refuses to write them: a page with them would be retried for ever."""
    member = world.started()
    headers: Any = [("null", None), ("empty", b""), ("h", b"1")]  # a header should not be None
    odd = output(0, b"")._replace(key=None, value=None, headers=headers)
    ticket = member.log.transact([odd], {0: Committed(1, "")}, member.log.pages().membership())
    assert world.ended(ticket) == [Sent.DONE]
    (seen,) = world.outputs(DEDUPLICATED, 0)
    assert (seen.key, seen.value, list(seen.headers)) == (None, b"", [("null", b""), ("empty", b""), ("h", b"1")])


def test_bytes_are_counted_as_the_broker_keeps_them(world: KafkaUnderTest) -> None:
    member = world.started()
    log, pages = member.log, [output(0, b"<p>word</p>" * 5_000) for _ in range(3)]
    assert world.ended(log.transact(pages, {0: Committed(1, "")}, log.pages().membership())) == [Sent.DONE]
    assert world.ended(log.append(FINGERPRINTS, 0, b"key", b"x" * 1_000)) == [Sent.DONE]
    admin = KafkaAdminClient(**world.options)
    try:
        (told,) = admin.describe_log_dirs({world.prefix + topic: [0] for topic in (DEDUPLICATED, FINGERPRINTS)})
    finally:
        admin.close()
    kept = {
        topic["name"].removeprefix(world.prefix): topic["partitions"][0]["partition_size"]
        for folder in told["log_dirs"]
        for topic in folder["topics"]
    }
    written = log.written()
    assert kept[DEDUPLICATED] - written[DEDUPLICATED] in (0, MARKER_BYTES)
    assert 0 <= written[FINGERPRINTS] - kept[FINGERPRINTS] <= MOST_FRAMING


def lower_the_limit(world: KafkaUnderTest, topic: str, limit: int) -> None:
    """Lower the topic's limit, and return when the broker applies it."""
    admin, name = KafkaAdminClient(**world.options), world.prefix + topic
    told = {"max.message.bytes": str(limit)}
    admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, name, told)])

    def in_force() -> bool:
        asked = ConfigResource(ConfigResourceType.TOPIC, name, list(told))
        found = admin.describe_configs([asked], config_filter="all")["topic"][name]
        return bool(found["max.message.bytes"]["value"] == str(limit))

    wait_for(in_force, "the lower limit")
    admin.close()


def test_a_batch_that_the_topic_does_not_take_is_split_and_a_record_that_it_does_not_take_is_named(
    world: KafkaUnderTest,
) -> None:
    member = world.started()
    lower_the_limit(world, DEDUPLICATED, 20_000)

    noise = random.Random(1).randbytes(30_000).hex().encode()  # half as long when compressed

    def sent(*sizes: int) -> list[Sent]:
        outputs = [output(0, noise[:size])._replace(source=(0, number)) for number, size in enumerate(sizes)]
        return world.ended(
            member.log.transact(outputs, {0: Committed(1, "")}, member.log.pages().membership()),
        )

    assert sent(*[30_000] * 7) == [Sent.DONE]
    assert [len(seen.value or b"") for seen in world.outputs(DEDUPLICATED, 0)] == [30_000] * 7
    assert sent(30_000, 60_000) == [Sent.FAILED]
    (line,) = member.log.transactor.failures.told()  # type: ignore[attr-defined]
    assert "the record of page 0:1 " in line
    assert "MessageSizeTooLargeError" in line


def test_transactions_that_all_fail_end_the_worker_when_patience_is_over(world: KafkaUnderTest) -> None:
    log = KafkaLog(world.options, prefix=world.prefix, group=f"{world.prefix}g", writer="w", patience_seconds=0)
    member = Member("impatient", log)
    world.members.append(member)
    world.balance(member)
    cannot_be_sent = output(0, b"page")._replace(headers=[(17, b"")])  # type: ignore[list-item]

    def fail() -> None:
        ticket = log.transact([cannot_be_sent], {0: Committed(1, "")}, log.pages().membership())
        assert world.ended(ticket) == [Sent.FAILED]

    for _ in range(LEAST_FAILURES - 1):
        fail()
    good = log.transact([output(0, b"page")], {0: Committed(1, "")}, log.pages().membership())
    assert world.ended(good) == [Sent.DONE], "one that goes through begins the count anew"
    assert log.failing() == []
    for _ in range(LEAST_FAILURES - 1):
        fail()
        assert "transactions keep failing" in log.failing()[0]
    fail()
    with pytest.raises(Unavailable, match=f"the last {LEAST_FAILURES} transactions failed, .* TypeError"):
        log.failing()
