"""How far a scan is, on the disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from crawler_plugin.wire.errors import Refused
from worker.scan.checkpoint import ArchiveEnd, Checkpoint, ScanPlan

PLAN = ScanPlan(
    archives=[("a.warc", "warc", 9), ("b", "jsonl", None)],
    against=1,
    fields={"url": None},
    base=None,
    base_digest="",
    keeps=False,
    clock=1.5,
)


def test_it_is_read_as_it_was_written_until_the_scan_has_ended(tmp_path: Path) -> None:
    assert Checkpoint.read(tmp_path) is None
    end = ArchiveEnd(lengths={"verdicts.jsonl": 5}, passed_over={"x": 1})
    found = Checkpoint(plan=PLAN, archive=1, records=3, judged=9, lengths=end.lengths, ends=[end], seconds=2.5)
    found.write(tmp_path)
    assert Checkpoint.read(tmp_path) == found
    Checkpoint.remove(tmp_path)
    assert Checkpoint.read(tmp_path) is None


def test_one_that_does_not_tell_of_each_archive_is_refused(tmp_path: Path) -> None:
    Checkpoint(plan=PLAN).write(tmp_path)
    file = tmp_path / "progress.json"
    file.write_text(file.read_text().replace('"archive": 0', '"archive": 1'))
    with pytest.raises(Refused, match="tells of 0 archives, and 1 are done"):
        Checkpoint.read(tmp_path)


@pytest.mark.parametrize("content", ["", "{}", '{"plan": 1}'])
def test_one_that_cannot_be_read_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "progress.json").write_text(content)
    with pytest.raises(Refused, match="another folder"):
        Checkpoint.read(tmp_path)
