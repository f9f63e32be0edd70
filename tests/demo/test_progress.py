"""Progress is shown as bars on a terminal and as lines elsewhere, and names owners when they change."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from worker.demo.progress import Progress, Stations, waiting
from worker.observe.scrape import (
    WorkerShare,
)


def test_off_a_terminal_progress_is_lines_and_the_last_one_is_not_repeated() -> None:
    out = io.StringIO()
    with Progress(Console(file=out, width=200), 9) as progress:
        progress.show(Stations(crawled=1))
        progress.show(Stations(crawled=1))
        progress.show(Stations(crawled=9, published=9, claimed=9, committed={"unique": 8, "refetch": 1}))
    lines = out.getvalue().splitlines()
    assert lines == [
        "1 crawled, 0 published, 0 claimed, 0 committed: 0 unique, 0 duplicate, 0 refetch, 0 dead letter",
        "9 crawled, 9 published, 9 claimed, 9 committed: 8 unique, 0 duplicate, 1 refetch, 0 dead letter",
    ]


def test_owners_are_told_when_they_change_and_not_when_their_counts_do() -> None:
    out = io.StringIO()
    with Progress(Console(file=out, width=200), 9) as progress:
        progress.show(Stations(shares={"worker 1": WorkerShare((0, 1), (0,))}))
        progress.show(Stations(shares={"worker 1": WorkerShare((0, 1), (0,), survivors=3, committed=4)}))
        progress.show(Stations(shares={"worker 1": WorkerShare((0,), ()), "worker 2": WorkerShare((1,), (0,))}))
    assert [line for line in out.getvalue().splitlines() if "owns" in line] == [
        "worker 1 owns shards 0 1 of the index, partitions 0 of pages",
        "worker 1 owns shards 0 of the index, partitions none of pages",
        "worker 2 owns shards 1 of the index, partitions 0 of pages",
    ]


def test_on_a_terminal_of_80_columns_progress_is_bars_and_outcomes_of_which_nothing_is_cut() -> None:
    out = io.StringIO()
    with Progress(Console(file=out, width=80, force_terminal=True), 9) as progress:
        progress.show(Stations(crawled=9, published=9, claimed=9, committed={"unique": 8, "refetch": 1}))
    assert "9/9" in out.getvalue()
    assert "8 unique, 0 duplicate, 1 refetch, 0 dead letter" in out.getvalue()
    assert "…" not in out.getvalue()


@pytest.mark.parametrize("terminal", [False, True])
def test_what_is_waited_for_is_said_at_once_and_then_for_how_long(terminal: bool) -> None:
    out = io.StringIO()
    seconds = iter([0.0, 1.0, 6.0, 7.0, 12.0])
    with waiting(Console(file=out, width=80, force_terminal=terminal), "compiling", lambda: next(seconds)) as tell:
        assert out.getvalue().startswith("compiling\n")
        for how_far in ("1 of 9", "2 of 9", "3 of 9", ""):
            tell(how_far)
    if terminal:
        assert "12 s so far" in out.getvalue()
    else:
        assert out.getvalue() == "compiling\n  6 s so far, 2 of 9\n  12 s so far\n"
