"""The world seen from outside, by commands that are not members of any group."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from crawler_plugin.wire.outcomes import Verdict
from crawler_plugin.wire.page_headers import Headers
from crawler_plugin.wire.topics import INDEX, PAGES, VERDICTS
from tests.guarantees import Source
from tests.simulation.checks import dead_letters, everything
from tests.simulation.memory_log import MemoryLog, World
from worker.stream.log import Bounds, Committed, Reader


class BrokeOff(Exception):
    """The command was killed."""


class TwinPlace:
    """The port that a repair, a copy and a switch need. After ``patience`` writes and commits it breaks off."""

    def __init__(self, world: World, patience: int | None = None) -> None:
        self.world = world
        self.log = MemoryLog(world, "outside")
        self.writes = 0
        self.patience = patience
        self.torn = False
        """Whether the command broke off between records."""

    def reader(self, topic: str, partition: int, offset: int) -> Reader:
        return self.log.reader(topic, partition, offset)

    def bounds(self, topic: str, partition: int) -> Bounds:
        return self.log.bounds(topic, partition)

    def has_partition(self, topic: str, partition: int) -> bool:
        return self.log.has_partition(topic, partition)

    def workers(self) -> Sequence[str]:
        return sorted({name for topic in (PAGES, INDEX) for name in self.world.groups[topic].members})

    def committed(self, partition: int) -> Committed | None:
        return self.log.pages().committed(partition)

    def committed_up_to(self, partition: int) -> int:
        return max((offset for number, offset in committed(self.world) if number == partition), default=-1)

    def commit(self, offsets: Mapping[int, Committed]) -> None:
        assert not self.workers(), "the broker refuses consumed offsets from outside while the group has members"
        self._count()
        self.world.committed.update(offsets)

    def write(self, records: Iterable[tuple[str, int, bytes, bytes, Headers]]) -> None:
        for topic, partition, key, value, headers in records:
            self.torn = self.writes == self.patience
            self._count()
            self.world.topics[topic, partition].append(partition, key, value, headers, self.world.clock)

    def _count(self) -> None:
        if self.writes == self.patience:
            raise BrokeOff
        self.writes += 1


def committed(world: World) -> Counter[Source]:
    """How often each page is in the outputs, by its source."""
    found: Counter[Source] = Counter()
    for record in everything(world, VERDICTS):
        found[Verdict.decode(record.value).source] += 1
    for source, _ in dead_letters(world):
        found[source] += 1
    return found
