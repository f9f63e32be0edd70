"""An in-memory twin of the log: partitions, groups, transactions, compaction, retention, and a broker's bad days.

Nothing happens by itself. A send is on its way until ``World.land`` decides its outcome, a transaction goes on when
``World.advance`` is called, a rebalance reaches a member at its next poll. A seeded scheduler, or a test's script,
decides everything; ``World.settle_down`` lets everything that is on its way arrive.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from crawler_plugin.wire.errors import Refused
from crawler_plugin.wire.page_headers import Headers
from crawler_plugin.wire.topics import INDEX, PAGES
from worker.stream.log import (
    Bounds,
    Committed,
    Held,
    Log,
    Membership,
    NotYet,
    Output,
    PageGroup,
    Polled,
    Reader,
    Record,
    Role,
    Sent,
    ShardGroup,
    ShardsPolled,
)

EVICTED = Membership(-1, "")


@dataclass
class MemoryTicket:
    """The outcome of a send."""

    state: Sent = Sent.PENDING


@dataclass
class Partition:
    """One partition: its kept records, in order of offset, and its bounds."""

    begin: int = 0
    end: int = 0
    records: list[Record] = field(default_factory=list)
    history: list[Record] = field(default_factory=list)

    def append(self, number: int, key: bytes | None, value: bytes | None, headers: Headers, timestamp: int) -> int:
        self.records.append(Record(number, self.end, key, value, headers, timestamp))
        self.end += 1
        return self.end - 1

    def compact(self, *, bury: bool) -> None:
        """Keep the last record of each key; with ``bury``, tombstones go as well."""
        last = {record.key: record.offset for record in self.records}
        self.records = [r for r in self.records if last[r.key] == r.offset and not (bury and r.value is None)]

    def forget(self, begin: int) -> None:
        """Retention: everything before an offset is gone for readers; the tests still see it in ``history``."""
        self.begin = max(self.begin, min(begin, self.end))
        self.history += [record for record in self.records if record.offset < self.begin]
        self.records = [record for record in self.records if record.offset >= self.begin]


@dataclass
class OnItsWay:
    """An append that its worker has sent and the broker may not have yet."""

    sender: str
    topic: str
    partition: int
    key: bytes | None
    value: bytes | None
    headers: Headers
    ticket: MemoryTicket


@dataclass
class Transaction:
    """A transaction of one worker; ``accepted`` once the broker has taken its offsets, which are pending from then
    on."""

    sender: str
    outputs: Sequence[Output]
    offsets: Mapping[int, Committed]
    membership: Membership
    ticket: MemoryTicket
    accepted: bool = False


Unit = TypeVar("Unit", int, Held)
"""The units that a group assigns: partitions of ``pages``, or roles of shards."""


@dataclass
class Group(Generic[Unit]):
    """A consumer group: its members, the owner of each unit, the generation, and the generation that each member knows.

    A member that misses a whole generation is evicted, since it did not join the rebalance in time. ``assignments``
    counts the rebalances: the generation also grows with each eviction.
    """

    generation: int = 0
    assignments: int = 0
    owners: dict[Unit, str] = field(default_factory=dict)
    heard: dict[str, int] = field(default_factory=dict)
    evicted: set[str] = field(default_factory=set)
    since: dict[Unit, int] = field(default_factory=dict)
    """The generation since which each unit has its present owner."""

    @property
    def members(self) -> list[str]:
        return sorted(self.heard)

    def assign(self, owners: Mapping[Unit, str]) -> None:
        """A rebalance; members hear of it at their next poll."""
        for member in [member for member, heard in self.heard.items() if heard < self.generation]:
            self.evict(member)
        self.generation += 1
        self.assignments += 1
        before, self.owners = self.owners, {unit: owner for unit, owner in owners.items() if owner in self.heard}
        self.since |= {unit: self.generation for unit, owner in self.owners.items() if owner != before.get(unit)}

    def evict(self, member: str) -> None:
        """Evict the member, which does not know it yet; its units have no owner until the next rebalance."""
        if self.heard.pop(member, None) is not None:
            self.evicted.add(member)
            self.owners = {unit: owner for unit, owner in self.owners.items() if owner != member}
            self.generation += 1

    def kept(self, units: Iterable[Unit], member: str, since: int) -> bool:
        """Whether the member has owned all of these units continuously since that generation."""
        return all(self.owners.get(unit) == member and self.since[unit] <= since for unit in units)

    def owned_by(self, member: str) -> frozenset[Unit]:
        return frozenset(unit for unit, owner in self.owners.items() if owner == member)


def active(owners: Mapping[int, str]) -> dict[Held, str]:
    """Shards with their active holders, in the form of an assignment of the group on ``index``."""
    return {Held(shard, Role.ACTIVE): owner for shard, owner in owners.items()}


class World:
    """The broker, and everything that is on its way to it. ``clock`` is its time in milliseconds."""

    def __init__(self, *, partitions: int, shards: int, chance: random.Random | None = None) -> None:
        self.partitions = partitions
        """Partitions of ``pages``; ``outputs`` counts those of the topics that are written in transactions."""
        self.outputs = partitions
        self.shards = shards
        self.chance = chance
        self.clock = 0
        self.topics: dict[tuple[str, int], Partition] = defaultdict(Partition)
        self.sends: list[OnItsWay] = []
        self.limbo: list[OnItsWay] = []
        self.transactions: list[Transaction] = []
        self.committed: dict[int, Committed] = {}
        self.page_group: Group[int] = Group()
        self.shard_group: Group[Held] = Group()
        self.groups: dict[str, Group[Any]] = {PAGES: self.page_group, INDEX: self.shard_group}
        self.barrier: int | None = None
        """The offset of a record of ``fingerprints`` that no worker may decide."""
        self.meanwhile: Callable[[str], None] = lambda member: None
        """Lets the rest of the world act while a member waits for an answer of the broker."""

    def publish(
        self, partition: int, key: bytes, value: bytes | None, headers: Headers = (), timestamp: int = 0
    ) -> int:
        """A crawler's page; returns its offset."""
        return self.topics[PAGES, partition].append(partition, key, value, headers, timestamp or self.clock)

    # appends

    def land(self, send: OnItsWay, *, acknowledged: bool = True, lost: bool = False) -> None:
        """Decide the outcome of an append: written and acknowledged, written without an acknowledgement, or not
        written, perhaps not yet."""
        self.sends.remove(send)
        if lost:
            self.limbo.append(send)
        else:
            self._write(send)
        send.ticket.state = Sent.DONE if acknowledged and not lost else Sent.FAILED

    def land_late(self, send: OnItsWay) -> None:
        """An append that was reported as failed arrives after all."""
        self.limbo.remove(send)
        self._write(send)

    def _write(self, send: OnItsWay) -> None:
        self.topics[send.topic, send.partition].append(send.partition, send.key, send.value, send.headers, self.clock)

    def landable(self) -> list[OnItsWay]:
        """The appends that may land next: for each sender and partition the one that was sent first."""
        first: dict[tuple[str, str, int], OnItsWay] = {}
        for send in self.sends:
            first.setdefault((send.sender, send.topic, send.partition), send)
        return list(first.values())

    # transactions

    def advance(self, transaction: Transaction, *, commit: bool = True, acknowledged: bool = True) -> None:
        """Go to the next stage: the offsets are taken (or refused, if the generation is old), then committed or
        aborted.

        A generation of -1 is let through, as brokers do. With an older generation, partitions that the sender has kept
        since then are let through.
        """
        if not transaction.accepted:
            generation = transaction.membership.generation
            transaction.accepted = generation in (-1, self.page_group.generation) or self.page_group.kept(
                transaction.offsets, transaction.sender, generation
            )
            if not transaction.accepted:
                self._end(transaction, Sent.FAILED)
            return
        if commit:
            for output in transaction.outputs:
                self.topics[output.topic, output.partition].append(
                    output.partition, output.key, output.value, output.headers, self.clock
                )
            self.committed.update(transaction.offsets)
        self._end(transaction, Sent.DONE if commit and acknowledged else Sent.FAILED)

    def _end(self, transaction: Transaction, state: Sent) -> None:
        self.transactions.remove(transaction)
        transaction.ticket.state = state

    def give_up(self, transaction: Transaction) -> None:
        """Report an error to the sender while the broker may still hold the transaction open."""
        if transaction.accepted:
            transaction.ticket.state = Sent.FAILED
        else:
            self._end(transaction, Sent.FAILED)

    def pending(self, partition: int) -> bool:
        """Whether an open transaction may still change the consumed offset."""
        return any(t.accepted and partition in t.offsets for t in self.transactions)

    # workers

    def crash(self, member: str) -> None:
        """End the process: its sends are in limbo, its open transaction ends when it times out."""
        for send in [send for send in self.sends if send.sender == member]:
            self.sends.remove(send)
            self.limbo.append(send)
            send.ticket.state = Sent.FAILED
        self.transactions = [t for t in self.transactions if t.sender != member or t.accepted]
        for group in self.groups.values():
            group.evict(member)
            group.evicted.discard(member)

    def settle_down(self) -> bool:
        """Let everything on its way arrive; true if there was anything."""
        busy = bool(self.sends or self.transactions)
        while self.sends:
            self.land(self.sends[0])
        while self.transactions:
            self.advance(self.transactions[0])
        return busy

    def choose(self, limit: int) -> int:
        """How many of ``limit`` records a read returns: all, or a random share where a scheduler wants it."""
        return limit if self.chance is None else self.chance.randint(0, limit)


