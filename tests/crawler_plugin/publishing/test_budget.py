"""The bound on unconfirmed bytes: never passed, first come, first served."""

from __future__ import annotations

from collections import deque

import hypothesis
from hypothesis import strategies as st

from crawler_plugin.publishing.budget import PAGE_COST, Budget


def test_a_page_costs_more_than_its_bytes_and_never_more_than_there_is() -> None:
    budget = Budget(10_000)
    assert budget.cost(0) == PAGE_COST
    assert budget.cost(9_000) == 10_000
    assert budget.cost(50_000) == 10_000


def test_exactly_all_there_is_can_be_taken() -> None:
    budget = Budget(100)
    assert budget.take(100)
    assert not budget.take(1)
    budget.give_back(100)
    assert budget.take(1)


def test_a_small_page_does_not_pass_a_large_one_that_waits() -> None:
    budget = Budget(100)
    assert budget.take(60)
    large = budget.wait(80)
    assert not budget.take(10), "there would be room, but the other came first"
    small = budget.wait(10)
    budget.give_back(60)
    assert large.called
    assert small.called
    assert budget.held == 90


def test_one_that_gives_up_waiting_takes_nothing() -> None:
    budget = Budget(100)
    assert budget.take(100)
    given_up, next_one = budget.wait(100), budget.wait(100)
    given_up.addErrback(lambda _: None)
    given_up.cancel()
    budget.give_back(100)
    assert next_one.called
    assert budget.held == 100


def test_without_limit_nobody_waits() -> None:
    budget = Budget(100)
    budget.take(100)
    waiting = [budget.wait(100) for _ in range(3)]
    budget.lift()
    assert all(turn.called for turn in waiting)
    assert not budget.is_waited_for
    assert budget.take(1_000)


@hypothesis.given(st.lists(st.one_of(st.integers(1, 100), st.none()), max_size=60))
def test_the_limit_holds_and_the_order_too(steps: list[int | None]) -> None:
    """A number: a page of this cost comes. None: the oldest held page is done with."""
    budget = Budget(100)
    held: deque[int] = deque()
    waiting: deque[tuple[int, int]] = deque()
    admitted: list[int] = []

    def admit(number: int, cost: int) -> None:
        admitted.append(number)
        held.append(cost)

    def in_turn(_: object, number: int, cost: int) -> None:
        admit(number, cost)

    for number, step in enumerate(steps):
        if step is None:
            if held:
                budget.give_back(held.popleft())
        elif budget.take(step):
            admit(number, step)
        else:
            waiting.append((number, step))
            budget.wait(step).addCallback(in_turn, number, step)
        assert sum(held) == budget.held <= 100
        assert budget.most <= 100
    assert admitted == sorted(admitted)
    while held:
        budget.give_back(held.popleft())
    assert len(admitted) == sum(step is not None for step in steps), "whoever waits gets a turn"
