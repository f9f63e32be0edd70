"""Ways to break what the two holders of a shard do."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from crawler_plugin.wire.messages import encode
from crawler_plugin.wire.topics import ANSWERS
from tests.simulation.mutations.mutation import Mutation, replaced
from worker.stream.log import Role
from worker.stream.log_follower import Follower
from worker.stream.shard.index_follower import GrowingCover, IndexFollower, Span
from worker.stream.shard.live import LiveShard
from worker.stream.shard.memory_limit import MemoryLimit
from worker.stream.shard.owned import OwnedShard
from worker.stream.worker import Worker


def standby_writes(stack: ExitStack) -> None:
    """Whoever holds a shard writes its blocks: the topic, and each restore, takes twice as long."""
    stack.enter_context(replaced(OwnedShard, "writes", True))


def promoted_one_goes_on_from_its_last_decided_batch(stack: ExitStack) -> None:
    """Who becomes active takes it that its predecessor has written all before: what it had not is in no block."""
    honest = OwnedShard.hold

    def hold(self: OwnedShard, role: Role | None) -> None:
        if role is Role.ACTIVE and self.role is not role and self.live is not None:
            self.live.forget(self.live.standing.to)
        honest(self, role)

    stack.enter_context(replaced(OwnedShard, "hold", hold))


def promoted_one_writes_before_it_has_read_the_index(stack: ExitStack) -> None:
    """The predecessor's last block has landed and was not read yet: its survivors are written a second time."""
    stack.enter_context(replaced(OwnedShard, "knows_its_blocks", True))


def block_above_a_hole_counts(stack: ExitStack) -> None:
    """Survivors are forgotten up to the highest ``to``: those of a block that was lost below it are in none."""

    def extends(self: GrowingCover, span: Span) -> bool:
        return span.to > self.to

    stack.enter_context(replaced(GrowingCover, "_extends", extends))


def block_covers_the_batch_after_it(stack: ExitStack) -> None:
    """``to`` is taken for the first batch that a block does not hold: one batch more is forgotten than is covered."""
    honest = LiveShard.forget

    def forget(self: LiveShard, up_to: int) -> None:
        honest(self, up_to + 1)

    stack.enter_context(replaced(LiveShard, "forget", forget))


def standby_forgets_nothing(stack: ExitStack) -> None:
    """What blocks cover is kept for writing: memory grows, and who is promoted writes all of it a second time."""

    def forget(self: LiveShard, up_to: int) -> None:
        return None

    stack.enter_context(replaced(LiveShard, "forget", forget))


def standby_keeps_no_sealed_blocks(stack: ExitStack) -> None:
    """What is full and is not to be written is let go: when the active holder is gone, nobody can write it."""
    honest = OwnedShard.answer

    def answer(self: OwnedShard, follower: Follower) -> Any:
        if self.live is not None and not self.writes:
            self.live.sealed.clear()
        return honest(self, follower)

    stack.enter_context(replaced(OwnedShard, "answer", answer))


def demoted_one_takes_its_block_for_written(stack: ExitStack) -> None:
    """A block that is in flight when the role is taken counts as landed: if it never does, and the role comes back,
    there is a hole.
    """
    honest = OwnedShard.hold

    def hold(self: OwnedShard, role: Role | None) -> None:
        flight = self.block_writer.flight if self.block_writer is not None else None
        if role is not Role.ACTIVE and self.writes and self.live is not None and flight is not None:
            self.live.forget(flight.block.to)
        honest(self, role)

    stack.enter_context(replaced(OwnedShard, "hold", hold))


def blocks_of_the_other_holder_are_not_learnt_of(stack: ExitStack) -> None:
    """Only how far they go is read: who is promoted never buries them."""
    honest = IndexFollower.step

    def step(self: IndexFollower) -> None:
        known = dict(self.writer.block_keys)
        honest(self)
        self.writer.block_keys = known

    stack.enter_context(replaced(IndexFollower, "step", step))


def kept_shard_stops_to_follow(stack: ExitStack) -> None:
    """A shard that is taken and given back stands where it was: what was decided meanwhile is missing."""
    honest_hold, honest_decided = OwnedShard.hold, LiveShard.on_decided

    def hold(self: OwnedShard, role: Role | None) -> None:
        honest_hold(self, role)
        if self.live is not None:
            self.live.__dict__["stands"] = role is None

    def on_decided(self: LiveShard, decided: Any) -> None:
        if not self.__dict__.get("stands"):
            honest_decided(self, decided)

    stack.enter_context(replaced(OwnedShard, "hold", hold))
    stack.enter_context(replaced(LiveShard, "on_decided", on_decided))


def kept_shard_is_never_dropped(stack: ExitStack) -> None:
    """What was taken is kept until it is given back, be that never: the worker's memory fills with others' shards."""
    honest = Worker._lose_shard

    def lose_shard(self: Worker, number: int) -> None:
        if number not in self.shards or self.shards[number].role is not None:
            honest(self, number)

    stack.enter_context(replaced(Worker, "_lose_shard", lose_shard))


def role_that_comes_back_is_restored_anew(stack: ExitStack) -> None:
    """A shard whose role changes is dropped and rebuilt: nobody answers for it meanwhile."""
    honest = OwnedShard.hold

    def hold(self: OwnedShard, role: Role | None) -> None:
        if role is not self.role and self.live is not None:
            self.__init__(self.number, self.log, self.policy, self.observer, self.resources, self.ends)  # type: ignore[misc]
        honest(self, role)

    stack.enter_context(replaced(OwnedShard, "hold", hold))


def standby_answers_later_batches_too(stack: ExitStack) -> None:
    """Where the active holder is silent, all that waits is answered at once: survivors of the batches between are
    missed.
    """
    honest = OwnedShard.answer

    def answer(self: OwnedShard, follower: Follower) -> Any:
        first = honest(self, follower)
        if first is not None and self.role is not Role.ACTIVE and self.live is not None:
            asked = self.__dict__.setdefault("all_asked", set())
            for pending in [later for later in list(follower.pending)[1:] if later.offset not in asked]:
                asked.add(pending.offset)
                self.log.append(ANSWERS, 0, None, encode(self.live.answer(pending)))
        return first

    stack.enter_context(replaced(OwnedShard, "answer", answer))


def spared_shard_refuses_another(stack: ExitStack) -> None:
    """What is kept only in case it comes back counts like all else: the shard that came in its place has no room."""

    def fits(self: MemoryLimit, coming: int) -> bool:
        return self.used + coming <= self.limit

    stack.enter_context(replaced(MemoryLimit, "_fits", fits))


OF_HOLDERS: tuple[Mutation, ...] = (
    standby_writes,
    promoted_one_goes_on_from_its_last_decided_batch,
    promoted_one_writes_before_it_has_read_the_index,
    block_above_a_hole_counts,
    block_covers_the_batch_after_it,
    standby_forgets_nothing,
    standby_keeps_no_sealed_blocks,
    demoted_one_takes_its_block_for_written,
    blocks_of_the_other_holder_are_not_learnt_of,
    kept_shard_stops_to_follow,
    kept_shard_is_never_dropped,
    role_that_comes_back_is_restored_anew,
    standby_answers_later_batches_too,
    spared_shard_refuses_another,
)
