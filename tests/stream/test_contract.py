"""The contract of the port to the log, over the in-memory twin and over a real broker."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from crawler_plugin.wire.topics import DEDUPLICATED, FINGERPRINTS, PAGES
from tests.stream.contract import LogContract, LogUnderTest, Member, output
from tests.stream.kafka.under_test import KafkaUnderTest
from tests.stream.roles_contract import RolesContract
from tests.stream.twin import Twin
from worker.stream.log import Committed, NotYet, Sent


class TestTwin(LogContract):
    """Nothing but memory."""

    @pytest.fixture
    def world(self) -> LogUnderTest:
        return Twin()


class TestRolesOfTwin(RolesContract):
    """The same, with two holders of each shard."""

    @pytest.fixture
    def world(self) -> LogUnderTest:
        return Twin(replicas=2)


@pytest.mark.cluster
class TestKafka(LogContract):
    """A real broker; each test has topics and groups of its own."""

    @pytest.fixture
    def world(self, broker: str, topic_prefix: str) -> Iterator[LogUnderTest]:
        with KafkaUnderTest.on(broker, topic_prefix) as world:
            yield world


@pytest.mark.cluster
class TestRolesOfKafka(RolesContract):
    """The same, with two holders of each shard."""

    @pytest.fixture
    def world(self, broker: str, topic_prefix: str) -> Iterator[LogUnderTest]:
        with KafkaUnderTest.on(broker, topic_prefix, replicas=2) as world:
            yield world


# Mishaps that only the twin can produce; the port's prose says what they may do.


@pytest.fixture
def twin() -> Twin:
    return Twin()


def values(twin: Twin, member: Member) -> list[bytes | None]:
    reader = member.log.reader(FINGERPRINTS, 0, 0)
    return [record.value for record in twin.read_to_end(member, reader, FINGERPRINTS)]


def test_a_failed_append_may_be_there(twin: Twin) -> None:
    member = twin.member("a")
    ticket = member.log.append(FINGERPRINTS, 0, None, b"0")
    twin.world.land(twin.world.sends[0], acknowledged=False)
    assert ticket.state is Sent.FAILED
    assert values(twin, member) == [b"0"]


def test_a_failed_append_may_come_later_even_behind_later_ones(twin: Twin) -> None:
    member = twin.member("a")
    first = member.log.append(FINGERPRINTS, 0, None, b"0")
    twin.world.land(twin.world.sends[0], lost=True)
    assert first.state is Sent.FAILED
    assert values(twin, member) == []
    twin.append(member, FINGERPRINTS, b"1")
    twin.world.land_late(twin.world.limbo[0])
    assert values(twin, member) == [b"1", b"0"]
    assert first.state is Sent.FAILED


def test_an_append_waits_for_those_before_it(twin: Twin) -> None:
    member, other = twin.member("a"), twin.member("b")
    for number in range(3):
        member.log.append(FINGERPRINTS, 0, None, b"%d" % number)
    other.log.append(FINGERPRINTS, 0, None, b"other")
    assert [send.value for send in twin.world.landable()] == [b"0", b"other"]


def test_a_crash_leaves_every_pending_ticket_failed_and_its_record_in_limbo(twin: Twin) -> None:
    member = twin.member("a")
    ticket = member.log.append(FINGERPRINTS, 0, None, b"0")
    twin.world.crash("a")
    assert ticket.state is Sent.FAILED
    twin.world.land_late(twin.world.limbo[0])
    assert values(twin, twin.member("b")) == [b"0"]


@pytest.mark.parametrize("through", [True, False])
def test_a_crash_leaves_an_open_transaction_pending_until_the_broker_ends_it(twin: Twin, through: bool) -> None:
    member, heir = twin.started(), twin.member("heir")
    member.log.transact([output(0, b"page")], {0: Committed(3, "")}, member.log.pages().membership())
    (transaction,) = twin.world.transactions
    twin.world.advance(transaction)
    twin.world.crash("lone")
    twin.balance(heir)
    with pytest.raises(NotYet):
        heir.log.pages().committed(0)
    assert twin.outputs(DEDUPLICATED, 0) == []
    twin.world.advance(transaction, commit=through)
    assert heir.log.pages().committed(0) == (Committed(3, "") if through else None)
    assert len(twin.outputs(DEDUPLICATED, 0)) == int(through)


def test_a_transaction_that_failed_may_have_been_committed(twin: Twin) -> None:
    member = twin.started()
    ticket = member.log.transact([output(0, b"page")], {0: Committed(3, "")}, member.log.pages().membership())
    (transaction,) = twin.world.transactions
    twin.world.advance(transaction)
    twin.world.advance(transaction, acknowledged=False)
    assert ticket.state is Sent.FAILED
    assert member.log.pages().committed(0) == Committed(3, "")


def test_the_broker_lets_the_generation_of_an_evicted_member_pass(twin: Twin) -> None:
    """A real broker does so too: this is why the worker must refuse that generation."""
    member = twin.started()
    twin.cut_off(member)
    ticket = member.log.transact([output(0, b"page")], {0: Committed(3, "")}, member.log.pages().membership())
    assert twin.ended(ticket) == [Sent.DONE]
    assert twin.outputs(DEDUPLICATED, 0)


def test_a_member_that_misses_a_whole_generation_is_evicted(twin: Twin) -> None:
    one, other = twin.started(), twin.member("other")
    twin.balance(one, other)
    group = twin.world.groups[PAGES]
    group.assign({0: "other", 1: "other"})
    other.poll()
    group.assign({0: "other", 1: "other"})
    assert "lone" in group.evicted
    one.poll()
    assert one.pages == set()
