"""The codes that are stored and looked up are as the benchmarks describe them."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import index_codes


@pytest.mark.parametrize("distance", range(5))
def test_planted_codes_lie_at_exactly_their_distance(distance: int) -> None:
    stored = np.array([0, 2**64 - 1, 0x0123456789ABCDEF], np.uint64)
    planted = index_codes.planted(stored, distance, 50)
    bits = np.bitwise_count(planted[:, None] ^ stored[None, :])
    assert (bits == distance).any(axis=1).all()


def test_crowded_codes_share_a_block_with_all_that_is_asked_for() -> None:
    codes = index_codes.crowded(5000, 0.25, 100)
    hot = (codes.stored & np.uint64(0xFFFF)) == index_codes.CROWDED_VALUE
    assert 0.2 < hot.mean() < 0.3
    assert ((codes.asked & np.uint64(0xFFFF)) == index_codes.CROWDED_VALUE).all()
