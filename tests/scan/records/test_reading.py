"""Records that a program makes batch by batch are those that the command makes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.scan.archives import some_pages, write_jsonl, write_warc
from worker import records
from worker.config import Settings
from worker.scan.inputs.fields import Fields
from worker.scan.inputs.find import find_archives
from worker.scan.records.reading import reading_by_processes

SETTINGS = Settings.model_validate({"page": {"processes": 1}})


@pytest.mark.usefixtures("read_here")
def test_archives_give_the_same_records_by_batches_as_by_the_command(tmp_path: Path) -> None:
    pages = some_pages(2, 40)
    lines = write_jsonl(pages[:20], tmp_path / "a.jsonl")
    with lines.open("a", encoding="utf-8") as file:
        file.write('no json\n{"url": "http://half.example/\\ud800", "text": "half of a pair"}\n')
        file.write('{"url": "x", "text": "y"}\n')
    names = [str(lines), str(write_warc(pages[20:], tmp_path / "b.warc.gz"))]
    with reading_by_processes(SETTINGS) as reading:
        found = [record for one in find_archives(names, Fields(), most_bytes=1 << 20) for record in one.records()]
        expected = [row for batch in reading.batches(found) for row in batch.to_pylist()]
    batches = [records.fingerprint(batch) for batch in records.pages(*names)]
    assert [row for batch in batches for row in batch.to_pylist()] == expected
    assert len(expected) == 43
    assert [row["dead"] is None for row in expected[20:23]] == [False] * 3
    assert {row["scheme"] for row in expected} == {reading.scheme.id.hex()}
    assert all(batch.schema.equals(records.SCHEMA) for batch in batches)
