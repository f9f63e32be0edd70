"""The kept page of a group, and the nearness of all its members to it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawler_plugin.wire.outcomes import Verdict
from tests.local.test_single_shard import claim
from tests.results.groups.scanned import NEAR, Scan, crawled, scan, written
from worker.results.groups.grouping import Grouping, SameSurvivor
from worker.results.groups.keep import KEEPS, Keep, KeptPage, kept
from worker.results.groups.nearness import nearness, page_of
from worker.results.groups.verdict_lines import VerdictLines


def parts(rows: list[Verdict], folder: Path, keep: Keep) -> tuple[list[Verdict], list[KeptPage], list[SameSurvivor]]:
    """The rows, the parts with places among the rows instead of places in the file, and the groups of the parts."""
    with VerdictLines(written(rows, folder)) as lines:
        number = {begin: place for place, (begin, _) in enumerate(lines.rows())}
        groups = list(Grouping(lines, NEAR.near).groups(1))
        found = [part for group in groups for part in kept(lines, group, keep, NEAR.near)]
        placed = [
            KeptPage(
                None if part.page is None else number[part.page],
                np.array([number[begin] for begin in part.members.tolist()], np.int64),
                None if part.split_from is None else number[part.split_from],
            )
            for part in found
        ]
        return rows, placed, groups


def check(rows: list[Verdict], found: list[KeptPage]) -> None:
    """Check that each page is in one part, and near to the page that is kept for it."""
    places = sorted(place for part in found for place in [part.page, *part.members.tolist()])
    assert places == [place for place, row in enumerate(rows) if row.verdict != "dead"]
    for part in found:
        assert part.page is not None
        for member in part.members.tolist():
            assert nearness(NEAR.near, page_of(rows[part.page]), page_of(rows[member])) is not None
            assert member != part.page


pages = st.lists(
    st.tuples(
        st.one_of(st.none(), st.integers(0, 2**10 - 1)),
        st.sampled_from(["a", "b", "b/c", "b/c?d=e", "f"]),
        st.integers(20, 40),
        st.sampled_from([None, "a", "b", "f"]),
    ),
    max_size=30,
)


@pytest.mark.parametrize("keep", KEEPS)
@settings(max_examples=60)
@given(invented=pages)
def test_all_pages_are_near_to_the_one_that_is_kept_for_them(
    keep: Keep, invented: list[tuple[int | None, str, int, str | None]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    made = scan(claim(f"http://{url}.example/", fingerprint, tokens=tokens) for fingerprint, url, tokens, _ in invented)
    rows = [
        msgspec.structs.replace(row, canonical=name and f"http://{name}.example/")
        for row, (_, _, _, name) in zip(made.rows, invented, strict=True)
    ]
    rows, found, groups = parts(rows, tmp_path_factory.mktemp("scan"), keep)
    check(rows, found)
    assert len(found) <= 2 * len(groups)
    for part in found:
        other = [one for one in found if one.page == part.split_from and one.split_from == part.page]
        assert len(other) == (part.split_from is not None)


@pytest.mark.parametrize("keep", KEEPS)
@pytest.mark.parametrize("seed", range(3))
def test_so_they_are_among_pages_of_texts(seed: int, keep: Keep, tmp_path: Path) -> None:
    rows, found, _ = parts(crawled(seed).rows, tmp_path, keep)
    check(rows, found)


def group_of(folder: Path, *given: tuple[str, int, dict[str, Any]]) -> list[tuple[int | None, list[int], int | None]]:
    """The parts of a group by each preference: the kept page, its members, the page of the other part."""
    rows = [
        msgspec.structs.replace(row, canonical=fields.get("canonical"), tokens=fields.get("tokens", 30))
        for row, (_, _, fields) in zip(
            scan(claim(url, fingerprint, tokens=30) for url, fingerprint, _ in given).rows, given, strict=True
        )
    ]
    keep = given[0][2]["keep"]
    return [(part.page, part.members.tolist(), part.split_from) for part in parts(rows, folder, keep)[1]]


def test_the_longest_is_kept_and_of_equals_the_first(tmp_path: Path) -> None:
    found = group_of(
        tmp_path,
        ("http://a/", 0, {"keep": "longest"}),
        ("http://b/", 0, {"tokens": 31}),
        ("http://c/", 0, {"tokens": 31}),
    )
    assert found == [(1, [0, 2], None)]


def test_the_shortest_url_is_kept(tmp_path: Path) -> None:
    found = group_of(tmp_path, ("http://a/long", 0, {"keep": "shortest-url"}), ("http://b/", 0, {}))
    assert found == [(1, [0], None)]


def test_the_page_that_the_others_call_canonical_is_kept(tmp_path: Path) -> None:
    found = group_of(
        tmp_path,
        ("http://a/", 0, {"keep": "canonical", "canonical": "http://a/"}),
        ("http://b/", 0, {"canonical": "http://b/"}),
        ("http://c/", 0, {"canonical": "HTTP://B/#top"}),
        ("http://d/", 0, {"canonical": "http://elsewhere/"}),
    )
    assert found == [(1, [0, 2, 3], None)]


def test_where_nobody_names_a_page_of_the_group_the_first_is_kept(tmp_path: Path) -> None:
    found = group_of(
        tmp_path,
        ("http://a/", 0, {"keep": "canonical"}),
        ("http://b/", 0, {"canonical": "http://b/"}),
        ("http://c/", 0, {"canonical": "http://elsewhere/"}),
    )
    assert found == [(0, [1, 2], None)]


def test_pages_that_are_not_near_to_the_preferred_one_stay_with_their_survivor(tmp_path: Path) -> None:
    found = group_of(
        tmp_path,
        ("http://first/", 0b000000, {"keep": "longest"}),
        ("http://one-side/", 0b000111, {"tokens": 31}),
        ("http://other-side/", 0b111000, {}),
        ("http://one-side/2", 0b000011, {}),
    )
    assert found == [(0, [2], 1), (1, [3], 0)]


def test_a_page_of_an_earlier_scan_is_kept_whatever_is_preferred(tmp_path: Path) -> None:
    found: Scan = scan(claim(f"http://{name}/", 0, tokens=30) for name in ("old", "b", "c"))
    _, placed, _ = parts(found.rows[1:], tmp_path, "shortest-url")
    assert [(part.page, part.members.tolist()) for part in placed] == [(None, [0, 1])]
