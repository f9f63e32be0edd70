"""Ways to break the copy of an index into another generation, and the switch of the outputs to one."""

from __future__ import annotations

import dataclasses
from contextlib import ExitStack
from typing import Any

from crawler_plugin.wire.topics import ANSWERS, FINGERPRINTS
from tests.simulation.mutations.mutation import Mutation, in_place_of, replaced
from worker.operations import copy_index, switch
from worker.operations.repair import State
from worker.stream.log import Committed
from worker.stream.partition.owned import OwnedPartition
from worker.stream.policy import NOTHING, Note, ReplayPoint


@in_place_of(copy_index.Marker, "take")
def copied_marker_with_its_first_clock(honest: Any, self: Any, survivor: Any, clock: int) -> None:
    """All survivors of a marker expire with the first of them."""
    honest(self, survivor, clock)
    self.last_clock = self.first_clock


def _copied_state(stack: ExitStack, **changes: Any) -> None:
    honest = copy_index.writes_of

    def writes(found: Any, *rest: Any) -> Any:
        return honest(dataclasses.replace(found, state=dataclasses.replace(found.state, **changes)), *rest)

    stack.enter_context(replaced(copy_index, "writes_of", writes))


def copy_forgets_the_watermark(stack: ExitStack) -> None:
    """The watermark begins anew: entries that had almost expired live on."""
    _copied_state(stack, watermark=-1)


def copy_forgets_hw(stack: ExitStack) -> None:
    """The new generation does not know what was claimed: pages that are delivered again are judged again."""
    _copied_state(stack, claimed_up_to={})


def copy_in_the_order_of_shards(stack: ExitStack) -> None:
    """Survivors are copied shard after shard, not by order: a page's earliest near survivor is another one."""

    class OneAfterTheOther:
        @staticmethod
        def merge(*rows: Any, key: Any) -> Any:
            for each in rows:
                yield from each

    stack.enter_context(replaced(copy_index, "heapq", OneAfterTheOther))


def copied_survivors_all_in_the_first_shard(stack: ExitStack) -> None:
    """All survivors go to the first shard, although new ones of their fingerprint are stored elsewhere."""
    stack.enter_context(replaced(copy_index, "home_shard", lambda survivor, shards: 0))


def copy_that_broke_off_can_be_restored(stack: ExitStack) -> None:
    """Each copied block has a true answers offset: workers begin with half of an index."""
    stack.enter_context(replaced(copy_index, "NEVER_THERE", 0))


def copy_into_what_was_used(stack: ExitStack) -> None:
    """The copy does not check that the new topics are empty: remains of a copy that broke off stay among the blocks."""
    honest = copy_index.copy

    def copy(source: Any, target: Any, *rest: Any) -> Any:
        begun = {topic: target.bounds(topic, 0).end for topic in (FINGERPRINTS, ANSWERS)}

        class Since:
            def __getattr__(self, name: str) -> Any:
                return getattr(target, name)

            def bounds(self, topic: str, partition: int) -> Any:
                found = target.bounds(topic, partition)
                return found._replace(end=found.end - begun.get(topic, 0))

        return honest(source, Since(), *rest)

    stack.enter_context(replaced(copy_index, "refuse_used", lambda *arguments: None))
    stack.enter_context(replaced(copy_index, "copy", copy))


@in_place_of(copy_index, "copy")
def copy_does_not_tell_the_old_generation(honest: Any, source: Any, *rest: Any) -> Any:
    """The old workers, started again, go on with pages that the new generation also writes."""

    class Deaf:
        def __getattr__(self, name: str) -> Any:
            return getattr(source, name)

        def commit(self, offsets: Any) -> None:
            return None

    return honest(Deaf(), *rest)


def copy_keeps_the_old_replay_point(stack: ExitStack) -> None:
    """The consumed offsets still carry the places from which the old logs were to be read on."""
    honest = ReplayPoint

    def replay_point(batch: int, answers_offset: int) -> Any:
        return honest(0, 0)

    stack.enter_context(replaced(copy_index, "ReplayPoint", replay_point))


def copy_of_what_is_not_committed(stack: ExitStack) -> None:
    """Pages that were judged but not committed are in the index: claimed again, they are copies of themselves."""

    class Unasked(State):
        def knows(self, partition: int) -> int:
            return -1

    stack.enter_context(replaced(copy_index, "State", Unasked))


