"""Compiled votes against ``weigh_text`` and ``simhash``."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from worker.fingerprint.fast import _set_of
from worker.fingerprint.hashing import hash_words
from worker.fingerprint.kernels import voting
from worker.fingerprint.simhash import simhash_vectorised
from worker.page.weigh import LARGEST_SHARE, PAIRS, weigh_text

tokens = st.lists(st.sampled_from([*"abcdefghij", "the", "of", "网页", "的"]), max_size=120)
noises = st.frozensets(st.sampled_from(["the", "of", "的", "a", "absent"]))


def vote(tokens: list[str], noise: frozenset[str]) -> tuple[int, int]:
    fingerprint, features = voting.vote(
        hash_words(tokens),
        hash_words([" ".join(pair) for pair in pairwise(tokens)]),
        len(tokens),
        _set_of(hash_words(sorted(noise))),
        PAIRS,
        LARGEST_SHARE,
    )
    return int(fingerprint), int(features)


@settings(deadline=None)
@given(tokens, noises)
def test_the_votes_are_those_of_the_weighted_features(tokens: list[str], noise: frozenset[str]) -> None:
    features = weigh_text([token for token in tokens if token not in noise], tokens)
    assert vote(tokens, noise) == (
        simhash_vectorised(hash_words(features.words), features.weights),
        len(features.words),
    )


def test_of_nothing_every_bit_is_a_tie() -> None:
    assert vote([], frozenset()) == (0, 0)
    assert vote(["the"], frozenset({"the"})) == (0, 0)


def test_a_set_has_what_was_put_in_and_nothing_else() -> None:
    hashes = np.random.default_rng(1).integers(1, 2**64, 300, np.uint64)
    members = np.zeros(512, np.uint64)
    voting.gather(hashes, members, 9)
    assert sorted(members[members != 0].tolist()) == sorted(hashes.tolist())
