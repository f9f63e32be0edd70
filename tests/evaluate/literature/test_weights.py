"""Counts and weights."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler_plugin.wire.errors import UsageError
from worker.evaluate.literature.weights import SCALE, IdfTable, Weights, parse_tagged, weigh, weigh_text

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
    assert list(features) == ["a", "b", "c", "d"]
    assert list(features.values()) == [round(weight * SCALE) for weight in expected]


@pytest.mark.parametrize("rule", ALL)
def test_no_tokens_give_no_features(rule: Weights) -> None:
    assert weigh([], rule, {}) == {}


@given(st.lists(st.text(max_size=3)), st.sampled_from(ALL))
def test_words_are_distinct_in_order_of_first_occurrence_with_weights_above_zero(
    tokens: list[str], rule: Weights
) -> None:
    features = weigh(tokens, rule, {"a": 1.5})
    assert list(features) == list(dict.fromkeys(tokens))
    assert all(type(weight) is int and weight > 0 for weight in features.values())


@given(st.lists(st.sampled_from("abcdefgh"), min_size=1), st.sampled_from(ALL), st.randoms())
def test_a_words_weight_does_not_depend_on_the_order_of_tokens(
    tokens: list[str], rule: Weights, chance: random.Random
) -> None:
    shuffled = tokens.copy()
    chance.shuffle(shuffled)
    assert weigh(tokens, rule, {"a": 0.3}) == weigh(shuffled, rule, {"a": 0.3})


@given(st.lists(st.sampled_from("abcdefgh"), min_size=1))
def test_five_levels_are_fifths_of_the_highest_count(tokens: list[str]) -> None:
    features = weigh(tokens, "five-levels")
    counts = Counter(tokens)
    highest = max(counts.values())
    for word, weight in features.items():
        level = next(level for level in range(1, 6) if 5 * counts[word] <= level * highest)
        assert weight == level * SCALE


def test_a_level_by_hand_goes_before_the_table_and_the_count_and_is_the_weight_whatever_the_count() -> None:
    table = {word: float(place) for place, word in enumerate("abcdefghij")}
    by_count = weigh(TOKENS, "five-levels", levels={"a": 2, "d": 4, "absent": 1})
    assert [weight // SCALE for weight in by_count.values()] == [2, 3, 2, 4]
    by_table = weigh([*TOKENS, "unheard"], "five-levels", table, {"b": 5})
    assert [weight // SCALE for weight in by_table.values()] == [1, 5, 2, 2, 5]


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
    weights = {word: weight / SCALE for word, weight in features.items()}
    assert [weights[feature] for feature in ("a", "b", "a b", "c d", "h x", "x y")] == [4, 2, 0.25, 0.5, 0.5, 0.125]


def test_tf_idf_without_a_table_is_refused() -> None:
    with pytest.raises(UsageError, match="tf-idf need a table"):
        weigh(["a"], "tf-idf")


def test_a_word_that_the_table_lacks_is_as_rare_as_its_rarest() -> None:
    table = IdfTable({"the": 0.1, "fish": 7.5})
    assert table["unheard"] == 7.5
    assert "unheard" not in table
    assert IdfTable({})["anything"] == 1.0


def test_sums_are_exact_for_a_text_of_ten_million_equal_tokens() -> None:
    assert weigh(["a"] * 10_000_000) == {"a": 10_000_000 * SCALE}


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
    weights = {word: weight / SCALE for word, weight in features.items()}
    pairs = {f"{a} {b}": 1 / part for a, b in pairwise(tokens)}
    uncapped = dict.fromkeys(kept, 1.0) | {kept[0]: 2.0} | pairs
    most = sum(uncapped.values()) / 5
    assert weights == pytest.approx({feature: min(weight, most) for feature, weight in uncapped.items()}, abs=1e-3)


def test_pairs_weigh_by_the_lower_idf_of_the_two() -> None:
    features = weigh_text(
        list("abcdefgh"), [*"abcdefgh", "x", "y"], "tf-idf", IdfTable(dict.fromkeys("abcdefgh", 4.0) | {"b": 2.0})
    )
    weights = {word: weight / SCALE for word, weight in features.items()}
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
    whole = sum(weigh(tokens, rule, table).values()) + len(tokens) * 4 * SCALE
    assert all(0 < weight <= max(1, whole // 5) for weight in weigh_text(tokens, tokens, rule, table).values())
