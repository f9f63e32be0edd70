"""Verdicts in one file or in several; each file is whole or not there."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from worker.places import Folder
from worker.scan.judge.rows import ROWS
from worker.scan.results import Results, lines_of
from worker.scan.writing.verdict_columns import VerdictColumns


def rows(*offsets: int) -> pa.RecordBatch:
    row = {"file": "a", "url": "http://a.example/", "verdict": "unique", "suspect": False, "fetched": 1}
    return pa.RecordBatch.from_pylist([row | {"offset": offset} for offset in offsets], schema=ROWS)


def written(results: Results, lines: bool) -> None:
    for batch in (rows(0, 1), rows(2), rows(3, 4, 5)):
        results.take_rows(batch)
    results.close()


@pytest.mark.parametrize("lines", [False, True])
def test_rows_come_back_in_their_order_however_they_were_parted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lines: bool
) -> None:
    monkeypatch.setattr("worker.scan.results.PART_ROWS", 2)
    monkeypatch.setattr("worker.scan.results._GROUP_ROWS", 1)
    written(Results(Folder(str(tmp_path)), lines=lines, parts=True), lines)
    names = sorted(path.name for path in (tmp_path / "verdicts").iterdir())
    assert names == ["00000.parquet", "00001.parquet"]
    assert pq.read_table(tmp_path / "verdicts").column("offset").to_pylist() == [0, 1, 2, 3, 4, 5]
    assert (tmp_path / "verdicts.jsonl").exists() == lines


def test_what_is_given_up_leaves_no_file_of_columns(tmp_path: Path) -> None:
    results = Results(Folder(str(tmp_path)), lines=False, parts=False)
    results.take_rows(rows(0))
    results.discard()
    assert not list(tmp_path.glob("*.parquet*"))
    written(Results(Folder(str(tmp_path)), lines=False, parts=False), lines=False)
    assert pq.read_table(tmp_path / "verdicts.parquet").num_rows == 6


@pytest.mark.parametrize("parts", [False, True])
def test_lines_made_of_columns_are_those_that_were_written_with_them(tmp_path: Path, parts: bool) -> None:
    results = Results(Folder(str(tmp_path)), lines=True, parts=parts)
    of_kinds = [
        {"similarity": 0.8594, "changed": 0.1234, "distance": 3, "fetched": 1_700_000_000_123, "language": "en"},
        {"similarity": 1.0, "changed": 0.0, "previous": "same", "duplicate_of": "http://b.example/", "tokens": 7},
        {"fingerprint": "00" * 8, "suspect": True, "detail": "中文"},
    ]
    plain = rows(1).to_pylist()[0]
    results.take_rows(pa.RecordBatch.from_pylist([plain | kind for kind in of_kinds], schema=ROWS))
    results.close()
    written = (tmp_path / "verdicts.jsonl").read_bytes()
    assert b"".join(lines_of(VerdictColumns(Folder(str(tmp_path))))) == written
