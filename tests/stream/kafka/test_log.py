"""Surprises of kafka-python: each of its traps against the real broker, beyond the port's contract."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from kafka import KafkaAdminClient, KafkaProducer, TopicPartition

from crawler_plugin.wire.errors import Refused, Unavailable, UsageError
from crawler_plugin.wire.topics import ANSWERS, FINGERPRINTS, INDEX, PAGES, topic_specs
from tests.stream.contract import Member
from tests.stream.kafka.under_test import GROUP, KafkaUnderTest, kafka_log
from worker.broker.ports import free_port
from worker.stream.kafka import log as log_module
from worker.stream.kafka.group import membership
from worker.stream.kafka.log import FETCH_BYTES, KafkaLog
from worker.stream.log import Committed, NotYet, Record, Sent

pytestmark = pytest.mark.cluster

MAX_BYTES = int(next(spec for spec in topic_specs() if spec.topic == FINGERPRINTS).config["max.message.bytes"])


@pytest.fixture
def world(broker: str, topic_prefix: str) -> Iterator[KafkaUnderTest]:
    with KafkaUnderTest.on(broker, topic_prefix) as world:
        yield world


class NotUtf8(str):
    """A header's name that only a foreign client writes."""

    def encode(self, *given: object) -> bytes:
        return b"\xff\xfe"


def poison(world: KafkaUnderTest, topic: str, partition: int = 0) -> int:
    """A record that the broker takes and kafka-python cannot take apart; returns its offset."""
    sent = world.crawler.send(
        world.prefix + topic, key=b"key", value=b"foreign", partition=partition, headers=[(NotUtf8("name"), b"")]
    )
    offset: int = sent.get(timeout=30).offset
    return offset


def delete_before(world: KafkaUnderTest, topic: str, offset: int) -> None:
    """Delete earlier records, as retention does in time."""
    admin = KafkaAdminClient(**world.options)
    try:
        admin.delete_records({TopicPartition(world.prefix + topic, 0): offset})
    finally:
        admin.close()


# bounds


def test_a_partition_is_there_as_soon_as_it_was_made(world: KafkaUnderTest, monkeypatch: pytest.MonkeyPatch) -> None:
    log = world.member("a").log
    assert log.has_partition(PAGES, 1)
    admin = KafkaAdminClient(**world.options)
    try:
        admin.create_partitions({world.prefix + PAGES: 3})
    finally:
        admin.close()
    assert log.has_partition(PAGES, 2)
    monkeypatch.setattr(log_module, "NEW_PARTITION_MS", 200)
    assert not log.has_partition(PAGES, 3)


