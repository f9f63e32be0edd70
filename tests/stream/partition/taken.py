"""A partition that a member has just got, and the outcomes of its pages."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from crawler_plugin.wire.messages import Claim
from crawler_plugin.wire.topics import PAGES
from tests.simulation.memory_log import MemoryLog, World
from tests.stream.script import policy
from worker.stream.log import Committed, Record
from worker.stream.log_follower import DecidedBatch
from worker.stream.observer import Observer
from worker.stream.partition.owned import OwnedPartition
from worker.stream.policy import ReplayPoint
from worker.verdict.claims import Claims
from worker.verdict.decide import Decisions


class Taken:
    """A world of one partition with some pages, and a member that has just got it."""

    def __init__(self, pages: int = 4, committed: Committed | None = None) -> None:
        self.world = World(partitions=1, shards=1)
        for _ in range(pages):
            self.world.publish(0, b"u", b"body")
        if committed is not None:
            self.world.committed[0] = committed
        self.log = MemoryLog(self.world, "w")
        self.log.pages().poll()
        self.world.groups[PAGES].assign({0: "w"})
        self.log.pages().poll()
        self.partition = OwnedPartition(0, Observer())

    def begin(self) -> OwnedPartition:
        self.partition.locate(self.log)
        self.partition.begin_claiming(self.log)
        return self.partition


def record(offset: int, value: bytes | None = b"body") -> Record:
    return Record(0, offset, b"u", value, (), 0)


def claiming(*consumed: int, committed: int = 0) -> OwnedPartition:
    """A partition that has consumed these offsets."""
    point = ReplayPoint(0, 0).to_metadata()
    partition = Taken(pages=100, committed=Committed(committed, point)).begin()
    for offset in consumed:
        partition.consume(record(offset))
    return partition


def decided(
    number: int, claims: Sequence[Claim], void: Sequence[int] = (), before: ReplayPoint | None = None
) -> DecidedBatch:
    """A batch of claims that are all unique except the void ones."""
    is_void = np.isin(np.arange(len(claims)), void)
    none = np.full(len(claims), -1)
    decisions = Decisions(number, Claims.of(claims), policy().near, is_void, ~is_void, none, none, None, ())
    before = before or ReplayPoint(number, 2 * number)
    return DecidedBatch(number, b"w", decisions, before, ReplayPoint(number + 1, 2 * number + 2))
