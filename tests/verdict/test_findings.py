"""Findings about an original from its copies."""

from __future__ import annotations

import tracemalloc
from collections.abc import Sequence

import pytest

from crawler_plugin.wire.messages import Answer, Claim, Hit
from crawler_plugin.wire.outcomes import SurvivorFinding
from tests.columns import answer_of
from worker.fingerprint.hashing import hash_bytes
from worker.fingerprint.near import SimHashNear
from worker.fingerprint.scoped import ScopedNear
from worker.stream.shard.hints import Hints
from worker.verdict.claims import Claims
from worker.verdict.decide import decide
from worker.verdict.findings import CopyGroups, FindingRules, canonical_of

NEAR = ScopedNear(SimHashNear(1))
HOST = "http://a.example/"


def page(path: str, *, names: str | None = None, status: int = 200, text: int = 0, host: str = HOST) -> Claim:
    """A page with this text, at a path of a host."""
    canonical = 0 if names is None else hash_bytes((names if "://" in names else HOST + names).encode())
    return Claim(
        partition=0, offset=0, clock=0, url=host + path, fingerprint=text, tokens=9, status=status, canonical=canonical
    )


class Told:
    """One shard of several, fed with batches in turn."""

    def __init__(self, shards: int = 1, **rules: int) -> None:
        self.groups = CopyGroups(FindingRules(**rules))
        self.shards = shards
        self.batch = 0

    def take(self, *pages: Claim, answers: Sequence[Answer] | None = None) -> list[SurvivorFinding]:
        decisions = decide(self.batch, Claims.of(pages), answers or [answer_of()], NEAR)
        self.batch += 1
        hints = Hints({"findings": self.groups}, 0, self.shards)
        hints.offer(decisions)
        assert not hints.step(10_000)
        return list(hints.findings)

    def copies_of(self, survivor: str, *pages: Claim) -> list[SurvivorFinding]:
        """The findings from copies of a survivor that was stored long ago."""
        hits = [
            Hit(place=number, order=(-1, 0), url=HOST + survivor, distance=0, reason="exact-text")
            for number in range(len(pages))
        ]
        return self.take(*pages, answers=[answer_of(hits)])


def preferred(findings: Sequence[SurvivorFinding]) -> list[tuple[str | None, str | None]]:
    return [(finding.page, finding.named_by) for finding in findings if finding.kind == "preferred"]


def test_a_later_page_that_the_survivor_names_is_preferred() -> None:
    told = Told()
    assert told.take(page("1?from=feed", names="1")) == []
    assert told.take(page("2", text=1 << 40)) == []
    stored = Hit(place=0, order=(0, 0), url=HOST + "1?from=feed", distance=0, reason="exact-text")
    (found,) = told.take(page("1"), answers=[answer_of([stored])])
    assert found == SurvivorFinding(
        kind="preferred", url=HOST + "1?from=feed", order=(0, 0), copies=1, page=HOST + "1", named_by="survivor"
    )


def test_it_is_told_once() -> None:
    told = Told()
    assert preferred(told.take(page("x", names="1"), page("1"), page("1"))) == [(HOST + "1", "survivor")]
    assert told.take(page("1"), page("1")) == []


def test_a_later_page_that_another_copy_names_is_preferred_in_whichever_order_they_come() -> None:
    assert preferred(Told().take(page("x"), page("y", names="1"), page("1"))) == [(HOST + "1", "copy")]
    assert preferred(Told().take(page("x"), page("1"), page("y", names="1"))) == [(HOST + "1", "copy")]


def test_who_names_itself_or_the_survivor_says_nothing() -> None:
    assert Told().take(page("x", names="x"), page("1", names="1"), page("y", names="x"), page("z", names="x")) == []


def test_the_survivor_of_another_shard_is_counted_there() -> None:
    told = Told(shards=2)
    hit = Hit(place=0, order=(-1, 0), url=HOST + "x", distance=0, reason="exact-text")
    answers = [answer_of(shard=0), answer_of([hit], shard=1)]
    told.take(page("y", names="1"), answers=answers)
    assert len(told.groups) == 0


PATHS = ("news/2020/gone", "shop/item-12", "about", "img/logo.png", "team/jane", "archive/old", "help/faq")


def test_the_same_text_at_unrelated_addresses_is_no_page() -> None:
    told = Told(soft_404_places=5)
    assert told.copies_of("nothing", *map(page, PATHS[:4])) == []
    (found,) = told.copies_of("nothing", *map(page, PATHS[4:]))
    assert (found.kind, found.url, found.places) == ("soft-404", HOST + "nothing", 5)
    assert told.groups.is_no_page((-1, 0))
    assert not told.groups.is_no_page((0, 0))
    assert told.copies_of("nothing", *map(page, PATHS)) == []


