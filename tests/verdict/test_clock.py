"""The log's clock: what a claim carries, and the watermark that follows from it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.messages import Claim
from worker.topics import DAY_MS
from worker.verdict.clock import NO_WATERMARK, bounded_clock, watermark_after

NOON = 1_750_000_000_000
YEAR_2099 = 4_070_908_800_000


@pytest.mark.parametrize(
    ("fetched", "clock"),
    [
        (None, NOON),
        (NOON, NOON),
        (NOON - 3 * DAY_MS, NOON - 3 * DAY_MS),
        (0, 0),
        (NOON + 1, NOON + 1),
        (NOON + DAY_MS, NOON + DAY_MS),
        (NOON + DAY_MS + 1, NOON + DAY_MS),
        (YEAR_2099, NOON + DAY_MS),
    ],
    ids=["no fetch time", "now", "long ago", "1970", "a little ahead", "a day ahead", "just over a day", "2099"],
)
def test_a_claim_carries_its_fetch_time_at_most_a_day_ahead_of_the_broker(fetched: int | None, clock: int) -> None:
    assert bounded_clock(fetched, NOON) == clock


def claim(clock: int, *, dead: str | None = None) -> Claim:
    return Claim(partition=0, offset=0, clock=clock, url="http://a.example/", dead=dead)


def test_without_claims_the_watermark_stands_still() -> None:
    assert watermark_after(NO_WATERMARK, []) == NO_WATERMARK
    assert watermark_after(7, []) == 7


def test_the_watermark_is_the_largest_clock_and_never_goes_back() -> None:
    assert watermark_after(NO_WATERMARK, [claim(3), claim(9), claim(5)]) == 9
    assert watermark_after(20, [claim(3), claim(9)]) == 20


def test_a_dead_claim_moves_the_watermark() -> None:
    assert watermark_after(5, [claim(8, dead="parser-raised")]) == 8


@given(st.lists(st.lists(st.integers(0, 50))))
def test_the_watermark_does_not_depend_on_where_batches_are_cut(batches: list[list[int]]) -> None:
    watermark = NO_WATERMARK
    for batch in batches:
        watermark = watermark_after(watermark, map(claim, batch))
    assert watermark == watermark_after(NO_WATERMARK, [claim(clock) for batch in batches for clock in batch])
