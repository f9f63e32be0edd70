"""Sketches and bands: pinned, and as good at estimating as the theory says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawler_plugin.wire.forgetting import MAX_U64
from tests.fingerprint.definition.sketch import bands, bands_by_definition, ngrams, sketch, sketch_by_definition
from worker.fingerprint.hashing import hash_words
from worker.fingerprint.sketch import (
    BANDS,
    BANDS_BYTES,
    BIGRAMS_UP_TO,
    BOUNDARY,
    MOST_OF_EIGHT_BITS,
    MOST_OF_SIXTEEN_BITS,
    SHORT_SLOTS,
    SKETCH_BYTES,
    SLOTS,
    agreement,
    as_keys,
    similarity,
    slots_for,
)


def hashed(text: str) -> np.ndarray[Any, np.dtype[np.uint64]]:
    return hash_words(text.split())


@pytest.mark.parametrize(("words", "bigrams", "trigrams"), [([], 1, 0), (["a"], 2, 1), (["a", "b"], 3, 2)])
def test_boundaries_give_short_texts_ngrams(words: list[str], bigrams: int, trigrams: int) -> None:
    hashes = hash_words(words).tolist()
    assert len(list(ngrams(hashes, 2))) == bigrams
    assert len(list(ngrams(hashes, 3))) == trigrams
    assert BOUNDARY not in hashes


def test_ngrams_tell_the_order_of_their_tokens() -> None:
    a, b = hash_words(["a", "b"]).tolist()
    assert set(ngrams([a, b], 2)) & set(ngrams([b, a], 2)) == set()


def test_a_text_without_tokens_has_no_sketch_and_agrees_with_nothing() -> None:
    none = np.empty(0, np.uint64)
    assert (sketch(none), bands(none), sketch_by_definition([]), bands_by_definition([])) == (b"", b"", b"", b"")
    assert agreement(b"", b"") == agreement(b"", sketch(hashed("fish"))) == 0


@pytest.mark.parametrize(
    ("count", "of_sketch", "of_bands"),
    [
        (
            5,
            "f90a122d296cfd88569a89b60000000000000000000000000000000000000086",
            "0e42ebe7660f1e772211b0fba41d36aba0e31f8eed2ea569dbaffca3f1ce6409",
        ),
        (
            20,
            "9f065baa68ee7cb4040a3f45636c6d7a888c959aacaeb6c7ced2ebf4fb000055",
            "1fc754924b42dad3203912321c9d970f934751a9cd18742453d009035e52a169",
        ),
        (
            60,
            "9e06f3aaa8e677a4d7dbf8a11c28c1fb393c1edbcc3198b0dec80d3032812510",
            "dc3305f88fed71b3b792fdcdcbf8e9ff1d764506ada167dca753d2f1608ab72e",
        ),
    ],
)
def test_sketches_and_bands_stay_what_they_are(count: int, of_sketch: str, of_bands: str) -> None:
    """Pinned: an index on disk holds such values. A change here needs another name in the scheme."""
    text = hash_words([f"word{number}" for number in range(count)])
    assert sketch(text).hex() == of_sketch
    assert bands(text).hex() == of_bands


def test_order_and_repetition_of_ngrams_do_not_count_in_longer_texts() -> None:
    once, often = hashed("a b c " * 40 + "a"), hashed("a b c " * 50 + "a")
    assert sketch(once) == sketch(often)
    assert bands(once) == bands(often)
    assert len(sketch(once)) == SKETCH_BYTES
    assert len(bands(once)) == BANDS_BYTES


@pytest.mark.parametrize("size", [30, 300])
@pytest.mark.parametrize("kept", [0.6, 0.9])
def test_equal_slots_estimate_the_similarity(size: int, kept: float) -> None:
    """The mean of 100 estimates lies within five of its standard errors of the truth."""
    random = np.random.default_rng(size)
    errors = []
    for _ in range(100):
        a = random.integers(0, MAX_U64, size, np.uint64)
        b = a.copy()
        b[int(size * kept) :] = random.integers(0, MAX_U64, size - int(size * kept), np.uint64)
        left, right = set(ngrams(a.tolist(), 2)), set(ngrams(b.tolist(), 2))
        truth = len(left & right) / len(left | right)
        errors.append(similarity(agreement(sketch(a), sketch(b))) - truth)
    one_estimate = 4 / 3 * np.sqrt(0.25 / SLOTS)
    assert abs(np.mean(errors)) < 5 * one_estimate / np.sqrt(len(errors))
    assert np.std(errors) < 1.3 * one_estimate


@pytest.mark.parametrize(("least", "slots"), [(0.4, 71), (0.6, 90), (0.75, 104), (1.0, 128)])
def test_a_least_similarity_asks_for_as_many_slots_as_estimate_it(least: float, slots: int) -> None:
    assert slots_for(least) == slots
    assert similarity(slots - 1) < least <= similarity(slots)


def test_every_count_of_slots_can_be_asked_for() -> None:
    assert [slots_for(similarity(slots)) for slots in range(SLOTS // 4, SLOTS + 1)] == [*range(SLOTS // 4, SLOTS + 1)]


@pytest.mark.parametrize(("slots", "estimate"), [(SLOTS, 1.0), (90, 0.604), (89, 0.594), (32, 0.0)])
def test_the_estimate_of_a_number_of_slots(slots: int, estimate: float) -> None:
    assert similarity(slots) == pytest.approx(estimate, abs=0.001)


def slots(packed: bytes) -> list[int]:
    value = int.from_bytes(packed, "little")
    return [value >> 2 * slot & 3 for slot in range(4 * len(packed))]


def bigrams(words: Sequence[int], bits: int) -> Counter[int]:
    return Counter(bigram >> 64 - bits for bigram in ngrams(words, 2))


def agreement_by_definition(a: Sequence[int], b: Sequence[int]) -> int:
    """Agreement computed from the tokens of two texts, not from their sketches."""
    shorter, longer = sorted((len(a) + 1, len(b) + 1))
    left, right = sketch_by_definition(a), sketch_by_definition(b)
    if longer <= MOST_OF_EIGHT_BITS:
        bits = 16 if longer <= MOST_OF_SIXTEEN_BITS else 8
        common, of_both = bigrams(a, bits) & bigrams(b, bits), bigrams(a, bits) | bigrams(b, bits)
        return min(128, 32 + 96 * common.total() // of_both.total() + 5)
    if shorter <= MOST_OF_SIXTEEN_BITS:
        return 0
    compared = SHORT_SLOTS if shorter <= MOST_OF_EIGHT_BITS else SLOTS
    pairs = list(zip(slots(left), slots(right), strict=True))[:compared]
    return SLOTS // compared * sum(x == y for x, y in pairs)


@settings(max_examples=60)
@given(st.lists(st.sampled_from(range(60)), min_size=1, max_size=60), st.data())
def test_agreement_is_that_of_the_bigrams_of_short_texts_and_of_the_slots_of_others(
    text: list[int], data: st.DataObject
) -> None:
    cut = data.draw(st.integers(0, len(text) - 1))
    other = text[:cut] + data.draw(st.lists(st.sampled_from(range(60)), min_size=1, max_size=20))
    a, b = sketch_by_definition(text), sketch_by_definition(other)
    expected = agreement_by_definition(text, other)
    assert agreement(a, b) == agreement(b, a) == expected


@pytest.mark.parametrize("count", [1, 14, 15, 21, 22, 23, 24, 500])
def test_every_sketch_agrees_with_itself_and_not_with_an_unrelated_one(count: int) -> None:
    a, b = np.random.default_rng(count).integers(0, MAX_U64, (2, count), np.uint64)
    assert len(sketch(a)) == SKETCH_BYTES
    assert agreement(sketch(a), sketch(a)) == SLOTS
    assert agreement(sketch(a), sketch(b)) < 64


@pytest.mark.parametrize(("ours", "theirs"), [(14, 16), (22, 24), (22, 28), (30, 40)])
def test_a_text_and_its_longer_copy_agree_on_either_side_of_a_limit(ours: int, theirs: int) -> None:
    """Similarities are estimated: only their mean over many texts is sure to be near the truth."""
    random = np.random.default_rng(ours)
    found = []
    for _ in range(50):
        longer = random.integers(0, MAX_U64, theirs, np.uint64)
        found.append(agreement(sketch(longer), sketch(longer[:ours])))
    expected = 32 + 96 * ours / (theirs + 2)
    assert abs(np.mean(found) - expected) < 7


def test_unrelated_texts_have_no_band_in_common_and_equal_ones_all() -> None:
    a, b = hashed("fish live in the warm sea"), hashed("trains are late again this morning")
    assert not (as_keys([bands(a)]) == as_keys([bands(b)])).any()
    assert (as_keys([bands(a)]) == as_keys([bands(a.copy())])).sum() == BANDS


@pytest.mark.parametrize("limit", BIGRAMS_UP_TO)
def test_texts_on_either_side_of_a_limit_have_the_other_bands_in_common(limit: int) -> None:
    text = hashed(" ".join(f"word{number}" for number in range(limit + 1)))
    longer, shorter = as_keys([bands(text), bands(text[:-1])])
    differing = BIGRAMS_UP_TO.index(limit)
    assert longer[differing] != shorter[differing]
    assert (longer == shorter).sum() >= BANDS // 2
