"""The nearness of two rows equals the answer of ``near`` for their pages."""

from __future__ import annotations

import msgspec
import pytest

from crawler_plugin.wire.errors import UsageError
from tests.results.groups.scanned import NEAR, crawled
from worker.results.groups.nearness import distance, nearness, page_of


def test_between_a_page_and_its_survivor_it_is_what_the_verdict_says() -> None:
    found = crawled(0)
    reasons = set()
    for row, survivor in zip(found.rows, found.survivors, strict=True):
        if row.duplicate_of is None or survivor is None:
            continue
        near = nearness(NEAR.near, page_of(found.rows[survivor]), page_of(row))
        assert near is not None
        assert (near.distance, near.similarity) == (row.distance, row.similarity)
        assert near.reason == row.reason or row.verdict == "refetch"
        reasons.add(near.reason)
    assert len(reasons) >= 3


def test_unrelated_pages_are_not_near_and_have_a_distance_nevertheless() -> None:
    a, b = [page_of(row) for row in crawled(0).rows if row.verdict == "unique" and row.fingerprint][:2]
    assert nearness(NEAR.near, a, b) is None
    assert (distance(a, b) or 0) > 3


def test_a_damaged_row_is_named() -> None:
    row = msgspec.structs.replace(crawled(0).rows[0], sketch="no hex")
    with pytest.raises(UsageError, match=r"'page-0' is damaged .* scan these pages again"):
        page_of(row)
