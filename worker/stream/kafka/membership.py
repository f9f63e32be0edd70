"""Membership in Kafka's consumer groups: who owns which partition, heard in poll only."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from kafka import ConsumerRebalanceListener, KafkaConsumer, TopicPartition, errors
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.structs import MemberState, OffsetAndMetadata

from worker.stream.kafka.connection import Options, reaching
from worker.stream.kafka.errors import as_stop, speaking, while_away
from worker.stream.kafka.fetches import Fetches
from worker.stream.kafka.private import is_at_rest
from worker.stream.kafka.rebalance import Joining
from worker.stream.kafka.unpacking import unpack_bounded
from worker.stream.log import Committed, Membership, NotYet, PageGroup, Polled, Record, ShardGroup

COMMIT_TIMEOUT_MS: Final = 10_000
ASK_TIMEOUT_MS: Final = 200
ASK_AGAIN_SECONDS: Final = 2.0
"""Committed offsets are asked for one partition at a time, while a killed owner's transaction is pending on all of them
perhaps: so briefly and so seldom, that the shards go on answering meanwhile."""
SHARDS_SECONDS: Final = 0.1
NOTHING: Final = Polled((), (), ())


class Changes(ConsumerRebalanceListener):  # type: ignore[misc]
    """What rebalances did since the last poll. Called in the client's own thread, read in the worker's."""

    def __init__(self, consumer: Any) -> None:
        self._consumer = consumer
        self._lock = threading.Lock()
        self._owned: set[int] = set()
        self._told: set[int] = set()
        self._interrupted: set[int] = set()

    def on_partitions_assigned(self, assigned: Iterable[TopicPartition]) -> None:
        """New ones begin paused and at a position that is not asked for: the worker says where to read from."""
        with self._lock:
            for partition in assigned:
                if partition.partition not in self._owned:
                    self._consumer.pause(partition)
                    self._consumer.seek(partition, 0)
                    self._owned.add(partition.partition)

    def on_partitions_revoked(self, revoked: Iterable[TopicPartition]) -> None:
        """Given up in a rebalance."""
        with self._lock:
            gone = {partition.partition for partition in revoked}
            self._owned -= gone
            self._interrupted |= gone

    def on_partitions_lost(self, lost: Iterable[TopicPartition]) -> None:
        """Evicted; the same to us."""
        self.on_partitions_revoked(lost)

    def interrupt(self) -> None:
        """Whatever is owned was lost in between, although nobody said so."""
        with self._lock:
            self._interrupted |= self._owned

    @property
    def pending(self) -> bool:
        """Whether something happened that the worker has not heard of."""
        with self._lock:
            return self._owned != self._told or bool(self._interrupted)

    def take(self) -> tuple[list[int], list[int]]:
        """Lost and gained since the last call; what was lost and came back is in both."""
        with self._lock:
            lost = self._told & (self._interrupted | (self._told - self._owned))
            gained = self._owned - (self._told - lost)
            self._told = set(self._owned)
            self._interrupted = set()
            return sorted(lost), sorted(gained)


class Member:
    """One membership: a consumer that joined a group on one topic and delivers only what was started.

    While the group rebalances, the consumer is in the hands of a thread (see ``kafka_joining``): polls bring nothing,
    and what is started or held meanwhile takes effect when the thread gives it back.

    kafka-python does not always say ``lost`` when a member was put out: if it learns so from the answer to a join that
    it had begun as a member, it joins anew under another id and keeps what it held, which meanwhile was another's. So
    the id is watched, too: under a new one, everything was lost.
    """

    def __init__(
        self, options: Options, topic: str, group: str, instance: str | None, most_bytes: int, **more: Any
    ) -> None:
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
                isolation_level="read_committed",  # else a predecessor's pending offsets are not waited for
                partition_assignment_strategy=[CooperativeStickyAssignor],
            )
        unpack_bounded(self.consumer, most_bytes)
        self._fetches = Fetches(self.consumer)
        self.changes = Changes(self.consumer)
        self.consumer.subscribe([topic], listener=self.changes)
        self._joining = Joining(self.consumer, f"joins {group}", lambda: self.changes.pending)
        self._starting: dict[int, int] = {}
        self._flowing: set[int] = set()
        self._held: frozenset[int] = frozenset()
        self._id = ""
        self._heard: Any = None

    @property
    def rebalancing(self) -> bool:
        """Whether the consumer is in the thread's hands; only ``poll`` takes it back."""
        return self._joining.under_way

    def poll(self, most: int) -> Polled:
        """Heartbeat, rebalance, ``most`` records; waits for nothing. With 0 the client is not asked for any.

        Raises:
            Stop: the client's error, with the operator's next move.
        """
        fetched: dict[TopicPartition, list[Record]] = {}
        was_lent = self.rebalancing
        with speaking(f"group {self.group} on {self.topic}"):
            if was_lent and not self._joining.ended():
                return NOTHING
            if most and not was_lent and is_at_rest(self.consumer) and self._fetches.worth_a_poll():
                with while_away():
                    fetched = self.consumer.poll(timeout_ms=0, max_records=most)
        lost, gained = self._hear()
        if not is_at_rest(self.consumer):
            self.consumer.pause(*self.consumer.assignment())
            self._joining.begin()
        elif was_lent:
            self._let_flow()
        return Polled(
            lost,
            gained,
            [record for here in sorted(fetched) if here.partition in self._flowing for record in fetched[here]],
        )

    def _hear(self) -> tuple[list[int], list[int]]:
        """What was lost and gained since the last time."""
        metadata = self.consumer.group_metadata()
        if self._id and metadata.member_id not in ("", self._id):
            self.changes.interrupt()
        self._id = metadata.member_id or self._id
        self._heard = metadata if metadata.state == MemberState.STABLE else self._heard
        lost, gained = self.changes.take()
        self._flowing -= set(lost)
        for number in (*lost, *gained):
            self._starting.pop(number, None)
        return lost, gained

    def membership(self) -> Membership:
        """As of the last poll that found the group at rest; if anything has happened since, as good as evicted.

        The client takes up a new generation in a thread of its own, before a poll tells what became of the partitions.
        """
        now, heard = self.consumer.group_metadata(), self._heard
        changed = heard is None or (now.generation_id, now.member_id) != (heard.generation_id, heard.member_id)
        if changed or self.changes.pending:
            return Membership(-1, "", now)
        return Membership(now.generation_id, now.member_id, now)

    def start(self, partition: int, offset: int) -> None:
        """Deliver from an offset on, held or not."""
        self._starting[partition] = offset
        self._held -= {partition}
        if not self.rebalancing:
            self._let_flow()

    def hold(self, held: frozenset[int]) -> None:
        """Pause these, resume the other started ones."""
        self._held = held
        if not self.rebalancing:
            self._let_flow()

    def _let_flow(self) -> None:
        """Do what was asked by ``start`` and ``hold``."""
        owned = {here.partition: here for here in self.consumer.assignment()}
        for number, offset in self._starting.items():
            if number in owned:
                self.consumer.seek(owned[number], offset)
                self._flowing.add(number)
        self._starting.clear()
        paused = self.consumer.paused()
        for number, here in owned.items():
            flows = number in self._flowing and number not in self._held
            if flows and here in paused:
                self.consumer.resume(here)
            elif not flows and here not in paused:
                self.consumer.pause(here)

    def close(self) -> None:
        """Leave the group at once, so that the others need not wait for the session to time out."""
        self._joining.close()
        self.consumer.close(autocommit=False, timeout_ms=3000)