class MemoryReader(Reader):
    """Reads one partition of the world."""

    def __init__(self, world: World, partition: Partition, offset: int) -> None:
        self.world = world
        self.partition = partition
        self._position = offset

    @property
    def position(self) -> int:
        return self._position

    def read(self, wait: float = 0.0) -> Sequence[Record]:
        if self._position < self.partition.begin:
            raise Refused(f"offset {self._position} is gone, the log begins at {self.partition.begin}; start again")
        waiting = [record for record in self.partition.records if record.offset >= self._position]
        taken = waiting[: self.world.choose(len(waiting))]
        if len(taken) == len(waiting):
            self._position = max(self._position, self.partition.end)
        else:
            self._position = waiting[len(taken)].offset
        return taken

    def close(self) -> None:
        return None


class MemoryMember(Generic[Unit]):
    """One member's view of one group, as of its last poll.

    ``noticed``: its heartbeat has told the client that the member is out, before a poll told the worker. ``assigned``:
    the last poll reported an assignment; a member that misses one is evicted.
    """

    def __init__(self, group: Group[Unit], name: str) -> None:
        self.group: Group[Unit] = group
        self.name = name
        self.generation = -1
        self.noticed = False
        self.assigned = False
        self.owned: frozenset[Unit] = frozenset()
        self._assignments = 0

    def hear(self) -> tuple[list[Unit], list[Unit]]:
        """Take part in the latest rebalance, or join; returns the lost units and the gained units."""
        group = self.group
        self.assigned, self._assignments = group.assignments > self._assignments, group.assignments
        if self.name in group.evicted or self.name not in group.heard:
            self.assigned = False
            lost = sorted(self.owned, key=str)
            self.owned, self.generation, self.noticed = frozenset(), group.generation, False
            group.evicted.discard(self.name)
            group.heard[self.name] = group.generation
            return lost, []
        now = group.owned_by(self.name)
        lost, gained = sorted(self.owned - now, key=str), sorted(now - self.owned, key=str)
        self.owned, self.generation = now, group.generation
        group.heard[self.name] = group.generation
        return lost, gained

    def membership(self) -> Membership:
        return EVICTED if self.noticed else Membership(self.generation, self.name)


