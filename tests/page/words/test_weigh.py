"""Counts and weights."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler_plugin.wire.errors import UsageError
from worker.page.words.weigh import SCALE, IdfTable, Weights, parse_tagged, weigh, weigh_text

TOKENS = ["a"] * 10 + ["b"] * 5 + ["c"] * 4 + ["d"]
ALL: tuple[Weights, ...] = ("tf", "log-tf", "tf-idf", "five-levels", "uniform")


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("tf", [10, 5, 4, 1]),
        ("log-tf", [1 + math.log(10), 1 + math.log(5), 1 + math.log(4), 1]),
        ("tf-idf", [5, 10, 8, 2]),  # c and d are not in the table
        ("five-levels", [3, 5, 5, 5]),  # by the table, not by the counts
        ("uniform", [1, 1, 1, 1]),
    ],
)
def test_each_rule_weighs_as_written(rule: Weights, expected: list[float]) -> None:
    features = weigh(TOKENS, rule, {"a": 0.5, "b": 2.0})
    assert features.words == ("a", "b", "c", "d")
    assert features.weights.tolist() == [round(weight * SCALE) for weight in expected]
    assert features.tokens == 20


@pytest.mark.parametrize("rule", ALL)
def test_no_tokens_give_no_features(rule: Weights) -> None:
    features = weigh([], rule, {})
    assert (features.words, features.weights.tolist(), features.tokens) == ((), [], 0)


@given(st.lists(st.text(max_size=3)), st.sampled_from(ALL))
def test_words_are_distinct_in_order_of_first_occurrence_with_weights_above_zero(
    tokens: list[str], rule: Weights
) -> None:
    features = weigh(tokens, rule, {"a": 1.5})
    assert features.words == tuple(dict.fromkeys(tokens))
    assert features.weights.dtype == np.int64
    assert features.weights.shape == (len(features.words),)
    assert (features.weights > 0).all()
    assert features.tokens == len(tokens)


@given(st.lists(st.sampled_from("abcdefgh"), min_size=1), st.sampled_from(ALL), st.randoms())
def test_a_words_weight_does_not_depend_on_the_order_of_tokens(
    tokens: list[str], rule: Weights, chance: random.Random
) -> None:
    shuffled = tokens.copy()
    chance.shuffle(shuffled)
    weights = [weigh(order, rule, {"a": 0.3}) for order in (tokens, shuffled)]
    assert len({frozenset(zip(each.words, each.weights.tolist(), strict=True)) for each in weights}) == 1


@given(st.lists(st.sampled_from("abcdefgh"), min_size=1))
def test_five_levels_are_fifths_of_the_highest_count(tokens: list[str]) -> None:
    features = weigh(tokens, "five-levels")
    counts = Counter(tokens)
    highest = max(counts.values())
    for word, weight in zip(features.words, features.weights.tolist(), strict=True):
        level = next(level for level in range(1, 6) if 5 * counts[word] <= level * highest)
        assert weight == level * SCALE


def test_a_level_by_hand_goes_before_the_table_and_the_count_and_is_the_weight_whatever_the_count() -> None:
    table = {word: float(place) for place, word in enumerate("abcdefghij")}
    by_count = weigh(TOKENS, "five-levels", levels={"a": 2, "d": 4, "absent": 1})
    assert (by_count.weights // SCALE).tolist() == [2, 3, 2, 4]
    by_table = weigh([*TOKENS, "unheard"], "five-levels", table, {"b": 5})
    assert (by_table.weights // SCALE).tolist() == [1, 5, 2, 2, 5]


@pytest.mark.parametrize(
    ("idf", "levels"),
    [
        (range(10), [1, 1, 2, 2, 3, 3, 4, 4, 5, 5]),
        ([7.0, 1.0, 2.0, 5.0, 3.0], [5, 1, 2, 4, 3]),
        ([0.1, 9.0, 9.0, 9.0, 9.0], [1, 5, 5, 5, 5]),
        ([1.0, 1.0, 1.0, 2.0, 3.0], [3, 3, 3, 4, 5]),
        ([4.0], [5]),
        ([], []),
    ],
)
def test_a_table_has_a_level_a_fifth_and_words_of_one_idf_have_the_highest_that_any_of_them_has(
    idf: Sequence[float], levels: list[int]
) -> None:
    table = IdfTable({f"word{place}": value for place, value in enumerate(idf)})
    assert [table.level(word) for word in table] == levels
    assert table.level("unheard") == 5


def test_pairs_have_the_lower_level_of_the_two_and_noise_words_have_a_say_only_between_themselves() -> None:
    levels = dict.fromkeys("abcdefgh", 4) | {"b": 2}
    features = weigh_text(list("abcdefgh"), [*"abcdefgh", "x", "y"], "five-levels", levels=levels)
    weights = dict(zip(features.words, (features.weights / SCALE).tolist(), strict=True))
    assert [weights[feature] for feature in ("a", "b", "a b", "c d", "h x", "x y")] == [4, 2, 0.25, 0.5, 0.5, 0.125]


def test_tf_idf_without_a_table_names_the_setting() -> None:
    with pytest.raises(UsageError, match=r"features\.idf_table"):
        weigh(["a"], "tf-idf")


def test_a_word_that_the_table_lacks_is_as_rare_as_its_rarest() -> None:
    table = IdfTable({"the": 0.1, "fish": 7.5})
    assert table["unheard"] == 7.5
    assert "unheard" not in table
    assert IdfTable({})["anything"] == 1.0


def test_weights_cannot_be_changed_afterwards() -> None:
    with pytest.raises(ValueError, match="read-only"):
        weigh(["a"]).weights[0] = 5


def test_sums_are_exact_for_a_text_of_ten_million_equal_tokens() -> None:
    features = weigh(["a"] * 10_000_000)
    assert features.weights.tolist() == [10_000_000 * SCALE]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", []),
        ("美国/ns 51区/n 雇员/n", ["美国", "51区", "雇员"]),
        ("and/or/c a", ["and/or", "a"]),
        (" /x plain\n", ["/x", "plain"]),
    ],
)
def test_tagged_words_lose_their_tags(text: str, words: list[str]) -> None:
    assert parse_tagged(text) == words


@pytest.mark.parametrize(("words", "part"), [(2, 2), (5, 5), (8, 8), (12, 8)])
def test_a_texts_features_are_its_words_and_a_part_of_its_pairs_of_neighbours(words: int, part: int) -> None:
    kept = [f"word{number}" for number in range(words)]
    tokens = [*kept, "the", kept[0]]
    features = weigh_text([*kept, kept[0]], tokens)
    weights = dict(zip(features.words, (features.weights / SCALE).tolist(), strict=True))
    pairs = {f"{a} {b}": 1 / part for a, b in pairwise(tokens)}
    uncapped = dict.fromkeys(kept, 1.0) | {kept[0]: 2.0} | pairs
    most = sum(uncapped.values()) / 5
    assert weights == pytest.approx({feature: min(weight, most) for feature, weight in uncapped.items()}, abs=1e-3)
    assert features.tokens == words + 1
    assert not features.weights.flags.writeable


def test_pairs_weigh_by_the_lower_idf_of_the_two() -> None:
    features = weigh_text(
        list("abcdefgh"), [*"abcdefgh", "x", "y"], "tf-idf", IdfTable(dict.fromkeys("abcdefgh", 4.0) | {"b": 2.0})
    )
    weights = dict(zip(features.words, (features.weights / SCALE).tolist(), strict=True))
    assert (weights["a"], weights["a b"], weights["c d"], weights["h x"], weights["x y"]) == (
        4.0,
        0.25,
        0.5,
        0.5,
        0.125,
    )


@given(st.lists(st.sampled_from("abcd"), max_size=12), st.sampled_from(ALL))
def test_no_feature_has_more_than_a_fifth_of_the_weight_there_was(tokens: list[str], rule: Weights) -> None:
    table = {"a": 1.5, "b": 0.2}
    whole = weigh(tokens, rule, table).weights.sum() + len(tokens) * 4 * SCALE
    features = weigh_text(tokens, tokens, rule, table)
    assert (features.weights > 0).all()
    assert (features.weights <= max(1, whole // 5)).all()