class KafkaPages(PageGroup):
    """The group on ``pages``.

    kafka-python keeps a question for a committed offset whose answer did not come in time, and gives that answer to
    whoever asks next, however much later: the partition may have been another's meanwhile, and consumed further. So
    after a question without answer the next answer is thrown away.
    """

    def __init__(self, member: Member, most_records: int) -> None:
        self.member = member
        self._most = most_records
        self._not_before: dict[int, float] = {}
        self._unanswered: set[int] = set()

    def poll(self) -> Polled:
        return self.member.poll(self._most)

    def committed(self, partition: int) -> Committed | None:
        if self.member.rebalancing or time.monotonic() < self._not_before.get(partition, 0.0):
            raise NotYet
        try:
            if partition in self._unanswered:
                self._ask(partition)
                self._unanswered.discard(partition)
            found = self._ask(partition)
        except errors.KafkaError as error:
            if not (error.retriable or isinstance(error, errors.KafkaTimeoutError)):
                raise as_stop(error, f"group {self.member.group}") from error
            self._unanswered.add(partition)
            self._not_before[partition] = time.monotonic() + ASK_AGAIN_SECONDS
            raise NotYet from error
        return None if found is None or found.offset < 0 else Committed(found.offset, found.metadata or "")

    def _ask(self, partition: int) -> Any:
        here = TopicPartition(self.member.topic, partition)
        return self.member.consumer.committed(here, metadata=True, timeout_ms=ASK_TIMEOUT_MS)

    def commit(self, offsets: Mapping[int, Committed]) -> None:
        if self.member.rebalancing or self.membership().evicted:
            raise NotYet
        commits = {
            TopicPartition(self.member.topic, partition): OffsetAndMetadata(committed.offset, committed.metadata, -1)
            for partition, committed in offsets.items()
        }
        try:
            self.member.consumer.commit(commits, timeout_ms=COMMIT_TIMEOUT_MS)
        except (errors.CommitFailedError, errors.RebalanceInProgressError, errors.KafkaTimeoutError) as error:
            raise NotYet from error
        except errors.KafkaError as error:
            if error.retriable:
                raise NotYet from error
            raise as_stop(error, f"group {self.member.group}") from error

    def start(self, partition: int, offset: int) -> None:
        self.member.start(partition, offset)

    def hold(self, partitions: frozenset[int]) -> None:
        self.member.hold(partitions)

    def membership(self) -> Membership:
        return self.member.membership()


class KafkaShards(ShardGroup):
    """The group on ``index``; it hands out shards and reads nothing.

    So its consumer is asked ten times a second at most: asking takes the client as long as a page takes. That the group
    rebalances is seen in every pass.
    """

    def __init__(self, member: Member, clock: Callable[[], float] = time.monotonic) -> None:
        self.member = member
        self._clock = clock
        self._asked = -math.inf

    def poll(self) -> Polled:
        now = self._clock()
        due = now - self._asked >= SHARDS_SECONDS
        if due:
            self._asked = now
        polled = self.member.poll(1 if due else 0)
        return Polled(polled.lost, polled.gained, ())

    def membership(self) -> Membership:
        return self.member.membership()
