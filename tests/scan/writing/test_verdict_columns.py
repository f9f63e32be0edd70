"""Columns of verdicts in one file or several, all of them or some rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from crawler_plugin.wire.errors import UsageError
from worker.places import Folder
from worker.scan.writing.verdict_columns import VerdictColumns, from_hex


@pytest.fixture
def columns(tmp_path: Path) -> VerdictColumns:
    """A hundred rows in three files with row groups of seven; a fourth file has no rows."""
    (tmp_path / "verdicts").mkdir()
    begin = 0
    for name, rows in (("a", 40), ("b", 0), ("c", 35), ("d", 25)):
        table = pa.table({"url": [f"u{begin + n}" for n in range(rows)], "n": range(begin, begin + rows)})
        pq.write_table(table, tmp_path / f"verdicts/{name}.parquet", row_group_size=7)
        begin += rows
    (tmp_path / "verdicts/e.parquet.tmp").write_bytes(b"not whole")
    return VerdictColumns(Folder(str(tmp_path)))


@pytest.mark.parametrize(("begin", "end"), [(0, None), (0, 0), (3, 5), (6, 8), (39, 41), (40, 75), (99, 100), (50, 50)])
def test_rows_between_two_places_are_read_in_order(columns: VerdictColumns, begin: int, end: int | None) -> None:
    found = [row for batch in columns.batches(("n", "url"), begin, end) for row in batch.to_pylist()]
    assert found == [{"n": n, "url": f"u{n}"} for n in range(begin, 100 if end is None else end)]


def test_some_rows_are_read_wherever_they_are(columns: VerdictColumns) -> None:
    rows = np.array([0, 6, 7, 39, 40, 98], np.int64)
    found: dict[int, int] = {}
    for places, batch in columns.places(("n",), rows):
        found |= dict(zip(places.tolist(), batch.column(0).to_pylist(), strict=True))
    assert found == dict(enumerate(rows.tolist()))
    assert list(columns.places(("n",), np.empty(0, np.int64))) == []


def test_what_is_no_result_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds neither"):
        VerdictColumns(Folder(str(tmp_path / "nowhere")))
    (tmp_path / "verdicts.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(UsageError, match=r"is no whole Parquet file .* let the command that wrote it end"):
        VerdictColumns(Folder(str(tmp_path)))


def test_hex_digits_are_read_as_python_reads_them() -> None:
    words = ["00ff7a", "", None, "ABCDEF", "123456"]
    for values in (pa.array(words), pa.array(["x", *words])[1:], pa.array(words, pa.large_string())):
        found, there = from_hex(values, 3)
        assert there.tolist() == [bool(word) for word in words]
        assert [row.tobytes() for row in found] == [bytes.fromhex(word or "000000") for word in words]
    for wrong in ("00ff7", "00ff7aa", "00ff7g", "00ff7\u00e4"):
        with pytest.raises(ValueError, match=r"a word (does not have 6|has a character that is no) hex digit"):
            from_hex(pa.array([wrong]), 3)


def test_damage_is_told_of_the_file_that_has_it(columns: VerdictColumns, tmp_path: Path) -> None:
    file = tmp_path / "verdicts/c.parquet"
    column = pq.read_metadata(file).row_group(1).column(0)
    damaged = bytearray(file.read_bytes())
    begin = column.dictionary_page_offset or column.data_page_offset
    damaged[begin : begin + 9] = b"\xff" * 9
    file.write_bytes(damaged)
    with pytest.raises(UsageError, match=r"(?s)c\.parquet is no whole Parquet file .* run it again"):
        list(columns.batches(("url", "n")))
