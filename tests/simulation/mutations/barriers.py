"""Ways to break what is done at a record that nobody may decide."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from tests.simulation.mutations.mutation import Mutation, in_place_of, replaced
from worker.operations import copy_index
from worker.stream import barrier
from worker.stream.log_follower import Follower
from worker.stream.policy import ReplayPoint
from worker.stream.worker import Worker


def claims_beyond_the_end_of_pages_are_decided(stack: ExitStack) -> None:
    """Any claim counts: all pages up to a forged one are void, forever and in every worker."""
    stack.enter_context(replaced(barrier, "beyond", lambda *arguments: None))


@in_place_of(Follower, "_take_batch")
def what_follows_a_barrier_is_decided(honest: Any, self: Any, record: Any) -> None:
    """Only the record is left out, by workers that find it impossible: a later look may find it possible."""
    found, self.barrier = self.barrier, None
    honest(self, record)
    self.barrier = found


def place_behind_a_barrier(stack: ExitStack) -> None:
    """A follower stands where it has read to: a worker that goes on from there has passed over the record."""

    def place(self: Any) -> ReplayPoint:
        return ReplayPoint(self.pending[0].offset if self.pending else self.told_up_to, self.answers_offset)

    stack.enter_context(replaced(Follower, "place", property(place)))


@in_place_of(Worker, "_end_at_a_barrier")
def ends_as_soon_as_one_follower_is_at_a_barrier(_: Any, self: Any) -> None:
    """The worker's other followers stand before the record: no one decides and commits their pages, however often
    workers start.
    """
    for follower in self.followers:
        if follower.barred is not None:
            raise follower.barred.refusal()


def copy_waits_for_what_is_never_decided(stack: ExitStack) -> None:
    """A copy needs every batch in a block, also those behind a barrier: it can never go on."""
    stack.enter_context(replaced(copy_index, "barriers", lambda *arguments: iter(())))


OF_BARRIERS: tuple[Mutation, ...] = (
    claims_beyond_the_end_of_pages_are_decided,
    what_follows_a_barrier_is_decided,
    place_behind_a_barrier,
    ends_as_soon_as_one_follower_is_at_a_barrier,
    copy_waits_for_what_is_never_decided,
)
