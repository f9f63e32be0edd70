"""Two sites of a network, with one text for all pages of a site: the workers' claims, and the verdicts."""

from __future__ import annotations

from typing import Final

import pytest

from tests.columns import claims_of
from tests.simulation.checks import recorded
from tests.stream.script import ANSWER, CLAIM, COMMIT, CRASH, FLUSH, REBALANCE, REDELIVER, TAKE_OVER, Event, Page, Stage
from worker.fingerprint.near import SimHashNear
from worker.fingerprint.scoped import DOUBTED, TEMPLATE, ScopedNear

NEAR: Final = ScopedNear(SimHashNear(1), least_across=9)
TEXT: Final = 0b1011


def page(site: int, number: int) -> Page:
    """One of a shop's products; each shop sells other things."""
    url = f"http://shop{site}.example/{number}"
    return Page(url, TEXT, TEXT, site=site, title=2 * (100 * site + number), doubt=DOUBTED)


def shop(site: int, count: int = 6) -> list[Page]:
    return [page(site, number) for number in range(count)]


def played(*script: Page | Event) -> Stage:
    stage = Stage(near=NEAR).play(*script)
    stage.check()
    return stage


def doubts(stage: Stage) -> list[int]:
    """The doubts of the claims in the log, in their order."""
    return [claim.doubt for _, batch in recorded(stage.world) for claim in claims_of(batch)]


def outcomes(stage: Stage) -> list[str]:
    return [line.split()[1] for line in stage.verdicts()]


LOST: Final = [*["unique"] * 6, *["duplicate"] * 2, *["unique"] * 4]
"""For each shop after the first, the pages that came before its text was known as a template's."""


def test_of_a_network_s_second_shop_two_pages_are_taken_for_the_first_one_s() -> None:
    stage = played(*shop(1), COMMIT, *shop(2), COMMIT)
    assert doubts(stage) == ([DOUBTED] * 2 + [TEMPLATE] * 4) * 2
    assert outcomes(stage) == LOST
    assert {line.split()[2] for line in stage.verdicts() if "duplicate" in line} == {page(1, 0).url}


@pytest.mark.parametrize(
    "mishap", [(CLAIM, CRASH), (ANSWER, CRASH), (ANSWER, FLUSH, CRASH), (REDELIVER,), (REDELIVER, CRASH),
               (ANSWER, REBALANCE), (CLAIM, TAKE_OVER), (COMMIT, FLUSH, CRASH)],
)  # fmt: skip
def test_whatever_befalls_workers_after_their_claims_the_claims_decide(mishap: tuple[Event, ...]) -> None:
    stage = played(*shop(1), COMMIT, *shop(2), *mishap, COMMIT)
    assert outcomes(stage) == LOST


def test_a_worker_that_was_started_again_forgets_titles_and_verdicts_are_those_of_the_log() -> None:
    stage = played(*shop(1, 4), COMMIT, CRASH, *[page(1, number) for number in range(4, 9)], COMMIT)
    assert doubts(stage) == [*[DOUBTED] * 2, *[TEMPLATE] * 2, *[DOUBTED] * 2, *[TEMPLATE] * 3]
    assert outcomes(stage) == ["unique"] * 9, "titles tell the pages of one site apart, with a mark or without"
    assert outcomes(stage.play(CRASH, *shop(2, 4), COMMIT))[9:] == ["duplicate"] * 2 + ["unique"] * 2
    stage.check()


def test_a_copy_on_another_site_is_found_whatever_its_title_says() -> None:
    other = Page("http://mirror.example/", TEXT, TEXT, site=9, title=77, doubt=DOUBTED)
    assert outcomes(played(page(1, 0), COMMIT, other, COMMIT)) == ["unique", "duplicate"]


def test_restored_survivors_have_their_titles_and_marks() -> None:
    again = [page(1, 5), Page("http://other.example/", TEXT, TEXT, site=1, title=page(1, 5).title, doubt=DOUBTED)]
    stage = played(*shop(1), COMMIT, FLUSH, CRASH, *again, COMMIT)
    assert stage.verdicts()[6:] == [
        f"{again[0].url} refetch {again[0].url}",
        f"{again[1].url} duplicate {again[0].url}",
    ]
