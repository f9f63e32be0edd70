"""Files of records, whatever program wrote them."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from crawler_plugin.wire.errors import Refused, UsageError
from tests.scan.halves import judged
from tests.scan.test_scan import content

pytestmark = pytest.mark.usefixtures("read_here")


def test_records_that_another_program_wrote_are_taken_and_what_is_none_is_named(tmp_path: Path, records: Path) -> None:
    table = pa.concat_tables(pq.read_table(file) for file in sorted(records.glob("*.parquet")))
    plain = table.replace_schema_metadata().set_column(0, "file", table.column("file").cast(pa.large_string()))
    (tmp_path / "engine").mkdir()
    pq.write_table(plain, tmp_path / "engine" / "part-0.parquet", row_group_size=7)
    judged(tmp_path / "ours", records)
    judged(tmp_path / "theirs", tmp_path / "engine")
    for name in ("verdicts.jsonl", "dead-letters.jsonl"):
        assert content(tmp_path / "ours" / name) == content(tmp_path / "theirs" / name)
    pq.write_table(plain.drop_columns(["bands"]), tmp_path / "odd.parquet")
    with pytest.raises(UsageError, match="no column 'bands'"):
        judged(tmp_path / "1", tmp_path / "odd.parquet")
    (tmp_path / "cut.parquet").write_bytes((tmp_path / "odd.parquet").read_bytes()[:-9])
    with pytest.raises(UsageError, match="cannot be read as records"):
        judged(tmp_path / "2", tmp_path / "cut.parquet")
    words = {"crawl-dedup.passed-over": b'{"\xff": 1}'}
    pq.write_table(table.replace_schema_metadata(words), tmp_path / "bytes.parquet")
    with pytest.raises(UsageError, match="cannot be read as records"):
        judged(tmp_path / "2", tmp_path / "bytes.parquet")
    with pytest.raises(UsageError, match="no column 'dead'"):
        judged(tmp_path / "3", tmp_path / "ours")
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match="no records are in"):
        judged(tmp_path / "3", tmp_path / "empty")
    others = table.set_column(table.schema.get_field_index("scheme"), "scheme", pa.array(["00" * 8] * len(table)))
    pq.write_table(others.replace_schema_metadata(), tmp_path / "others.parquet")
    with pytest.raises(Refused, match="their scheme is 0000000000000000"):
        judged(tmp_path / "4", tmp_path / "others.parquet")


def test_a_bit_that_changed_on_the_disk_is_found_in_each_column(tmp_path: Path, records: Path) -> None:
    file = sorted(records.glob("*.parquet"))[0]
    whole, group = file.read_bytes(), pq.read_metadata(file).row_group(0)
    (tmp_path / "damaged").mkdir()
    for number in range(group.num_columns):
        column = group.column(number)
        damaged = bytearray(whole)
        begin = column.dictionary_page_offset or column.data_page_offset
        damaged[begin + column.total_compressed_size - 1] ^= 0x40
        (tmp_path / "damaged" / file.name).write_bytes(damaged)
        with pytest.raises(UsageError, match="cannot be read as records"):
            judged(tmp_path / f"{number}", tmp_path / "damaged")
