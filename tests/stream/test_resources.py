"""A worker's default resources apart from the log."""

from __future__ import annotations

import pytest

from tests.simulation.plain_index import PlainIndex
from worker.fingerprint.near import SimHashNear
from worker.stream.resources import WorkerResources, at_once


def test_without_a_thread_work_is_done_when_it_has_been_given() -> None:
    done: list[str] = []

    def work() -> int:
        done.append("done")
        return len(done)

    future = WorkerResources().background(work)
    assert done == ["done"]
    assert (future.done(), future.result()) == (True, 1)


def test_what_work_raises_comes_out_where_its_result_is_asked_for() -> None:
    future = at_once(lambda: 1 // 0)
    assert future.done()
    with pytest.raises(ZeroDivisionError):
        future.result()


def test_who_asks_the_process_to_end_is_not_kept_for_later() -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        at_once(interrupted)


def test_two_workers_without_a_limit_do_not_share_the_count_of_their_memory() -> None:
    one, other = WorkerResources(), WorkerResources()
    one.memory_limit.count(0, PlainIndex(SimHashNear(1)), beside=7)
    assert (one.memory_limit.used, other.memory_limit.used) == (7, 0)
