"""Each page is grouped with the survivor that it was found near to."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from crawler_plugin.wire.errors import UsageError
from tests.results.groups.scanned import NEAR, Scan, crawled, written
from worker.fingerprint.near import AccurateNear
from worker.results.groups.grouping import Grouping
from worker.results.groups.verdict_lines import VerdictLines


def grouped(found: Scan, folder: Path, least: int = 1) -> tuple[Grouping, list[tuple[list[int], bool]]]:
    """Groups by the places of their pages, and whether their survivor is elsewhere."""
    with VerdictLines(written(found.rows, folder)) as lines:
        number = {begin: place for place, (begin, _) in enumerate(lines.rows())}
        grouping = Grouping(lines, NEAR.near)
        groups = [([number[row] for row in group.rows.tolist()], group.elsewhere) for group in grouping.groups(least)]
        return grouping, groups


@pytest.mark.parametrize("ids", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_each_page_is_with_the_survivor_that_its_verdict_was_made_by(seed: int, ids: bool, tmp_path: Path) -> None:
    found = crawled(seed, ids=ids)
    grouping, groups = grouped(found, tmp_path)
    expected: dict[int, list[int]] = {}
    for place, survivor in enumerate(found.survivors):
        if survivor is not None:
            expected.setdefault(survivor, []).append(place)
    assert groups == [(pages, False) for pages in expected.values()]
    assert (grouping.pages, grouping.dead) == (sum(map(len, expected.values())), found.survivors.count(None))
    assert grouping.dead > 0
    assert max(map(len, expected.values())) > 3


def test_the_crawl_has_urls_of_which_several_pages_are_survivors() -> None:
    urls = [row.url for row in crawled(0, ids=False).rows if row.verdict == "unique"]
    assert len(set(urls)) < len(urls), "otherwise a URL alone would tell which page is meant"


def test_small_groups_are_left_out(tmp_path: Path) -> None:
    _, groups = grouped(crawled(1), tmp_path, least=3)
    assert groups
    assert min(len(pages) for pages, _ in groups) == 3


def test_pages_whose_survivor_is_of_an_earlier_scan_are_together(tmp_path: Path) -> None:
    found = crawled(2)
    later = Scan(found.rows[75:], found.survivors[75:])
    _, groups = grouped(later, tmp_path)
    elsewhere = {later.survivors[pages[0]]: pages for pages, outside in groups if outside}
    assert len(elsewhere) > 3
    for survivor, pages in elsewhere.items():
        assert survivor is not None
        assert survivor < 75
        assert pages == [place for place, other in enumerate(later.survivors) if other == survivor]
    assert sum(len(pages) for pages, _ in groups) == sum(survivor is not None for survivor in later.survivors)


def test_a_page_of_the_survivors_url_that_is_another_one_is_not_its_survivor(tmp_path: Path) -> None:
    found = crawled(0)
    place = next(place for place, row in enumerate(found.rows) if row.verdict == "duplicate")
    survivor = found.survivors[place]
    assert survivor is not None
    fields = {"fingerprint": None, "text_hash": "f" * 16, "sketch": "", "bands": ""}
    changed = msgspec.structs.replace(found.rows[survivor], **fields)
    _, groups = grouped(Scan([changed, found.rows[place]], []), tmp_path)
    assert groups == [([0], False), ([1], True)]


def test_a_scan_with_other_settings_is_refused_with_the_page_and_the_next_move(tmp_path: Path) -> None:
    told = pytest.raises(UsageError, match=r"page 'page-\d+' is a \w+ of http.* not near.*--config")
    with VerdictLines(written(crawled(0).rows, tmp_path)) as lines, told:
        Grouping(lines, AccurateNear(0, threshold=129, hamming_threshold=129))


def test_without_sketches_the_distance_tells_which_page_is_meant(tmp_path: Path) -> None:
    found = crawled(1, ids=False)
    bare = [
        msgspec.structs.replace(row, text_hash="", sketch="", bands="", tokens=0, similarity=None) for row in found.rows
    ]
    with VerdictLines(written(bare, tmp_path)) as lines:
        assert sum(group.size for group in Grouping(lines, None).groups(1)) == sum(
            survivor is not None for survivor in found.survivors
        )


def test_no_pages_are_no_groups(tmp_path: Path) -> None:
    assert grouped(Scan([], []), tmp_path)[1] == []
