"""Ways to break snapshots on disk."""

from __future__ import annotations

import dataclasses
from contextlib import ExitStack
from typing import Any

import msgspec

from crawler_plugin.wire.errors import Refused
from crawler_plugin.wire.topics import INDEX
from tests.simulation.mutations.mutation import Mutation, in_place_of, replaced
from worker.stream.shard import restore, snapshot_file, snapshots
from worker.stream.shard.live import Frozen, LiveShard
from worker.stream.shard.restore import Restoration
from worker.stream.shard.snapshots import SnapshotWriter


@in_place_of(LiveShard, "frozen")
def snapshot_shares_hw_with_the_live_shard(honest: Any, self: LiveShard) -> Any:
    """Pages claimed while the snapshot waits to be written count as claimed in it, at a batch that is too early."""
    found = honest(self)
    if found is not None:
        found.standing.claimed_up_to = self.standing.claimed_up_to
    return found


@in_place_of(Frozen, "as_block")
def snapshot_with_the_floor_of_the_state(honest: Any, self: Frozen, number: int, policy: Any, floor: int) -> Any:
    """Only memory knows the floor: blocks below it are buried, and the topic does not say where its cover begins."""
    return honest(self, number, policy, self.standing.floor)


@in_place_of(SnapshotWriter, "step")
def snapshot_before_its_blocks_are_acknowledged(
    honest: Any, self: SnapshotWriter, shard: LiveShard, block_writer: Any
) -> None:
    """A snapshot is written as soon as it is taken: an owner that goes on from it leaves a hole on the topic."""
    before = block_writer.replay_point
    block_writer.replay_point = shard.replay_point
    honest(self, shard, block_writer)
    block_writer.replay_point = before


@in_place_of(SnapshotWriter, "step")
def snapshot_position_as_of_its_writing(honest: Any, self: SnapshotWriter, shard: LiveShard, block_writer: Any) -> None:
    """The position is the topic's end when the file is written: a restore skips blocks that landed just before."""
    if self._captured is not None:
        self._captured = self._captured[0], self.log.bounds(INDEX, shard.number).end
    honest(self, shard, block_writer)


@in_place_of(LiveShard, "frozen")
def snapshot_entries_as_of_its_writing(honest: Any, self: LiveShard) -> Frozen | None:
    """The entries are not copied when the snapshot is taken: it also holds survivors of later batches."""
    found = honest(self)
    if found is None:
        return None

    standing = found.standing

    class Later(Frozen):
        @property
        def entries(later: Any) -> Any:
            return self.index.entries(standing.floor)

        @entries.setter
        def entries(later: Any, value: Any) -> None:
            return None

    return Later(standing, found.entries)


@in_place_of(Frozen, "as_block")
def snapshot_without_clocks(honest: Any, self: Frozen, number: int, policy: Any, floor: int) -> Any:
    """Entries that are restored from the snapshot never expire."""
    return msgspec.structs.replace(honest(self, number, policy, floor), clocks=())


@in_place_of(SnapshotWriter, "_write")
def snapshot_with_the_position_of_the_last_answer_read(
    honest: Any, self: SnapshotWriter, shard: LiveShard, frozen: Frozen, *rest: Any
) -> Any:
    """The answers offset is that of the writing: a restored shard waits for answers that lie before it."""
    standing = dataclasses.replace(frozen.standing, answers_offset=shard.standing.answers_offset)
    return honest(self, shard, Frozen(standing, frozen.entries), *rest)


@in_place_of(Restoration, "_begin")
def snapshot_whose_known_blocks_are_forgotten(honest: Any, self: Restoration) -> None:
    """A restore knows only the blocks that it has read: blocks before the snapshot are never buried."""
    honest(self)
    self.block_keys = {}


def blocks_of_other_owners_are_not_learnt_of(stack: ExitStack) -> None:
    """A snapshot knows only the blocks of its owner: blocks that others wrote before are never buried."""
    stack.enter_context(replaced(snapshots, "landed", lambda *arguments: {}))


@in_place_of(snapshots, "_why_not")
def snapshot_of_another_log_is_used(honest: Any, head: Any, shard: int, log: Any, policy: Any) -> Any:
    """The record at which it ends is not compared: if topics were made anew, it holds survivors of the old ones."""
    mark = snapshots.mark_of(log, head.block.to)
    return honest(msgspec.structs.replace(head, mark=mark), shard, log, policy)


def snapshot_with_a_gap_ends_the_worker(stack: ExitStack) -> None:
    """The worker ends if the logs cannot be read on from a snapshot, although the topic reaches further."""
    honest = Restoration.finish

    def finish(self: Restoration, new_index: Any) -> Any:
        with_snapshot = self.snapshot is not None
        found = honest(self, new_index)
        if with_snapshot and self.snapshot is None:
            raise Refused("the snapshot cannot be used")
        return found

    stack.enter_context(replaced(restore.Restoration, "finish", finish))


def changed_snapshot_is_used(stack: ExitStack) -> None:
    """The checksums are not compared: a flipped bit becomes another fingerprint."""

    class Fitting:
        @staticmethod
        def crc32(payload: bytes) -> Any:
            return _Any()

    stack.enter_context(replaced(snapshot_file, "zlib", Fitting))


class _Any:
    """Equal to every checksum."""

    def __ne__(self, other: object) -> bool:
        return False

    def __index__(self) -> int:
        return 0


OF_SNAPSHOTS: tuple[Mutation, ...] = (
    snapshot_shares_hw_with_the_live_shard,
    snapshot_with_the_floor_of_the_state,
    snapshot_before_its_blocks_are_acknowledged,
    snapshot_position_as_of_its_writing,
    snapshot_entries_as_of_its_writing,
    snapshot_without_clocks,
    snapshot_with_the_position_of_the_last_answer_read,
    snapshot_whose_known_blocks_are_forgotten,
    blocks_of_other_owners_are_not_learnt_of,
    snapshot_of_another_log_is_used,
    snapshot_with_a_gap_ends_the_worker,
    changed_snapshot_is_used,
)
