"""Which schedule notices a mutation."""

from __future__ import annotations

from contextlib import ExitStack

from tests.simulation import checks, schedule
from tests.simulation.mutations.mutation import Mutation


def caught(mutation: Mutation, seeds: range, scale: schedule.Scale = schedule.SMALL) -> tuple[int, str] | None:
    """The first of the seeds whose schedule notices the mutation, and what it says; None if none does."""
    with ExitStack() as stack:
        mutation(stack)
        for seed in seeds:
            played = schedule.Schedule(seed, scale)
            try:
                checks.check(played.run())
            except schedule.Violation as violation:
                return seed, str(violation)
            except (AssertionError, KeyError, IndexError, ValueError) as error:
                # The mutated program broke one of its own assumptions: noticed as well.
                return seed, repr(error)
    return None
