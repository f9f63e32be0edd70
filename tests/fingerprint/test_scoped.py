"""Which pages are comparable: pages of two scopes are not, and titles and sites tell which texts are the pages' own."""

from __future__ import annotations

from itertools import pairwise, product
from typing import NamedTuple

import numpy as np
import pytest

from worker.fingerprint.near import AccurateNear, Match, SimHashNear
from worker.fingerprint.scoped import ANNOUNCED, DOUBTED, LEAST_ACROSS, TEMPLATE, ScopedNear, alike, title_masks


class Page(NamedTuple):
    fingerprint: int | None = 5
    text_hash: int = 1
    scope: int = 0
    tokens: int = LEAST_ACROSS
    sketch: bytes = b""
    bands: bytes = b""
    site: int = 1
    title: int = 2
    title_words: int = 0b11
    doubt: int = ANNOUNCED


NEAR = ScopedNear(SimHashNear())
rules = pytest.mark.parametrize("rule", [SimHashNear(1), AccurateNear(1)], ids=["simhash", "accurate"])


@rules
def test_only_pages_of_one_scope_are_near(rule: SimHashNear | AccurateNear) -> None:
    near = ScopedNear(rule)
    assert near(Page(5, 1, 3), Page(4, 2, 3)) == Match(1, "hamming")
    assert near(Page(5, 1, 3), Page(5, 1, 4)) is None
    assert near(Page(None, 1, 3), Page(None, 1, 0)) is None


def test_under_one_title_any_texts_are_comparable() -> None:
    for doubts, sites, tokens in product(product(range(3), repeat=2), (1, 2), (1, 99)):
        one, other = Page(doubt=doubts[0]), Page(doubt=doubts[1], site=sites, tokens=tokens, title_words=0b1100)
        assert NEAR(one, other)


@pytest.mark.parametrize(
    ("site", "doubts", "tokens", "expected"),
    [
        (1, (ANNOUNCED, ANNOUNCED), 99, False),
        (1, (DOUBTED, ANNOUNCED), 99, False),
        (1, (TEMPLATE, TEMPLATE), 99, False),
        (2, (ANNOUNCED, ANNOUNCED), 1, True),
        (2, (DOUBTED, ANNOUNCED), LEAST_ACROSS, True),
        (2, (DOUBTED, DOUBTED), LEAST_ACROSS, True),
        (2, (DOUBTED, ANNOUNCED), LEAST_ACROSS - 1, False),
        (2, (TEMPLATE, ANNOUNCED), 99, False),
        (2, (DOUBTED, TEMPLATE), 99, False),
        (0, (DOUBTED, DOUBTED), 99, True),
    ],
)
def test_titles_tell_pages_of_one_site_apart_and_of_two_sites_only_templates_and_short_texts(
    site: int, doubts: tuple[int, int], tokens: int, expected: bool
) -> None:
    one = Page(doubt=doubts[0], site=0 if site == 0 else 1)
    other = Page(doubt=doubts[1], site=site, title=4, title_words=0b1100, tokens=tokens)
    assert NEAR.comparable(one, other) is NEAR.comparable(other, one) is expected


def test_announced_texts_of_one_site_are_comparable_under_titles_alike_or_without_one() -> None:
    one = Page(title_words=0b111)
    for words, expected in ((0b1110, True), (0b11100, False), (0b110000, False), (0, True)):
        assert NEAR.comparable(one, Page(title=4, title_words=words)) is expected


def test_alike_are_words_of_which_more_than_half_of_the_fewer_are_in_common() -> None:
    assert alike(0b11, 0b110) is alike(0b110, 0b11) is False, "one of two"
    assert alike(0b111, 0b1110) is alike(0b1, 0b1111) is True, "two of three, one of one"
    assert alike(0, 1 << 63) is alike(0, 0) is True


def test_doubted_pages_without_any_title_are_comparable_to_none_of_their_site() -> None:
    assert not NEAR.comparable(Page(title=0, doubt=DOUBTED), Page(title=0, doubt=DOUBTED))


@pytest.mark.parametrize(
    ("doubt", "tokens", "expected"),
    [(ANNOUNCED, 1, False), (DOUBTED, LEAST_ACROSS, False), (DOUBTED, LEAST_ACROSS - 1, True), (TEMPLATE, 99, True)],
)
def test_who_is_alone_is_comparable_to_its_own_title_at_most(doubt: int, tokens: int, expected: bool) -> None:
    page = Page(doubt=doubt, tokens=tokens)
    assert NEAR.is_alone(page) is expected
    others = [Page(site=site, title=4, doubt=other, tokens=99) for site in (1, 2) for other in range(3)]
    assert any(NEAR.comparable(page, other) for other in others) is not expected


def test_masks_of_titles_are_far_apart_and_none_of_no_title() -> None:
    masks = title_masks(np.arange(2000, dtype=np.uint32))
    assert masks[0] == 0
    assert len(set(masks.tolist())) == 2000
    assert min((int(a) ^ int(b)).bit_count() for a, b in pairwise(masks[1:])) > 8
