"""Ways to break that what is forgotten is so for all, from one place of the log on, whoever restores what."""

from __future__ import annotations

from contextlib import ExitStack, suppress
from dataclasses import replace
from typing import Any

import msgspec

from crawler_plugin.wire.errors import Refused, UnreadableRecord
from crawler_plugin.wire.forgetting import Forget, Forgotten
from crawler_plugin.wire.messages import decode_claims, encode
from tests.simulation.mutations.mutation import Mutation, in_place_of, replaced
from worker.index import blocks, forgetting
from worker.index.blocks import Piece
from worker.index.entries import Entries
from worker.operations import copy_index, repair
from worker.stream.log import Record
from worker.stream.log_follower import Follower
from worker.stream.shard import live as live_module
from worker.stream.shard import restore as restore_module
from worker.stream.shard.live import LiveShard, Standing


@in_place_of(Standing, "still_forgotten")
def no_block_names_what_was_forgotten(_: Any, self: Standing, ttl: int | None) -> tuple[Forgotten, ...]:
    """Blocks still hold forgotten entries: a worker that restores the shard finds them and answers differently."""
    return ()


def only_the_next_block_names_what_was_forgotten(stack: ExitStack) -> None:
    """A header names only what was forgotten since the block before: if a later block is the last one, nothing is
    forgotten of the earlier blocks.
    """
    honest = LiveShard.seal

    def seal(self: LiveShard) -> bool:
        sealed = honest(self)
        if sealed:
            self.standing.forgotten = ()
        return sealed

    stack.enter_context(replaced(LiveShard, "seal", seal))


@in_place_of(live_module, "in_force")
def forgotten_is_named_only_until_the_next_page(_: Any, known: Any, watermark: int, ttl: int | None) -> Any:
    """Headers stop naming forgotten entries once the clock moves: the next restore brings them back."""
    return tuple(each for each in known if each.clock >= watermark)


@in_place_of(live_module, "in_force")
def forgotten_is_named_for_half_of_the_ttl(_: Any, known: Any, watermark: int, ttl: int | None) -> Any:
    """Headers stop naming forgotten entries too early: a restore brings back those that have not expired by then."""
    return tuple(each for each in known if ttl is None or each.clock >= watermark - ttl // 2)


@in_place_of(restore_module, "standing_of")
def restored_shard_names_nothing_forgotten(honest: Any, found: Any, ttl: int | None) -> Standing:
    """A restored shard forgets what its blocks name, and does not pass it on: its own blocks undo the forgetting."""
    standing: Standing = honest(found, ttl)
    return replace(standing, forgotten=())


def forgotten_without_its_place(stack: ExitStack) -> None:
    """What a header names is applied to all entries: an entry that came later, and survived, is lost with a restore."""
    honest = forgetting.without

    def without(entries: Entries, forgotten: Any) -> Entries:
        return honest(entries, [Forgotten(each.condition, 1 << 62, each.clock) for each in forgotten])

    stack.enter_context(replaced(blocks, "without", without))


def forgotten_up_to_the_batch_before(stack: ExitStack) -> None:
    """A restore forgets one batch too few: entries of the batch before the record are found again."""
    honest = forgetting.without

    def without(entries: Entries, forgotten: Any) -> Entries:
        return honest(entries, [Forgotten(each.condition, each.at - 1, each.clock) for each in forgotten])

    stack.enter_context(replaced(blocks, "without", without))


@in_place_of(Follower, "_check")
def forgotten_before_earlier_batches_are_decided(honest: Any, self: Follower) -> None:
    """A record takes effect when it is read: what earlier batches are compared with depends on who reads ahead."""
    honest(self)
    for pending in [each for each in self.pending if each.forgotten is not None]:
        self.pending.remove(pending)
        assert pending.forgotten is not None
        self._forget(pending.offset, pending.forgotten)


@in_place_of(Follower, "_take_batch")
def forgets_what_others_want_forgotten(honest: Any, self: Follower, record: Record) -> None:
    """A record of another scheme counts: workers with other settings empty this index."""
    with suppress(UnreadableRecord, Refused):
        found = decode_claims(record.value)
        if isinstance(found, Forget) and found.scheme != self.policy.scheme:
            value = encode(msgspec.structs.replace(found, scheme=self.policy.scheme))
            record = record._replace(value=value)
    honest(self, record)


@in_place_of(Piece, "counting")
def forgotten_comes_back_from_blocks(_: Any, self: Piece, entries: Entries) -> Entries:
    """A header names what was forgotten, and a restore ignores it."""
    return entries.after(self.after)


@in_place_of(live_module, "one_more")
def the_same_twice_is_the_first_one(_: Any, known: Any, new: Forgotten) -> tuple[Forgotten, ...]:
    """A condition that is already known is not taken up again: entries that came between the two records come back."""
    return tuple(known) if any(each.condition == new.condition for each in known) else (*known, new)


@in_place_of(copy_index, "_rows")
def copy_carries_what_was_forgotten(honest: Any, found: Any) -> Any:
    """A copy takes all that blocks hold: the new generation does not name forgotten entries, and finds them again."""
    return honest(replace(found, pieces=tuple(replace(piece, forgotten=()) for piece in found.pieces)))


@in_place_of(repair, "_empty_block")
def bridge_names_nothing_forgotten(honest: Any, shard: Any, after: int, to: int, state: Any, policy: Any) -> Any:
    """A bridge has the last header, which names nothing: forgotten entries come back from the blocks before."""
    return honest(shard, after, to, replace(state, forgotten=()), policy)


@in_place_of(repair, "_forgets")
def repair_passes_over_records(_: Any, *given: Any) -> tuple[Any, ...]:
    """If nothing can be read on, all shards go on behind the log: entries that it says to forget stay."""
    return ()


OF_FORGETTING: tuple[Mutation, ...] = (
    no_block_names_what_was_forgotten,
    only_the_next_block_names_what_was_forgotten,
    forgotten_is_named_only_until_the_next_page,
    forgotten_is_named_for_half_of_the_ttl,
    restored_shard_names_nothing_forgotten,
    forgotten_without_its_place,
    forgotten_up_to_the_batch_before,
    forgotten_before_earlier_batches_are_decided,
    forgets_what_others_want_forgotten,
    forgotten_comes_back_from_blocks,
    the_same_twice_is_the_first_one,
)
OF_COPYING_FORGOTTEN: tuple[Mutation, ...] = (copy_carries_what_was_forgotten,)
OF_REPAIRING_FORGOTTEN: tuple[Mutation, ...] = (bridge_names_nothing_forgotten, repair_passes_over_records)
