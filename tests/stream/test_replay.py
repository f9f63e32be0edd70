"""Whether the logs reach back to a replay point: one rule, with which all callers get the same answer."""

from __future__ import annotations

from itertools import combinations_with_replacement, product
from typing import Final

import pytest

from crawler_plugin.wire.errors import Refused
from crawler_plugin.wire.topics import ANSWERS, FINGERPRINTS
from tests.simulation.memory_log import MemoryLog, Partition, World
from tests.stream.shard.test_restore import Rebuilding, three_blocks
from worker.operations.inspect import inspect
from worker.stream.log import Bounds
from worker.stream.policy import ReplayPoint
from worker.stream.replay import Logs, Reach, check_reach, readable_point

REFUSED: Final = {
    Reach.BEYOND: r"topic was made anew",
    Reach.GONE: r"passed their retention.*repair --accept-gap",
}


def holding(begin: int, end: int) -> Partition:
    """A partition with records from an offset on, none of which belongs to a copied index."""
    partition = Partition(begin, begin)
    while partition.end < end:
        partition.append(0, None, b"of no batch and no answer", (), 0)
    return partition


@pytest.mark.parametrize(
    ("point", "fingerprints", "answers", "reach"),
    [
        ((0, 0), (0, 0), (0, 0), Reach.FINE),
        ((0, 0), (0, 5), (0, 9), Reach.FINE),
        ((5, 9), (5, 8), (9, 20), Reach.FINE),
        ((5, 9), (6, 8), (9, 20), Reach.GONE),
        ((5, 9), (5, 8), (10, 20), Reach.GONE),
        ((5, 9), (8, 8), (9, 20), Reach.GONE),
        ((8, 9), (8, 8), (10, 20), Reach.FINE),
        ((8, 20), (3, 8), (20, 20), Reach.FINE),
        ((9, 9), (0, 8), (0, 20), Reach.BEYOND),
        ((5, 21), (0, 8), (0, 20), Reach.BEYOND),
        ((5, 9), (0, 0), (0, 0), Reach.BEYOND),
    ],
    ids=[
        "all is new",
        "all is kept",
        "just kept",
        "a batch is gone",
        "an answer is gone",
        "all batches are gone",
        "idle: old answers are gone, no batch is",
        "at the end of both",
        "beyond the end of fingerprints",
        "beyond the end of answers",
        "both logs are empty",
    ],
)
def test_a_replay_point_is_too_old_only_if_something_after_it_is_gone(
    point: tuple[int, int], fingerprints: tuple[int, int], answers: tuple[int, int], reach: Reach
) -> None:
    world = World(partitions=1, shards=1)
    for topic, (begin, end) in ((FINGERPRINTS, fingerprints), (ANSWERS, answers)):
        world.topics[topic, 0] = holding(begin, end)
    log = MemoryLog(world, "w")
    assert check_reach(Logs(Bounds(*fingerprints), Bounds(*answers)), ReplayPoint(*point)) is reach
    if reach is Reach.FINE:
        answers_offset = max(point[1], answers[0])
        assert readable_point(log, ReplayPoint(*point), "shard 3") == ReplayPoint(point[0], answers_offset)
    else:
        with pytest.raises(Refused, match=rf"shard 3 .*{REFUSED[reach]}"):
            readable_point(log, ReplayPoint(*point), "shard 3")


def test_inspect_calls_unreadable_exactly_what_a_restore_refuses() -> None:
    """The shard's last block ends at batch 2; behind it some records of both logs come, go, or were never there."""
    world = three_blocks().world
    told_of: set[Reach] = set()
    all_bounds = list(combinations_with_replacement(range(5), 2))
    for fingerprints, answers in product(all_bounds, repeat=2):
        for topic, (begin, end) in ((FINGERPRINTS, fingerprints), (ANSWERS, answers)):
            world.topics[topic, 0] = holding(begin, end)
        (report,) = inspect(MemoryLog(world, "look"), [0])
        told = next((reach for reach in REFUSED if any(reach.value in line for line in report.problems)), Reach.FINE)
        told_of.add(told)
        if told is Reach.FINE:
            assert not report.problems
            assert Rebuilding(world).finish().standing.to == report.complete_up_to
        else:
            with pytest.raises(Refused, match=REFUSED[told]):
                Rebuilding(world).finish()
    assert told_of == set(Reach)
