"""The definition, and its vectorised twin."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from worker.fingerprint.hashing import MAX_BITS, MIN_BITS, WORD_BITS, Hashes
from worker.fingerprint.simhash import (
    as_ints,
    bit_string,
    from_sums,
    simhash,
    simhash_vectorised,
    simhash_votes,
    sums,
)


def as_array(hashes: list[int], bits: int) -> Hashes:
    """What ``hash_words`` would give for these numbers."""
    if bits <= WORD_BITS:
        return np.array(hashes, dtype=np.uint64)
    words = [(value & 2**WORD_BITS - 1, value >> WORD_BITS) for value in hashes]
    return np.array(words, dtype=np.uint64).reshape(-1, 2)


def as_weights(weights: list[int]) -> np.ndarray:
    return np.array(weights, dtype=np.int64)


widths = st.one_of(st.sampled_from([8, 9, 63, 64, 65, 127, 128]), st.integers(MIN_BITS, MAX_BITS))
small = st.integers(-3, 3)
"""Weights among which ties and negative sums are common."""
any_weight = st.one_of(small, st.integers(0, 300), st.integers(-(2**58), 2**58))


@st.composite
def votes(draw: st.DrawFn, weight: st.SearchStrategy[int] = any_weight) -> tuple[list[int], list[int], int]:
    bits = draw(widths)
    hashes = draw(st.lists(st.integers(0, 2**bits - 1), max_size=14))
    weights = draw(st.lists(weight, min_size=len(hashes), max_size=len(hashes)))
    return hashes, weights, bits


@given(votes())
def test_the_twin_equals_the_definition_for_any_hashes_weights_and_width(
    case: tuple[list[int], list[int], int],
) -> None:
    hashes, weights, bits = case
    array = as_array(hashes, bits)
    assert as_ints(array) == hashes
    assert simhash_votes(array, as_weights(weights), bits).tolist() == sums(hashes, weights, bits)
    assert simhash_vectorised(array, as_weights(weights), bits) == simhash(hashes, weights, bits)


@given(votes(small))
def test_the_twin_equals_the_definition_where_ties_are_common(case: tuple[list[int], list[int], int]) -> None:
    hashes, weights, bits = case
    assert simhash_vectorised(as_array(hashes, bits), as_weights(weights), bits) == simhash(hashes, weights, bits)


@settings(max_examples=20)
@given(st.integers(1, 3000), st.integers(0, 2**32), st.sampled_from([8, 64, 128]))
def test_the_twin_equals_the_definition_for_more_features_than_it_takes_at_once(
    count: int, seed: int, bits: int
) -> None:
    random = np.random.default_rng(seed)
    words = random.integers(0, 2**64, size=(count, 2), dtype=np.uint64)
    hashes = words if bits > WORD_BITS else words[:, 0] & np.uint64(2**bits - 1)
    weights = random.integers(-5, 400, size=count) << 16
    assert simhash_vectorised(hashes, weights, bits) == simhash(as_ints(hashes), weights.tolist(), bits)


@given(votes(), st.randoms(use_true_random=False))
def test_the_order_of_features_does_not_count(case: tuple[list[int], list[int], int], random: object) -> None:
    hashes, weights, bits = case
    pairs = list(zip(hashes, weights, strict=True))
    random.shuffle(pairs)  # type: ignore[attr-defined]
    shuffled = simhash_vectorised(
        as_array([hashed for hashed, _ in pairs], bits), as_weights([weight for _, weight in pairs]), bits
    )
    assert shuffled == simhash(hashes, weights, bits)


@given(votes(st.integers(0, 1000)), st.integers(0, 1000))
def test_a_feature_given_twice_counts_the_sum_of_its_weights(case: tuple[list[int], list[int], int], more: int) -> None:
    hashes, weights, bits = case
    feature = (1 << bits) // 3
    twice = simhash_votes(as_array([*hashes, feature, feature], bits), as_weights([*weights, more, 7]), bits)
    once = simhash_votes(as_array([*hashes, feature], bits), as_weights([*weights, more + 7]), bits)
    assert twice.tolist() == once.tolist()


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
    assert bit_string(simhash_vectorised(as_array(hashes, 8), as_weights(weights), 8), 8) == expected


@pytest.mark.parametrize("bits", [8, 12, 63, 64, 65, 128])
def test_bit_0_is_the_least_significant_and_printed_last(bits: int) -> None:
    for value in (1, 1 << (bits - 1)):
        assert simhash_vectorised(as_array([value], bits), as_weights([1]), bits) == value
    assert bit_string(1, bits) == "0" * (bits - 1) + "1"
    assert from_sums([1] + [-1] * (bits - 1)) == 1 << (bits - 1)


@pytest.mark.parametrize(
    ("hashes", "weights", "bits", "complaint"),
    [
        (as_array([1], 64), [1], 7, "7 bits"),
        (as_array([1], 64), [1], 129, "129 bits"),
        (as_array([1], 64), [1, 2], 64, "do not fit 2 weights"),
        (as_array([1], 64), [1], 65, "do not fit 1 weights at 65 bits"),
        (as_array([1], 65), [1], 64, "do not fit 1 weights at 64 bits"),
        (as_array([1, 1], 64), [2**61, 2**61], 64, "scale them down"),
    ],
)
def test_votes_that_cannot_be_counted_are_refused(
    hashes: Hashes, weights: list[int], bits: int, complaint: str
) -> None:
    with pytest.raises(ValueError, match=complaint):
        simhash_vectorised(hashes, as_weights(weights), bits)


def test_the_definition_refuses_a_hash_that_is_wider_than_the_fingerprint() -> None:
    with pytest.raises(ValueError, match="100000000 does not fit 8 bits"):
        sums([256], [1], 8)


def test_the_definition_refuses_a_hash_without_a_weight() -> None:
    with pytest.raises(ValueError, match="shorter"):
        simhash([1, 2], [1], 8)
