"""Compiled votes against ``weigh_text`` and ``simhash``."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from worker.evaluate.literature.simhash import simhash
from worker.evaluate.literature.weights import weigh_text
from worker.fingerprint.hashing import hash_words
from worker.fingerprint.kernels import voting
from worker.fingerprint.text_reader import LARGEST_SHARE, PAIRS, noise_set
from worker.page.words.noise import LEAST_SHARE, NoiseWords

tokens = st.lists(st.sampled_from([*"abcdefghij", "the", "of", "网页", "的"]), max_size=120)
some = st.frozensets(st.sampled_from(["the", "of", "的", "a", "b", "absent"]))
noises = st.builds(NoiseWords, some, st.dictionaries(st.sampled_from(["el", "pl", "ru"]), some))


def vote(tokens: list[str], noise: NoiseWords) -> tuple[int, int]:
    fingerprint, features = voting.vote(
        hash_words(tokens),
        hash_words([" ".join(pair) for pair in pairwise(tokens)]),
        len(tokens),
        *noise_set(noise),
        LEAST_SHARE,
        PAIRS,
        LARGEST_SHARE,
    )
    return int(fingerprint), int(features)


@settings(deadline=None)
@given(tokens, noises)
def test_the_votes_are_those_of_the_weighted_features(tokens: list[str], noise: NoiseWords) -> None:
    features = weigh_text(noise.left_of(tokens), tokens)
    hashes = hash_words(list(features)).tolist()
    assert vote(tokens, noise) == (simhash(hashes, features.values(), 64), len(features))


def test_of_nothing_every_bit_is_a_tie() -> None:
    assert vote([], NoiseWords()) == (0, 0)
    assert vote(["the"], NoiseWords(frozenset({"the"}))) == (0, 0)


def test_a_set_has_what_was_put_in_and_nothing_else() -> None:
    hashes = np.random.default_rng(1).integers(1, 2**64, 300, np.uint64)
    languages = np.arange(300, dtype=np.uint64)
    members, of_member = np.zeros(512, np.uint64), np.zeros(512, np.uint64)
    voting.gather(hashes, languages, members, of_member, 9)
    filled = members != 0
    assert dict(zip(members[filled].tolist(), of_member[filled].tolist(), strict=True)) == dict(
        zip(hashes.tolist(), languages.tolist(), strict=True)
    )
