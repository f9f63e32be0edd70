"""Ways to break a repair."""

from __future__ import annotations

import dataclasses
from contextlib import ExitStack
from typing import Any

import msgspec

from crawler_plugin.wire.messages import encode
from crawler_plugin.wire.topics import INDEX
from tests.simulation.mutations.mutation import Mutation, in_place_of, replaced
from worker.operations import repair
from worker.stream.policy import BRIDGE_HEADER


def _bridges(stack: ExitStack, **changes: Any) -> None:
    """The bridge that ends at a state has another header."""
    honest = repair._empty_block

    def empty_block(shard: Any, after: int, to: int, state: Any, policy: Any) -> Any:
        block = honest(shard, after, to, state, policy)
        return msgspec.structs.replace(block, **changes) if to == state.to else block

    stack.enter_context(replaced(repair, "_empty_block", empty_block))


def bridge_without_hw(stack: ExitStack) -> None:
    """A shard that goes on at a bridge takes pages for new that the other shards know as claimed."""
    _bridges(stack, claimed_up_to=())


def bridge_without_a_watermark(stack: ExitStack) -> None:
    """A shard that goes on at a bridge keeps entries that have expired for the others."""
    _bridges(stack, watermark=-1)


def bridge_that_reads_all_answers(stack: ExitStack) -> None:
    """A bridge's answers offset is the beginning: other shards' blocks that end there have another, or it is gone."""
    _bridges(stack, answers_offset=0)


@in_place_of(repair, "_bridge")
def bridge_over_intact_blocks(honest: Any, shard: Any, state: Any, policy: Any) -> Any:
    """One bridge leads from the cover's end to the state: entries of intact blocks between are lost."""
    return honest(dataclasses.replace(shard, damaged=()), state, policy)


def bridge_at_which_a_restore_may_end(stack: ExitStack) -> None:
    """A bridge to a batch of unknown state has a true answers offset: if the next block goes, a restore ends there."""
    stack.enter_context(replaced(repair, "NEVER_THERE", 0))


@in_place_of(repair, "plan")
def repair_goes_on_at_the_newest_state(honest: Any, survey: Any, policy: Any) -> Any:
    """More batches than necessary are passed over; their decisions are lost."""
    newest = survey.readable[-1:]
    states = [state for state in survey.states if state in newest or state not in survey.readable]
    return honest(dataclasses.replace(survey, states=tuple(states)), policy)


def repair_moves_no_consumed_offset(stack: ExitStack) -> None:
    """Partitions go on from replay points that are gone."""
    stack.enter_context(replaced(repair, "_move", lambda *arguments: None))


def repair_lists_no_skipped_page(stack: ExitStack) -> None:
    """Pages are left out, and no list names them."""
    stack.enter_context(replaced(repair, "_skipped", lambda partition, offset: range(0)))


@in_place_of(repair, "_partition_place")
def forgotten_offset_is_the_first_page(honest: Any, place: Any, *rest: Any, begun: bool) -> Any:
    """The repair does not look in the outputs where the group was: everything is committed a second time."""

    class Silent:
        def __getattr__(self, name: str) -> Any:
            return getattr(place, name)

        def committed_up_to(self, partition: int) -> int:
            return -1

    return honest(Silent(), *rest, begun=begun)


@in_place_of(repair, "_annul")
def annulled_claims_are_committed_up_to_the_last_state(honest: Any, survey: Any, policy: Any) -> Any:
    """Without a readable state the claimed offsets are those of the last one: pages committed since are committed
    again.
    """
    last = survey.states[-1] if survey.states else repair.BEGINNING
    partitions = tuple(
        dataclasses.replace(place, offset=min(place.offset, last.knows(place.partition) + 1))
        for place in survey.partitions
    )
    return honest(dataclasses.replace(survey, partitions=partitions), policy)


@in_place_of(repair, "_annul")
def annulled_claims_are_not_made_again(honest: Any, survey: Any, policy: Any) -> Any:
    """Without a readable state all pages up to the partition's end count as claimed: they are left out."""
    planned = honest(survey, policy)
    ends = {place.partition: place.pages.end for place in survey.partitions}
    moves = tuple(
        dataclasses.replace(move, committed=move.committed._replace(offset=ends[move.partition]))
        for move in planned.moves
    )
    return dataclasses.replace(planned, moves=moves)


@in_place_of(repair, "carry_out")
def bridges_before_consumed_offsets(_: Any, place: Any, planned: Any, policy: Any, new_key: Any) -> None:
    """A repair that ends between the two cannot be completed: the shards are repaired, the partitions never are."""
    place.write(
        [
            (INDEX, bridge.shard, new_key(), encode(block), [(BRIDGE_HEADER, b"1")])
            for bridge in planned.bridges
            for block in bridge.blocks
        ]
    )
    place.commit({move.partition: move.committed for move in planned.moves})


OF_REPAIRS: tuple[Mutation, ...] = (
    bridge_without_hw,
    bridge_without_a_watermark,
    bridge_that_reads_all_answers,
    bridge_over_intact_blocks,
    bridge_at_which_a_restore_may_end,
    repair_goes_on_at_the_newest_state,
    repair_moves_no_consumed_offset,
    repair_lists_no_skipped_page,
    forgotten_offset_is_the_first_page,
    annulled_claims_are_committed_up_to_the_last_state,
    annulled_claims_are_not_made_again,
    bridges_before_consumed_offsets,
)
