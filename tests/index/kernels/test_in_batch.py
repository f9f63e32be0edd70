"""Chains inside a batch, at the limits of the compiled walk; tests/verdict tests nearness by all rules."""

from __future__ import annotations

import numpy as np
import pytest

from tests.index.titled import pages_of
from worker.fingerprint.near import AccurateNear, SimHashNear
from worker.fingerprint.scoped import ScopedNear
from worker.index.in_batch import Flagged, earliest_in_batch
from worker.index.queries import Queries

NEAR = ScopedNear(SimHashNear(k=3))


def earliest(
    values: list[int],
    asked: list[bool] | None = None,
    scopes: list[int] | None = None,
    doubts: list[int] | None = None,
    titles: list[int] | None = None,
    words: list[int] | None = None,
    site: int = 0,
) -> list[int]:
    count = len(values)
    pages = Queries(
        fingerprint=np.array(values, np.uint64),
        bare=np.zeros(count, np.bool_),
        text_hash=np.arange(count, dtype=np.uint64),
        tokens=np.full(count, 100, np.uint32),
        bands=np.zeros((count, 8), np.uint32),
        sketch=np.zeros((count, 4), np.uint64),
        scope=np.array(scopes or [0] * count, np.uint64),
        site=np.full(count, site, np.uint32),
        title_words=None if words is None else np.array(words, np.uint64),
        title=None if titles is None else np.array(titles, np.uint32),
        doubt=None if doubts is None else np.array(doubts, np.uint8),
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


def test_doubted_pages_of_one_site_are_compared_with_those_of_their_title_alone() -> None:
    assert earliest([0, 0, 0, 0], doubts=[1, 0, 1, 2], titles=[2, 4, 4, 2], site=9) == [-1, -1, 1, 0]


def test_announced_pages_of_one_site_are_compared_with_those_of_titles_alike() -> None:
    assert earliest([0, 0, 0, 0], titles=[2, 4, 6, 8], words=[7, 56, 6, 48], site=9) == [-1, -1, 0, 1]


@pytest.mark.parametrize("predicate", [SimHashNear(3), AccurateNear(3)])
@pytest.mark.parametrize("seed", range(4))
def test_the_pages_of_a_batch_are_near_by_the_predicate(predicate: SimHashNear | AccurateNear, seed: int) -> None:
    chance = np.random.default_rng(seed)
    near = ScopedNear(predicate)
    pages = pages_of(chance, 300, hot=0.5 * (seed % 2))
    asked, urls = chance.random(300) < 0.9, chance.integers(0, 20, 300)
    flagged = Flagged(chance.random(300) < 0.9, chance.random(300) < 0.1 * (seed > 1), urls)
    survivors: list[int] = []
    wanted = []
    for place, page in enumerate(pages):
        of_all = [other for other in survivors if not flagged.pardoned[place] or urls[other] == urls[place]]
        first = next((other for other in of_all if near(page, pages[other])), -1) if asked[place] else -1
        wanted.append(first)
        if asked[place] and first < 0 and flagged.stored[place]:
            survivors.append(place)
    queries = Queries.of(pages).among(np.arange(300))  # writable columns, like those of claims
    assert earliest_in_batch(queries, asked, near, flagged).tolist() == wanted
