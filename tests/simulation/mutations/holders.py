"""Ways to break what the two holders of a shard do."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from crawler_plugin.wire.messages import encode
from crawler_plugin.wire.topics import ANSWERS
from tests.simulation.mutations.mutation import Mutation, in_place_of, replaced
from worker.stream.log import Role
from worker.stream.log_follower import Follower
from worker.stream.shard.index_follower import GrowingCover, IndexFollower, Span
from worker.stream.shard.live import LiveShard
from worker.stream.shard.memory_limit import MemoryLimit
from worker.stream.shard.owned import OwnedShard
from worker.stream.worker import Worker


def standby_writes(stack: ExitStack) -> None:
    """Each holder of a shard writes its blocks: the topic is twice as long, and each restore takes twice as long."""
    stack.enter_context(replaced(OwnedShard, "writes", True))


@in_place_of(OwnedShard, "hold")
def promoted_one_goes_on_from_its_last_decided_batch(honest: Any, self: OwnedShard, role: Role | None) -> None:
    """A holder that becomes active assumes that its predecessor wrote everything before: the rest is in no block."""
    if role is Role.ACTIVE and self.role is not role and self.live is not None:
        self.live.let_go(self.live.standing.to)
    honest(self, role)


def promoted_one_writes_before_it_has_read_the_index(stack: ExitStack) -> None:
    """The predecessor's last block has landed and was not read yet: its survivors are written a second time."""
    stack.enter_context(replaced(OwnedShard, "knows_its_blocks", True))


@in_place_of(GrowingCover, "_extends")
def block_above_a_hole_counts(_: Any, self: GrowingCover, span: Span) -> bool:
    """Survivors are dropped up to the highest ``to``: those of a lost block below it are in no block."""
    return span.to > self.to


@in_place_of(LiveShard, "let_go")
def block_covers_the_batch_after_it(honest: Any, self: LiveShard, up_to: int) -> None:
    """``to`` is taken for the first batch that a block does not hold: one batch more is dropped than is covered."""
    honest(self, up_to + 1)


@in_place_of(LiveShard, "let_go")
def standby_forgets_nothing(_: Any, self: LiveShard, up_to: int) -> None:
    """A standby keeps what blocks cover: memory grows, and after promotion it writes all of it a second time."""
    return


@in_place_of(OwnedShard, "answer")
def standby_keeps_no_sealed_blocks(honest: Any, self: OwnedShard, follower: Follower) -> Any:
    """A standby drops full blocks that it is not to write: when the active holder is gone, no one can write them."""
    if self.live is not None and not self.writes:
        self.live.sealed.clear()
    return honest(self, follower)


@in_place_of(OwnedShard, "hold")
def demoted_one_takes_its_block_for_written(honest: Any, self: OwnedShard, role: Role | None) -> None:
    """A block in flight when the role is taken away counts as landed: if it never lands and the role comes back, there
    is a hole.
    """
    flight = self.block_writer.flight if self.block_writer is not None else None
    if role is not Role.ACTIVE and self.writes and self.live is not None and flight is not None:
        self.live.let_go(flight.block.to)
    honest(self, role)


@in_place_of(IndexFollower, "step")
def blocks_of_the_other_holder_are_not_learnt_of(honest: Any, self: IndexFollower) -> None:
    """A holder reads only how far the other holder's blocks go: after promotion it never buries them."""
    known = dict(self.writer.block_keys)
    honest(self)
    self.writer.block_keys = known


def kept_shard_stops_to_follow(stack: ExitStack) -> None:
    """A shard that is taken away and given back stands where it was: decisions from the time between are missing."""
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


@in_place_of(Worker, "_lose_shard")
def kept_shard_is_never_dropped(honest: Any, self: Worker, number: int) -> None:
    """A shard taken away is kept until it is given back, maybe never: others' shards fill the worker's memory."""
    if number not in self.shards or self.shards[number].role is not None:
        honest(self, number)


@in_place_of(OwnedShard, "hold")
def role_that_comes_back_is_restored_anew(honest: Any, self: OwnedShard, role: Role | None) -> None:
    """A shard whose role changes is dropped and rebuilt: until then no one answers for it."""
    if role is not self.role and self.live is not None:
        self.__init__(self.number, self.log, self.policy, self.observer, self.resources, self.ends)  # type: ignore[misc]
    honest(self, role)


@in_place_of(OwnedShard, "answer")
def standby_answers_later_batches_too(honest: Any, self: OwnedShard, follower: Follower) -> Any:
    """If the active holder is silent, all waiting batches are answered at once: survivors between them are missed."""
    first = honest(self, follower)
    if first is not None and self.role is not Role.ACTIVE and self.live is not None:
        asked = self.__dict__.setdefault("all_asked", set())
        for pending in [later for later in list(follower.pending)[1:] if later.offset not in asked]:
            asked.add(pending.offset)
            self.log.append(ANSWERS, 0, None, encode(self.live.answer(pending)))
    return first


@in_place_of(MemoryLimit, "_fits")
def spared_shard_refuses_another(_: Any, self: MemoryLimit, coming: int) -> bool:
    """A shard kept only in case it comes back counts like any other: the shard that came in its place has no room."""
    return self.used + coming <= self.limit


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
