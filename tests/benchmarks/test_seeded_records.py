"""The seeded records: a judge finds each planted copy, and nothing else."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np

from benchmarks.seeded_records import is_copy

RECORDS = 3_000


def test_each_planted_copy_is_found_and_no_other(tmp_path: Path) -> None:
    records, judged = str(tmp_path / "records"), tmp_path / "judged"
    made = ["benchmarks", "seeded-records", "--records", str(RECORDS), "--file", "1000", "--out", records]
    for command in (made, ["worker", "judge", records, "--out", str(judged)]):
        subprocess.run([sys.executable, "-m", *command], check=True, capture_output=True)
    found = json.loads((judged / "summary.json").read_text())["verdicts"]
    copies = int(is_copy(np.arange(RECORDS, dtype=np.uint64)).sum())
    assert found == {"unique": RECORDS - copies, "duplicate": copies}
