"""Queries to an index, and its results, as columns."""

from __future__ import annotations

import numpy as np
import pytest

from crawler_plugin.wire.messages import Claim
from worker.fingerprint.near import EXACT_BYTES, EXACT_TEXT, HAMMING, SKETCH
from worker.index.queries import Found, Queries


def claim(**fields: int | bytes | None) -> Claim:
    return Claim(**{"partition": 0, "offset": 0, "clock": 0, "url": "", **fields})  # type: ignore[arg-type]


def test_pages_become_columns_and_a_page_without_fingerprint_is_bare() -> None:
    asked = Queries.of(
        [
            claim(fingerprint=7, text_hash=1, tokens=9, scope=3, site=4, title=5, title_words=2**63, doubt=1),
            claim(text_hash=2),
        ]
    )
    assert len(asked) == 2
    assert (asked.fingerprint.tolist(), asked.bare.tolist()) == ([7, 0], [False, True])
    assert asked.text_hash.tolist() == [1, 2]
    assert asked.scope is not None
    assert asked.scope.tolist() == [3, 0]
    assert asked.numbers.tolist() == [[9, 4, 5, 1, 0, 1 << 31], [0] * 6]


@pytest.mark.parametrize("complete", [True, False], ids=["all columns", "those that must be there"])
def test_some_of_the_pages_have_the_same_columns(complete: bool) -> None:
    asked = Queries.of([claim(fingerprint=number, tokens=number) for number in range(4)])
    if not complete:
        asked = Queries(asked.fingerprint, asked.bare, asked.text_hash)
    some = asked.among(np.array([False, True, False, True]))
    assert some.fingerprint.tolist() == [1, 3]
    optional = some.tokens, some.bands, some.sketch, some.scope, some.site, some.title, some.title_words, some.doubt
    assert [column is None for column in optional] == [not complete] * 8
    assert some.numbers.tolist() == ([[1, *[0] * 5], [3, *[0] * 5]] if complete else [[0] * 6] * 2)


def found(exact: list[bool], by_sketch: list[bool], by_bytes: list[bool]) -> Found:
    return Found(
        batches=np.array([5, 6, 7, 8]),
        places=np.array([0, 1, 2, 3]),
        distances=np.array([-1, 0, 2, 9]),
        slots=np.array([4, 3, -1, 1]),
        agreements=np.array([-1, 128, 90, 80]),
        exact=np.array(exact),
        by_sketch=np.array(by_sketch),
        by_bytes=np.array(by_bytes),
    )


def test_what_was_found_is_told_one_query_at_a_time() -> None:
    told = found([True, True, False, False], [False, False, False, True], [True, False, False, False])
    assert (len(told), told.hits()) == (4, [0, 1, 3])
    assert (told.order(1), told.slot(1)) == ((6, 1), 3)
    assert [told.distance_of(query) for query in (0, 3)] == [None, 9]
    assert [told.agreement_of(query) for query in (0, 1)] == [None, 128]
    assert [told.reason(query) for query in range(4)] == [EXACT_BYTES, EXACT_TEXT, HAMMING, SKETCH]
