"""A real broker in the form that the contract needs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import KafkaAdminClient, MemberToRemove
from kafka.structs import OffsetAndMetadata

from crawler_plugin.wire.topics import PAGES, topic_specs
from tests.stream.contract import PARTITIONS, SHARDS, LogUnderTest, Member, Seen
from tests.waiting import wait_for
from worker.config import KafkaSettings
from worker.stream.kafka.connection import client_options
from worker.stream.kafka.log import KafkaLog
from worker.stream.kafka.private import is_at_rest
from worker.stream.kafka.topic_admin import create_topics
from worker.stream.log import Committed, Role

PATIENCE_SECONDS: Final = 60
GROUP: Final = "workers"


def kafka_log(member: Member) -> KafkaLog:
    """The log of a member with its own type."""
    assert isinstance(member.log, KafkaLog)
    return member.log


def _is_out(member: Member) -> bool:
    return member.log.pages().membership().evicted and member.log.shards().membership().evicted


class KafkaUnderTest(LogUnderTest):
    """Topics under a prefix of their own; members poll until the groups have come to rest."""

    def __init__(self, broker: str, prefix: str, replicas: int = 1) -> None:
        self.options = client_options(KafkaSettings(bootstrap_servers=broker))
        self.prefix = prefix
        self.replicas = replicas
        specs = topic_specs(prefix=prefix, partitions=PARTITIONS, shards=SHARDS, replicas=replicas)
        create_topics(self.options, specs, 1)
        self.members: list[Member] = []
        self.crawler: Any = KafkaProducer(**self.options)
        self.transactional: list[Any] = []

    @classmethod
    @contextmanager
    def on(cls, broker: str, prefix: str, replicas: int = 1) -> Iterator[KafkaUnderTest]:
        """A world on this broker; closes all members afterwards."""
        world = cls(broker, prefix, replicas)
        try:
            yield world
        finally:
            for member in world.members:
                kafka_log(member).close(4)
            for producer in (world.crawler, *world.transactional):
                producer.close(timeout=1)

    def member(self, name: str, instance: str | None = None) -> Member:
        """A new member, with this ``kafka.instance_id`` if one is given."""
        log = KafkaLog(
            self.options,
            prefix=self.prefix,
            group=self.prefix + GROUP,
            writer=name,
            instance=instance,
            shards=SHARDS,
            replicas=self.replicas,
            session_seconds=10,
            heartbeat_seconds=0.3,
            transaction_seconds=20,
        )
        member = Member(name, log)
        self.members.append(member)
        return member

    def balance(self, *members: Member) -> None:
        roles = list(Role)[: min(self.replicas, len(members))]

        def shared(owned: list[set[int]], count: int) -> bool:
            return set().union(*owned) == set(range(count)) and all(len(o) == count // len(members) for o in owned)

        def of_role(role: Role) -> list[set[int]]:
            return [{held.shard for held in member.held if held.role is role} for member in members]

        def at_rest() -> bool:
            for member in members:
                member.poll()
                member.log.shards().caught_up(frozenset(member.shards))
            logs = [kafka_log(member) for member in members]
            # A member that is cut off while its thread still polls would join again by itself.
            if any(
                group.rebalancing or not is_at_rest(group.consumer)
                for log in logs
                for group in (log.pages(), log.shards())
            ):
                return False
            of_pages = {member.log.pages().membership().generation for member in members}
            of_shards = {member.log.shards().membership().generation for member in members}
            return (
                len(of_pages) == len(of_shards) == 1
                and min(of_pages | of_shards) >= 0
                and shared([member.pages for member in members], PARTITIONS)
                and all(shared(of_role(role), SHARDS) for role in roles)
            )

        self.until("the groups come to rest", at_rest)

    def cut_off(self, member: Member) -> None:
        admin = KafkaAdminClient(**self.options)
        try:
            gone = MemberToRemove(member_id=member.log.pages().membership().member)
            admin.remove_group_members(f"{self.prefix}{GROUP}-pages", [gone])
            shard_member = kafka_log(member).shards().consumer.group_metadata().member_id
            admin.remove_group_members(f"{self.prefix}{GROUP}-shards", [MemberToRemove(member_id=shard_member)])
        finally:
            admin.close()
        self.until("the client notices that it is out", lambda: _is_out(member))

    def publish(self, partition: int, value: bytes) -> int:
        sent = self.crawler.send(self.prefix + PAGES, value=value, key=b"http://a.example/", partition=partition)
        offset: int = sent.get(timeout=PATIENCE_SECONDS).offset
        return offset

    def append_before_hole(self, topic: str, partition: int, value: bytes) -> None:
        producer = self._transactional()
        producer.begin_transaction()
        producer.send(self.prefix + topic, value=value, key=b"key", partition=partition)
        producer.commit_transaction()

    def hang(self, member: Member, offsets: dict[int, Committed]) -> Callable[[], None]:
        producer = self._transactional()
        producer.begin_transaction()
        consumed = {
            TopicPartition(self.prefix + PAGES, partition): OffsetAndMetadata(committed.offset, committed.metadata, -1)
            for partition, committed in offsets.items()
        }
        producer.send_offsets_to_transaction(consumed, member.log.pages().membership().proof)
        return lambda: producer.commit_transaction()

    def outputs(self, topic: str, partition: int) -> list[Seen]:
        here = TopicPartition(self.prefix + topic, partition)
        consumer = KafkaConsumer(
            **self.options, group_id=None, isolation_level="read_committed", auto_offset_reset="none"
        )
        try:
            consumer.assign([here])
            consumer.seek(here, 0)
            end = consumer.end_offsets([here])[here]
            seen: list[Seen] = []

            def at_end() -> bool:
                records = consumer.poll(timeout_ms=50).get(here, ())
                seen.extend(Seen(record.key, record.value, record.headers) for record in records)
                return bool(consumer.position(here) >= end)

            self.until(f"a reader of {topic} comes to {end}", at_end)
            return seen
        finally:
            consumer.close(autocommit=False)

    def until(self, what: str, condition: Callable[[], bool]) -> None:
        wait_for(condition, what, pause=0.01)

    def _transactional(self) -> Any:
        producer = KafkaProducer(**self.options, transactional_id=f"{self.prefix}test-{len(self.transactional)}")
        producer.init_transactions()
        self.transactional.append(producer)
        return producer
