"""Block load, compared with its definition."""

from __future__ import annotations

import random

import pytest

from worker.evaluate.labels.labelled import Pair
from worker.evaluate.load import LEAST_PAGES, block_load, unrelated


def test_random_fingerprints_load_blocks_once() -> None:
    numbers = random.Random(5)
    assert block_load(numbers.getrandbits(64) for _ in range(20_000)) == pytest.approx(1.0, abs=0.1)


def test_equal_blocks_load_as_often_as_there_are_values() -> None:
    assert block_load([7] * 100) == pytest.approx(65536)


def test_the_load_is_what_look_ups_meet_by_definition() -> None:
    numbers = random.Random(6)
    listed = [numbers.getrandbits(64) & 0x000F_FFFF_00FF_FFFF for _ in range(300)]
    met = sum(
        (a >> shift & 0xFFFF) == (b >> shift & 0xFFFF)
        for place, a in enumerate(listed)
        for other, b in enumerate(listed)
        if place != other
        for shift in (0, 16, 32, 48)
    )
    assert block_load(listed) == pytest.approx(met / (4 * 300 * 299 / 65536))


def test_too_few_pages_have_no_load() -> None:
    assert block_load(range(LEAST_PAGES - 1)) is None
    assert block_load(range(LEAST_PAGES)) is not None


def test_of_documents_linked_by_pairs_that_may_be_copies_the_first_is_kept() -> None:
    def linked(a: str, b: str, label: int | None) -> Pair:
        return Pair(a, b, label, "", None)  # type: ignore[arg-type]

    pairs = [linked("b", "a", 1), linked("c", "b", None), linked("d", "e", 0), linked("e", "f", 1)]
    assert unrelated(["a", "b", "c", "d", "e", "f", "g"], pairs) == ["a", "d", "e", "g"]
    assert unrelated(["c", "b"], pairs) == ["c"]
