"""The port to the log: all that the worker's step needs of Kafka, in one contract.

Two sides implement it: ``worker.stream.kafka.log`` over a real broker, and an in-memory twin in the tests, whose
scheduler decides when a send lands, when an acknowledgement comes and which member is evicted. One suite of contract
tests runs against both.

**What an append promises.** ``append`` returns at once. Its ticket ends DONE when the broker has the record, or FAILED
when that is unknown: the record may be there, may come later, even behind later appends, may never come. Otherwise
appends of one worker to one partition land in the order in which they were made. A crash leaves every pending ticket
in the FAILED sense.

**What a reader promises.** It delivers every record at or after its position, in order, each once. Offsets may have
holes (compaction, transaction markers). ``position`` is the offset after the last record or hole that was passed, so
when ``position >= end`` a reader has seen all that was there when ``end`` was asked for; where nothing more comes it
may take a second until it passes a hole at the end. A reader that retention has overtaken refuses: the records that it
did not see are gone.

**What membership promises.** A group hands each partition of ``pages``, and each role of a shard, to one *current*
member, but a member may not know yet that it is no longer current (paused, cut off): two owners act at the same time,
and everything but the transaction below must bear that. A rebalance reaches a member only inside its own ``poll``, as
``gained`` and ``lost``; a partition or role that was lost and came back in between is in both. An evicted member learns
of its eviction as ``lost`` at some later poll.

**What the group on** ``index`` **promises.** It hands out the *roles* of shards: one ACTIVE holder of each and, where
``index.replicas`` is 2, one STANDBY. Both hold the same state; the active one answers at once and writes, the standby
answers what the active one leaves unanswered. No assignment gives one member both roles of a shard; a role stays
without a holder while there is no worker apart from the other role's holder. A member whose role in a shard changes
loses one role and gains the other: in the same assignment, or the other in the next one, where a role is taken from its
holder before another member gets it. Each poll reports one assignment at most, and it reports every assignment, even
one that changes nothing for this member: so a member knows when a lost role will not come back.

No poll waits for other members. A rebalance goes on between polls. Until a poll has reported its end, polls of that
group may bring nothing, ``committed`` and ``commit`` raise ``NotYet``, and the requests of ``start`` and ``hold`` take
effect from then on, if the member still owns the partition. A lost partition or shard may belong to another member
before its old owner learns of the loss.

What a rebalance, a crash or a second owner does to each kind of state (the second owner of a role is one that does not
know yet that it has lost it; active and standby are no second owners of each other):

=====================  =================================  =========================  ==============================
state                  rebalance                          crash                      second owner
=====================  =================================  =========================  ==============================
claims in flight       dropped with their partition       may land later, void then  the first claim of a page counts
pages held             dropped, read again by the owner   read again                 read by both
uncommitted decisions  dropped, read again from the point read again                 only the current one's commit
shard in memory        one holder: dropped; two: kept     rebuilt from its blocks;   both answer, both the same
                       and followed, until the next       meanwhile the other holder
                       assignment has not given it back   answers
survivors in no block  active: written by the next one;   decided again from the     both write them
                       kept with the shard                logs
blocks on the topic    stay                               stay, in flight may land   overlap; the cover takes one each
snapshots on disk      stay, used if of this log, in      the last whole one stays   each replaces the other's whole
                       whatever role
consumed offsets       fenced by the generation           pending ones are waited    the evicted one's commit fails
=====================  =================================  =========================  ==============================

**What a transaction promises.** Outputs and consumed offsets become visible together or not at all, to readers of
committed records. The broker checks that the member is of the group's current generation, not that it owns the
partitions; and it accepts generation -1, which is what an evicted member has. Therefore the caller takes ``membership``
at the moment when it checks ownership, and refuses a negative generation. After FAILED the outcome is unknown but no
longer open to this worker: the transaction was committed, or aborted, or ``committed`` raises ``NotYet`` until the
broker has ended it. (An implementation fences its old producer before it reports FAILED: otherwise the offsets could
still change after a caller asked for them.)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum
from typing import Final, NamedTuple, Protocol

from crawler_plugin.wire.page_headers import Headers

RECORD_BYTES: Final = 1024
"""Bytes of memory that a record takes in addition to its content, with its claim and its decision."""
HEADER_BYTES: Final = 128
"""Bytes of memory that a header takes in addition to its name and its value."""

_WAIT: Final = 1.0
"""Seconds that ``read_to_end`` waits for records at a time, before it checks again whether it is still wanted."""


class Record(NamedTuple):
    """One record as read. ``timestamp`` is the broker's, in milliseconds since 1970 UTC.

    ``unreadable`` says why the client could not parse the record. ``oversize`` is the size in bytes of a record that is
    too large to be read, 0 for all others. Then only its place and its time are known, and the value is empty.
    """

    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: Headers
    timestamp: int
    unreadable: str | None = None
    oversize: int = 0

    @property
    def weight(self) -> int:
        """About how many bytes of memory the record takes: a page without body takes some, too."""
        headers = sum(HEADER_BYTES + len(name) + len(value or b"") for name, value in self.headers)
        return RECORD_BYTES + len(self.key or b"") + len(self.value or b"") + headers


class Output(NamedTuple):
    """One record to write in a transaction; ``topic`` is one of ``crawler_plugin.wire.topics``, without prefix.

    ``source`` is the partition and offset in ``pages`` of the page that the record is about, for messages.
    """

    topic: str
    partition: int
    key: bytes | None
    value: bytes | None
    headers: Headers
    source: tuple[int, int] | None = None


class Sent(Enum):
    """How a send ended. FAILED means that the outcome is unknown."""

    PENDING = "pending"
    DONE = "done"
    FAILED = "failed"


class Ticket(Protocol):
    """The state of a send; ask as often as you like."""

    @property
    def state(self) -> Sent:
        """Never leaves DONE or FAILED again."""


class Bounds(NamedTuple):
    """``begin``: the oldest offset that is kept; ``end``: the one that the next record gets."""

    begin: int
    end: int


class Committed(NamedTuple):
    """A consumed offset as the group keeps it: the next page to read, and the note that was written with it."""

    offset: int
    metadata: str


class Membership(NamedTuple):
    """Proof of being a current member; the broker checks it when offsets are committed. A transaction with it also
    succeeds when the group has come to another generation since, but has left its partitions where they were.

    A negative generation belongs to an evicted member. ``proof`` is the client's own form of it.
    """

    generation: int
    member: str
    proof: object = None

    @property
    def evicted(self) -> bool:
        """Whether it belongs to an evicted member. The broker would accept it, so the caller has to refuse it."""
        return self.generation < 0


class Polled(NamedTuple):
    """The results of one poll of ``pages``, in this order: partitions lost, partitions gained, records."""

    lost: Sequence[int]
    gained: Sequence[int]
    records: Sequence[Record]


class Role(Enum):
    """What a holder of a shard does with it, in addition to holding it."""

    ACTIVE = "active"
    """Answers at once; writes blocks, tombstones and snapshots."""
    STANDBY = "standby"
    """Answers what the active holder leaves unanswered for a while; writes nothing."""


class Held(NamedTuple):
    """One role of one shard."""

    shard: int
    role: Role


class ShardsPolled(NamedTuple):
    """The results of one poll of the group on ``index``, in this order: roles lost, roles gained.

    ``assigned``: the poll reports an assignment, which may have changed nothing here. An evicted member learns of its
    loss without an assignment.
    """

    lost: Sequence[Held]
    gained: Sequence[Held]
    assigned: bool


class NotYet(Exception):
    """The answer is not known yet (an earlier owner's transaction is pending, the group is rebalancing); ask again."""


class Reader(ABC):
    """Reads one partition from an offset on, outside any group."""

    @property
    @abstractmethod
    def position(self) -> int:
        """The offset after the last record or hole that was passed."""

    @abstractmethod
    def read(self, wait: float = 0.0) -> Sequence[Record]:
        """The records that have come since, possibly none; waits at most ``wait`` seconds for the first of them.

        Raises:
            Refused: the next records are not on the broker any more.
        """

    @abstractmethod
    def close(self) -> None:
        """Close the reader, which cannot be used afterwards."""


def read_to_end(reader: Reader, end: int, before_each_read: Callable[[], None] | None = None) -> Iterator[Record]:
    """The records from the reader's position on with an offset less than ``end``; waits until all have come.

    ``before_each_read`` may raise in order to give up. The reader is closed when this generator ends or its caller
    leaves it.

    Raises:
        Refused: the next records are not on the broker any more.
    """
    try:
        while reader.position < end:
            if before_each_read is not None:
                before_each_read()
            yield from (record for record in reader.read(_WAIT) if record.offset < end)
    finally:
        reader.close()


class GroupMember(ABC):
    """Membership in a group."""

    @abstractmethod
    def membership(self) -> Membership:
        """As of the last poll."""


class ShardGroup(GroupMember):
    """Membership in the group on ``index``."""

    @abstractmethod
    def poll(self) -> ShardsPolled:
        """Heartbeat and rebalance."""

    def caught_up(self, shards: frozenset[int]) -> None:
        """Say which shards this member could answer at the moment.

        The member that assigns roles next may use it: a shard is not taken from the only holder that could answer.
        """

    @property
    def alone(self) -> frozenset[int]:
        """Shards whose second role found no worker apart from the first holder, as of the last assignment."""
        return frozenset()


class PageGroup(GroupMember):
    """Membership in the group on ``pages``."""

    @abstractmethod
    def poll(self) -> Polled:
        """Heartbeat, rebalance and records: of partitions that were started since they were gained and are not on
        hold."""

    @abstractmethod
    def committed(self, partition: int) -> Committed | None:
        """The group's consumed offset as of this call, never of an earlier one; None if there is none.

        Raises:
            NotYet: a transaction that may change it is pending.
        """

    @abstractmethod
    def commit(self, offsets: Mapping[int, Committed]) -> None:
        """Commit at once, outside a transaction.

        Raises:
            NotYet: not accepted (evicted, rebalancing); nothing was committed, or it is unknown.
        """

    @abstractmethod
    def start(self, partition: int, offset: int) -> None:
        """Deliver the records of an owned partition from ``offset`` on."""

    @abstractmethod
    def hold(self, partitions: frozenset[int]) -> None:
        """Hold exactly these started partitions: they deliver no records until the next call."""


class Readable(Protocol):
    """The part of a ``Log`` that is enough to look without taking part; topics are named as there."""

    @abstractmethod
    def reader(self, topic: str, partition: int, offset: int) -> Reader:
        """A new reader."""

    @abstractmethod
    def bounds(self, topic: str, partition: int) -> Bounds:
        """Begin and end as of now."""

    @abstractmethod
    def has_partition(self, topic: str, partition: int) -> bool:
        """Whether the topic has this partition as of now, which never changes back; waits for brokers that do not know
        a new partition yet.
        """


class Log(Readable, ABC):
    """All that the worker's step asks of Kafka. Topics are named as in ``crawler_plugin.wire.topics``, without
    prefix."""

    @abstractmethod
    def pages(self) -> PageGroup:
        """This worker's membership on ``pages``; the same object at each call."""

    @abstractmethod
    def shards(self) -> ShardGroup:
        """This worker's membership on ``index``, which hands out shards; the same object at each call."""

    def all_bounds(self, places: Sequence[tuple[str, int]]) -> Sequence[Bounds]:
        """The bounds of several partitions, by topic and number, asked for together."""
        return [self.bounds(topic, partition) for topic, partition in places]

    @abstractmethod
    def append(
        self, topic: str, partition: int, key: bytes | None, value: bytes | None, headers: Headers = ()
    ) -> Ticket:
        """Write one record, outside any transaction; at least once if repeated after FAILED."""

    @abstractmethod
    def transact(self, outputs: Sequence[Output], offsets: Mapping[int, Committed], membership: Membership) -> Ticket:
        """Write outputs and consumed offsets of ``pages`` in one transaction; at most one is in flight at a time."""

    @abstractmethod
    def leave(self) -> None:
        """Leave both groups, so that others take over at once; everything but the two memberships goes on."""

    def written(self) -> Mapping[str, int]:
        """Bytes handed over for writing so far, by topic, as they go to the broker."""
        return {}

    def failing(self) -> Sequence[str]:
        """A message for people about each kind of send that keeps failing and is retried; asks no broker.

        Raises:
            Stop: the send would fail again, however often it is repeated.
        """
        return ()
