"""Ways to break a copy that is made while workers work, and what it hands over."""

from __future__ import annotations

from typing import Any

from tests.simulation.mutations.mutation import Mutation, in_place_of
from worker.operations import live_copy
from worker.operations.copy_index import CopiedIndex
from worker.operations.live_copy import LiveCopy
from worker.operations.repair import State
from worker.stream.inheritance import Inheritance
from worker.stream.log import NotYet
from worker.stream.shard.restore import Restoration


@in_place_of(Inheritance, "consumed")
def who_stands_by_begins_with_the_first_page(honest: Any, self: Inheritance, partition: int) -> Any:
    """Workers do not wait for the end of the copy: pages that the old generation has judged are judged again."""
    try:
        return honest(self, partition)
    except NotYet:
        return None


@in_place_of(Restoration, "_take_copied")
def who_stands_by_goes_on_without_the_last_block(honest: Any, self: Restoration, block: Any, loaded: Any) -> None:
    """A block that comes after the first load is noted, but its entries are not loaded."""
    loaded.survivors.__dict__["store"] = lambda entries: None
    honest(self, block, loaded)
    del loaded.survivors.__dict__["store"]


@in_place_of(live_copy, "merged")
def live_copy_takes_all_that_blocks_hold(honest: Any, covers: Any, up_to: Any) -> Any:
    """Blocks of some shards go further than the batch from which the logs are read: survivors are copied twice."""
    return honest(covers)


@in_place_of(CopiedIndex, "end")
def copy_ends_without_the_last_survivors(honest: Any, self: CopiedIndex, state: State) -> Any:
    """Survivors that gathered for the last marker are not written."""
    self._marker = type(self._marker)(self._marker.number, self.policy.shards)
    return honest(self, state)


@in_place_of(live_copy, "watermark_after")
def live_copy_keeps_the_watermark_of_the_blocks(honest: Any, watermark: int, claims: Any) -> int:
    """Pages fetched during the copy move no clock: survivors live on."""
    return watermark


@in_place_of(LiveCopy, "_given")
def live_copy_hands_over_what_is_not_committed(honest: Any, self: LiveCopy) -> Any:
    """Pages that were judged but not committed are in the index: claimed again, they are copies of themselves."""
    state = self.state
    self.state = State(state.to, state.answers_offset, state.watermark, dict.fromkeys(state.claimed_up_to, -1))
    try:
        return honest(self)
    finally:
        self.state = state


@in_place_of(LiveCopy, "end")
def live_copy_ends_beside_running_workers(honest: Any, self: LiveCopy) -> bool:
    """The copy does not wait until the old workers have ended: one that hangs may still commit."""
    source = self.source

    class Empty:
        def __getattr__(self, name: str) -> Any:
            return getattr(source, name)

        def workers(self) -> list[str]:
            return []

        def commit(self, offsets: Any) -> None:
            getattr(source, "world").committed.update(offsets)  # noqa: B009 -- that of the twin

    self.source = Empty()
    try:
        return bool(honest(self))
    finally:
        self.source = source


@in_place_of(live_copy, "encoded")
def handed_over_without_the_consumed_offsets(honest: Any, consumed: Any) -> bytes:
    """The end of the copy names no offsets: all pages are judged once more."""
    return bytes(honest({}))


OF_HANDOVERS: tuple[Mutation, ...] = (
    who_stands_by_begins_with_the_first_page,
    who_stands_by_goes_on_without_the_last_block,
    live_copy_takes_all_that_blocks_hold,
    copy_ends_without_the_last_survivors,
    live_copy_keeps_the_watermark_of_the_blocks,
    live_copy_hands_over_what_is_not_committed,
    live_copy_ends_beside_running_workers,
    handed_over_without_the_consumed_offsets,
)
