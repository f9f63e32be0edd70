"""Verdicts of two generations are put side by side in whatever order they come."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from crawler_plugin.wire.outcomes import Verdict
from worker.results.generations_compared import GenerationsCompared


def verdict(number: int, original: int | None = None, **more: object) -> Verdict:
    """A verdict on page ``number``: unique, or a duplicate of page ``original``."""
    host = "shop" if number % 3 else "news"
    told = {"verdict": "unique", "reason": "first"}
    if original is not None:
        told = {"verdict": "duplicate", "duplicate_of": f"http://a.example/{original}", "reason": "sketch"}
    return Verdict(**(told | {"url": f"http://{host}.example/p/{number}", "source": (number % 2, number)} | more))  # type: ignore[arg-type]


BEFORE = [verdict(number, None if number < 50 else number % 50) for number in range(100)]
AFTER = [
    *(verdict(number) for number in range(40)),
    *(verdict(number, 7) for number in range(40, 50)),
    *(verdict(number, number % 50) for number in range(50, 80)),
    *(verdict(number, 3) for number in range(80, 95)),
    *(verdict(number) for number in range(95, 98)),
    Verdict(url="", verdict="dead", reason="timeout", source=(0, 98)),
]


@pytest.mark.parametrize("seed", range(5))
def test_pages_that_both_judge_are_compared_and_those_of_one_alone_are_counted(seed: int) -> None:
    before, after = list(BEFORE), list(AFTER)
    chance = random.Random(seed)
    if seed:
        chance.shuffle(before)
        chance.shuffle(after)
    comparison = GenerationsCompared()
    changes = {each.now.source[1]: each for each in comparison.changes(before, after)}
    assert sorted(changes) == [*range(40, 50), *range(80, 99)]
    kinds = Counter(each.kind for each in changes.values())
    assert kinds == {
        ("unique", "duplicate"): 10,
        ("duplicate", "duplicate of another page"): 15,
        ("duplicate", "unique"): 3,
        ("duplicate", "dead"): 1,
    }
    assert (comparison.same, comparison.changed) == (70, 29)
    row = changes[45].row()
    assert (row["was"]["verdict"], row["now"]["duplicate_of"]) == ("unique", "http://a.example/7")
    lines = list(comparison.lines(["the old one", "the new one"]))
    assert lines[0] == "99 pages were judged by both; 29 of them differently"
    assert lines[1] == "1 were judged only by the old one so far"
    assert lines[3:7] == [
        "50 pages survive by the old one; of these by the new one",
        "40  survive there, too",
        "10  are duplicates there: an earlier page survives in their place",
        "3 more survive by the new one alone",
    ]
    cells = [line.split() for line in lines]
    assert ["duplicate", "duplicate", "of", "another", "page", "15", "15.15%"] in cells
    hosts = Counter("shop.example" if number % 3 else "news.example" for number in changes if number != 98)
    assert all([name, str(count)] in cells for name, count in hosts.items())
    assert ["(no", "host)", "1"] in cells
    examples = [line for line in lines if line.startswith("  http")]
    assert len(examples) == 9, "three of each kind, and the dead page has no URL"


def test_where_nothing_changes_it_says_no_more() -> None:
    comparison = GenerationsCompared()
    assert list(comparison.changes(BEFORE, reversed(BEFORE))) == []
    assert list(comparison.lines(["a", "b"])) == [
        "100 pages were judged by both; 0 of them differently",
        "",
        "50 pages survive by a; of these by b",
        "50  survive there, too",
    ]


@pytest.mark.parametrize("begin", [30, 60])
def test_survivors_that_the_other_has_not_judged_are_named_and_duplicates_are_not(begin: int) -> None:
    comparison = GenerationsCompared()
    rows = list(comparison.rows(BEFORE, BEFORE[begin:]))
    unknown = [each for each in BEFORE[:begin] if each.verdict == "unique"]
    assert [(row["url"], row["now"]) for row in rows] == [(each.url, None) for each in unknown]
    assert all(row["was"]["verdict"] == "unique" for row in rows)
    lines = list(comparison.lines(["a", "b"]))
    assert "50 pages survive by a; of these by b" in lines
    assert any(line.startswith(f"{len(unknown)}  were not judged there so far") for line in lines)


def test_examples_are_chosen_evenly() -> None:
    """Three of 40 changes are shown: late ones as often as early ones."""
    seen = Counter[bool]()
    pages = range(40)
    for seed in range(60):
        comparison = GenerationsCompared(seed)
        list(comparison.changes(map(verdict, pages), (verdict(page, 1) for page in pages)))
        examples = (line.split() for line in comparison.lines("ab") if line.startswith("  http"))
        shown = [int(words[0].rstrip(":").rsplit("/", 1)[1]) for words in examples]
        assert len(shown) == 3
        seen.update(page >= 20 for page in shown)
    assert min(seen[True], seen[False]) > 60
