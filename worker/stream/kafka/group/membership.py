"""Membership in Kafka's consumer groups: which member owns which partition, learnt in poll only."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from kafka import KafkaConsumer, TopicPartition, errors
from kafka.structs import MemberState, OffsetAndMetadata

from worker.stream.kafka.connection import Options, reaching
from worker.stream.kafka.errors import as_stop, speaking, while_away
from worker.stream.kafka.fetches import Fetches
from worker.stream.kafka.group.assignors import Sticky, TwoHolders
from worker.stream.kafka.group.joining import Changes, Joining
from worker.stream.kafka.group.roster import NOWHERE, note_of_stop
from worker.stream.kafka.private import (
    fetched_while_joining,
    is_at_rest,
    join_anew,
    join_as_new,
    keep_to_coordinator,
    known_partitions,
    leave_when_closed,
)
from worker.stream.kafka.unpacking import unpack_bounded
from worker.stream.log import (
    Committed,
    Held,
    Membership,
    NotYet,
    PageGroup,
    Polled,
    Record,
    Role,
    ShardGroup,
    ShardsPolled,
)

COMMIT_TIMEOUT_MS: Final = 10_000
NOTE_TIMEOUT_MS: Final = 2_000
ASK_TIMEOUT_MS: Final = 200
ASK_AGAIN_SECONDS: Final = 2.0
"""Committed offsets are asked for one partition at a time, and a killed owner's transaction may be pending on all of
them. Each question waits so briefly, and is repeated so seldom, that the shards can go on answering."""
SHARDS_SECONDS: Final = 0.1
ASSIGNED_LOOK_SECONDS: Final = 0.01
SLICE_MS: Final = 100
"""How long the thread of a rebalance polls at a time. Between two polls kafka-python throws away its agreement with the
broker, and joins anew: with shorter polls that happens more often. A poll goes on to its end although the group has
come to rest, so with longer polls the worker learns later what it has lost and gained."""
MOST_ANEW: Final = 3
"""Times that a member joins under an id of its own again before it takes itself for replaced: two workers of one name
that start together would go on doing so in turn."""
MOST_ASIDE: Final = 16
"""Polls of that thread whose records the worker has not asked for; with this many the thread asks for no more."""

_log = logging.getLogger(__name__)


class Heard(NamedTuple):
    """The result of one poll of the client; ``assigned``: partitions are lost and gained by an assignment."""

    lost: Sequence[TopicPartition] = ()
    gained: Sequence[TopicPartition] = ()
    assigned: bool = False
    records: Sequence[Record] = ()


class Member:
    """A consumer that has joined a group and delivers records only of partitions of ``topic`` that were started.

    While the group rebalances, a thread has the consumer (``Joining``). A member learns of a rebalance by its
    heartbeat, so it waits for the others for up to ``heartbeat_interval_ms``. It goes on with its partitions during the
    rebalance: the thread puts their records aside, and polls bring them.

    kafka-python does not always say ``lost`` when a member was evicted: if it learns so from the answer to a join that
    it had begun as a member, it joins anew under another id and keeps partitions that others have owned in between. So
    the member watches its id, too: when the id changes, it has lost everything.
    """

    def __init__(
        self,
        options: Options,
        topic: str,
        group: str,
        most_bytes: int,
        *,
        instance: str | None = None,
        two_holders: TwoHolders | None = None,
        **more: Any,
    ) -> None:
        self._sticky = sticky = Sticky() if two_holders is None else two_holders.sticky
        self.topic = topic
        self.group = group
        with reaching(options):
            self.consumer = KafkaConsumer(
                **options,
                **more,
                group_id=group,
                group_instance_id=instance,
                enable_auto_commit=False,
                metrics_enabled=False,
                auto_offset_reset="none",
                isolation_level="read_committed",  # otherwise a predecessor's pending offsets are not waited for
                partition_assignment_strategy=[sticky] if two_holders is None else [two_holders, sticky],
            )
        unpack_bounded(self.consumer, most_bytes)
        keep_to_coordinator(self.consumer)
        self._fetches = Fetches(self.consumer)
        self.changes = Changes(self.consumer)
        sticky.heard = self.changes.assigned
        if two_holders is not None:
            two_holders.consumer = self.consumer
        topics = [topic] if two_holders is None else list(two_holders.roles)
        self.consumer.subscribe(topics, listener=self.changes)
        self._joining = Joining(self.consumer, f"joins {group}", self._poll_aside, lambda: self.changes.pending)
        self._aside: deque[dict[TopicPartition, list[Record]]] = deque()
        self._most = 1
        self._lock = threading.Lock()
        self._starting: dict[int, int] = {}
        self._flowing: set[int] = set()
        self._held: frozenset[int] = frozenset()
        self._id = ""
        self._heard: Any = None
        self._anew = 0

    @property
    def rebalancing(self) -> bool:
        """Whether a thread has the consumer; only a poll takes it back."""
        return self._joining.under_way

    def _poll(self, most: int) -> Heard:
        """Heartbeat, rebalance, at most ``most`` records; waits for nothing. With 0 it asks the client for no records.

        Raises:
            Stop: the client's error, with the operator's next move.
        """
        was_lent, self._most = self.rebalancing, most or self._most
        with speaking(f"group {self.group} on {self.topic}"):
            if was_lent and not self._joining.ended():
                return Heard(records=self._brought())
            if most and not was_lent and is_at_rest(self.consumer) and self._fetches.worth_a_poll():
                with while_away():
                    self._aside.append(self.consumer.poll(timeout_ms=0, max_records=most))
        lost, gained, assigned = self._hear()
        told = self._sticky.partitions.get(self.topic)
        if told is not None and told < known_partitions(self.consumer, self.topic) and is_at_rest(self.consumer):
            join_anew(self.consumer)  # the member that assigned them did not know them all
        if not is_at_rest(self.consumer):
            self._joining.begin()
        elif was_lent:
            self._let_flow()
        return Heard(lost, gained, assigned, self._brought())

    def _brought(self) -> list[Record]:
        """The records of all polls since the last call, without those of partitions that were lost since."""
        records: list[Record] = []
        while self._aside:
            fetched = self._aside.popleft()
            flowing = [here for here in sorted(fetched) if here.partition in self._flowing]
            records += [record for here in flowing for record in fetched[here]]
        return records

    def _poll_aside(self) -> None:
        """One poll of the thread that has the consumer while the group rebalances.

        Assigned partitions are paused then, and stay paused, even those that were owned before and delivered records.
        """
        with self.changes.none_meanwhile() as as_told:
            self._let_flow(nothing=not as_told or len(self._aside) >= MOST_ASIDE)
        with while_away():
            try:
                fetched = self.consumer.poll(timeout_ms=SLICE_MS, max_records=self._most)
            except errors.FencedInstanceIdError:
                if not self._was_promised() or self._anew >= MOST_ANEW:
                    raise
                self._anew += 1
                join_as_new(self.consumer)
                return
            self._aside.append(fetched or fetched_while_joining(self.consumer, self._most))

    def _was_promised(self) -> bool:
        """Whether the member has its id from a join that did not end.

        A broker that no longer leads the group, and does not know that yet, gives an id that the group's new leader has
        never heard of. That one then calls the member, which has a name of its own, a namesake of itself.
        """
        heard = self._heard
        return heard is None or self.consumer.group_metadata().member_id != heard.member_id

    def _hear(self) -> tuple[list[TopicPartition], list[TopicPartition], bool]:
        """The partitions lost and gained since the last time, and whether by an assignment."""
        metadata = self.consumer.group_metadata()
        if self._id and metadata.member_id not in ("", self._id):
            self.changes.interrupt()
        self._id = metadata.member_id or self._id
        if metadata.state == MemberState.STABLE:
            self._heard, self._anew = metadata, 0
        lost, gained, assigned = self.changes.take()
        self._flowing.difference_update(here.partition for here in lost)
        for here in (*lost, *gained):
            self._starting.pop(here.partition, None)  # no other thread has the consumer now
        return lost, gained, assigned

    def membership(self) -> Membership:
        """As of the last poll that found the group at rest; if anything has happened since, it counts as evicted.

        The client takes up a new generation in a thread of its own, before a poll shows what happened to the
        partitions.
        """
        now, heard = self.consumer.group_metadata(), self._heard
        changed = heard is None or (now.generation_id, now.member_id) != (heard.generation_id, heard.member_id)
        if changed or self.changes.pending:
            return Membership(-1, "", now)
        return Membership(now.generation_id, now.member_id, now)

    def start(self, partition: int, offset: int) -> None:
        """Deliver from an offset on, held or not."""
        with self._lock:
            self._starting[partition] = offset
        self._held -= {partition}
        if not self.rebalancing:
            self._let_flow()

    def hold(self, held: frozenset[int]) -> None:
        """Pause these, resume the other started ones."""
        self._held = held
        if not self.rebalancing:
            self._let_flow()

    def _let_flow(self, *, nothing: bool = False) -> None:
        """Do what ``start`` and ``hold`` asked for; only for the thread that has the consumer. With ``nothing`` pause
        everything."""
        with self._lock:
            starting, self._starting = self._starting, {}
        owned = {here.partition: here for here in self.consumer.assignment() if here.topic == self.topic}
        for number, offset in starting.items():
            if number in owned:
                self.consumer.seek(owned[number], offset)
                self._flowing.add(number)
        paused = self.consumer.paused()
        for number, here in owned.items():
            flows = number in self._flowing and number not in self._held and not nothing
            if flows and here in paused:
                self.consumer.resume(here)
            elif not flows and here not in paused:
                self.consumer.pause(here)

    def close(self, *, leave: bool = False) -> None:
        """End the membership. A member without a name of its own leaves the group at once, so that the others need not
        wait for its session to end; a member with a name leaves only if told to ``leave``, since it may come back."""
        self._joining.close()
        if leave:
            leave_when_closed(self.consumer)
        self.consumer.close(autocommit=False, timeout_ms=3000)


class KafkaPages(Member, PageGroup):
    """The group on ``pages``; a poll brings at most ``most_records``.

    kafka-python keeps a question for a committed offset whose answer did not come in time, and gives that answer to the
    next caller, however much later: by then another worker may have owned the partition and consumed further. So after
    a question without an answer the next answer is thrown away.
    """

    def __init__(
        self, options: Options, topic: str, group: str, most_bytes: int, most_records: int, **more: Any
    ) -> None:
        super().__init__(options, topic, group, most_bytes, **more)
        self._most_records = most_records
        self._not_before: dict[int, float] = {}
        self._unanswered: set[int] = set()

    def poll(self) -> Polled:
        lost, gained, _, records = self._poll(self._most_records)
        return Polled([here.partition for here in lost], [here.partition for here in gained], records)

    def committed(self, partition: int) -> Committed | None:
        if self.rebalancing or time.monotonic() < self._not_before.get(partition, 0.0):
            raise NotYet
        try:
            if partition in self._unanswered:
                self._ask(partition)
                self._unanswered.discard(partition)
            found = self._ask(partition)
        except errors.KafkaError as error:
            if not (error.retriable or isinstance(error, errors.KafkaTimeoutError)):
                raise as_stop(error, f"group {self.group}") from error
            self._unanswered.add(partition)
            self._not_before[partition] = time.monotonic() + ASK_AGAIN_SECONDS
            raise NotYet from error
        return None if found is None or found.offset < 0 else Committed(found.offset, found.metadata or "")

    def _ask(self, partition: int) -> Any:
        here = TopicPartition(self.topic, partition)
        return self.consumer.committed(here, metadata=True, timeout_ms=ASK_TIMEOUT_MS)

    def is_current(self, membership: Membership) -> bool:
        """Whether the worker is still in the group under the same id."""
        return bool(self.consumer.group_metadata().member_id == membership.member)

    def proof(self, membership: Membership, partitions: Collection[int], seconds: float) -> Any:
        """The proof for the broker that the worker owns these partitions now, and has owned them all the time since
        that membership: while a transaction is made the group may come to another generation.

        For an evicted member it is the proof that it has: the caller has to refuse it. Waits at most this many seconds
        for the assignment of a generation that has begun. May be called in any thread.

        Raises:
            CommitFailedError: one of the partitions was lost in between, if only for a moment.
            KafkaTimeoutError: no assignment came.
        """
        if membership.evicted:
            return membership.proof
        owned = [TopicPartition(self.topic, partition) for partition in partitions]
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            now = self.consumer.group_metadata()
            generation = self.changes.kept(owned, membership.generation)
            if now.member_id != membership.member or generation is None:
                raise errors.CommitFailedError("this worker lost a partition of the transaction while making it")
            if generation == now.generation_id:
                return now
            time.sleep(ASSIGNED_LOOK_SECONDS)
        raise errors.KafkaTimeoutError(f"no assignment within {seconds:g} s")

    def commit(self, offsets: Mapping[int, Committed]) -> None:
        if self.rebalancing or self.membership().evicted:
            raise NotYet
        commits = {
            TopicPartition(self.topic, partition): OffsetAndMetadata(committed.offset, committed.metadata, -1)
            for partition, committed in offsets.items()
        }
        try:
            self.consumer.commit(commits, timeout_ms=COMMIT_TIMEOUT_MS)
        except errors.KafkaError as error:
            passes = errors.CommitFailedError, errors.RebalanceInProgressError, errors.KafkaTimeoutError
            if error.retriable or isinstance(error, passes):
                raise NotYet from error
            raise as_stop(error, f"group {self.group}") from error


class KafkaShards(Member, ShardGroup):
    """The group on ``index``, and on ``index-standby`` where shards have two holders; nothing is read there.

    So it asks its consumer ten times a second at most: a question takes the client as long as a page takes. Each poll
    still sees whether the group rebalances.

    While workers that want one holder are in the group, too, the client's own assignor may give a member both roles of
    a shard. Then the member gets only the active one.
    """

    def __init__(
        self,
        *about: Any,
        two_holders: TwoHolders | None = None,
        clock: Callable[[], float] = time.monotonic,
        **more: Any,
    ) -> None:
        super().__init__(*about, two_holders=two_holders, **more)
        self._two_holders = two_holders
        self._roles = {self.topic: Role.ACTIVE} if two_holders is None else two_holders.roles
        self._units: set[Held] = set()
        self._told_of: set[Held] = set()
        self._alone: frozenset[int] = frozenset()
        self._clock = clock
        self._asked = -math.inf

    def poll(self) -> ShardsPolled:
        now = self._clock()
        due = now - self._asked >= SHARDS_SECONDS
        if due:
            self._asked = now
        lost, gained, assigned, _ = self._poll(int(due))
        gone, come = ({Held(here.partition, self._roles[here.topic]) for here in some} for some in (lost, gained))
        self._units = (self._units - gone) | come
        holds = {held for held in self._units if self._is_only_role(held)}
        was, self._told_of = self._told_of, holds
        if self._two_holders is not None and assigned:
            self._say_who_is_alone(self._two_holders.alone)
        return ShardsPolled(_in_order(gone & was | was - holds), _in_order(holds - (was - gone)), assigned)

    def _is_only_role(self, held: Held) -> bool:
        return held.role is Role.ACTIVE or Held(held.shard, Role.ACTIVE) not in self._units

    def caught_up(self, shards: frozenset[int]) -> None:
        """See the port. The member joins anew when it has caught up and the last assignment waits for that."""
        here = self._two_holders
        if here is None:
            return
        was_behind, here.caught_up = not here.caught_up >= self._shards, shards
        if here.provisional and was_behind and shards >= self._shards and not self.rebalancing:
            here.provisional = False
            join_anew(self.consumer)

    @property
    def has_none(self) -> bool:
        """Whether the group is at rest and has no shard for this member."""
        return is_at_rest(self.consumer) and not self.consumer.assignment()

    def note_stop(self, members: Iterable[str]) -> None:
        """Note in the group that this worker, by its ids in both groups, has stopped: see ``roster``.

        For the end of the worker, right before ``close``. Where the group rebalances or the broker does not answer it
        is not noted.
        """
        self._joining.close()
        note = OffsetAndMetadata(NOWHERE, note_of_stop(members), -1)
        try:
            if is_at_rest(self.consumer):
                self.consumer.commit(dict.fromkeys(self.consumer.assignment(), note), timeout_ms=NOTE_TIMEOUT_MS)
        except errors.KafkaError as error:
            _log.info("group %s was not told that this worker has stopped (%s)", self.group, error)

    @property
    def _shards(self) -> frozenset[int]:
        return frozenset(held.shard for held in self._units)

    @property
    def alone(self) -> frozenset[int]:
        return self._alone

    def _say_who_is_alone(self, shards: frozenset[int]) -> None:
        if shards != self._alone and shards:
            _log.warning(
                "shards %s have one holder: there is no other worker for the second. Start one, or set "
                "index.replicas to 1",
                ", ".join(map(str, sorted(shards))),
            )
        elif shards != self._alone:
            _log.info("every shard has two holders")
        self._alone = shards


def _in_order(holds: Iterable[Held]) -> list[Held]:
    return sorted(holds, key=lambda held: (held.shard, held.role.value))
