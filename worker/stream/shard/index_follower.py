"""Follows a shard's partition of ``index``, so that any holder that may write its next block knows all blocks there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from crawler_plugin.wire.errors import UnreadableRecord
from crawler_plugin.wire.messages import Block
from crawler_plugin.wire.topics import INDEX
from worker.index.blocks import suspects_of, unpack
from worker.stream.log import Log, Reader, Record
from worker.stream.observer import Observer
from worker.stream.policy import ReplayPoint
from worker.stream.shard.block_writer import BlockWriter
from worker.stream.shard.live import LiveShard
from worker.stream.shard.restore import read_block


class Span(NamedTuple):
    """The batches (``after``, ``to``] of a block, and where to read ``answers`` on after them."""

    after: int
    to: int
    answers_offset: int


class GrowingCover:
    """Where the cover of a shard's blocks ends, while more of them land; it begins at the ``end`` of earlier blocks.

    The end is that of ``worker.index.blocks.cover`` of them all. ``floor`` is the largest on the topic.
    """

    def __init__(self, end: ReplayPoint, floor: int) -> None:
        self.to = end.batch - 1
        self.answers_offset = end.answers_offset
        self.floor = floor
        self._above: list[Span] = []

    @property
    def end(self) -> ReplayPoint:
        """Where to read the logs on after the cover."""
        return ReplayPoint(self.to + 1, self.answers_offset)

    def take(self, block: Block) -> None:
        """Add a block that has landed. A block above a hole does not count before the hole is filled.

        Up to the floor there is no hole: all blocks there have expired.
        """
        self.floor = max(self.floor, block.floor)
        self._above.append(Span(block.after, block.to, block.answers_offset))
        while furthest := max(filter(self._extends, self._above), key=lambda span: span.to, default=None):
            _, self.to, self.answers_offset = furthest
        self._above = [span for span in self._above if span.to > self.to]

    def _extends(self, span: Span) -> bool:
        return span.to > self.to and (span.after <= max(self.to, self.floor) or span.to <= self.floor)


@dataclass(eq=False)
class IndexFollower:
    """Reads the blocks that land on a shard's partition of ``index`` after its restore, whichever worker wrote them.

    Where a shard has two holders, each of them follows: the standby drops what the blocks of the active holder cover,
    and either of them knows which blocks are to be buried one day. An active holder writes only when it has read up to
    the end that the partition had when it became active: it must not write its predecessor's last block again.
    """

    log: Log
    shard: LiveShard
    writer: BlockWriter
    observer: Observer

    def __post_init__(self) -> None:
        self.cover = GrowingCover(self.writer.replay_point, self.writer.floor)
        self._begin = self.writer.block_keys_before
        self._reader: Reader | None = None
        self._end: int | None = None

    def ask_anew(self) -> None:
        """From here on ``at_end`` refers to an end that is asked for later than now."""
        self._end = None

    @property
    def at_end(self) -> bool:
        """Whether all records up to the end were read, as of the last ``ask_anew``."""
        return self._reader is not None and self._end is not None and self._reader.position >= self._end

    def step(self) -> None:
        """Read the blocks that have landed.

        Raises:
            Unavailable: the broker does not answer, which took a time-out; ask again.
            Refused: a block of another scheme has landed, or the next records are not on the broker any more.
        """
        number = self.shard.number
        if self._reader is None:
            self._reader = self.log.reader(INDEX, number, self._begin)
        if self._end is None:
            self._end = self.log.bounds(INDEX, number).end
        records = self._reader.read()
        landed = {record.key or b"": self._take(record) for record in records}
        self.writer.learn(landed, self._reader.position)
        self.writer.covered(self.cover.end, self.cover.floor)
        self.shard.let_go(self.cover.to)

    def _take(self, record: Record) -> int | None:
        """The last batch of the block; None if there is none."""
        block = read_block(record, self.shard.number, self.shard.policy, self.observer)
        if block is None:
            return None
        try:
            unpack(block)
        except UnreadableRecord as error:
            self.observer.unreadable(INDEX, record.offset, str(error))
        else:
            self.cover.take(block)
            self.shard.suspects.learn(suspects_of(block))
        return block.to

    def close(self) -> None:
        """Stop reading."""
        if self._reader is not None:
            self._reader.close()
