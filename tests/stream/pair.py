"""Two workers in a script: each holds every shard, in one role or the other; the first worker owns the pages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from crawler_plugin.wire.messages import Answer, Block, decode
from crawler_plugin.wire.topics import ANSWERS, INDEX
from tests.stream.script import Stage
from worker.stream.log import Held, Role
from worker.stream.shard.owned import OwnedShard
from worker.stream.worker import Worker

ONE, OTHER = "w1", "w2"
HEDGE = 5.0


class Pair(Stage):
    """``ONE`` is active at first, ``OTHER`` is its standby; the standby does not answer in its place before ``HEDGE``
    seconds."""

    def __init__(self, *, shards: int = 1, replicas: int = 2, **changes: Any) -> None:
        super().__init__(**{"shards": shards, "replicas": replicas, "hedge": HEDGE, **changes})
        self.start()
        self.workers[OTHER].poll()
        self.give({Role.ACTIVE: ONE, Role.STANDBY: OTHER})
        self.claim()

    def flush(self) -> None:
        self.follow_index()
        super().flush()

    def give(self, owners: Mapping[Role, str]) -> None:
        """Make an assignment of all shards, of which both workers hear; roles that are not named are not assigned."""
        self._all("poll")
        units = (Held(shard, role) for shard in range(self.world.shards) for role in owners)
        self.world.shard_group.assign({unit: owners[unit.role] for unit in units})
        self._all("poll")

    def swap(self) -> None:
        """Swap the roles of both workers, in one assignment."""
        self.give({Role.ACTIVE: OTHER, Role.STANDBY: ONE})

    def tell(self) -> None:
        """Make an assignment that changes nothing."""
        self._all("poll")
        self.world.shard_group.assign(dict(self.world.shard_group.owners))
        self._all("poll")

    def kill(self, name: str) -> None:
        """Kill the worker; no group knows that yet."""
        heard = self.world.shard_group.owners
        del self.workers[name]
        self.world.crash(name)
        self.world.shard_group.owners = heard

    def wait(self, seconds: float) -> None:
        self.now += seconds

    def follow_index(self) -> None:
        """Let both workers read the new records on the topic."""
        self._all("tidy")

    @property
    def one(self) -> Worker:
        return self.workers[ONE]

    @property
    def other(self) -> Worker:
        return self.workers[OTHER]

    def held(self, name: str) -> OwnedShard:
        """Its first shard."""
        return self.workers[name].shards[0]

    def unwritten(self, name: str) -> int:
        """The number of survivors of its first shard that it may still have to write."""
        live = self.held(name).live
        assert live is not None
        return live.unflushed + sum(block.count for block in live.sealed)

    def answers(self) -> list[tuple[int, str]]:
        """Batch and writer of each answer that has landed, for the first shard."""
        found = [decode(Answer, record.value) for record in self.world.topics[ANSWERS, 0].records]
        return [(answer.batch, answer.writer.decode()) for answer in found if answer.shard == 0]

    def blocks(self) -> list[tuple[int, int, str]]:
        """(after, to, writer) of each block of the first shard that has landed."""
        records = self.world.topics[INDEX, 0].records
        found = [decode(Block, record.value) for record in records if record.value is not None]
        return [(block.after, block.to, block.writer.decode()) for block in found]
