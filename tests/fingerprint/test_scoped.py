"""Pages of two scopes are never near, whatever they have in common."""

from __future__ import annotations

from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.fingerprint.near import AccurateNear, Match, SimHashNear
from worker.fingerprint.scoped import ScopedNear


class Page(NamedTuple):
    fingerprint: int | None
    text_hash: int
    scope: int
    tokens: int = 9
    sketch: bytes = b""
    bands: bytes = b""


pages = st.builds(
    Page,
    st.none() | st.integers(0, 9),
    st.integers(0, 2),
    st.sampled_from((0, 1, 2**64 - 1)),
    st.just(9),
    st.just(b""),
    st.just(b""),
)
rules = pytest.mark.parametrize("rule", [SimHashNear(1), AccurateNear(1)], ids=["simhash", "accurate"])


@rules
def test_only_pages_of_one_scope_are_near(rule: SimHashNear | AccurateNear) -> None:
    near = ScopedNear(rule)
    assert near(Page(5, 1, 3), Page(4, 2, 3)) == Match(1, "hamming")
    assert near(Page(5, 1, 3), Page(5, 1, 4)) is None
    assert near(Page(None, 1, 3), Page(None, 1, 0)) is None


@rules
@given(st.lists(pages, max_size=20))
def test_inside_a_batch_it_finds_what_all_pairs_do(rule: SimHashNear | AccurateNear, batch: list[Page]) -> None:
    near = ScopedNear(rule)
    by_definition = [[i for i in range(j) if near(batch[j], batch[i])] for j in range(len(batch))]
    assert near.earlier_in_batch(batch) == by_definition
