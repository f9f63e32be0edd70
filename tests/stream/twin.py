"""The in-memory twin in the form that the contract needs."""

from __future__ import annotations

from collections.abc import Callable

from crawler_plugin.wire.topics import INDEX, PAGES
from tests.simulation.memory_log import MemoryLog, Transaction, World, in_memory
from tests.stream.contract import PARTITIONS, SHARDS, LogUnderTest, Member, Seen
from worker.stream.log import Committed, Held, Role


class Twin(LogUnderTest):
    """Every event happens at once when a test calls for it."""

    def __init__(self, replicas: int = 1) -> None:
        self.replicas = replicas
        self.world = World(partitions=PARTITIONS, shards=SHARDS)
        self.hanging: list[Transaction] = []

    def member(self, name: str) -> Member:
        return Member(name, MemoryLog(self.world, name))

    def balance(self, *members: Member) -> None:
        for member in members:
            member.poll()
        names = [member.name for member in members]
        self.world.page_group.assign({number: names[number % len(names)] for number in range(PARTITIONS)})
        roles = list(Role)[: min(self.replicas, len(names))]
        held = [(Held(shard, role), shard + place) for shard in range(SHARDS) for place, role in enumerate(roles)]
        self.world.shard_group.assign({unit: names[place % len(names)] for unit, place in held})
        for member in members:
            member.poll()

    def joined(self, member: Member) -> bool:
        self.world.shard_group.assign(dict(self.world.shard_group.owners))
        return True

    def cut_off(self, member: Member) -> None:
        for topic in (PAGES, INDEX):
            self.world.groups[topic].evict(member.name)
        in_memory(member.log).pages().member.noticed = True

    def publish(self, partition: int, value: bytes) -> int:
        return self.world.publish(partition, b"http://a.example/", value, timestamp=1)

    def append_before_hole(self, topic: str, partition: int, value: bytes) -> None:
        self.world.topics[topic, partition].append(partition, None, value, (), 0)
        self.world.topics[topic, partition].end += 1

    def hang(self, member: Member, offsets: dict[int, Committed]) -> Callable[[], None]:
        member.log.transact([], offsets, member.log.pages().membership())
        transaction = self.world.transactions[-1]
        self.world.advance(transaction)
        self.hanging.append(transaction)
        return lambda: self.world.advance(transaction)

    def outputs(self, topic: str, partition: int) -> list[Seen]:
        return [
            Seen(record.key, record.value, record.headers) for record in self.world.topics[topic, partition].records
        ]

    def until(self, what: str, condition: Callable[[], bool]) -> None:
        for _ in range(10):
            if condition():
                return
            for send in list(self.world.sends):
                self.world.land(send)
            for transaction in list(self.world.transactions):
                if not any(transaction is hung for hung in self.hanging):
                    self.world.advance(transaction)
        raise AssertionError(f"waited in vain until {what}")
