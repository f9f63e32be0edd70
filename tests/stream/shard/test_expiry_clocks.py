"""Expiry by the watermark, compared with the plain list of all batches."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from worker.stream.shard.expiry_clocks import Clocks

batches = st.lists(st.tuples(st.integers(1, 3), st.integers(0, 2)), max_size=40).map(
    lambda steps: [
        (sum(step for step, _ in steps[: place + 1]), sum(more for _, more in steps[: place + 1]))
        for place in range(len(steps))
    ]
)
"""(batch, the watermark just after it) of batches with a survivor, ascending; now and then the watermark does not move.
"""


def last_below(known: list[tuple[int, int]], watermark: int) -> int:
    """The rule in words: the last batch whose watermark is less."""
    return max((batch for batch, after in known if after < watermark), default=-1)


@given(known=batches, watermark=st.integers(-1, 90))
def test_the_last_batch_below_a_watermark_is_that_of_the_plain_list(
    known: list[tuple[int, int]], watermark: int
) -> None:
    assert Clocks(known).last_below(watermark) == last_below(known, watermark)


@given(known=batches, cut=st.integers(0, 40), dropped=st.integers(-1, 60), watermark=st.integers(-1, 90))
def test_wherever_they_are_cut_and_dropped_the_same_expires(
    known: list[tuple[int, int]], cut: int, dropped: int, watermark: int
) -> None:
    """One owner has seen all batches; another was restored from an owner that had dropped some, and has seen the
    rest."""
    one = Clocks(known)
    before = Clocks(known[:cut])
    assert before.drop(dropped) == any(batch <= dropped for batch, _ in Clocks(known[:cut]))
    other = Clocks([*before, *known[cut:]])
    for after in (one.after(dropped), other.after(dropped)):
        assert max(dropped, after.last_below(watermark)) == max(dropped, one.last_below(watermark))
    assert one.after(dropped) == other.after(dropped)


@given(known=batches, dropped=st.integers(-1, 90))
def test_what_is_dropped_is_forgotten_and_the_rest_is_kept(known: list[tuple[int, int]], dropped: int) -> None:
    clocks = Clocks(known)
    kept = [clock for clock in clocks if clock[0] > dropped]
    clocks.drop(dropped)
    assert list(clocks) == kept
    assert len(clocks) == len(kept)
    assert clocks.nbytes <= 16 * max(2 * len(kept), 0) + 16


def test_batches_at_the_same_time_are_one() -> None:
    clocks = Clocks((batch, 7) for batch in range(1000))
    assert list(clocks) == [(999, 7)]
    assert clocks.nbytes == 16


def test_a_copy_stays_what_it_was() -> None:
    clocks = Clocks([(0, 1), (1, 2)])
    copy = clocks.after(0)
    clocks.append(2, 3)
    clocks.drop(1)
    assert list(copy) == [(1, 2)]
    assert list(clocks) == [(2, 3)]
