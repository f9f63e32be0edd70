"""The largest groups and their members."""

from __future__ import annotations

from pathlib import Path

import msgspec

from crawler_plugin.wire.outcomes import Verdict
from tests.local.test_single_shard import claim
from tests.results.groups.scanned import NEAR, scan, written
from tests.results.report.reports import real_rows
from worker.results.groups.grouping import Grouping
from worker.results.groups.verdict_lines import VerdictLines
from worker.results.report.group_pictures import GroupPicture, largest


def pictures(rows: list[Verdict], folder: Path, most: int = 200) -> list[GroupPicture]:
    with VerdictLines(written(rows, folder)) as lines:
        return largest(lines, Grouping(lines, NEAR.near), most)


def test_the_largest_come_first(tmp_path: Path) -> None:
    found = pictures(list(real_rows()), tmp_path)
    sizes = [group.size for group in found]
    assert sizes == sorted(sizes, reverse=True)
    assert found[:3] == pictures(list(real_rows()), tmp_path, most=3)
    assert all(group.hosts.total() == group.templates.total() == group.looked_at == group.size for group in found)


def test_of_a_huge_group_some_pages_are_looked_at_evenly(tmp_path: Path) -> None:
    rows = scan(claim(f"http://a/{n}", 0, n + 1, tokens=30) for n in range(1001)).rows
    (found,) = pictures(rows, tmp_path)
    assert (found.size, found.looked_at, len(found.urls)) == (1001, 167, 10)
    assert (found.url, found.first_seen, found.last_seen) == ("http://a/0", 1, 997)
    assert found.templates == {"a/{number}": 167}


def test_a_group_of_an_earlier_survivor_has_its_url(tmp_path: Path) -> None:
    rows = scan(claim(f"http://{name}/", 0, tokens=30) for name in ("old", "b", "c")).rows[1:]
    (found,) = pictures([msgspec.structs.replace(row, fetched=None) for row in rows], tmp_path)
    assert (found.url, found.size, found.looked_at, found.first_seen) == ("http://old/", 3, 2, None)
