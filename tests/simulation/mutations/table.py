"""``docs/mutations.md``: each mutation with what it loses and what has noticed it; tests begin to look there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from tests.simulation.mutations.catching import PLAYED, caught
from tests.simulation.mutations.mutation import Mutation

TABLE: Final = Path(__file__).resolve().parents[3] / "docs" / "mutations.md"
SEARCHED: Final = 20_000
_SEED: Final = re.compile(r"^\| `(?P<name>\w+)` \|.*\| `(?P<play>[a-z-]+)`, seed (?P<seed>\d+):", re.MULTILINE)

BY_A_TEST: Final = {
    "snapshot_shares_hw_with_the_live_shard": (
        "tests.stream.shard.test_snapshots",
        "test_a_snapshot_holds_what_was_decided_when_it_was_taken_and_not_what_came_while_it_was_written",
    ),
    "snapshot_with_the_floor_of_the_state": (
        "tests.stream.shard.test_snapshots",
        "test_a_snapshot_tells_of_no_floor_that_is_not_on_the_topic",
    ),
    "snapshot_before_its_blocks_are_acknowledged": (
        "tests.stream.shard.test_snapshots",
        "test_nothing_is_written_before_the_last_block_is_acknowledged",
    ),
    "snapshot_position_as_of_its_writing": (
        "tests.stream.shard.test_snapshots",
        "test_a_block_that_lands_after_a_snapshot_was_taken_is_read_although_it_was_not_written_yet",
    ),
    "fingerprints_end_taken_before_answers_end": (
        "tests.stream.partition.test_owned",
        "test_no_answer_to_a_batch_that_will_be_read_lies_before_the_first_replay_point",
    ),
    "copy_that_broke_off_can_be_restored": (
        "tests.operations.test_copy_index",
        "test_workers_that_ran_before_a_copy_that_broke_off_judge_nothing_by_the_half_of_it",
    ),
    "bridge_over_intact_blocks": (
        "tests.operations.test_repair",
        "test_intact_blocks_above_a_lost_one_are_kept",
    ),
    "repair_passes_over_records": (
        "tests.operations.test_forget",
        "test_a_repair_that_gives_up_all_that_is_not_in_blocks_still_forgets_what_records_say",
    ),
    "bridge_at_which_a_restore_may_end": (
        "tests.operations.test_repair",
        "test_a_bridge_to_a_batch_that_nobody_knows_is_never_where_a_restore_ends",
    ),
    "standby_writes": ("tests.stream.test_two_holders", "test_only_the_active_holder_writes"),
    "promoted_one_writes_before_it_has_read_the_index": (
        "tests.stream.test_two_holders",
        "test_who_becomes_active_reads_its_predecessors_last_block_before_it_writes",
    ),
    "block_above_a_hole_counts": (
        "tests.stream.shard.test_index_follower",
        "test_a_block_above_a_hole_counts_when_the_hole_is_filled",
    ),
    "kept_shard_is_never_dropped": (
        "tests.stream.test_two_holders",
        "test_what_the_next_assignment_does_not_give_back_is_dropped",
    ),
    "role_that_comes_back_is_restored_anew": (
        "tests.stream.test_two_holders",
        "test_a_change_of_roles_costs_no_restore",
    ),
    "spared_shard_refuses_another": (
        "tests.stream.test_two_holders",
        "test_a_shard_that_is_kept_makes_room_for_one_that_comes",
    ),
}
"""Mutations that no play notices soon enough, by the module and the test that does; the test takes at most a folder."""

HEAD: Final = """# Mutations

A test of the tests: ways to break the program, each of which looks harmless, and what notices it. A mutation puts the
simpler rule that one would write first in the place of the right one. Then random schedules are played over an
in-memory twin of the log until one of them breaks a promise. If no schedule notices a mutation soon enough, a test
does, and the table names it.

The plays: `small` is one generation from its first page to its last, with crashes, paused workers, lost and late
records, compaction, retention, torn snapshots and snapshots of other logs, batches of other settings, pages that are
too large and times that cannot be. Every second schedule has two holders of each shard, whose roles are given, taken
and swapped at any moment. `holders` is the same, always with two holders. In `growing`, partitions are added while
workers of several settings run side by side. `forgetful` has records by which pages are forgotten, also repeated, torn
and foreign ones, after which workers are killed. `accurate` has pages with sketches and scopes; `titled` also has
sites and titles, and texts that many pages of a site share; `flagged` has pages that are pardoned or not to be stored.
In `succession` the index is copied into another generation, perhaps up to a forged record that no one may decide, or
the outputs pass to a generation that has counted at the same time, while commands break off. `titled-succession` and
`growing-succession` are the same with pages that have titles, and with added partitions. In `handover` the index is
copied while its workers work; workers of the next generation, which stand by, take over at one record, and the copy is
killed at any write. In `gap` logs, blocks and consumed offsets are lost, and a repair goes on. J1 to J11 are the
promises, as `tests/guarantees.py` and `tests/simulation/` number them.

`python -m tools.simulation --play small --seed 5` plays one schedule again. To renew this file, run
`python -m tools.simulation --mutations --out docs/mutations.md`.

| Mutation | What it loses | Noticed by |
|---|---|---|
"""


class Noticed(NamedTuple):
    """The seed of a play that notices a mutation, and the play's message."""

    play: str
    seed: int
    says: str

    @property
    def shown(self) -> str:
        """The text in the table."""
        words = re.sub(r"[`|]", "", self.says.splitlines()[0])
        return f"`{self.play}`, seed {self.seed}: {words[:110].rstrip()}{'…' if len(words) > 110 else ''}"


def all_mutations() -> Iterator[tuple[str, Mutation]]:
    """Each mutation with the play in which it is searched."""
    for play, mutations in PLAYED.items():
        for mutation in mutations:
            yield play, mutation


def first_seeds() -> dict[str, int]:
    """The seed at which the search for each mutation begins, by its name: any change of a scheduler moves these seeds.

    When a test has become slow, renew the table.
    """
    return {found["name"]: int(found["seed"]) for found in _SEED.finditer(TABLE.read_text("utf-8"))}


def notice(play: str, mutation: Mutation, hint: int) -> Noticed | None:
    """The first seed from the hint on, around to it again, whose play notices the mutation."""
    found = caught(mutation, range(hint, SEARCHED), play) or caught(mutation, range(hint), play)
    return None if found is None else Noticed(play, *found)


def row(mutation: Mutation, noticed: Noticed | None) -> str:
    """One line of the table."""
    loses = " ".join((mutation.__doc__ or "").split())
    name = mutation.__name__
    by = f"`{'::'.join(BY_A_TEST[name])}`" if noticed is None else noticed.shown
    return f"| `{name}` | {loses} | {by} |\n"
