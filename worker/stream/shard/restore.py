"""Rebuilds a shard from its blocks on the compacted topic."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, wait
from dataclasses import dataclass, field
from functools import partial
from typing import Final, NamedTuple

from crawler_plugin.wire.errors import Refused, UnreadableRecord
from crawler_plugin.wire.messages import Answer, Block, decode, encode, forgotten_of
from crawler_plugin.wire.topics import ANSWERS, INDEX
from worker.index.blocks import NO_BATCH, Cover, cover, suspects_of, unpack
from worker.index.entries import Entries
from worker.stream.log import Log, Record, Sent, Ticket
from worker.stream.observer import Observer
from worker.stream.policy import BEING_COPIED, BRIDGE_HEADER, Policy, ReplayPoint, other_scheme
from worker.stream.replay import readable_point
from worker.stream.resources import WorkerResources
from worker.stream.shard.expiry_clocks import Clocks
from worker.stream.shard.live import Index, IndexFactory, LiveShard, Standing
from worker.stream.shard.memory_limit import OverMemoryLimit
from worker.stream.shard.snapshot_file import SnapshotDamaged
from worker.stream.shard.snapshots import refuse
from worker.verdict.suspects import LONG_AGO

_WAIT: Final = 0.005
"""Seconds for which a step waits for records, or for the loading; without a wait the loop would burn a core. The shards
that answer already wait during that time, once for each shard that is being restored."""


def read_block(record: Record, number: int, policy: Policy, observer: Observer) -> Block | None:
    """The block in a record of a shard's partition; None for a tombstone, and for a record that is no such block.

    Raises:
        Refused: it is of another scheme.
    """
    if record.value is None:
        return None
    try:
        block = decode(Block, record.value)
    except UnreadableRecord as error:
        observer.unreadable(INDEX, record.offset, str(error))
        return None
    if block.scheme != policy.scheme:
        raise other_scheme(policy, block.scheme, record.headers, INDEX)
    if block.shard != number:
        observer.unreadable(INDEX, record.offset, f"a block of shard {block.shard} in partition {number}")
        return None
    return block


class Restored(NamedTuple):
    """A shard from its blocks; ``block_keys`` maps the keys on the topic to the last batch of their block.

    ``position`` is the offset up to which the topic was read.
    """

    shard: LiveShard
    block_keys: dict[bytes, int]
    position: int
    floor: int


class _Loaded(NamedTuple):
    """The result of the blocks: the cover without its pieces, and the index that holds their entries.

    ``unreadable`` are blocks that contradict themselves, by offset.
    """

    standing: Standing
    floor: int
    survivors: Index
    blocks: int
    damaged: int
    unreadable: list[tuple[int, str]]


@dataclass(eq=False)
class Restoration:
    """Reads one shard's partition of ``index`` to its end, a step at a time.

    1. Where this machine has a snapshot of the shard, begin where it ends; it counts as a block (
       ``worker.stream.shard.snapshots`` says which snapshots are used).
    2. Read until the position equals an end that was asked for *after* the last record came: this takes in blocks that
       land during the reading, and does not wait for those that compaction removed.
    3. Build the cover of all blocks that were read.
    4. Load its entries, in the background, if there is one.
    5. Check that both logs still reach back to its end.

    Where the index is being copied from a generation that works, the cover ends at a block that others will follow.
    Then, after 4, the blocks that come are read and loaded, up to the last block of the copy; the copy learns how far
    that is.

    If 3 to 5 fail with a snapshot, or 2 finds that a repair has given up batches that the snapshot holds, all steps
    begin anew without the snapshot.
    """

    number: int
    log: Log
    policy: Policy
    observer: Observer
    resources: WorkerResources = field(default_factory=WorkerResources)

    def __post_init__(self) -> None:
        folder = self.resources.snapshots
        self.snapshot = None if folder is None else folder.find(self.number, self.log, self.policy)
        self._begin()

    def _begin(self) -> None:
        begin = self.log.bounds(INDEX, self.number).begin
        head = None if self.snapshot is None else self.snapshot.head
        self.reader = self.log.reader(INDEX, self.number, begin if head is None else max(begin, head.position))
        self.blocks: dict[bytes, Block] = {}
        self.offsets: dict[int, int] = {}
        self.block_keys = {} if head is None else dict(head.block_keys)
        self._first = self.reader.position
        self._end: int | None = None
        self._more_came = False
        self._read = False
        self._bridged: int | None = None
        self._loading: Future[_Loaded] | None = None
        self._told: int | None = None
        self._telling: Ticket | None = None
        self._closed = False

    @property
    def progress(self) -> float:
        """Share of the topic's partition that was read, of all that is to be read, 0 to 1."""
        to_read = self._end - self._first if self._end is not None else 0
        return min(1.0, (self.reader.position - self._first) / to_read) if to_read else float(self._end is not None)

    def step(self) -> bool:
        """Read on; true when everything was read."""
        if self._read:
            return True
        records = self.reader.read(_WAIT)
        for record in records:
            self._take(record)
        self._more_came |= bool(records)
        if self._end is None or (self._more_came and self.reader.position >= self._end):
            self._end = self.log.bounds(INDEX, self.number).end
            self._more_came = False
        if self.reader.position < self._end:
            return False
        self.reader.close()
        if self.snapshot is not None and self._bridged is not None:
            self._without_snapshot(f"a repair has given up its entries of the batches up to {self._bridged}")
            return False
        self._read = True
        return True

    def close(self) -> None:
        self._closed = True
        self.reader.close()

    def finish(self, new_index: IndexFactory) -> Restored | None:
        """The shard as of the end of its cover; None while it is being loaded, or read anew without its snapshot.

        Raises:
            Refused: the logs do not reach back to the end of the cover, blocks contradict each other, or there is not
                enough memory.
            Unavailable: the broker does not answer; ask again.
        """
        if self._loading is None:
            self._loading = self.resources.background(partial(self._load, new_index))
        if not wait([self._loading], _WAIT).done:
            return None
        try:
            loaded = self._loading.result()
            if loaded.standing.answers_offset == BEING_COPIED and not self._follow(loaded):
                return None
            here = ReplayPoint(loaded.standing.to + 1, loaded.standing.answers_offset)
            loaded.standing.answers_offset = readable_point(self.log, here, f"shard {self.number}").answers_offset
        except OverMemoryLimit:
            raise
        except (Refused, SnapshotDamaged, OSError) as error:
            if self.snapshot is None:
                raise
            self._without_snapshot(str(error))
            return None
        for offset, why in loaded.unreadable:
            self.observer.unreadable(INDEX, offset, why)
        self.observer.restored(self.number, len(loaded.survivors), loaded.blocks, loaded.damaged)
        limit, templates = self.resources.memory_limit, self.resources.templates
        shard = LiveShard(self.number, self.policy, loaded.survivors, loaded.standing, limit, self.observer, templates)
        self.resources.memory_limit.count(self.number, loaded.survivors, shard.standing.clocks.nbytes)
        return Restored(shard, self.block_keys, self.reader.position, loaded.floor)

    def _follow(self, loaded: _Loaded) -> bool:
        """Read what was copied since; true at the end of the copy. This side reports how far it has come."""
        standing = loaded.standing
        if self._told is None:
            self.reader = self.log.reader(INDEX, self.number, self.reader.position)
            self._told = NO_BATCH
        records = self.reader.read(_WAIT)
        for record in records:
            block = read_block(record, self.number, self.policy, self.observer)
            if block is not None and block.to > standing.to:
                self._take_copied(block, loaded)
                self.block_keys[record.key or b""] = block.to
        if standing.answers_offset != BEING_COPIED:
            self.reader.close()
            return True
        lost = self._telling is not None and self._telling.state is Sent.FAILED
        if not records and (lost or standing.to > self._told):
            self._told = standing.to
            told = Answer(scheme=self.policy.scheme, writer=self.policy.writer, batch=standing.to, shard=self.number)
            self._telling = self.log.append(ANSWERS, 0, None, encode(told))
        return False

    def _take_copied(self, block: Block, loaded: _Loaded) -> None:
        standing, clocks = loaded.standing, loaded.standing.clocks
        if block.after > standing.to:
            raise Refused(
                f"shard {self.number} was copied up to batch {standing.to}, and the next block begins after batch "
                f"{block.after}: {INDEX} lacks the entries between. Copy the index again, into another generation"
            )
        try:
            entries = unpack(block).after(standing.to)
        except UnreadableRecord as error:
            raise Refused(f"{error}: copy the index again, into another generation") from error
        self.resources.memory_limit.grow(self.number, len(entries), loaded.survivors, clocks.nbytes)
        loaded.survivors.store(entries)
        if self.policy.ttl is not None:
            for clock in block.clocks:
                clocks.append(*clock)
        standing.to, standing.answers_offset, standing.watermark = block.to, block.answers_offset, block.watermark
        standing.claimed_up_to = dict(block.claimed_up_to)
        standing.suspects |= dict.fromkeys(suspects_of(block), LONG_AGO)

    def _without_snapshot(self, why: str) -> None:
        assert self.snapshot is not None
        refuse(self.snapshot.file, why)
        self.snapshot = None
        self._begin()

    def _load(self, new_index: IndexFactory) -> _Loaded:
        """Make the cover and the index. Asks nothing of the log, so that it may run alongside the worker's own thread.

        Each block is dropped as soon as it is loaded: otherwise all of them would take as much memory as the index
        does.
        """
        count = len(self.blocks)
        found, parts, unreadable = self._cover()
        standing = standing_of(found, self.policy.ttl)
        floor, damaged = found.floor, len(found.damaged)
        entries = sum(piece.block.count for piece in found.pieces)
        if self.snapshot is not None and any(piece.block is self.snapshot.head.block for piece in found.pieces):
            entries += self.snapshot.head.entries
        if not self._closed:
            self.resources.memory_limit.reserve(self.number, entries)
        del found
        self.blocks = {}
        index = new_index()
        index.load(self._given_up(parts), entries)
        return _Loaded(standing, floor, index, count, damaged, unreadable)

    def _cover(self) -> tuple[Cover, deque[Iterable[Entries]], list[tuple[int, str]]]:
        """The cover, with the content of its blocks; a block that contradicts itself counts as not there."""
        readable = list(self.blocks.values())
        snapshot = self.snapshot
        if snapshot is not None:
            readable.append(snapshot.head.block)
        unreadable = []
        while True:
            found = cover(readable)
            parts: deque[Iterable[Entries]] = deque()
            for piece in found.pieces:
                if snapshot is not None and piece.block is snapshot.head.block:
                    parts.append(map(piece.counting, snapshot.entries()))
                    continue
                try:
                    parts.append(map(piece.counting, (piece.held(),)))
                except UnreadableRecord as error:
                    unreadable.append((self.offsets[id(piece.block)], str(error)))
                    readable = [block for block in readable if block is not piece.block]
                    break
            else:
                return found, parts, unreadable

    def _given_up(self, parts: deque[Iterable[Entries]]) -> Iterator[Entries]:
        """The entries in parts, none of which is kept here; ends early when no one waits for the shard any more."""
        while parts and not self._closed:
            yield from parts.popleft()

    def _take(self, record: Record) -> None:
        key = record.key or b""
        self.blocks.pop(key, None)
        self.block_keys.pop(key, None)
        block = read_block(record, self.number, self.policy, self.observer)
        if block is None:
            return
        is_bridge = any(name == BRIDGE_HEADER for name, _ in record.headers)
        if is_bridge and self.snapshot is not None and block.after < self.snapshot.head.block.to:
            self._bridged = block.to
        self.blocks[key] = block
        self.block_keys[key] = block.to
        self.offsets[id(block)] = record.offset


def standing_of(found: Cover, ttl: int | None) -> Standing:
    """A shard's knowledge at the end of the cover of its blocks."""
    last = found.last
    if last is None:
        return Standing()
    return Standing(
        to=last.to,
        answers_offset=last.answers_offset,
        watermark=last.watermark,
        claimed_up_to=dict(last.claimed_up_to),
        floor=found.floor,
        clocks=Clocks() if ttl is None else Clocks(found.clocks),
        suspects=dict.fromkeys(found.suspects, LONG_AGO),
        forgotten=forgotten_of(last),
    )
