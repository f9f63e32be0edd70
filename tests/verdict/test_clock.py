"""The log's clock: the time in a claim, and the watermark that follows from it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler_plugin.wire.messages import Claim
from crawler_plugin.wire.topics import DAY_MS
from worker.verdict.claims import Claims
from worker.verdict.clock import NO_WATERMARK, bounded_clock, clock_by_log, clocks_by_log, most_ahead, watermark_after

NOON = 1_750_000_000_000
YEAR_9999 = 253_402_300_799_000
HOUR = DAY_MS // 24
TTL = 2 * HOUR


@pytest.mark.parametrize(
    ("ttl", "ahead"),
    [(None, DAY_MS), (TTL, 12 * 60_000), (DAY_MS, DAY_MS // 10), (10 * DAY_MS, DAY_MS), (100 * DAY_MS, DAY_MS), (9, 0)],
    ids=["nothing expires", "two hours", "a day", "ten days", "longer", "nine milliseconds"],
)
def test_a_claim_is_a_day_ahead_of_the_broker_at_most_and_never_more_than_a_tenth_of_the_ttl(
    ttl: int | None, ahead: int
) -> None:
    assert most_ahead(ttl) == ahead
    assert bounded_clock(NOON + ahead, NOON, ttl) == NOON + ahead
    assert bounded_clock(NOON + ahead + 1, NOON, ttl) == NOON + ahead
    assert bounded_clock(YEAR_9999, NOON, ttl) == NOON + ahead


@pytest.mark.parametrize("ttl", [None, TTL])
@pytest.mark.parametrize(
    ("fetched", "clock"),
    [
        (None, NOON),
        (NOON, NOON),
        (NOON + 1, NOON + 1),
        (NOON - 3 * DAY_MS, NOON - 3 * DAY_MS),
        (0, 0),
        (-1, -1),
        (-(2**63), -(2**63)),
    ],
    ids=["no fetch time", "now", "a little ahead", "long ago", "1970", "before 1970", "the least of 64 bits"],
)
def test_a_fetch_time_that_is_not_far_ahead_counts_as_it_is(fetched: int | None, clock: int, ttl: int | None) -> None:
    assert bounded_clock(fetched, NOON, ttl) == clock


@pytest.mark.parametrize("ttl", [None, TTL])
def test_without_a_broker_a_page_moves_the_log_s_time_on_by_as_much_at_most(ttl: int | None) -> None:
    assert clock_by_log(NOON, NO_WATERMARK, ttl) == clock_by_log(NOON, 0, ttl) == NOON
    assert clock_by_log(NOON - 1, NOON, ttl) == NOON - 1
    assert clock_by_log(NOON + 1, NOON, ttl) == NOON + 1
    assert clock_by_log(YEAR_9999, NOON, ttl) == NOON + most_ahead(ttl)


CLOCKS = st.one_of(
    st.integers(-(2**63), 2**63 - 1),
    st.integers(-2, 40),
    st.sampled_from([-(2**63), NOON, NOON + DAY_MS, NOON + DAY_MS + 1, 2**63 - 1]),
)


@given(
    clocks=st.lists(CLOCKS, max_size=30),
    watermark=st.one_of(st.just(NO_WATERMARK), CLOCKS),
    ttl=st.one_of(st.none(), st.integers(1, 400 * DAY_MS), st.integers(1, 100)),
)
def test_claims_that_are_dated_together_get_the_times_that_they_get_one_by_one(
    clocks: list[int], watermark: int, ttl: int | None
) -> None:
    dated = clocks_by_log(np.array(clocks, np.int64), watermark, ttl)
    for given_clock, clock in zip(clocks, dated.tolist(), strict=True):
        assert clock == clock_by_log(given_clock, watermark, ttl)
        watermark = max(watermark, clock)


TIMES = st.one_of(
    st.none(),
    st.integers(-(2**63), 2**63 - 1),
    st.sampled_from([-(2**63), -1, 0, YEAR_9999, 2**63 - 1]),
    st.integers(NOON - 2 * DAY_MS, NOON + 2 * DAY_MS),
)


@given(
    st.lists(st.tuples(TIMES, st.integers(NOON, NOON + DAY_MS)), max_size=9),
    st.one_of(st.none(), st.integers(10, 400 * DAY_MS)),
)
def test_no_page_moves_the_watermark_far_beyond_the_time_when_the_broker_received_it(
    pages: list[tuple[int | None, int]], ttl: int | None
) -> None:
    watermark = NO_WATERMARK
    for fetched, received in pages:
        before = watermark
        watermark = watermark_after(watermark, claims(bounded_clock(fetched, received, ttl)))
        assert before <= watermark <= max(before, received + most_ahead(ttl))
        # Pages that came within the last nine tenths of the ttl, by the broker's time, have not expired.
        assert ttl is None or watermark == before or watermark - ttl <= received - ttl * 0.9


def claims(*clocks: int, dead: str | None = None) -> Claims:
    return Claims.of(
        [Claim(partition=0, offset=0, clock=clock, url="http://a.example/", dead=dead) for clock in clocks]
    )


def test_the_watermark_is_the_largest_clock_and_never_goes_back() -> None:
    assert watermark_after(NO_WATERMARK, claims(3, 9, 5)) == 9
    assert watermark_after(20, claims(3, 9)) == 20


def test_a_dead_claim_moves_the_watermark() -> None:
    assert watermark_after(5, claims(8, dead="parser-raised")) == 8


@given(st.lists(st.lists(st.integers(0, 50))))
def test_the_watermark_does_not_depend_on_where_batches_are_cut(batches: list[list[int]]) -> None:
    watermark = NO_WATERMARK
    for batch in batches:
        watermark = watermark_after(watermark, claims(*batch))
    assert watermark == watermark_after(NO_WATERMARK, claims(*(clock for batch in batches for clock in batch)))
