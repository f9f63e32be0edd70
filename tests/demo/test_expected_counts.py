"""The demo's check accepts the output of a correct crawl in any order, and names the errors in any other output."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Final, Literal, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler_plugin.wire.outcomes import JobMark, JobSum, Verdict
from crawler_plugin.wire.page_headers import PageMeta
from worker.demo.expected_counts import DEAD, DUPLICATE, REFETCH, UNIQUE, Counts, ExpectedCounts
from worker.demo.site import PageKind, Site, SitePage, build_site
from worker.stream.kafka.output_reader import Delivered, Output

SITE: Final = build_site("http://127.0.0.1:8001", "http://127.0.0.1:8002")
FIRST_VISITS: Final = list(SITE.pages)
COUNTS: Final = Counts(fetched=SITE.visits, confirmed=SITE.visits, in_pages=SITE.visits)
ARTICLE: Final = next(page for page in SITE.pages if page.kind is PageKind.ARTICLE)
MIRROR: Final = next(page for page in SITE.pages if page.kind is PageKind.MIRROR and page.group == ARTICLE.group)
FRONT: Final = next(page for page in SITE.pages if page.kind is PageKind.FRONT)
FILE: Final = next(page for page in SITE.pages if page.kind is PageKind.FILE)


def judged(order: Iterable[SitePage]) -> list[Output]:
    """The output of a correct crawl when pages come in this order, second visits last."""
    first = list(order)
    survivors: dict[str, str] = {}
    outputs: list[Output] = []
    for place, page in enumerate([*first, *(page for page in first if page.visits == 2)]):
        if page.kind is PageKind.FILE:
            outputs.append(dead(page, "not-text", (0, place)))
            continue
        original = survivors.get(page.group)
        survivors.setdefault(page.group, page.canonical)
        verdict = UNIQUE if original is None else REFETCH if original == page.canonical else DUPLICATE
        outputs += both(page, verdict, original, place)
    return outputs


def dead(page: SitePage, reason: str, source: tuple[int, int]) -> Verdict:
    return Verdict(url=page.canonical, verdict="dead", reason=reason, source=source, url_as_given=page.url)


def both(page: SitePage, verdict: str, original: str | None, place: int) -> list[Output]:
    record = Verdict(
        url=page.canonical,
        verdict=cast(Literal["unique", "duplicate", "refetch"], verdict),
        duplicate_of=original,
        distance=None if original is None else 0,
        reason="first" if original is None else "exact-text",
        fingerprint=None,
        order=(0, place),
        source=(0, place),
        fetched=None,
        scheme="",
    )
    return [record, Delivered(PageMeta(url=page.url), page.body, verdict, original, record.distance, record.reason)]


def reckoned(outputs: Iterable[Output], counts: Counts = COUNTS, site: Site = SITE) -> ExpectedCounts:
    return ExpectedCounts.of(site, counts, outputs)


@given(st.permutations(FIRST_VISITS))
def test_a_right_crawl_adds_up_in_any_order(order: list[SitePage]) -> None:
    expected = reckoned(judged(order))
    assert expected.disagreements() == []
    assert expected.outcomes.total() == SITE.visits
    assert expected.outcomes[UNIQUE] == len(SITE.groups)
    assert sum(expected.by_section().values(), expected.outcomes - expected.outcomes) == expected.outcomes


def without(page: SitePage) -> Callable[[list[Output]], list[Output]]:
    """A function that removes the page from the output."""

    def spoil(outputs: list[Output]) -> list[Output]:
        return [output for output in outputs if url_of(output) not in (page.url, page.canonical)]

    return spoil


def url_of(output: Output) -> str | None:
    if isinstance(output, JobMark | JobSum):
        return None
    return output.page.url if isinstance(output, Delivered) else output.url


def judged_otherwise(page: SitePage, verdict: str, original: str | None) -> Callable[[list[Output]], list[Output]]:
    """A function that replaces the page's first verdict."""

    def spoil(outputs: list[Output]) -> list[Output]:
        return [*without(page)(outputs), *both(page, verdict, original, 10_000)]

    return spoil


def only_verdict_of(page: SitePage, outputs: Sequence[Output]) -> list[Output]:
    return [
        output
        for output in outputs
        if isinstance(output, Delivered) is False or url_of(output) not in (page.url, page.canonical)
    ]


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (without(MIRROR), f"{MIRROR.url} (mirror) has 0 verdicts and should have 1"),
        (without(FILE), f"the file {FILE.canonical} should be a dead letter"),
        (judged_otherwise(MIRROR, UNIQUE, None), f"one should be unique, not: {ARTICLE.url}, {MIRROR.url}"),
        (judged_otherwise(ARTICLE, DUPLICATE, MIRROR.canonical), "one should be unique, not: none"),
        (judged_otherwise(MIRROR, DUPLICATE, FRONT.canonical), f"expected duplicate of {ARTICLE.canonical}, found"),
        (judged_otherwise(MIRROR, REFETCH, MIRROR.canonical), "found refetch"),
        (
            lambda outputs: [*outputs, dead(MIRROR, "crash", (1, 1))],
            f"{MIRROR.url} is a dead letter (crash: ), but should have a verdict",
        ),
        (lambda outputs: [*outputs, outputs[0]], "was committed 2 times"),
        (lambda outputs: only_verdict_of(MIRROR, outputs), f"deduplicated lacks 1 × {MIRROR.canonical}"),
        (
            lambda outputs: [*outputs, Delivered(PageMeta(url=MIRROR.url), b"", UNIQUE, None, None, "first")],
            f"deduplicated has 1 × {MIRROR.canonical} as unique",
        ),
        (
            lambda outputs: [*outputs, *both(replace(MIRROR, url="http://elsewhere.example/"), UNIQUE, None, 10_000)],
            "http://elsewhere.example/ has a verdict, but is no page of the site",
        ),
    ],
)
def test_what_is_wrong_is_told(spoil: Callable[[list[Output]], list[Output]], told: str) -> None:
    found = reckoned(spoil(judged(FIRST_VISITS))).disagreements()
    assert any(told in line for line in found), found


@pytest.mark.parametrize("station", ["fetched", "confirmed", "in_pages"])
def test_stations_with_unequal_counts_are_told(station: str) -> None:
    found = reckoned(judged(FIRST_VISITS), replace(COUNTS, **{station: SITE.visits - 1})).disagreements()
    assert len(found) == 1
    assert found[0].startswith("these numbers should be equal")
    assert str(SITE.visits - 1) in found[0]


def test_dead_letters_count_in_the_section_of_their_file() -> None:
    assert reckoned(judged(FIRST_VISITS)).by_section()[FILE.section][DEAD] == 3
