"""Verdicts as columns."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from worker.scan.parquet_rows import write_parquet

from crawler_plugin.wire.errors import UnreadableRecord
from worker.results.rows import VerdictRow
from worker.scan import parquet_rows

ROWS = [
    VerdictRow(file="a", offset=number, id=f"页{number}", url="http://a.example/", verdict="unique", tokens=number)
    for number in range(7)
]
COPY = VerdictRow(
    file="a",
    offset=1 << 40,
    id="x",
    url="http://b.example/",
    verdict="duplicate",
    duplicate_of="http://a.example/",
    duplicate_of_id="页0",
    distance=3,
    similarity=0.5,
    fetched=1_700_000_000_123,
)


def test_every_line_is_a_row_in_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_rows, "_GROUP_ROWS", 3)
    lines = tmp_path / "verdicts.jsonl"
    lines.write_bytes(b"".join(row.encode() for row in (*ROWS, COPY)))
    write_parquet(lines, tmp_path / "verdicts.parquet")
    assert [path.name for path in tmp_path.glob("*.tmp")] == []
    table = pq.read_table(tmp_path / "verdicts.parquet")
    assert table.schema.names == list(VerdictRow.__struct_fields__)
    assert table["id"].to_pylist() == [row.id for row in (*ROWS, COPY)]
    last = table.to_pylist()[-1]
    assert (last["offset"], last["distance"], last["similarity"]) == (1 << 40, 3, 0.5)
    assert last["fetched"] == datetime.fromtimestamp(1_700_000_000, UTC).replace(microsecond=123_000)
    assert table["fetched"].null_count == len(ROWS)


def test_no_lines_are_no_rows(tmp_path: Path) -> None:
    (tmp_path / "lines").touch()
    write_parquet(tmp_path / "lines", tmp_path / "rows.parquet")
    assert pq.read_table(tmp_path / "rows.parquet").num_rows == 0


def test_a_line_that_is_no_verdict_leaves_no_file(tmp_path: Path) -> None:
    (tmp_path / "lines").write_bytes(ROWS[0].encode() + b"{}\n")
    with pytest.raises(UnreadableRecord):
        write_parquet(tmp_path / "lines", tmp_path / "rows.parquet")
    assert not (tmp_path / "rows.parquet").exists()
