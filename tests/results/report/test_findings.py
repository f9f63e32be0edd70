"""The report names suspicious results with evidence, and names none where there are none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest

from crawler_plugin.wire.outcomes import Verdict
from worker.results.report.findings import findings
from worker.results.report.group_pictures import GroupPicture
from worker.results.report.tally import Tally


def group(urls: dict[str, int], hosts: dict[str, int], *, tokens: int = 400, similarity: float = 0.99) -> GroupPicture:
    size = sum(urls.values())
    return GroupPicture(
        "http://a/",
        size,
        size,
        tokens,
        Counter(hosts),
        Counter(urls),
        Counter(),
        similarity,
        None,
        None,
        ("http://b/",),
    )


def titles(groups: list[GroupPicture], *rows: Verdict) -> list[str]:
    return [finding.title for finding in findings(Tally().add_all(rows), groups)]


def row(number: int, verdict: str = "unique", url: str = "", **fields: object) -> Verdict:
    plain = {"tokens": 500, "text_hash": "0" * 16, "reason": "first"}
    url = url or f"http://a.example/{chr(97 + number % 26) * 3}/{number}"
    return Verdict(file="f", offset=number, id=str(number), url=url, verdict=verdict, **(plain | fields))  # type: ignore[arg-type]


def pageless(place: int) -> Verdict:
    return Verdict(url="", verdict="dead", file="a.warc", offset=place, reason="damaged", detail="its length is off")


SOFT_404 = group({f"a/{n}x": 2 for n in range(9)}, {"a": 18}, tokens=40)


@pytest.mark.parametrize(
    ("groups", "told"),
    [
        ([SOFT_404], ["One text under many unrelated paths"]),
        (
            [group({f"{n}/x": 2 for n in range(9)}, {str(n): 2 for n in range(9)}, tokens=40)],
            ["A short text on many hosts"],
        ),
        ([group({f"{n}/x": 2 for n in range(9)}, {str(n): 2 for n in range(9)})], []),
        (
            [group({"a/{number}": 30}, {"a": 30}, similarity=0.7)],
            ["Pages of one template that differ in more than a number"],
        ),
        ([group({"a/{number}": 30}, {"a": 30})], []),
        ([group({"a/x": 1, "a/y": 1, "a/z": 1, "a/w": 1}, {"a": 4})], []),
    ],
)
def test_a_group_looks_wrong_by_where_its_pages_come_from(groups: list[GroupPicture], told: list[str]) -> None:
    assert titles(groups, *(row(n) for n in range(50))) == told


def test_a_template_that_gives_only_duplicates_is_told() -> None:
    prints = [row(n, "duplicate", f"http://a.example/print/{n}", distance=0) for n in range(12)]
    assert titles([], *prints, *(row(n) for n in range(99))) == ["Templates that give only duplicates"]
    assert titles([], row(99, url="http://a.example/print/99"), *prints) == []


def test_short_and_dead_pages_are_told_where_they_are_many() -> None:
    rows = [row(n) for n in range(100)]
    assert titles([], *rows, *(row(n, tokens=3) for n in range(9))) == []
    assert titles([], *rows, *(row(n, tokens=3) for n in range(10))) == ["Very short pages"]
    assert titles([], *rows, row(1, "dead", reason="not-text"), row(2, "dead", reason="not-text")) == [
        "Pages that could not be read"
    ]


def test_records_without_a_page_are_told_with_the_first_of_each_reason() -> None:
    tally = Tally().add_all(row(n) for n in range(9))
    for place in (70, 80):
        tally.add_record(pageless(place))
    (found,) = findings(tally, [])
    assert "0 pages have no verdict, and 2 records hold no page that can be read: 18 % of all" in found.says
    assert found.evidence == (("damaged", "2", "a.warc, 70: its length is off"),)


def test_each_finding_has_evidence_and_a_next_move() -> None:
    (found,) = findings(Tally(), [SOFT_404])
    assert len(found.evidence[0]) == len(found.heads)
    assert found.next_move.endswith(".")


def test_a_page_that_takes_others_under_titles_that_differ_is_told_from_three_copies_on() -> None:
    first = row(0, url="http://shop.example/p/0", title_hash="000000ff")

    def copies(titles: Sequence[str], of: str = first.url) -> list[Verdict]:
        return [
            row(n, "duplicate", f"http://shop.example/p/{n}", duplicate_of=of, title_hash=title)
            for n, title in enumerate(titles, 1)
        ]

    others = [row(n) for n in range(100, 140)]
    told = ["Different pages that are taken for one"]
    assert titles([], first, *copies(["00000001", "00000002", "00000003"]), *others) == told
    assert titles([], first, *copies([f"{n:08x}" for n in range(15)]), *others) == told
    assert titles([], first, *copies(["00000001", "00000002"]), *others) == []
    assert titles([], first, *copies(["00000001", "00000002", "00000002"]), *others) == []
    assert titles([], first, *copies(["", "", ""]), *others) == []
    assert (
        titles([], first, *copies(["00000001", "00000002", "00000003"], of="http://other.example/p/0"), *others) == []
    )
    unlike = [row(n, url=f"http://shop.example/p/{n}") for n in range(50, 60)]
    assert titles([], first, *copies(["00000001", "00000002", "00000003"]), *unlike, *others) == []
