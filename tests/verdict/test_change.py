"""A page's text compared with the last survivor of its URL."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from crawler_plugin.wire.messages import NOT_KNOWN, SAME_TEXT, Answer, Claim
from tests.columns import Seen, answer_of
from tests.fingerprint.definition.sketch import bands, sketch
from worker.fingerprint.near import AccurateNear
from worker.fingerprint.scoped import ScopedNear
from worker.verdict.change import Change
from worker.verdict.claims import Claims
from worker.verdict.decide import decide

BATCH = 7
NEAR = ScopedNear(AccurateNear(3))


def text(*words: int) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    """The hashes of a text's tokens."""
    return np.array([word * 0x9E3779B97F4A7C15 % 2**64 for word in words], np.uint64)


def claim(url: str, words: Sequence[int], *, scope: int = 0, dead: str | None = None) -> Claim:
    tokens = text(*words)
    number = hash(tuple(words)) % 2**64
    return Claim(
        partition=0, offset=0, clock=0, url=url, fingerprint=number, text_hash=number, tokens=len(tokens),
        sketch=sketch(tokens), bands=bands(tokens), scope=scope, dead=dead,
    )  # fmt: skip


def changes(claims: Sequence[Claim], *answers: Answer) -> list[Change | None]:
    found = decide(BATCH, Claims.of(claims), answers or (answer_of(),), NEAR, track_changes=True)
    return [decision.change for decision in found]


ONE, OTHER = range(100), range(200, 300)


def test_a_url_that_was_never_seen_has_no_earlier_text() -> None:
    assert changes([claim("a", ONE)]) == [Change("none")]


def test_nothing_is_said_of_a_page_that_could_not_be_read() -> None:
    assert changes([claim("a", ONE, dead="parser-raised")], answer_of(seen=[Seen(0, (3, 1), 9, 40)])) == [None]


def test_equal_texts_are_the_same() -> None:
    assert changes([claim("a", ONE)], answer_of(seen=[Seen(0, (3, 1), 100, SAME_TEXT)])) == [
        Change("same", 0.0, (3, 1))
    ]


def test_without_sketches_it_is_not_known_how_much_is_new() -> None:
    assert changes([claim("a", ONE)], answer_of(seen=[Seen(0, (3, 1), 9, NOT_KNOWN)])) == [
        Change("changed", None, (3, 1))
    ]


def test_a_survivor_of_this_batch_is_later_than_all_stored_ones() -> None:
    seen = answer_of(seen=[Seen(place, (3, 1), 100, SAME_TEXT) for place in (0, 1, 2)])
    assert changes([claim("a", ONE), claim("a", OTHER), claim("a", OTHER)], seen) == [
        Change("same", 0.0, (3, 1)),
        Change("changed", 1.0, (BATCH, 0)),
        Change("same", 0.0, (BATCH, 1)),
    ]


def test_a_copy_of_another_page_leaves_no_text_to_be_compared_with() -> None:
    # b has the text of a, so b is not a survivor, and the next fetch of b has no earlier text.
    assert changes([claim("a", ONE), claim("b", ONE), claim("b", OTHER)])[2] == Change("none")


@pytest.mark.parametrize("new", [0, 10, 30, 60, 100])
def test_the_share_of_new_bigrams_is_estimated(new: int) -> None:
    (_, change) = changes([claim("a", ONE), claim("a", [*range(100 - new), *range(500, 500 + new)])])
    assert change is not None
    assert change.share == pytest.approx(new / 100, abs=0.12)