class MemoryPages(PageGroup):
    """Membership on ``pages``."""

    def __init__(self, world: World, name: str) -> None:
        self.world = world
        self.member = MemoryMember(world.page_group, name)
        self.positions: dict[int, int] = {}
        self.held: frozenset[int] = frozenset()

    def poll(self) -> Polled:
        lost, gained = self.member.hear()
        for number in lost:
            self.positions.pop(number, None)
        records: list[Record] = []
        for number in sorted(self.positions.keys() - self.held):
            partition = self.world.topics[PAGES, number]
            waiting = [record for record in partition.records if record.offset >= self.positions[number]]
            taken = waiting[: self.world.choose(min(len(waiting), 6))]
            if taken:
                self.positions[number] = taken[-1].offset + 1
            records.extend(taken)
        return Polled(lost, gained, records)

    def committed(self, partition: int) -> Committed | None:
        self.world.meanwhile(self.member.name)
        if self.world.pending(partition):
            raise NotYet
        return self.world.committed.get(partition)

    def commit(self, offsets: Mapping[int, Committed]) -> None:
        self.world.meanwhile(self.member.name)
        if self.member.noticed or self.member.generation != self.member.group.generation:
            raise NotYet
        self.world.committed.update(offsets)

    def start(self, partition: int, offset: int) -> None:
        self.positions[partition] = offset

    def hold(self, partitions: frozenset[int]) -> None:
        self.held = partitions

    def membership(self) -> Membership:
        return self.member.membership()


