"""A test of the tests: each way to break the protocol is noticed by some schedule."""

from __future__ import annotations

from typing import Final

import pytest

from tests.simulation.__main__ import SEARCHED, violation
from tests.simulation.mutations.catching import caught
from tests.simulation.mutations.mutation import Mutation
from tests.simulation.mutations.protocol import MUTATIONS, OF_ACCURATE
from tests.simulation.schedule import ACCURATE, SMALL, Scale

FIRST_SEEDS: Final = {
    "answers_before_earlier_batches_are_decided": 0,
    "nearest_for_earliest": 5,
    "less_than_for_at_most": 0,
    "redelivered_page_judged_anew": 99,
    "identity_by_url_and_fetch_time": 0,
    "dead_letters_decided_outside_the_log": 0,
    "claims_out_of_order": 0,
    "highest_to_instead_of_the_cover": 250,
    "blocks_overwritten_under_one_key": 17148,
    "tombstone_before_its_floor_is_acknowledged": 43,
    "tombstones_for_blocks_without_live_entries": 36,
    "header_with_the_workers_own_position": 10,
    "header_with_the_workers_own_watermark": 10,
    "header_with_the_workers_own_floor": 2091,
    "restore_up_to_an_end_taken_at_its_start": 2282,
    "fresh_partition_claims_without_a_first_commit": 0,
    "offset_metadata_a_batch_late": 1,
    "last_answer_instead_of_first": 52,
    "no_pairs_inside_a_batch": 0,
    "expiry_by_a_local_clock": 0,
    "commit_by_an_evicted_member": 65,
    "consumed_offset_as_of_an_earlier_question": 4,
    "fingerprints_end_taken_before_candidates_end": 3280,
}
FIRST_SEEDS_OF_ACCURATE: Final = {
    "bands_ignored_by_one_shard": 0,
    "tokens_not_carried_in_a_block": 0,
    "sketches_not_carried_in_a_block": 0,
    "hits_of_another_scope": 5,
}
"""Where the search begins: any change of the scheduler moves these seeds. A test that has become slow wants the table
that ``python -m tests.simulation --mutations`` prints."""

BEFORE: Final = 50
PROMISES: Final = ("J1", "J2", "J4", "J5", "J6", "a worker refused to go on", "the world does not come to rest")
"""How what is noticed begins: a mutation that only stumbles over its own code proves nothing."""


def first_catch(mutation: Mutation, hint: int, scale: Scale) -> tuple[int, str] | None:
    """The first seed from just before the hint on, around to it again, whose schedule notices the mutation."""
    begin = max(0, hint - BEFORE)
    return caught(mutation, range(begin, SEARCHED), scale) or caught(mutation, range(begin), scale)


def test_every_mutation_has_a_seed_to_begin_at_and_there_are_enough_of_them() -> None:
    assert list(FIRST_SEEDS) == [mutation.__name__ for mutation in MUTATIONS]
    assert list(FIRST_SEEDS_OF_ACCURATE) == [mutation.__name__ for mutation in OF_ACCURATE]
    assert len(MUTATIONS) >= 15
    assert all(mutation.__doc__ for mutation in (*MUTATIONS, *OF_ACCURATE))


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.__name__)
def test_a_mutation_of_the_protocol_is_caught(mutation: Mutation) -> None:
    found = first_catch(mutation, FIRST_SEEDS[mutation.__name__], SMALL)
    assert found is not None, f"none of {SEARCHED} schedules notices: {mutation.__doc__}"
    seed, noticed = found
    assert noticed.startswith(PROMISES)
    assert violation(seed, "small") is None, f"seed {seed} fails without the mutation, too"


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("mutation", OF_ACCURATE, ids=lambda mutation: mutation.__name__)
def test_a_mutation_that_only_sketches_and_scopes_show_is_caught(mutation: Mutation) -> None:
    found = first_catch(mutation, FIRST_SEEDS_OF_ACCURATE[mutation.__name__], ACCURATE)
    assert found is not None, f"none of {SEARCHED} schedules notices: {mutation.__doc__}"
    seed, noticed = found
    assert noticed.startswith(PROMISES)
    assert violation(seed, "accurate") is None, f"seed {seed} fails without the mutation, too"
