"""SimHash by its definition, by bit patterns that can be checked by hand."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.evaluate.literature.simhash import bit_string, from_sums, simhash, sums

small = st.integers(-3, 3)
"""Weights among which ties and negative sums are common."""


@given(st.lists(st.tuples(st.integers(0, 2**16 - 1), small), max_size=14), small, st.randoms(use_true_random=False))
def test_order_does_not_count_and_a_feature_given_twice_has_the_sum_of_its_weights(
    features: list[tuple[int, int]], more: int, chance: random.Random
) -> None:
    twice = [*features, (0x5555, more), (0x5555, 7)]
    chance.shuffle(twice)
    once = [*features, (0x5555, more + 7)]
    found = [sums([hashed for hashed, _ in each], [weight for _, weight in each], 16) for each in (twice, once)]
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("hashes", "weights", "expected"),
    [
        ([], [], "00000000"),  # no votes: ties everywhere
        ([0b10110001], [1], "10110001"),  # one feature decides alone
        ([0b10110001], [0], "00000000"),  # without weight it does not vote
        ([0b10110001], [-1], "01001110"),  # a negative weight votes for the opposite
        ([0b11110000, 0b11001100], [1, 1], "11000000"),  # a tie is 0
        ([0b11110000, 0b11001100], [2, 1], "11110000"),  # the heavier of two decides
        ([0b11110000, 0b11001100, 0b10101010], [1, 1, 1], "11101000"),  # the majority of three
        ([0b11111111, 0b00000000], [256, 255], "11111111"),  # 8-bit counters would lose this
        ([0b11111111, 0b00000000], [1 << 40, (1 << 40) + 1], "00000000"),
        ([0b11111111, 0b00000000], [(1 << 60) + 1, 1 << 60], "11111111"),  # float64 would see a tie
        ([0b11111111, 0b00000000], [(1 << 53) + 1, 1 << 53], "11111111"),
    ],
)
def test_bit_patterns_that_can_be_checked_by_hand(hashes: list[int], weights: list[int], expected: str) -> None:
    assert bit_string(simhash(hashes, weights, 8), 8) == expected


@pytest.mark.parametrize("bits", [8, 12, 63, 64, 65, 128])
def test_bit_0_is_the_least_significant_and_printed_last(bits: int) -> None:
    for value in (1, 1 << (bits - 1)):
        assert simhash([value], [1], bits) == value
    assert bit_string(1, bits) == "0" * (bits - 1) + "1"
    assert from_sums([1] + [-1] * (bits - 1)) == 1 << (bits - 1)


def test_the_definition_refuses_a_hash_that_is_wider_than_the_fingerprint() -> None:
    with pytest.raises(ValueError, match="100000000 does not fit 8 bits"):
        sums([256], [1], 8)


def test_the_definition_refuses_a_hash_without_a_weight() -> None:
    with pytest.raises(ValueError, match="shorter"):
        simhash([1, 2], [1], 8)
