"""Finds the seed of a play that notices a mutation."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Final

from tests.guarantees import Violation
from tests.simulation.mutations.barriers import OF_BARRIERS
from tests.simulation.mutations.changes import OF_CHANGES
from tests.simulation.mutations.flags import OF_FLAGS
from tests.simulation.mutations.forgetting import OF_COPYING_FORGOTTEN, OF_FORGETTING, OF_REPAIRING_FORGOTTEN
from tests.simulation.mutations.generations import OF_COPYING, OF_SWITCHING
from tests.simulation.mutations.handovers import OF_HANDOVERS
from tests.simulation.mutations.holders import OF_HOLDERS
from tests.simulation.mutations.mutation import Mutation
from tests.simulation.mutations.odd_input import OF_ODD_INPUT
from tests.simulation.mutations.partitions import OF_COPYING_PARTITIONS, OF_PARTITIONS
from tests.simulation.mutations.protocol import MUTATIONS, OF_ACCURATE
from tests.simulation.mutations.repairs import OF_REPAIRS
from tests.simulation.mutations.snapshots import OF_SNAPSHOTS
from tests.simulation.mutations.titles import OF_COPYING_TITLES, OF_TITLES
from tests.simulation.plays import PLAYS

PLAYED: Final[dict[str, tuple[Mutation, ...]]] = {
    "small": (*MUTATIONS, *OF_SNAPSHOTS, *OF_ODD_INPUT, *OF_CHANGES),
    "holders": OF_HOLDERS,
    "growing": OF_PARTITIONS,
    "forgetful": OF_FORGETTING,
    "accurate": OF_ACCURATE,
    "titled": OF_TITLES,
    "flagged": OF_FLAGS,
    "succession": (*OF_COPYING, *OF_SWITCHING, *OF_BARRIERS),
    "handover": OF_HANDOVERS,
    "titled-succession": OF_COPYING_TITLES,
    "growing-succession": OF_COPYING_PARTITIONS,
    "forgetful-succession": OF_COPYING_FORGOTTEN,
    "gap": OF_REPAIRS,
    "forgetful-gap": OF_REPAIRING_FORGOTTEN,
}
"""The play in which each mutation is searched."""


def caught(mutation: Mutation, seeds: range, play: str) -> tuple[int, str] | None:
    """The first of the seeds whose play notices the mutation, with the play's message; None if no play does."""
    with ExitStack() as stack:
        mutation(stack)
        for seed in seeds:
            try:
                PLAYS[play](seed)
            except Violation as violation:
                return seed, str(violation)
            except (AssertionError, KeyError, IndexError, ValueError) as error:
                # The mutated program broke one of its own assumptions: noticed as well.
                return seed, repr(error)
    return None
