"""Whether all verdicts of a job are out: pages in = unique + duplicate + refetch + dead letters."""

from __future__ import annotations

import pytest

from crawler_plugin.wire.outcomes import JobMark
from worker.results.jobs.account import JobAccount


def account(*runs: int | None, outcomes: str = "") -> JobAccount:
    """The account of runs with these numbers of published pages, None for a run that goes on; u, d, r and x are the
    verdicts."""
    made = JobAccount("job 7")
    for number, pages in enumerate(runs):
        made.mark(JobMark(job="7", spider=None, run=str(number), pages=None))
        made.mark(JobMark(job="7", spider=None, run=str(number), pages=pages))
    for letter in outcomes:
        made.count({"u": "unique", "d": "duplicate", "r": "refetch", "x": "dead"}[letter])
    return made


def test_the_sum_names_every_outcome() -> None:
    assert list(account(5, outcomes="uudrx").in_words()) == [
        "job 7: 5 pages = 2 unique + 1 duplicate + 1 refetch + 1 dead"
    ]


@pytest.mark.parametrize(
    ("runs", "outcomes", "complete", "problem"),
    [
        ((2,), "ud", True, None),
        ((0,), "", True, None),
        ((2, 3), "udrxu", True, None),
        ((2,), "u", False, "1 of 2 pages of job 7 have no verdict yet: --follow"),
        ((1, 2), "ud", False, "1 of 3 pages"),
        ((2,), "udr", True, "1 page more than the 2 that its runs have counted"),
        ((), "ud", False, "no mark on the topic jobs"),
        ((None,), "ud", False, "1 of 1 runs of job 7 have begun and not said"),
        ((2, None), "ud", False, "1 of 2 runs"),
    ],
)
def test_it_is_complete_with_as_many_as_all_its_runs_have_published(
    runs: tuple[int | None, ...], outcomes: str, complete: bool, problem: str | None
) -> None:
    made = account(*runs, outcomes=outcomes)
    assert made.complete is complete
    found = made.problem()
    assert (found is None) is (problem is None)
    assert problem is None or problem in (found or "")


def test_spiders_of_one_run_count_each_for_itself() -> None:
    made = account()
    for spider, pages in (("a", 1), ("b", 2)):
        made.mark(JobMark(job="7", spider=spider, run="0", pages=pages))
    assert made.published == 3
