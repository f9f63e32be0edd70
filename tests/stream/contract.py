"""The promises in the prose of ``worker.stream.log``, as tests that every log must pass.

``LogUnderTest`` has the parts that tests need in addition to the port: a crawler, readers of committed records, and the
power to move partitions between members and to cut a member off. ``LogContract`` holds the tests; a subclass gives the
fixture. ``test_contract`` tests the mishaps that only a twin can produce (lost acknowledgements, sends that land late).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import NamedTuple

import pytest

from crawler_plugin.wire.page_headers import Headers
from crawler_plugin.wire.topics import ANSWERS, DEDUPLICATED, FINGERPRINTS, INDEX, PAGES, VERDICTS
from worker.stream.log import Committed, Held, Log, NotYet, Output, Reader, Record, Sent, Ticket

PARTITIONS = 2
SHARDS = 2


class Member:
    """One worker's side, and the results of its polls so far.

    ``assignments`` counts the assignments of the group on ``index``; ``changes`` has each role that was lost or gained
    there, and the number of the assignment in which the poll reported it.
    """

    def __init__(self, name: str, log: Log) -> None:
        self.name = name
        self.log = log
        self.pages: set[int] = set()
        self.held: set[Held] = set()
        self.assignments = 0
        self.changes: list[tuple[int, str, Held]] = []
        self.records: list[Record] = []
        self.ever_lost: set[int] = set()

    def poll(self) -> None:
        """Poll both groups once; each poll must report only changes, and losses before gains."""
        shards = self.log.shards().poll()
        self.assignments += shards.assigned
        self.changes += [(self.assignments, "lost", held) for held in shards.lost]
        self.changes += [(self.assignments, "gained", held) for held in shards.gained]
        assert shards.assigned or not shards.gained, "gained without an assignment"
        assert set(shards.lost) <= self.held, "lost what it did not hold"
        self.held -= set(shards.lost)
        assert not self.held & set(shards.gained), "gained what it holds"
        self.held |= set(shards.gained)
        assert len(self.shards) == len(self.held), "holds a shard in both roles"
        pages = self.log.pages().poll()
        assert set(pages.lost) <= self.pages, "lost what it did not own"
        self.pages -= set(pages.lost)
        self.ever_lost |= set(pages.lost)
        assert not self.pages & set(pages.gained), "gained what it owns"
        self.pages |= set(pages.gained)
        self.records += pages.records

    @property
    def shards(self) -> set[int]:
        """The shards that it holds in any role."""
        return {held.shard for held in self.held}

    def offsets(self, partition: int) -> list[int]:
        """The delivered offsets of a partition of ``pages``."""
        return [record.offset for record in self.records if record.partition == partition]


class Seen(NamedTuple):
    """An output as a reader of committed records sees it."""

    key: bytes | None
    value: bytes | None
    headers: Headers


class LogUnderTest(ABC):
    """A world with two partitions of ``pages`` and two shards, empty at first. Its shards have ``replicas`` holders."""

    replicas: int = 1

    @abstractmethod
    def member(self, name: str) -> Member:
        """A new worker; it is in no group before ``balance``."""

    @abstractmethod
    def balance(self, *members: Member) -> None:
        """Poll these members until each partition of ``pages`` is owned by exactly one of them, each shard has one
        active holder and, with two ``replicas`` and two members, one standby, and all members know it.

        Each of two members gets one partition of ``pages`` and is the active holder of one shard.
        """

    def joined(self, member: Member) -> bool:
        """Start a rebalance for a member that has joined, where it does not start by itself; true once it may come."""
        return True

    @abstractmethod
    def cut_off(self, member: Member) -> None:
        """Put the member out of both groups; its client has noticed, but no poll has told the worker."""

    @abstractmethod
    def publish(self, partition: int, value: bytes) -> int:
        """A crawler's page; returns its offset."""

    @abstractmethod
    def append_before_hole(self, topic: str, partition: int, value: bytes) -> None:
        """Write a record and leave the offset after it without a record (a marker, a compacted record)."""

    @abstractmethod
    def hang(self, member: Member, offsets: dict[int, Committed]) -> Callable[[], None]:
        """Let a transaction of a current member over these offsets be pending; the returned function commits it."""

    @abstractmethod
    def outputs(self, topic: str, partition: int) -> list[Seen]:
        """The outputs that a reader with ``isolation.level=read_committed`` sees by now."""

    @abstractmethod
    def until(self, what: str, condition: Callable[[], bool]) -> None:
        """Let time pass until the condition holds; fails with ``what`` after a deadline."""

    def ended(self, *tickets: Ticket) -> list[Sent]:
        """The outcomes of sends, once they have ended."""
        self.until("the sends end", lambda: all(ticket.state is not Sent.PENDING for ticket in tickets))
        return [ticket.state for ticket in tickets]

    def append(self, member: Member, topic: str, *values: bytes, partition: int = 0) -> None:
        """Append records and wait for their acknowledgement."""
        tickets = [member.log.append(topic, partition, b"key of " + value, value) for value in values]
        assert self.ended(*tickets) == [Sent.DONE] * len(values)

    def read_to_end(self, member: Member, reader: Reader, topic: str, partition: int = 0) -> list[Record]:
        """All records up to the present end of the partition."""
        end = member.log.bounds(topic, partition).end
        records: list[Record] = []

        def at_end() -> bool:
            records.extend(reader.read())
            return reader.position >= end

        self.until(f"the reader of {topic} comes to {end}", at_end)
        return records

    def started(self, *numbers: int) -> Member:
        """A lone member that owns everything and has started these partitions of ``pages`` at 0."""
        member = self.member("lone")
        self.balance(member)
        for number in numbers:
            member.log.pages().start(number, 0)
        member.log.pages().hold(frozenset())
        return member

    def delivered(self, member: Member, partition: int, count: int) -> list[int]:
        """Poll until this many records of a partition were delivered; returns all delivered offsets."""

        def enough() -> bool:
            member.poll()
            return len(member.offsets(partition)) >= count

        self.until(f"{count} records of partition {partition} are delivered", enough)
        return member.offsets(partition)


