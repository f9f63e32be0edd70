"""The methods other than the worker's, compared with their definitions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.evaluate.baselines import (
    Exact,
    Jaccard,
    LongestSentences,
    Shingles,
    longest_sentences,
    minhash,
    ngram_hashes,
    units_reader,
)
from worker.evaluate.methods import Call
from worker.fingerprint.hashing import hash_words
from worker.page.extract import from_text

READER = units_reader()
TOKENS = st.lists(st.sampled_from("abcdef"), max_size=15)


def test_exact_is_equal_normalised_text() -> None:
    make = Exact().maker()
    assert Exact().call(make(from_text("Ｆｕｌｌ  width"), "a", b""), make(from_text("full WIDTH\n"), "b", b"")).near
    assert not Exact().call(make(from_text("full width"), "a", b""), make(from_text("full widths"), "b", b"")).near


@given(st.lists(st.sampled_from("abcd"), max_size=12), st.integers(1, 4))
def test_ngrams_are_as_many_as_marked_tokens_allow_and_equal_where_they_are_equal(tokens: list[str], n: int) -> None:
    hashes = ngram_hashes(hash_words(tokens), n).tolist()
    if not tokens:
        assert hashes == []
        return
    marked = ["^", *tokens, "$"]
    windows = [tuple(marked[place : place + n]) for place in range(max(1, len(marked) - n + 1))]
    assert len(hashes) == len(windows)
    assert len(set(hashes)) == len(set(windows)) == len(set(zip(hashes, windows, strict=True)))


@given(st.lists(st.sampled_from("abcdef"), max_size=15), st.lists(st.sampled_from("abcdef"), max_size=15))
def test_jaccard_is_the_share_of_ngrams_in_common(a: list[str], b: list[str]) -> None:
    sets = [np.unique(ngram_hashes(hash_words(tokens), 2)) for tokens in (a, b)]
    ours, theirs = (set(one.tolist()) for one in sets)
    call = Jaccard(threshold=0.5).call(*sets)
    if not a or not b:
        assert call == Call(False)
    else:
        share = len(ours & theirs) / len(ours | theirs)
        assert call == Call(share >= 0.5, None, share)


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("One two three. Four five! Six?", ["four five", "one two three", "six"]),
        ("Version 2.5 is out. It is 3.5 MB", ["it is 3 5 mb", "version 2 5 is out"]),
        ("甲乙丙。丁戊；己！庚", ["丁戊", "己", "庚", "甲乙丙"]),
        ("same line\nSAME  LINE\n\nother", ["other", "same line"]),
        ("... !? 。", []),
        ("", []),
    ],
)
def test_sentences_end_at_stops_of_either_language_and_at_lines(text: str, same: list[str]) -> None:
    assert set(longest_sentences(text, 9, READER)) == {longest_sentences(one, 1, READER)[0] for one in same}
    assert len(longest_sentences(text, 9, READER)) == len(same)


def test_the_longest_sentences_come_first() -> None:
    found = longest_sentences("Two words. And three words. One. Now there are five.", 3, READER)
    expected = ("Now there are five", "and three words", "two words")
    assert found == tuple(longest_sentences(one, 1, READER)[0] for one in expected)


@pytest.mark.parametrize(
    ("a", "b", "near"),
    [
        ("A b c. D e f g. H i j k l.", "H i j k l. D e f g. X y z.", True),
        ("A b c. D e f g. H i j k l.", "H i j k l. X y z. U v w x y z.", False),
        ("A b c. D e.", "D e. A b c.", True),
        ("A b c. D e.", "A b c. D f.", False),
        ("A b c.", "A b c!", True),
        ("A b c.", "A b c. D e f. G h i.", False),
        ("", "", False),
    ],
)
def test_two_of_the_three_longest_sentences_make_pages_near_and_all_where_there_are_fewer(
    a: str, b: str, near: bool
) -> None:
    make = LongestSentences().maker()
    assert LongestSentences().call(make(from_text(a), "a", b""), make(from_text(b), "b", b"")).near is near


@given(TOKENS, TOKENS)
def test_equal_slots_estimate_the_jaccard_similarity(a: list[str], b: list[str]) -> None:
    grams = [ngram_hashes(hash_words(tokens), 2) for tokens in (a, b)]
    call = Shingles(threshold=0.5).call(*map(minhash, grams))
    if not a or not b:
        assert call == Call(False)
        return
    exact = Jaccard().call(*map(np.unique, grams)).sketch
    assert exact is not None
    assert call.sketch is not None
    assert call.near == (call.sketch >= 0.5)
    # Five standard errors of a share of 128, plus what is lost where few members leave the slots dependent.
    assert abs(call.sketch - exact) <= 5 * np.sqrt(0.25 / 128) + 0.05


def test_a_signature_is_that_of_the_set_in_whatever_order_and_however_large() -> None:
    grams = ngram_hashes(hash_words([str(number) for number in range(9000)]), 2)
    assert np.array_equal(minhash(grams), minhash(np.concatenate((grams[::-1], grams[:50]))))
    assert minhash(grams).shape == (128,)
    assert np.array_equal(minhash(grams), np.minimum(minhash(grams[:4000]), minhash(grams[4000:])))