def copy_without_the_last_batches(stack: ExitStack) -> None:
    """The copy does not check that every batch is in a block: the survivors of the last ones are left behind."""
    stack.enter_context(replaced(copy_index, "_next_batch", lambda *arguments: None))


def copy_or_switch_beside_running_workers(stack: ExitStack) -> None:
    """The command does not check whether workers run: they go on from state that is being changed."""
    stack.enter_context(replaced(copy_index, "refuse_running", lambda generation: None))
    stack.enter_context(replaced(switch, "refuse_running", lambda generation: None))


@in_place_of(switch, "_passing")
def switch_where_the_new_one_stands(honest: Any, old: Any, new: Any, partition: int) -> Any:
    """The border is the new generation's consumed offset: pages that the old one wrote behind it are written twice."""
    found = honest(old, new, partition)
    begun, note = switch.consumed(new, partition)
    committed = Committed(begun.offset, Note(note.point, begun.offset).to_metadata())
    return dataclasses.replace(found, border=begun.offset, behind=0, new=committed)


@in_place_of(switch, "switch")
def switch_does_not_tell_the_old_generation(_: Any, old: Any, new: Any, passings: Any) -> None:
    """The old workers, started again, go on writing."""
    new.groups.commit({passing.partition: passing.new for passing in passings})


@in_place_of(switch, "_passing")
def switch_to_one_that_has_gone_too_far(honest: Any, old: Any, new: Any, partition: int) -> Any:
    """Pages that the new generation has counted beyond the border are in no output."""
    (ended, old_note), (begun, new_note) = (switch.consumed(each, partition) for each in (old, new))
    if begun.offset <= ended.offset:
        return honest(old, new, partition)
    told = Committed(ended.offset, old_note._replace(successor=new.name).to_metadata())
    given = Committed(begun.offset, Note(new_note.point, ended.offset).to_metadata())
    return switch.Passing(partition, ended.offset, 0, told, given)


@in_place_of(OwnedPartition, "commit_point")
def border_is_forgotten_at_the_first_commit(honest: Any, self: OwnedPartition, count: int, place: Any) -> Any:
    """If a partition is taken up again below the border, the rest up to it is written a second time."""
    committed = honest(self, count, place)
    note = Note.from_metadata(committed.metadata, "mutation")
    return committed._replace(metadata=note._replace(written_from=0).to_metadata())


@in_place_of(OwnedPartition, "locate")
def page_at_the_border_is_counted(honest: Any, self: OwnedPartition, log: Any) -> Any:
    """The first page that only the new generation can write is not written."""
    point = honest(self, log)
    if self.written_from not in (0, NOTHING):
        self.written_from += 1
    return point


@in_place_of(OwnedPartition, "locate")
def border_is_not_read_again(honest: Any, self: OwnedPartition, log: Any) -> Any:
    """A worker that takes a partition up below the border writes from there on."""
    point = honest(self, log)
    if not self.counts:
        self.written_from = 0
    return point


def workers_do_not_look_who_writes(stack: ExitStack) -> None:
    """Any worker that is told to writes: a worker of the old generation, started again, writes pages twice."""
    stack.enter_context(replaced(OwnedPartition, "_check_outputs", lambda *arguments: None))


OF_COPYING: tuple[Mutation, ...] = (
    copied_marker_with_its_first_clock,
    copy_forgets_the_watermark,
    copy_forgets_hw,
    copy_in_the_order_of_shards,
    copied_survivors_all_in_the_first_shard,
    copy_that_broke_off_can_be_restored,
    copy_into_what_was_used,
    copy_does_not_tell_the_old_generation,
    copy_keeps_the_old_replay_point,
    copy_of_what_is_not_committed,
    copy_without_the_last_batches,
)
OF_SWITCHING: tuple[Mutation, ...] = (
    copy_or_switch_beside_running_workers,
    switch_where_the_new_one_stands,
    switch_does_not_tell_the_old_generation,
    switch_to_one_that_has_gone_too_far,
    border_is_forgotten_at_the_first_commit,
    page_at_the_border_is_counted,
    border_is_not_read_again,
    workers_do_not_look_who_writes,
)
