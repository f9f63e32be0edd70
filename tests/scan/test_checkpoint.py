"""The arguments of a scan, kept on the disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from crawler_plugin.wire.errors import Refused
from worker.scan.checkpoint import ScanPlan

PLAN = ScanPlan(
    archives=[("a.warc", "warc", 9), ("b", "jsonl", None)],
    against=1,
    fields={"url": None},
    states=["kept"],
    keeps=False,
    clock=1.5,
)


def test_it_is_read_as_it_was_written_until_the_scan_has_ended(tmp_path: Path) -> None:
    assert ScanPlan.read(tmp_path) is None
    PLAN.write(tmp_path)
    assert ScanPlan.read(tmp_path) == PLAN
    ScanPlan.remove(tmp_path)
    assert ScanPlan.read(tmp_path) is None


@pytest.mark.parametrize("content", [b"", b"{}", b'{"archives": 1}', b'{"archives": [["\xff", "warc", 9]]}'])
def test_one_that_cannot_be_read_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "progress.json").write_bytes(content)
    with pytest.raises(Refused, match="another folder"):
        ScanPlan.read(tmp_path)
