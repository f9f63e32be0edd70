"""Earlier pages, from their records or from states."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.scan.halves import judged, read
from tests.scan.test_scan import rows, run, task

pytestmark = pytest.mark.usefixtures("read_here")


def test_several_states_and_old_records_come_before(tmp_path: Path, three_archives: list[Path], scanned: Path) -> None:
    name = [tmp_path / "records" / f"{archive.name}.parquet" for archive in three_archives]
    for number, archive in enumerate(three_archives):
        read(tmp_path / "records", archive)
        judged(
            tmp_path / f"{number}",
            tmp_path / "records" / f"{archive.name}.parquet",
            states=[tmp_path / f"s{number}"],
            keeps=True,
        )
    name = [tmp_path / "records" / f"{archive.name}.parquet" for archive in three_archives]
    judged(tmp_path / "by-records", name[2], old=(name[0], name[1]))
    judged(tmp_path / "by-states", name[2], states=[tmp_path / "s0", tmp_path / "s1"])
    judged(tmp_path / "by-both", name[2], old=(name[1],), states=[tmp_path / "s0"])
    last = [(row.id, row.verdict, row.duplicate_of, row.duplicate_of_id) for row in rows(scanned)][60:]
    for way in ("by-records", "by-states", "by-both"):
        assert [(row.id, row.verdict, row.duplicate_of, row.duplicate_of_id) for row in rows(tmp_path / way)] == last
    assert run(task(tmp_path / "scan", three_archives[2], states=[tmp_path / "s0", tmp_path / "s1"])) is not None
    assert rows(tmp_path / "scan") == rows(tmp_path / "by-states")
