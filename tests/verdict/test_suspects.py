"""Which survivors take a whole template of their site, though its titles all differ."""

from __future__ import annotations

import tracemalloc
from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from crawler_plugin.wire.messages import Answer, Claim, Hit
from crawler_plugin.wire.outcomes import SurvivorFinding
from tests.columns import answer_of
from worker.fingerprint.hashing import hash_text
from worker.fingerprint.near import SimHashNear
from worker.fingerprint.scoped import ScopedNear
from worker.stream.shard.hints import Hints
from worker.verdict import suspects
from worker.verdict.claims import Claims
from worker.verdict.decide import Decisions, decide
from worker.verdict.suspects import Suspects, Templates, in_words

NEAR = ScopedNear(SimHashNear(1))
SHOP = "http://shop.example/"
FIRST = SHOP + "p/0"
U32 = (1 << 32) - 1


def page(number: int, title: str | None = "", *, url: str = "", text: int = 0, template: str = "p") -> Claim:
    """A product page; it has a title of its own where none is given, and no title with None."""
    spelled = title or f"Shop | Product {number}"
    return Claim(
        partition=0,
        offset=0,
        clock=0,
        url=url or f"{SHOP}{template}/{number}",
        fingerprint=text,
        tokens=30,
        title=0 if title is None else hash_text(spelled) & U32 & ~1,
        template=hash_text(template) & U32,
    )


def unlike(number: int) -> int:
    """A text that is near to no other text here."""
    return hash_text(f"text {number}")


class Told:
    """A shard of several, fed with batches in turn; ``old`` is a survivor whose copies the pages are, None stands for
    their own earlier fetches."""

    def __init__(self, least: int = 20, shards: int = 1, templates: Templates | None = None) -> None:
        self.templates = Templates() if templates is None else templates
        self.suspects = Suspects(least, self.templates, {})
        self.shards = shards
        self.batch = 0

    def decide(self, pages: Sequence[Claim], answers: Sequence[Answer]) -> Decisions:
        return decide(self.batch, Claims.of(pages), answers, NEAR)

    def take(self, *pages: Claim, old: str | None = "", answers: Sequence[Answer] = ()) -> list[SurvivorFinding]:
        hits = [
            Hit(place=number, order=(-1, 0), url=old or each.url, distance=0, reason="exact-text")
            for number, each in enumerate(pages)
        ]
        decisions = self.decide(pages, answers or [answer_of(() if old == "" else hits)])
        self.batch += 1
        hints = Hints({"suspects": self.suspects}, 0, self.shards, begin=self.suspects.begin)
        hints.offer(decisions)
        hints.step(len(pages) + 1)
        return list(hints.findings)


def test_a_shop_whose_products_come_out_as_one_page_is_suspect_once_with_both_urls() -> None:
    told = Told()
    found = told.take(*map(page, range(100))) + told.take(*map(page, range(100, 150)), old=FIRST)
    assert [(one.kind, one.url, one.order) for one in found] == [("suspect", FIRST, (0, 0))]
    assert told.suspects.known == {(0, 0): (0, 20)}
    assert FIRST in in_words(found[0]) and str(found[0].page) in in_words(found[0])


def test_twenty_copies_are_enough_and_nineteen_are_not() -> None:
    assert Told().take(*map(page, range(20))) == []
    (found,) = Told().take(*map(page, range(21)))
    assert (found.url, found.order, found.copies, found.page) == (FIRST, (0, 0), 20, SHOP + "p/20")


@pytest.mark.parametrize(
    "copies",
    [
        [page(number, "Shop") for number in range(200)],
        [page(number, f"Shop {number % 19}") for number in range(200)],
        [page(number, f"Shop {number // 2}") for number in range(200)],
        [page(number, None) for number in range(200)],
        [replace(page(number), title=2 * number + 1) for number in range(200)],
        [page(number, url=f"http://copy{number}.example/p/{number}") for number in range(200)],
        [page(number, template=f"{number}") for number in range(200)],
        [page(number, url=SHOP + "p/1") for number in range(200)],
        [page(number, url=FIRST) for number in range(200)],
        [page(number % 12) for number in range(200)],
    ],
    ids=["one title", "few titles", "titles twice", "no titles", "URLs for titles", "other hosts", "other templates",
         "one URL", "refetches", "few pages often"],
)  # fmt: skip
def test_copies_that_are_not_many_pages_of_one_template_under_titles_of_their_own_are_none(
    copies: list[Claim],
) -> None:
    assert Told().take(*copies, old=FIRST) == []
    one_by_one = Told()
    assert [found for each in copies for found in one_by_one.take(each, old=FIRST)] == []


