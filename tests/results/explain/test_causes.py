"""Causes of differences, compared with the definition: without the causes there is no difference."""

from __future__ import annotations

import random
from typing import Final

import pytest

from tests.fingerprint.definition.sketch import ngrams, sketch_by_definition
from tests.fingerprint.test_sketch import slots
from tests.local.crawled import WORDS
from worker.evaluate.literature.explained import Explained, Explainer
from worker.evaluate.literature.variant import Variant
from worker.fingerprint.fingerprinter import Recipe
from worker.fingerprint.hashing import hash_words
from worker.fingerprint.key import Key
from worker.fingerprint.sketch import BANDS
from worker.page.extract import Extracted
from worker.results.explain.causes import causes

RECIPES: Final = [Recipe(sketched=True, key=key) for key in (None, Key.of(b"the secret of this crawl"))]


def explained(recipe: Recipe, words: list[str], *shown: str) -> Explained:
    page = Extracted(" ".join(words), "utf-8", shown=shown)
    return Explainer(recipe).explain(page, "http://a.example/")


def texts(seed: int, length: int) -> tuple[list[str], list[str]]:
    """A text, and the same text with some words replaced and one left out."""
    chance = random.Random(seed)
    words = [chance.choice(WORDS) + str(chance.randrange(3)) for _ in range(length)]
    other = words[:]
    for _ in range(3):
        other[chance.randrange(length)] = chance.choice(WORDS) + "9"
    del other[chance.randrange(length)]
    return words, other


@pytest.mark.parametrize("recipe", RECIPES, ids=["public", "keyed"])
@pytest.mark.parametrize("seed", range(5))
def test_the_changes_of_all_features_add_up_to_what_moved_each_bit(recipe: Recipe, seed: int) -> None:
    a, b = (explained(recipe, words) for words in texts(seed, 80))
    assert a.fingerprint is not None and b.fingerprint is not None
    found = causes(a, b, Variant(), recipe.key)
    assert found is not None
    differing = a.fingerprint ^ b.fingerprint
    assert [bit.bit for bit in found.bits] == [bit for bit in range(63, -1, -1) if differing >> bit & 1]
    for bit in found.bits:
        assert (bit.a > 0) is bool(a.fingerprint >> bit.bit & 1)
        assert (bit.b > 0) is bool(b.fingerprint >> bit.bit & 1)
        changes = [share.change for share in bit.by]
        assert changes, "a bit does not move by itself"
        assert changes == sorted(changes, key=abs, reverse=True)
        assert all((change > 0) is (bit.b > bit.a) for change in changes)
        for share in bit.by:
            assert dict(a.features).get(share.feature) != dict(b.features).get(share.feature)


@pytest.mark.parametrize("recipe", RECIPES, ids=["public", "keyed"])
@pytest.mark.parametrize("length", [40, 80, 200])
def test_a_slot_that_differs_is_held_by_a_bigram_of_one_text_alone(recipe: Recipe, length: int) -> None:
    words = texts(7, length)
    a, b = (explained(recipe, one) for one in words)
    found = causes(a, b, Variant(), recipe.key)
    assert found is not None
    differing = {n for n, (x, y) in enumerate(zip(slots(a.sketch), slots(b.sketch), strict=True)) if x != y}
    assert found.slots == len(differing)
    assert {slot for place in found.places for slot in place.slots} == differing
    assert {band for place in found.places for band in place.bands} | set(found.lengths) == set(found.bands)
    assert set(found.bands) <= set(range(BANDS))
    bounded = [["", *one, ""] for one in words]
    for place in found.places:
        n = len(place.ngram)
        has = [place.ngram in {tuple(one[begin : begin + n]) for begin in range(len(one) - n + 1)} for one in bounded]
        assert has == [place.side == "A", place.side == "B"]


def test_without_the_ngrams_that_hold_it_a_slot_does_not_differ() -> None:
    words = ([f"{word}{n}" for n in range(2) for word in WORDS], [f"{word}{n}" for n in range(2) for word in WORDS])
    words[1][30] = "else"
    a, b = (explained(RECIPES[0], one) for one in words)
    found = causes(a, b, Variant())
    assert found is not None
    hashes = [[int(value) for value in hash_words(one)] for one in words]
    kept = [set(ngrams(hashes[0], 2)) & set(ngrams(hashes[1], 2)) for _ in words]
    assert len(kept[0]) == len(words[0]) - 1
    assert {place.ngram for place in found.places if place.slots} <= {
        (words[0][29], words[0][30]),
        (words[0][30], words[0][31]),
        (words[0][29], "else"),
        ("else", words[0][31]),
    }
    assert sketch_by_definition(hashes[0]) == a.sketch


def test_equal_texts_have_no_causes_and_texts_shown_with_other_things_no_other() -> None:
    words, other = texts(1, 60)
    same = causes(explained(RECIPES[0], words), explained(RECIPES[0], words), Variant())
    assert same is not None
    assert (same.bits, same.places, same.bands, same.slots, same.shown) == ((), (), (), 0, False)
    bound = causes(explained(RECIPES[0], words, "fish"), explained(RECIPES[0], words, "birds"), Variant())
    assert bound is not None
    assert bound.shown
    assert causes(explained(RECIPES[0], words), explained(RECIPES[0], ["word"]), Variant()) is None
    assert other


def test_short_texts_have_no_slots_and_their_bands_have_causes() -> None:
    words = ["one", "two", "three", "four", "five", "six"]
    found = causes(explained(RECIPES[0], words), explained(RECIPES[0], [*words, "seven"]), Variant())
    assert found is not None
    assert found.slots is None
    assert {place.ngram for place in found.places} <= {("six", ""), ("six", "seven"), ("seven", "")}
