"""Reads the broker, and writes to it, for commands that are no workers: no member of any group."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, Self

from kafka import KafkaAdminClient, KafkaConsumer, TopicPartition, errors
from kafka.admin import MemberToRemove
from kafka.structs import OffsetAndMetadata

from crawler_plugin.wire.errors import Refused, Unavailable
from crawler_plugin.wire.outcomes import Verdict
from crawler_plugin.wire.page_headers import Headers, text_headers
from crawler_plugin.wire.topics import DEAD_LETTERS, OUTPUT_MARGIN_BYTES, PAGES, VERDICTS, group_names, topic_name
from worker.stream.kafka.connection import Options, reaching
from worker.stream.kafka.errors import speaking, while_away
from worker.stream.kafka.group.roster import Seat, have_stopped, instances_of, workers_of
from worker.stream.kafka.log import KafkaReader, bounds_of, has_partition
from worker.stream.kafka.producers import Appender
from worker.stream.log import Bounds, Committed, NotYet, Sent

DELIVERY_SECONDS: Final = 30.0
ASK_TIMEOUT_MS: Final = 10_000
PATIENCE_SECONDS: Final = 60.0
LOOK_SECONDS: Final = 0.5
LAST_RECORDS: Final = 1000
"""How far back from a partition's end to look for its last record; four times as far each time there is none."""


