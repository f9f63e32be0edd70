"""Which claims of a batch are the first of their page; tests/verdict tests which pages are near to each other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from worker.index.in_batch import void_claims


@pytest.mark.parametrize(
    ("claimed", "sources", "void"),
    [
        ({}, [(0, 0)], []),
        ({0: 4}, [(0, 3), (0, 4), (0, 5)], [0, 1]),
        ({0: 4}, [(0, 7), (0, 5), (0, 8)], [1]),
        ({0: 4}, [(1, 0), (0, 5), (1, 0), (1, 1)], [2]),
        ({}, [(0, 2), (0, 2)], [1]),
        ({5: 9}, [(0, 2), (5, 9), (5, 10)], [1]),
        ({7: 9}, [(0, 2)], []),
        ({}, [], []),
    ],
    ids=[
        "the first ever",
        "at or below what is claimed",
        "it moves inside a batch",
        "by partition",
        "twice",
        "others lie between",
        "of another partition",
        "nothing",
    ],
)
def test_a_claim_at_or_below_the_highest_one_of_its_partition_is_void(
    claimed: dict[int, int], sources: Sequence[tuple[int, int]], void: list[int]
) -> None:
    before = dict(claimed)
    partition = np.array([partition for partition, _ in sources], np.int64)
    offset = np.array([offset for _, offset in sources], np.int64)
    assert np.flatnonzero(void_claims(partition, offset, claimed)).tolist() == void
    assert claimed == before
