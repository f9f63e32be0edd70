"""The tables of legal transitions."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any

import pytest

from tests.stream.script import Page, Stage

from tests.stream.script import CRASH, REBALANCE, REDELIVER, COMMIT, TAKE_OVER  # isort: skip
from worker.stream.states import PARTITION_MOVES, SHARD_MOVES, PartitionState, ShardState, moved

LIVES = [(ShardState, SHARD_MOVES), (PartitionState, PARTITION_MOVES)]


@pytest.mark.parametrize(("kind", "moves"), LIVES)
def test_a_life_runs_forward_one_part_after_the_other(kind: type[Enum], moves: Mapping[Any, Any]) -> None:
    *parts, lost = (state for state in kind if state is not PartitionState.UNCLAIMED)
    assert moves[lost] == frozenset()
    for number, now in enumerate(parts):
        assert moves[now] - {PartitionState.UNCLAIMED} == {lost, *parts[number + 1 : number + 2]}


def test_a_partition_that_is_not_claimed_never_was_and_never_will_be() -> None:
    leads_there = [now for now, to in PARTITION_MOVES.items() if PartitionState.UNCLAIMED in to]
    assert leads_there == [PartitionState.LOCATING]
    assert PARTITION_MOVES[PartitionState.UNCLAIMED] == {PartitionState.LOST}


@pytest.mark.parametrize(("kind", "moves"), LIVES)
def test_a_move_is_made_or_refused_by_the_table(kind: type[Enum], moves: Mapping[Any, Any]) -> None:
    for now in kind:
        for to in kind:
            if to in moves[now]:
                assert moved(moves, now, to) is to
            else:
                with pytest.raises(ValueError, match=f"cannot go from {now.value} to {to.value}"):
                    moved(moves, now, to)


def test_what_a_worker_tells_of_its_lives_are_legal_moves() -> None:
    stage = Stage(partitions=2)
    stage.play(Page("a"), COMMIT, Page("b", partition=1), REDELIVER, REBALANCE, Page("c"), TAKE_OVER, CRASH, COMMIT)
    for observer in stage.observers.values():
        for told, moves in (("shard_state", SHARD_MOVES), ("partition_state", PARTITION_MOVES)):
            lives: dict[int, Any] = {}
            for number, state in observer.told.get(told, []):
                states: Any = type(state)
                begins = number not in lives or lives[number] is states["LOST"]
                assert state is next(iter(states)) if begins else state in moves[lives[number]]
                lives[number] = state
