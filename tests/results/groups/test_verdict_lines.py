"""The file of verdicts is read from the beginning and at each place."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import msgspec
import pytest

from crawler_plugin.wire.errors import UsageError
from tests.results.groups.scanned import crawled, written
from worker.results.groups.verdict_lines import VerdictLines
from worker.results.rows import scan_line


def test_all_rows_are_read_in_order_and_again_at_their_places(tmp_path: Path) -> None:
    rows = crawled(0).rows
    for path in (written(rows, tmp_path), tmp_path):
        with VerdictLines(path) as lines:
            found = list(lines.rows())
            assert [row for _, row in found] == rows
            assert [lines.at(begin) for begin, _ in reversed(found)] == rows[::-1]


def test_a_line_may_be_as_long_as_it_likes(tmp_path: Path) -> None:
    rows = [msgspec.structs.replace(row, detail="x" * 5000) for row in crawled(0).rows[:3]]
    with VerdictLines(written(rows, tmp_path)) as lines:
        assert [lines.at(begin) for begin, _ in lines.rows()] == rows


def test_the_last_line_needs_no_end_and_an_empty_file_has_no_rows(tmp_path: Path) -> None:
    path = tmp_path / "verdicts.jsonl"
    path.write_bytes(scan_line(crawled(0).rows[0]).rstrip())
    with VerdictLines(path) as lines:
        assert [row for _, row in lines.rows()] == crawled(0).rows[:1]
    path.write_bytes(b"")
    with VerdictLines(path) as lines:
        assert list(lines.rows()) == []


def test_a_line_that_is_no_verdict_is_named_by_its_place(tmp_path: Path) -> None:
    path = tmp_path / "verdicts.jsonl"
    first = scan_line(crawled(0).rows[0])
    path.write_bytes(first + b'{"verdict": "uni')
    told = rf"verdicts\.jsonl, at byte {len(first)}: not a verdict"
    with VerdictLines(path) as lines, pytest.raises(UsageError, match=told):
        list(lines.rows())


def test_a_large_file_without_line_ends_is_refused_after_a_bounded_part_of_it(tmp_path: Path) -> None:
    path = tmp_path / "disk.img"
    with path.open("wb") as file:
        file.truncate(1 << 28)
    tracemalloc.start()
    try:
        with VerdictLines(path) as lines, pytest.raises(UsageError, match=r"at byte 0: .*name the verdicts\.jsonl of"):
            list(lines.rows())
        assert tracemalloc.get_traced_memory()[1] < 1 << 28
    finally:
        tracemalloc.stop()


def test_a_folder_without_verdicts_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"verdicts\.jsonl cannot be read.*name the verdicts\.jsonl of a scan"):
        VerdictLines(tmp_path)