class ClusterView:
    """A look at topics and groups from outside; as a context manager it is closed afterwards."""

    def __init__(
        self, options: Options, *, prefix: str, group: str, generation: str = "", max_message_bytes: int = 8 << 20
    ) -> None:
        self._options = dict(options)
        self._prefix = prefix
        self._generation = generation
        self._groups = group_names(group, generation)
        self._max_bytes = max_message_bytes
        with reaching(options):
            self._admin: Any = KafkaAdminClient(**options)
            self._asker: Any = KafkaConsumer(
                **options,
                group_id=self._groups[0],
                enable_auto_commit=False,
                auto_offset_reset="none",
                isolation_level="read_committed",  # otherwise offsets of an open transaction are not waited for
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self._asker.close(autocommit=False, timeout_ms=1000)
        self._admin.close()

    def reader(self, topic: str, partition: int, offset: int) -> KafkaReader:
        """A reader of everything, committed or not: for topics that are written outside transactions."""
        return KafkaReader(self._options, self._name(topic), partition, offset, self._max_bytes + OUTPUT_MARGIN_BYTES)

    def bounds(self, topic: str, partition: int) -> Bounds:
        return bounds_of(self._asker, [TopicPartition(self._name(topic), partition)])[0]

    def has_partition(self, topic: str, partition: int) -> bool:
        return has_partition(self._asker, TopicPartition(self._name(topic), partition))

    def _name(self, topic: str) -> str:
        return topic_name(self._prefix, topic, self._generation)

    def committed_up_to(self, partition: int) -> int:
        """The highest offset of a partition of ``pages`` that is in the outputs, as they are kept; -1 for none."""
        verdicts = self._last_records(VERDICTS, partition)
        dead = self._last_records(DEAD_LETTERS, partition)
        offsets = [Verdict.decode(record.value).source[1] for record in verdicts]
        offsets += [int(text_headers(record.headers)["dedup-source"].partition(":")[2]) for record in dead]
        return max(offsets, default=-1)

    def _last_records(self, topic: str, partition: int) -> list[Any]:
        """The last committed records of a partition, at least one if there is any: most of them are not needed."""
        here = TopicPartition(self._name(topic), partition)
        if partition not in (self._asker.partitions_for_topic(here.topic) or ()):
            return []  # pages has more partitions than its outputs
        begin, end = self.bounds(topic, partition)
        self._asker.assign([here])
        found: list[Any] = []
        start, back = end, LAST_RECORDS
        while not found and start > begin:
            start = max(begin, end - back)
            self._asker.seek(here, start)
            deadline = time.monotonic() + PATIENCE_SECONDS
            while (self._asker.position(here, timeout_ms=ASK_TIMEOUT_MS) or 0) < end:
                with speaking(here.topic):
                    found.extend(self._asker.poll(timeout_ms=1000).get(here, ()))
                if time.monotonic() > deadline:
                    raise Unavailable(
                        f"{here.topic}[{partition}] cannot be read to its end: look at the broker, try again"
                    )
            back *= 4
        return found

    def workers(self) -> list[str]:
        """The workers that run, each by its ``kafka.instance_id`` or, without one, as ``client on host``.

        If none runs, it removes the kept places of stopped workers (``worker.stream.kafka.group.roster``) from their
        groups, so that no one has to wait until their sessions end.

        Raises:
            Unavailable: no broker answers for the groups.
            UsageError: the broker refuses to.
        """
        seats = self._seats()
        gone = self._gone()
        if seats and all(seat.member in gone for seat in seats):
            self._put_out(seats)
            seats = self._seats()
        return workers_of([seat for seat in seats if seat.member not in gone])

    def leave(self, name: str) -> tuple[bool, bool]:
        """Remove the worker with this ``kafka.instance_id`` from its groups, so that others take its place at once.

        Returns whether it was in one of them, and whether it had said before that it stopped: if it runs, it joins
        again.

        Raises:
            Unavailable: no broker answers for the groups.
            UsageError: the broker refuses to.
        """
        seats = [seat for seat in self._seats() if seat.instance in instances_of(name)]
        gone = self._gone()
        self._put_out(seats)
        return bool(seats), all(seat.member in gone for seat in seats)

    def named(self) -> list[str]:
        """The ``kafka.instance_id`` of each worker that has a place in one of the groups, whether it runs or not."""
        return workers_of([seat for seat in self._seats() if seat.instance is not None])

    def _seats(self) -> list[Seat]:
        """All places in both groups. A broker that gets the first question about a group knows no places for a
        while."""
        found = self._asked_for_groups(lambda: self._admin.describe_groups(list(self._groups)))
        return [
            Seat(
                group,
                member["member_id"],
                member["group_instance_id"],
                f"{member['client_id']} on {member['client_host']}",
            )
            for group in self._groups
            for member in found[group]["members"]
        ]

    def _gone(self) -> frozenset[str]:
        """The ids of members that have stopped, by their notes."""
        shards = self._groups[1]
        found = self._asked_for_groups(lambda: self._admin.list_group_offsets({shards: None}))
        return have_stopped(committed.metadata or "" for committed in found[shards].values())

    def _asked_for_groups(self, ask: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        deadline = time.monotonic() + PATIENCE_SECONDS
        found: dict[str, Any] = {}
        while not found:
            with reaching(self._options), while_away():
                found = ask()
            if not found:
                if time.monotonic() > deadline:
                    raise Unavailable(f"no broker answers for group {self._groups[0]}: look at the broker, try again")
                time.sleep(LOOK_SECONDS)
        return found

    def _put_out(self, seats: Iterable[Seat]) -> None:
        """Remove these places; the place of a worker that was started again in the mean time is another one, and
        stays."""
        for group in self._groups:
            here = [MemberToRemove(seat.member, seat.instance) for seat in seats if seat.group == group]
            if here:
                with reaching(self._options):
                    self._admin.remove_group_members(group, here)

    def committed(self, partition: int) -> Committed | None:
        """The consumed offset of a partition of ``pages``; raises ``NotYet`` while a transaction is pending on it."""
        here = TopicPartition(self._name(PAGES), partition)
        try:
            found = self._asker.committed(here, metadata=True, timeout_ms=ASK_TIMEOUT_MS)
        except errors.KafkaTimeoutError as error:
            raise NotYet from error
        return None if found is None or found.offset < 0 else Committed(found.offset, found.metadata or "")

    def commit(self, offsets: Mapping[int, Committed]) -> None:
        """Set consumed offsets; raises ``Refused`` where the broker does not accept them: the group has members."""
        wanted = {
            TopicPartition(self._name(PAGES), number): OffsetAndMetadata(committed.offset, committed.metadata, -1)
            for number, committed in offsets.items()
        }
        try:
            outcomes = self._admin.alter_group_offsets(self._groups[0], wanted)
        except errors.KafkaError as error:
            raise _not_taken(self._groups[0], type(error).__name__) from error
        if failed := {outcome.__name__ for outcome in outcomes.values() if outcome is not errors.NoError}:
            raise _not_taken(self._groups[0], ", ".join(sorted(failed)))

    def write(self, records: Iterable[tuple[str, int, bytes, bytes, Headers]]) -> None:
        """Append (topic, partition, key, value, headers), one after the other, each acknowledged before the next.

        Raises:
            Unavailable: one was not acknowledged; it may still have been written.
            UsageError: the broker refused one, and would again until a setting or a right is changed.
            Refused: the same, where a topic is not as agreed.
        """
        appender = Appender(
            self._options,
            self._prefix,
            max_bytes=self._max_bytes,
            delivery_seconds=DELIVERY_SECONDS,
            generation=self._generation,
        )
        try:
            for topic, partition, key, value, headers in records:
                ticket = appender.append(topic, partition, key, value, headers)
                while ticket.state is Sent.PENDING:
                    time.sleep(0.005)
                if ticket.state is Sent.FAILED:
                    appender.look()
                    appender.failures.check(math.inf)
                    raise Unavailable(
                        f"the broker did not take a record for partition {partition} of {self._name(topic)}: "
                        "run the same command again, which goes on where this one ended"
                    )
        finally:
            appender.close(DELIVERY_SECONDS)


def _not_taken(group: str, why: str) -> Refused:
    return Refused(
        f"the broker did not take the consumed offsets of group {group} ({why}): stop all workers, wait until they "
        "have ended, and run the same command again"
    )
