"""A test of the tests: some schedule, or a named test, notices each way to break the program."""

from __future__ import annotations

from contextlib import ExitStack
from importlib import import_module
from inspect import signature
from pathlib import Path

import pytest

from tests.simulation.mutations.mutation import Mutation
from tests.simulation.mutations.table import BY_A_TEST, SEARCHED, TABLE, all_mutations, first_seeds, notice, row
from tools.simulation import violation

PROMISES = (*(f"J{number}" for number in range(1, 12)), "a worker refused to go on", "the world does not come to rest")
"""The beginning of a valid message: a mutation that only stumbles over its own code proves nothing."""

SEEDS = first_seeds()
PLAYED = [(play, mutation) for play, mutation in all_mutations() if mutation.__name__ not in BY_A_TEST]
OTHERS = [mutation for _, mutation in all_mutations() if mutation.__name__ in BY_A_TEST]


def test_the_table_names_every_mutation_with_what_it_loses_and_what_notices_it() -> None:
    text = TABLE.read_text("utf-8")
    names = [mutation.__name__ for _, mutation in all_mutations()]
    shown = [line.split("`")[1] for line in text.splitlines() if line.startswith("| `")]
    assert shown == names
    assert set(SEEDS) | set(BY_A_TEST) == set(names)
    for _, mutation in all_mutations():
        assert mutation.__doc__
        assert " ".join(mutation.__doc__.split()) in text
    assert all(row(mutation, None) in text for mutation in OTHERS)
    assert len(names) >= 75


@pytest.mark.timeout(1800)
@pytest.mark.parametrize(("play", "mutation"), PLAYED, ids=[mutation.__name__ for _, mutation in PLAYED])
def test_a_mutation_is_noticed_by_a_schedule(play: str, mutation: Mutation) -> None:
    found = notice(play, mutation, SEEDS[mutation.__name__])
    assert found is not None, f"none of {SEARCHED} schedules notices: {mutation.__doc__}"
    assert found.says.startswith(PROMISES)
    assert violation(found.seed, play) is None, f"seed {found.seed} fails without the mutation, too"


@pytest.mark.parametrize("mutation", OTHERS, ids=lambda mutation: mutation.__name__)
def test_a_mutation_that_no_schedule_notices_is_noticed_by_a_test(mutation: Mutation, tmp_path: Path) -> None:
    module, name = BY_A_TEST[mutation.__name__]
    test = getattr(import_module(module), name)
    folders = [tmp_path / "mutated", tmp_path / "honest"] if signature(test).parameters else [None, None]
    with ExitStack() as stack, pytest.raises((AssertionError, pytest.fail.Exception)):
        mutation(stack)
        test(*filter(None, folders[:1]))
    test(*filter(None, folders[1:]))