def test_a_partition_for_which_no_broker_answers_in_time_is_there(
    world: KafkaUnderTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise a worker would call true claims forged while a broker is away, and end for good."""
    log = world.member("a").log
    assert log.bounds(PAGES, 0) == (0, 0)
    monkeypatch.setattr(log_module, "NEW_PARTITION_MS", 0)
    with pytest.raises(Unavailable, match=rf"partition 1 of {world.prefix}pages"):
        log.has_partition(PAGES, 1)


def test_partitions_of_which_the_client_knows_only_some_are_asked_for_together(world: KafkaUnderTest) -> None:
    log = world.member("a").log
    assert log.bounds(INDEX, 0) == (0, 0)
    assert list(log.all_bounds([(INDEX, 0), (ANSWERS, 0), (FINGERPRINTS, 0)])) == [(0, 0)] * 3


# records


def test_a_record_that_cannot_be_taken_apart_costs_only_itself_on_pages(world: KafkaUnderTest) -> None:
    for partition in (0, 1):
        assert world.publish(partition, b"before") == 0
    assert poison(world, PAGES) == 1
    assert poison(world, PAGES) == 2
    for partition in (0, 1):
        world.publish(partition, b"after")
    member = world.started(0, 1)
    assert world.delivered(member, 0, 4) == [0, 1, 2, 3]
    assert world.delivered(member, 1, 2) == [0, 1]
    bad = [record for record in member.records if record.unreadable]
    assert [(record.partition, record.offset, record.value) for record in bad] == [(0, 1, b""), (0, 2, b"")]
    assert all("utf-8" in (record.unreadable or "") for record in bad)


def test_pages_larger_than_what_is_fetched_at_a_time_come_all_the_same(world: KafkaUnderTest) -> None:
    pages = [b"before", b"x" * (FETCH_BYTES + FETCH_BYTES // 2), b"y" * (FETCH_BYTES + 1), b"after"]
    crawler = KafkaProducer(**world.options, max_request_size=MAX_BYTES)
    world.transactional.append(crawler)  # closed with the world
    for page in pages:
        crawler.send(world.prefix + PAGES, value=page, partition=0).get(timeout=30)
    member = world.started(0)
    assert world.delivered(member, 0, 4) == [0, 1, 2, 3]
    assert [record.value for record in member.records] == pages


def test_a_record_that_cannot_be_taken_apart_comes_again_to_the_next_owner(world: KafkaUnderTest) -> None:
    poison(world, PAGES)
    world.publish(0, b"after")
    first = world.started(0)
    assert world.delivered(first, 0, 2) == [0, 1]
    first.log.pages().start(0, 0)
    assert world.delivered(first, 0, 4) == [0, 1, 0, 1]


@pytest.mark.parametrize("topic", [FINGERPRINTS, ANSWERS, INDEX])
def test_a_record_that_cannot_be_taken_apart_is_passed_over_on_the_logs(world: KafkaUnderTest, topic: str) -> None:
    member = world.member("a")
    world.append(member, topic, b"0")
    assert poison(world, topic) == 1
    world.append(member, topic, b"2")
    found = world.read_to_end(member, member.log.reader(topic, 0, 0), topic)
    assert [(record.offset, record.value, record.unreadable is None) for record in found] == [
        (0, b"0", True),
        (1, b"", False),
        (2, b"2", True),
    ]


@pytest.mark.parametrize("topic", [FINGERPRINTS, ANSWERS])
def test_the_end_of_a_foreign_transaction_does_not_hold_up_a_reader(world: KafkaUnderTest, topic: str) -> None:
    member = world.member("a")
    world.append_before_hole(topic, 0, b"foreign")
    world.until("the transaction's end is written", lambda: member.log.bounds(topic, 0).end == 2)
    reader = member.log.reader(topic, 0, 0)
    assert len(world.read_to_end(member, reader, topic)) == 1
    assert reader.position == 2


def test_a_reader_that_comes_after_retention_is_refused(world: KafkaUnderTest) -> None:
    member = world.member("a")
    world.append(member, FINGERPRINTS, b"0", b"1", b"2")
    delete_before(world, FINGERPRINTS, 2)
    assert member.log.bounds(FINGERPRINTS, 0) == (2, 3)
    reader = member.log.reader(FINGERPRINTS, 0, 1)
    with pytest.raises(Refused, match="accept-gap"):
        world.until("it reads", lambda: bool(reader.read()))


def test_pages_that_are_gone_before_they_were_read_are_refused(world: KafkaUnderTest) -> None:
    for _ in range(3):
        world.publish(0, b"page")
    delete_before(world, PAGES, 2)
    member = world.started(0)

    def read() -> bool:
        member.poll()
        return bool(member.records)

    with pytest.raises(Refused, match="accept-gap"):
        world.until("it reads", read)


# membership


def namesake(world: KafkaUnderTest, name: str) -> Member:
    """A worker with this name, and with the same ``kafka.instance_id`` as all workers that are made here."""
    log = KafkaLog(
        world.options,
        prefix=world.prefix,
        group=world.prefix + GROUP,
        writer=name,
        instance="namesake",
        session_seconds=10,
        heartbeat_seconds=0.3,
        transaction_seconds=20,
    )
    member = Member(name, log)
    world.members.append(member)
    return member


def test_who_comes_back_under_its_own_name_goes_on(world: KafkaUnderTest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The broker refuses its sends under the earlier id in the words that it would use for a namesake."""
    member = namesake(world, "paused")
    world.balance(member)
    log, pages = member.log, member.log.pages()
    before = pages.membership()
    world.cut_off(member)
    world.until("it comes back", lambda: bool(pages.poll()) and not pages.membership().evicted)
    assert pages.membership().member != before.member
    assert world.ended(log.transact([], {0: Committed(1, "")}, before)) == [Sent.FAILED]
    assert "lost a partition of the transaction while making it" in log.failing()[0]
    with monkeypatch.context() as too_late:  # it is evicted between the proof and its use
        too_late.setattr(pages, "proof", lambda membership, *_: membership.proof)
        assert world.ended(log.transact([], {0: Committed(1, "")}, before)) == [Sent.FAILED]
        assert "has joined its group anew" in log.failing()[0]
    assert world.ended(log.transact([], {0: Committed(1, "")}, pages.membership())) == [Sent.DONE]
    assert log.failing() == []


def test_who_is_replaced_under_its_own_name_is_told_so(world: KafkaUnderTest) -> None:
    """Its second transaction tells it; its polls never do."""
    first, second = namesake(world, "first"), namesake(world, "second")
    world.balance(first)
    world.balance(second)
    log = first.log
    assert world.ended(log.transact([], {0: Committed(1, "")}, log.pages().membership())) == [Sent.FAILED]
    with pytest.raises(UsageError, match=r"kafka\.instance_id"):
        log.failing()
    log = second.log
    assert world.ended(log.transact([], {0: Committed(1, "")}, log.pages().membership())) == [Sent.DONE]


def test_who_has_an_id_that_the_group_never_heard_of_joins_anew(world: KafkaUnderTest) -> None:
    """A broker that was frozen gave it, and leads the group no more: its successor calls the member fenced."""
    member = namesake(world, "promised")
    world.balance(member)
    promise(member)
    world.balance(member)
    assert world.ended(member.log.transact([], {0: Committed(1, "")}, member.log.pages().membership())) == [Sent.DONE]


def promise(member: Member) -> None:
    """Let it have an id that the group's leader has never heard of."""
    for group in (kafka_log(member).pages(), kafka_log(member).shards()):
        coordinator = group.consumer._coordinator
        coordinator.reset_generation("an id that only the former leader knows")
        coordinator.request_rejoin()


def test_who_has_joined_anew_often_enough_takes_itself_for_replaced(
    world: KafkaUnderTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two workers of one name that start together would replace each other in turn."""
    monkeypatch.setattr(membership, "MOST_ANEW", 0)
    member = namesake(world, "promised")
    world.balance(member)
    promise(member)
    with pytest.raises(UsageError, match=r"kafka\.instance_id"):
        world.balance(member)


def test_a_log_without_broker_says_where_it_looked(world: KafkaUnderTest) -> None:
    port = free_port()
    nowhere = world.options | {"bootstrap_servers": [f"127.0.0.1:{port}"], "bootstrap_timeout_ms": 500}
    with pytest.raises(Unavailable, match=rf"kafka\.bootstrap_servers=127\.0\.0\.1:{port}"):
        KafkaLog(nowhere, prefix=world.prefix, group="g", writer="w")


def test_a_record_that_was_read_has_nothing_against_it(world: KafkaUnderTest) -> None:
    world.publish(0, b"page")
    member = world.started(0)
    world.delivered(member, 0, 1)
    (record,) = member.records
    assert isinstance(record, Record)
    assert record.unreadable is None


def test_an_answer_that_came_too_late_is_not_the_answer_to_the_next_question(
    world: KafkaUnderTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    member = world.member("a")
    world.balance(member)
    pages = member.log.pages()
    pages.commit({0: Committed(3, "")})
    with monkeypatch.context() as impatient:
        impatient.setattr(membership, "ASK_TIMEOUT_MS", 0)
        with pytest.raises(NotYet):
            pages.committed(0)
    pages.commit({0: Committed(5, "")})  # answered after that question, on the same connection
    found: list[Committed | None] = []

    def is_answered() -> bool:
        try:
            found.append(pages.committed(0))
        except NotYet:
            return False
        return True

    world.until("the broker answers", is_answered)
    assert found == [Committed(5, "")]