def test_a_few_titles_that_are_missing_or_met_twice_among_many_do_not_matter() -> None:
    odd = [page(100, None), page(101, "Shop | Product 1")]
    assert len(Told().take(*odd, *map(page, range(1, 40)), old=FIRST)) == 1


def test_a_template_of_which_another_page_in_nine_is_unique_is_no_suspects() -> None:
    told = Told()
    told.take(*(page(number, text=unlike(number)) for number in range(1000, 1010)))
    assert told.take(*map(page, range(1, 90)), old=FIRST) == []
    (found,) = told.take(page(90), old=FIRST)
    assert found.copies == 90


def test_pages_that_are_fetched_again_count_once_whatever_became_of_them() -> None:
    told = Told()
    uniques = [page(number, text=unlike(number)) for number in range(1000, 1002)]
    told.take(*uniques)
    for _ in range(30):
        assert told.take(*uniques, old=None) == []
        assert told.take(*map(page, range(1, 19)), old=FIRST) == []
        assert told.take(page(0), old=FIRST) == []
    (found,) = told.take(page(19), page(20), old=FIRST)
    assert found.copies == 20


def test_a_batch_counts_once_for_all_shards_of_a_process() -> None:
    templates = Templates()
    told, beside = Told(templates=templates), Told(templates=templates)
    told.take(*map(page, range(1, 20)), old=FIRST)
    beside.batch = 1
    beside.take(*(page(number, text=unlike(number)) for number in range(1000, 1002)))
    beside.batch = 0
    beside.take(*map(page, range(1, 20)), old=SHOP + "p/x")
    told.batch = 2
    (found,) = told.take(page(20), old=FIRST)
    assert found.copies == 20


def test_a_shard_that_lags_behind_counts_no_copies_of_pages_that_were_not_counted() -> None:
    told = Told()
    told.templates.count(Told().decide([page(1)], [answer_of(batch=0)]))
    ahead = Told(templates=told.templates)
    ahead.batch = 50
    ahead.take(page(1, template="q"))
    assert told.take(*(page(number, template="q") for number in range(1, 60)), old=SHOP + "q/0") == []


def test_the_survivor_of_another_shard_is_counted_there() -> None:
    told = Told(shards=2)
    hits = [Hit(place=n, order=(-1, 0), url=FIRST, distance=0, reason="exact-text") for n in range(40)]
    answers = [answer_of(shard=0), answer_of(hits, shard=1)]
    assert told.take(*map(page, range(1, 41)), answers=answers) == []


def test_claims_of_programs_that_knew_no_titles_say_nothing_and_zero_looks_for_none() -> None:
    bare = [Claim(partition=0, offset=0, clock=0, url=f"{SHOP}p/{n}", fingerprint=0) for n in range(40)]
    assert Told().take(*bare) == []
    never = Told(least=0)
    assert never.take(*map(page, range(150))) == []
    assert len(never.templates) == 0


def test_no_site_fills_the_memory_with_templates_or_with_copies() -> None:
    told = Told(templates=Templates(most=100))
    told.take(*(page(number, template=f"t{number}") for number in range(500)))
    assert len(told.templates) == 20
    one = Told(templates=Templates(most=5000))
    repeated = [page(number, f"Shop {number // 2}") for number in range(4000)]
    for begin in range(0, 4000, 500):
        one.take(*repeated[begin : begin + 500], old=FIRST)
    assert one.templates.held < 5000


def test_what_is_remembered_of_many_survivors_with_a_copy_each_takes_the_memory_that_it_counts_for() -> None:
    told = Told()
    tracemalloc.start()
    try:
        for batch in range(4):
            numbers = range(500 * batch, 500 * batch + 500)
            hits = [
                Hit(place=place, order=(-1, number), url=f"{SHOP}s/{number}", distance=0, reason="exact-text")
                for place, number in enumerate(numbers)
            ]
            told.take(*(page(number, "Shop") for number in numbers), answers=[answer_of(hits)])
        its_own = [tracemalloc.Filter(True, suspects.__file__), tracemalloc.Filter(True, "<string>")]
        taken = tracemalloc.take_snapshot().filter_traces(its_own).statistics("filename")
    finally:
        tracemalloc.stop()
    assert told.templates.held > 2000
    assert 30 * told.templates.held < sum(one.size for one in taken) < 80 * told.templates.held


def test_what_expires_is_forgotten_and_what_others_found_is_learnt() -> None:
    told = Told()
    told.suspects.learn([(3, 1), (5, 0)])
    told.suspects.expire(4)
    assert list(told.suspects.known) == [(5, 0)]