def output(partition: int, value: bytes, topic: str = DEDUPLICATED) -> Output:
    return Output(topic, partition, b"key", value, [("h", b"1")])


class LogContract:
    """The tests; a subclass has the fixture ``world``, a new ``LogUnderTest`` for each."""

    # bounds, appends, readers

    def test_an_empty_partition_begins_and_ends_at_0(self, world: LogUnderTest) -> None:
        log = world.member("a").log
        for topic, partition in ((PAGES, 1), (FINGERPRINTS, 0), (ANSWERS, 0), (INDEX, 1)):
            assert log.bounds(topic, partition) == (0, 0)

    def test_the_end_is_the_offset_that_the_next_record_gets(self, world: LogUnderTest) -> None:
        member = world.member("a")
        world.append(member, FINGERPRINTS, b"0", b"1")
        assert member.log.bounds(FINGERPRINTS, 0) == (0, 2)
        assert member.log.bounds(ANSWERS, 0) == (0, 0)
        places = [(ANSWERS, 0), (FINGERPRINTS, 0)]
        assert list(member.log.all_bounds(places)) == [(0, 0), (0, 2)]

    def test_appends_of_one_worker_land_in_the_order_in_which_they_were_made(self, world: LogUnderTest) -> None:
        member = world.member("a")
        values = [str(number).encode() for number in range(200)]
        world.append(member, FINGERPRINTS, *values)
        found = world.read_to_end(member, member.log.reader(FINGERPRINTS, 0, 0), FINGERPRINTS)
        assert [record.value for record in found] == values
        assert [record.offset for record in found] == list(range(200))

    def test_a_record_comes_back_as_it_was_appended(self, world: LogUnderTest) -> None:
        member = world.member("a")
        ticket = member.log.append(INDEX, 1, b"key", b"value", [("scheme", b"\x00\xff"), ("empty", b"")])
        assert world.ended(ticket) == [Sent.DONE]
        (record,) = world.read_to_end(member, member.log.reader(INDEX, 1, 0), INDEX, 1)
        assert (record.partition, record.offset, record.key, record.value) == (1, 0, b"key", b"value")
        assert list(record.headers) == [("scheme", b"\x00\xff"), ("empty", b"")]

    def test_a_tombstone_is_a_record_without_value(self, world: LogUnderTest) -> None:
        member = world.member("a")
        assert world.ended(member.log.append(INDEX, 0, b"key", None)) == [Sent.DONE]
        (record,) = world.read_to_end(member, member.log.reader(INDEX, 0, 0), INDEX)
        assert (record.key, record.value) == (b"key", None)

    def test_an_appended_record_is_read_without_waiting_for_any_transaction(self, world: LogUnderTest) -> None:
        member = world.started()
        finish = world.hang(member, {0: Committed(0, "")})
        world.append(member, FINGERPRINTS, b"0")
        assert len(world.read_to_end(member, member.log.reader(FINGERPRINTS, 0, 0), FINGERPRINTS)) == 1
        finish()

    def test_a_reader_begins_at_its_offset_and_stands_there_until_something_comes(self, world: LogUnderTest) -> None:
        member = world.member("a")
        world.append(member, FINGERPRINTS, b"0", b"1", b"2")
        reader = member.log.reader(FINGERPRINTS, 0, 1)
        assert reader.position == 1
        assert [record.offset for record in world.read_to_end(member, reader, FINGERPRINTS)] == [1, 2]
        assert reader.position == 3
        assert not reader.read()
        assert reader.position == 3

    def test_a_reader_brings_each_record_once_while_more_come(self, world: LogUnderTest) -> None:
        member = world.member("a")
        reader = member.log.reader(ANSWERS, 0, 0)
        found = []
        for number in range(3):
            world.append(member, ANSWERS, b"%d" % number, b"more")
            found += [record.offset for record in world.read_to_end(member, reader, ANSWERS)]
        assert found == list(range(6))

    def test_readers_do_not_disturb_each_other(self, world: LogUnderTest) -> None:
        member = world.member("a")
        world.append(member, FINGERPRINTS, b"0", b"1")
        one, other = (member.log.reader(FINGERPRINTS, 0, start) for start in (0, 1))
        assert len(world.read_to_end(member, one, FINGERPRINTS)) == 2
        one.close()
        assert len(world.read_to_end(member, other, FINGERPRINTS)) == 1

    def test_a_reader_of_the_index_passes_a_hole_at_the_end(self, world: LogUnderTest) -> None:
        member = world.member("a")
        world.append_before_hole(INDEX, 0, b"0")
        world.until("the hole to be there", lambda: member.log.bounds(INDEX, 0).end == 2)
        reader = member.log.reader(INDEX, 0, 0)
        assert len(world.read_to_end(member, reader, INDEX)) == 1
        assert reader.position == 2

    def test_a_reader_of_the_index_passes_a_hole_between_records(self, world: LogUnderTest) -> None:
        member = world.member("a")
        world.append_before_hole(INDEX, 0, b"0")
        world.append(member, INDEX, b"2")
        found = world.read_to_end(member, member.log.reader(INDEX, 0, 0), INDEX)
        assert [record.offset for record in found] == [0, 2]

    # membership

    def test_the_same_membership_is_given_at_each_call(self, world: LogUnderTest) -> None:
        log = world.member("a").log
        assert log.pages() is log.pages()
        assert log.shards() is log.shards()

    def test_a_lone_member_gains_everything_and_is_a_current_one(self, world: LogUnderTest) -> None:
        member = world.started()
        assert (member.pages, member.shards) == ({0, 1}, {0, 1})
        assert not member.log.pages().membership().evicted
        assert not member.log.shards().membership().evicted

    def test_two_members_share_both_groups_and_the_first_is_told_what_it_lost(self, world: LogUnderTest) -> None:
        one, other = world.started(), world.member("other")
        world.balance(one, other)
        assert one.pages | other.pages == {0, 1}
        assert one.shards | other.shards == {0, 1}
        assert len(one.pages) == len(other.pages) == len(one.shards) == len(other.shards) == 1
        assert one.ever_lost >= other.pages

    def test_records_of_a_gained_partition_come_only_after_start(self, world: LogUnderTest) -> None:
        for partition in range(PARTITIONS):
            world.publish(partition, b"page")
        member = world.started(1)
        assert world.delivered(member, 1, 1) == [0]
        member.poll()
        assert member.offsets(0) == []

    def test_records_come_from_the_offset_that_was_started_at(self, world: LogUnderTest) -> None:
        for number in range(5):
            world.publish(0, b"%d" % number)
        member = world.started()
        member.log.pages().start(0, 3)
        assert world.delivered(member, 0, 2) == [3, 4]
        member.log.pages().start(0, 1)
        assert world.delivered(member, 0, 6) == [3, 4, 1, 2, 3, 4]

    def test_a_page_has_the_time_at_which_the_broker_got_it(self, world: LogUnderTest) -> None:
        world.publish(0, b"0")
        member = world.started(0)
        world.delivered(member, 0, 1)
        assert member.records[0].value == b"0"
        assert member.records[0].timestamp >= 0

    def test_held_partitions_deliver_nothing_until_they_are_let_go(self, world: LogUnderTest) -> None:
        member = world.started(0, 1)
        member.log.pages().hold(frozenset({0}))
        for partition in range(PARTITIONS):
            world.publish(partition, b"page")
        assert world.delivered(member, 1, 1) == [0]
        member.poll()
        assert member.offsets(0) == []
        member.log.pages().hold(frozenset({1}))
        assert world.delivered(member, 0, 1) == [0]

    # consumed offsets

    def test_nothing_is_committed_at_first(self, world: LogUnderTest) -> None:
        member = world.started()
        assert member.log.pages().committed(0) is None

    def test_a_commit_comes_back_with_its_metadata_to_every_member(self, world: LogUnderTest) -> None:
        one, other = world.started(), world.member("other")
        one.log.pages().commit({0: Committed(7, "1 2 3"), 1: Committed(0, "")})
        assert one.log.pages().committed(0) == Committed(7, "1 2 3")
        world.balance(one, other)
        assert other.log.pages().committed(0) == Committed(7, "1 2 3")
        assert other.log.pages().committed(1) == Committed(0, "")

    def test_a_commit_by_an_evicted_member_is_not_accepted(self, world: LogUnderTest) -> None:
        member = world.started()
        world.cut_off(member)
        with pytest.raises(NotYet):
            member.log.pages().commit({0: Committed(7, "1 2 3")})
        heir = world.member("heir")
        world.balance(heir)
        assert heir.log.pages().committed(0) is None

    def test_the_consumed_offset_is_not_known_while_a_transaction_over_it_is_pending(self, world: LogUnderTest) -> None:
        member = world.started()
        member.log.pages().commit({0: Committed(1, "1 0 0")})
        finish = world.hang(member, {0: Committed(5, "1 9 9")})
        with pytest.raises(NotYet):
            member.log.pages().committed(0)
        finish()
        found: list[Committed | None] = []

        def known() -> bool:
            try:
                found.append(member.log.pages().committed(0))
            except NotYet:
                return False
            return True

        world.until("the pending transaction is over", known)
        assert found == [Committed(5, "1 9 9")]

    # transactions

    def test_outputs_and_offsets_of_a_transaction_become_visible_together(self, world: LogUnderTest) -> None:
        member = world.started()
        group = member.log.pages()
        written = [output(0, b"page"), output(1, b"other"), output(0, b"verdict", VERDICTS)]
        ticket = member.log.transact(written, {0: Committed(3, "1 2 3"), 1: Committed(4, "")}, group.membership())
        assert world.ended(ticket) == [Sent.DONE]
        assert group.committed(0) == Committed(3, "1 2 3")
        assert group.committed(1) == Committed(4, "")
        assert [(seen.key, seen.value, list(seen.headers)) for seen in world.outputs(DEDUPLICATED, 0)] == [
            (b"key", b"page", [("h", b"1")])
        ]
        assert [seen.value for seen in world.outputs(DEDUPLICATED, 1)] == [b"other"]
        assert [seen.value for seen in world.outputs(VERDICTS, 0)] == [b"verdict"]

    def test_a_transaction_may_have_offsets_alone(self, world: LogUnderTest) -> None:
        member = world.started()
        ticket = member.log.transact([], {0: Committed(3, "1 2 3")}, member.log.pages().membership())
        assert world.ended(ticket) == [Sent.DONE]
        assert member.log.pages().committed(0) == Committed(3, "1 2 3")

    def test_transactions_follow_each_other(self, world: LogUnderTest) -> None:
        member = world.started()
        for number in range(1, 4):
            offsets = {0: Committed(number, str(number))}
            ticket = member.log.transact([output(0, b"%d" % number)], offsets, member.log.pages().membership())
            assert world.ended(ticket) == [Sent.DONE]
        assert [seen.value for seen in world.outputs(DEDUPLICATED, 0)] == [b"1", b"2", b"3"]

    def test_a_membership_of_an_older_generation_is_refused_for_what_was_lost_and_leaves_nothing(
        self, world: LogUnderTest
    ) -> None:
        one, other = world.started(), world.member("other")
        stale = one.log.pages().membership()
        world.balance(one, other)
        (kept,), (lost,) = one.pages, other.pages
        offsets = {kept: Committed(2, ""), lost: Committed(3, "")}
        ticket = one.log.transact([output(lost, b"late")], offsets, stale)
        assert world.ended(ticket) == [Sent.FAILED]
        assert other.log.pages().committed(lost) is None
        assert world.outputs(DEDUPLICATED, lost) == []

    def test_what_was_kept_is_committed_with_a_membership_of_an_older_generation(self, world: LogUnderTest) -> None:
        one, other = world.started(), world.member("other")
        before = one.log.pages().membership()
        world.balance(one, other)
        (kept,) = one.pages
        ticket = one.log.transact([output(kept, b"page")], {kept: Committed(3, "")}, before)
        assert world.ended(ticket) == [Sent.DONE]
        assert one.log.pages().committed(kept) == Committed(3, "")
        assert [seen.value for seen in world.outputs(DEDUPLICATED, kept)] == [b"page"]

    def test_what_was_lost_and_came_back_is_not_committed_with_the_membership_before(self, world: LogUnderTest) -> None:
        one, other = world.started(), world.member("other")
        before = one.log.pages().membership()
        world.balance(one, other)
        (lost,) = other.pages
        world.cut_off(other)
        world.balance(one)
        ticket = one.log.transact([output(lost, b"late")], {lost: Committed(3, "")}, before)
        assert world.ended(ticket) == [Sent.FAILED]
        assert world.outputs(DEDUPLICATED, lost) == []

    def test_after_a_refused_transaction_the_next_one_goes_through(self, world: LogUnderTest) -> None:
        one, other = world.started(), world.member("other")
        stale = one.log.pages().membership()
        world.balance(one, other)
        (kept,), (lost,) = one.pages, other.pages
        world.ended(one.log.transact([output(lost, b"late")], {lost: Committed(3, "")}, stale))
        ticket = one.log.transact([output(kept, b"good")], {kept: Committed(4, "")}, one.log.pages().membership())
        assert world.ended(ticket) == [Sent.DONE]
        assert [seen.value for seen in world.outputs(DEDUPLICATED, kept)] == [b"good"]

    def test_a_transaction_in_flight_when_its_sender_is_cut_off_is_whole_or_nothing(self, world: LogUnderTest) -> None:
        member = world.started()
        ticket = member.log.transact([output(0, b"page")], {0: Committed(3, "")}, member.log.pages().membership())
        world.cut_off(member)
        (state,) = world.ended(ticket)
        heir = world.member("heir")
        world.balance(heir)
        committed = heir.log.pages().committed(0)
        seen = [seen.value for seen in world.outputs(DEDUPLICATED, 0)]
        assert (committed, seen) in [(None, []), (Committed(3, ""), [b"page"])]
        assert state is Sent.FAILED or committed is not None

    def test_who_is_cut_off_knows_itself_evicted_before_any_poll_says_so(self, world: LogUnderTest) -> None:
        member = world.started()
        world.cut_off(member)
        assert member.log.pages().membership().evicted
        assert member.pages == {0, 1}

    def test_who_is_cut_off_hears_of_its_loss_at_a_later_poll(self, world: LogUnderTest) -> None:
        member, heir = world.started(), world.member("heir")
        world.cut_off(member)
        world.balance(heir)

        def told() -> bool:
            member.poll()
            heir.poll()
            return member.ever_lost == {0, 1}

        world.until("the evicted member is told", told)
