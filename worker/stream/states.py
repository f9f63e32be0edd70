"""The lives of a worker's shards and partitions, as tables of legal moves."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Final, TypeVar


class ShardState(Enum):
    """A shard in the hands of one worker."""

    RESTORING = "restoring"
    """Its blocks are being read from the topic."""
    REPLAYING = "replaying"
    """The logs are being read from the end of its cover; it knows some of the answers that were given, not all."""
    ANSWERING = "answering"
    """It answers the first undecided batch."""
    LOST = "lost"
    """Given to another worker, or the worker stopped; not used any more."""


class PartitionState(Enum):
    """A partition of ``pages`` in the hands of one worker."""

    LOCATING = "locating"
    """Waits for the committed offset, or commits the first one."""
    REPLAYING = "replaying"
    """Reads both logs from its replay point: decisions already given, claims already made."""
    CLAIMING = "claiming"
    """Claims the pages that it consumes, commits the decided ones."""
    UNCLAIMED = "unclaimed"
    """Beyond the partitions that this worker claims: its pages wait for a worker that claims more."""
    LOST = "lost"
    """Given to another worker, or taken up anew after a failed transaction; not used any more."""


Life = TypeVar("Life", ShardState, PartitionState)

SHARD_MOVES: Final[Mapping[ShardState, frozenset[ShardState]]] = {
    ShardState.RESTORING: frozenset({ShardState.REPLAYING, ShardState.LOST}),
    ShardState.REPLAYING: frozenset({ShardState.ANSWERING, ShardState.LOST}),
    ShardState.ANSWERING: frozenset({ShardState.LOST}),
    ShardState.LOST: frozenset(),
}
PARTITION_MOVES: Final[Mapping[PartitionState, frozenset[PartitionState]]] = {
    PartitionState.LOCATING: frozenset({PartitionState.REPLAYING, PartitionState.UNCLAIMED, PartitionState.LOST}),
    PartitionState.REPLAYING: frozenset({PartitionState.CLAIMING, PartitionState.LOST}),
    PartitionState.CLAIMING: frozenset({PartitionState.LOST}),
    PartitionState.UNCLAIMED: frozenset({PartitionState.LOST}),
    PartitionState.LOST: frozenset(),
}


def moved(moves: Mapping[Life, frozenset[Life]], now: Life, to: Life) -> Life:
    """``to``, if this move from ``now`` is legal.

    Raises:
        ValueError: it is not; this is a defect of the program.
    """
    if to not in moves[now]:
        raise ValueError(f"{type(now).__name__} cannot go from {now.value} to {to.value}")
    return to
