"""A group's line, as a program reads it."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from crawler_plugin.wire.errors import UsageError
from crawler_plugin.wire.outcomes import Verdict
from tests.local.test_single_shard import claim
from tests.results.groups.scanned import NEAR, crawled, scan, written
from worker.results.groups.group_lines import Written, write_groups
from worker.results.groups.keep import KEEPS, Keep
from worker.results.groups.verdict_lines import VerdictLines


def groups(rows: list[Verdict], folder: Path, **options: Any) -> tuple[list[dict[str, Any]], Written]:
    options.setdefault("near", NEAR.near)
    out = io.BytesIO()
    with VerdictLines(written(rows, folder)) as lines:
        told = write_groups(lines, out, **options)
    return [json.loads(line) for line in out.getvalue().splitlines()], told


def test_a_line_says_all_that_is_known_of_a_group(tmp_path: Path) -> None:
    rows = scan(
        claim(f"http://{name}/", fingerprint, clock, tokens=9)
        for name, fingerprint, clock in (("a", 0, 5), ("b", 3, 4), ("else", 63, 2), ("a", 0, 7))
    ).rows
    lines, told = groups(rows, tmp_path)
    member = {"file": "pages.warc", "similarity": None, "reason": "hamming"}
    assert lines == [
        {
            "representative": {"id": "page-0", "url": "http://a/", "file": "pages.warc", "offset": 0},
            "size": 3,
            "first_seen": 4,
            "last_seen": 7,
            "split_from": None,
            "members": [
                member | {"id": "page-1", "url": "http://b/", "offset": 100, "verdict": "duplicate", "distance": 2},
                member
                | {"id": "page-3", "url": "http://a/", "offset": 300, "verdict": "refetch", "distance": 0}
                | {"similarity": 1.0, "reason": "exact-text"},
            ],
        }
    ]
    assert told == Written(pages=4, dead=0, groups=1, grouped=3, largest=3)


def test_both_lines_of_a_split_group_name_the_page_of_the_other_one(tmp_path: Path) -> None:
    made = scan(claim(f"http://{bits}/", bits, tokens=30) for bits in (0, 0b111, 0b111000)).rows
    rows = [made[0], msgspec.structs.replace(made[1], tokens=31), made[2]]
    lines, told = groups(rows, tmp_path, keep="longest", least=1)
    assert [(line["representative"]["id"], line["size"], line["split_from"]["id"]) for line in lines] == [
        ("page-0", 2, "page-1"),
        ("page-1", 1, "page-0"),
    ]
    assert told.split == 1


@pytest.mark.parametrize("keep", KEEPS)
def test_the_same_file_gives_the_same_bytes_and_sums_that_add_up(keep: Keep, tmp_path: Path) -> None:
    rows = [msgspec.structs.replace(row, canonical=row.url) for row in crawled(1).rows]
    lines, told = groups(rows, tmp_path, keep=keep, least=1)
    assert (lines, told) == groups(rows, tmp_path, keep=keep, least=1)
    assert told.pages + told.dead == len(rows)
    assert told.grouped == told.pages == sum(line["size"] for line in lines)
    assert all(line["size"] == 1 + len(line["members"]) for line in lines)


def test_a_page_of_an_earlier_scan_is_kept_by_its_name(tmp_path: Path) -> None:
    rows = scan(claim(f"http://{name}/", 0, 3, tokens=9) for name in ("old", "b", "c")).rows[1:]
    lines, told = groups(rows, tmp_path)
    (line,) = lines
    assert line["representative"] == {"id": "page-0", "url": "http://old/", "file": None, "offset": None}
    assert [member["distance"] for member in line["members"]] == [0, 0]
    assert (line["size"], told.elsewhere) == (3, 1)


def test_without_sketches_only_the_survivor_can_be_kept(tmp_path: Path) -> None:
    rows = crawled(0).rows
    lines, _ = groups(rows, tmp_path, near=None)
    assert lines
    with pytest.raises(UsageError, match=r"carry no sketches.*leave --keep out"):
        groups(rows, tmp_path, near=None, keep="shortest-url")


def test_canonical_is_refused_where_no_page_names_such_a_url(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"none of these pages names a canonical URL: take --keep shortest-url"):
        groups(crawled(0).rows, tmp_path, keep="canonical")
