"""Pages of two scopes are never near, whatever they have in common."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from worker.fingerprint.near import AccurateNear, Match, SimHashNear
from worker.fingerprint.scoped import ScopedNear


class Page(NamedTuple):
    fingerprint: int | None
    text_hash: int
    scope: int
    tokens: int = 9
    sketch: bytes = b""
    bands: bytes = b""


rules = pytest.mark.parametrize("rule", [SimHashNear(1), AccurateNear(1)], ids=["simhash", "accurate"])


@rules
def test_only_pages_of_one_scope_are_near(rule: SimHashNear | AccurateNear) -> None:
    near = ScopedNear(rule)
    assert near(Page(5, 1, 3), Page(4, 2, 3)) == Match(1, "hamming")
    assert near(Page(5, 1, 3), Page(5, 1, 4)) is None
    assert near(Page(None, 1, 3), Page(None, 1, 0)) is None