@pytest.mark.parametrize(
    "paths",
    [
        [f"news/2020/{number}" for number in range(60)],
        [f"calendar/{year}/{month}" for year in range(2000, 2020) for month in range(12)],
        [f"{category}/lamp" for category in ("sale", "new", "home", "light", "gifts", "brands", "outlet", "all")],
        [f"{code}/{slug}" for code, slug in zip(("de", "fr", "es", "it", "pt-br", "nl"), "abcdef", strict=True)],
        [f"user{letter}" for letter in "abcdefghijkl"],
        [f"list?colour={colour}" for colour in range(30)],
        [f"{year}/{month}/a-{day}" for year in (2019, 2020, 2021) for month in (1, 2) for day in range(9)],
    ],
    ids=["numbers", "calendar", "categories", "languages", "root", "facets", "dates"],
)
def test_a_page_that_is_reached_in_many_related_ways_is_one(paths: list[str]) -> None:
    assert Told(soft_404_places=4).copies_of("x", *map(page, paths)) == []


@pytest.mark.parametrize("own", ["alice/about", "alice/", "~alice/about", "~alice", "@alice/about"])
@pytest.mark.parametrize("mark", ["", "~", "@"])
def test_copies_under_other_accounts_of_a_shared_host_do_not_make_a_page_none(own: str, mark: str) -> None:
    others = [
        f"{mark}{name}/{name[0]}/{name}-page" for name in ("bob", "carol", "dave", "erin", "frank", "grace", "ivan")
    ]
    told = Told(soft_404_places=4)
    assert told.copies_of(own, *map(page, [*others, f"{own}?print=1"])) == []
    assert told.copies_of("x", *(page(path, host=f"http://{path[1:4]}.a.example/") for path in others)) == []


def test_an_error_page_of_a_host_is_found_among_its_sections_once_it_was_met_twice_in_one() -> None:
    told = Told(soft_404_places=4)
    assert told.copies_of("news/gone", *map(page, PATHS[1:])) == []
    (found,) = told.copies_of("news/gone", page("news/2020/away"))
    assert (found.kind, found.places) == ("soft-404", 7)


def test_other_hosts_and_other_statuses_do_not_count() -> None:
    told = Told(soft_404_places=4)
    assert told.copies_of("x", *(page(path, host="http://b.example/") for path in PATHS)) == []
    assert told.copies_of("x", *(page(path, status=404) for path in PATHS)) == []
    assert told.copies_of("x", *(page(path, status=0) for path in PATHS)) == []


def test_no_url_holds_up_the_thread_that_judges() -> None:
    told = Told(soft_404_places=4)
    paths = [f"{'a' + '%20' * (26 + number)}-/{number}x{'%20' * 40}-" for number in range(12)]
    assert told.copies_of("nothing", *map(page, paths)) == [], "they lie under words, all of them"


def test_no_site_fills_the_memory_with_long_urls() -> None:
    told = Told()
    told.copies_of("x", page("1", names="2"))
    copies = [page(f"one/{'e' * 4000}{number}", names=f"{number}") for number in range(300)]
    tracemalloc.start()
    try:
        told.copies_of("x", *copies, *(page(f"one/{'e' * 480}{number}", names=f"{number}") for number in range(300)))
        copies.clear()
        assert tracemalloc.get_traced_memory()[0] < 40_000
    finally:
        tracemalloc.stop()


def test_either_kind_can_be_left_out_and_the_groups_are_bounded() -> None:
    assert Told(soft_404_places=0).copies_of("x", *map(page, PATHS)) == []
    told = Told(groups=0)
    assert told.take(page("x", names="1"), page("1")) == []
    told = Told(groups=3)
    told.take(*(page(str(number), names="1", text=number << 20) for number in range(1, 9)))
    assert len(told.groups) == 3


@pytest.mark.parametrize(
    ("pages", "named"),
    [
        ([page("1", names="1")], "self"),
        ([page("1", names="2")], "other"),
        ([page("1")], None),
        ([page("1"), page("2", names="1")], "original"),
        ([page("1"), page("2", names="2")], "self"),
        ([page("1"), page("2", names="3")], "other"),
    ],
)
def test_whom_a_page_names_is_told_from_its_verdict(pages: list[Claim], named: str | None) -> None:
    (*_, last) = decide(0, Claims.of(pages), [answer_of()], NEAR)
    assert canonical_of(last) == named
