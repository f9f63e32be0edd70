"""Chains inside a batch, at the limits of the compiled walk; what is near by all rules is held in tests/verdict."""

from __future__ import annotations

import numpy as np
import pytest

from worker.fingerprint.near import SimHashNear
from worker.fingerprint.scoped import ScopedNear
from worker.index.in_batch import earliest_in_batch
from worker.index.queries import Queries

NEAR = ScopedNear(SimHashNear(k=3))


def earliest(values: list[int], asked: list[bool] | None = None, scopes: list[int] | None = None) -> list[int]:
    count = len(values)
    pages = Queries(
        fingerprint=np.array(values, np.uint64),
        bare=np.zeros(count, np.bool_),
        text_hash=np.arange(count, dtype=np.uint64),
        tokens=np.full(count, 100, np.uint32),
        bands=np.zeros((count, 8), np.uint32),
        sketch=np.zeros((count, 4), np.uint64),
        scope=np.array(scopes or [0] * count, np.uint64),
    )
    found = earliest_in_batch(pages, np.array([True] * count if asked is None else asked), NEAR)
    return [int(place) for place in found]


def test_a_copy_of_a_copy_is_compared_with_survivors_alone() -> None:
    assert earliest([0b0, 0b111, 0b111111]) == [-1, 0, -1]


def test_the_earliest_of_several_survivors_counts() -> None:
    assert earliest([0b0, 0b111111, 0b000111]) == [-1, -1, 0]


@pytest.mark.parametrize(("bits", "found"), [(3, 0), (4, -1)])
def test_k_bits_are_near_and_one_more_is_not(bits: int, found: int) -> None:
    assert earliest([0, (1 << 64) - (1 << (64 - bits))]) == [-1, found]


def test_who_is_not_asked_is_no_survivor() -> None:
    assert earliest([0, 0, 0], asked=[False, True, True]) == [-1, -1, 1]


def test_pages_of_two_scopes_are_not_compared() -> None:
    assert earliest([0, 0, 0], scopes=[1, 2, 1]) == [-1, -1, 0]