class MemoryShards(ShardGroup):
    """Membership on ``index``."""

    def __init__(self, world: World, name: str) -> None:
        self.member = MemoryMember(world.shard_group, name)

    def poll(self) -> ShardsPolled:
        lost, gained = self.member.hear()
        return ShardsPolled(lost, gained, self.member.assigned)

    def membership(self) -> Membership:
        return self.member.membership()


class MemoryLog(Log):
    """One worker's side of the world."""

    def __init__(self, world: World, name: str) -> None:
        self.world = world
        self.name = name
        self._pages = MemoryPages(world, name)
        self._shards = MemoryShards(world, name)

    def pages(self) -> MemoryPages:
        return self._pages

    def shards(self) -> MemoryShards:
        return self._shards

    def leave(self) -> None:
        for group in (self.world.page_group, self.world.shard_group):
            group.evict(self.name)
            group.evicted.discard(self.name)

    def reader(self, topic: str, partition: int, offset: int) -> Reader:
        return MemoryReader(self.world, self.world.topics[topic, partition], offset)

    def bounds(self, topic: str, partition: int) -> Bounds:
        self.world.meanwhile(self.name)
        found = self.world.topics[topic, partition]
        return Bounds(found.begin, found.end)

    def all_bounds(self, places: Sequence[tuple[str, int]]) -> Sequence[Bounds]:
        """Called for each batch that is read: nothing happens between the calls that could not happen before."""
        return [Bounds(found.begin, found.end) for found in (self.world.topics[place] for place in places)]

    def has_partition(self, topic: str, partition: int) -> bool:
        return topic != PAGES or partition < self.world.partitions

    def append(
        self, topic: str, partition: int, key: bytes | None, value: bytes | None, headers: Headers = ()
    ) -> MemoryTicket:
        ticket = MemoryTicket()
        self.world.sends.append(OnItsWay(self.name, topic, partition, key, value, headers, ticket))
        return ticket

    def transact(
        self, outputs: Sequence[Output], offsets: Mapping[int, Committed], membership: Membership
    ) -> MemoryTicket:
        if beyond := [output for output in outputs if output.partition >= self.world.outputs]:
            raise Refused(f"{beyond[0].topic} has no partition {beyond[0].partition}: make more of them")
        for open_one in [t for t in self.world.transactions if t.sender == self.name]:
            # The producer after an error has the same transactional id: the broker aborts the open transaction with
            # that id.
            self.world.transactions.remove(open_one)
        ticket = MemoryTicket()
        self.world.transactions.append(Transaction(self.name, outputs, offsets, membership, ticket))
        return ticket


def in_memory(log: Log) -> MemoryLog:
    """The log of a simulated worker with its own type, for calls that only the twin has."""
    assert isinstance(log, MemoryLog)
    return log
