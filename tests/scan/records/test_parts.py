"""Records are kept in parts; each part is whole or not there."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from worker.fingerprint.scheme import Scheme
from worker.scan.inputs.records import BrokenRecord, RecordPlace
from worker.scan.records.parts import ArchiveEnd, Item, RecordParts
from worker.scan.records.schema import as_records, pageless_row, stamped

SCHEME = Scheme.of({"records": 0})
SCHEMA = stamped(SCHEME)


def batch(*offsets: int) -> pa.RecordBatch:
    places = [RecordPlace("a", offset) for offset in offsets]
    return as_records([pageless_row(BrokenRecord(place, "damaged", ""), SCHEME.id.hex()) for place in places], SCHEMA)


def parts(folder: Path) -> RecordParts:
    return RecordParts(folder, SCHEMA, SCHEME)


def flat(items: list[Item]) -> list[int | dict[str, int]]:
    found: list[int | dict[str, int]] = []
    for item in items:
        found += [dict(item.passed_over)] if isinstance(item, ArchiveEnd) else item.column("offset").to_pylist()
    return found


ITEMS: list[Item] = [
    batch(0, 1),
    ArchiveEnd({"x": 1}),
    ArchiveEnd({}),
    batch(2),
    batch(3, 4, 5),
    ArchiveEnd({"y": 2}),
    batch(6),
]


@pytest.mark.parametrize("flushed_after", [1, 2, 3, 4, 6, 7, 100])
def test_records_and_ends_of_archives_come_back_in_their_order(tmp_path: Path, flushed_after: int) -> None:
    written = parts(tmp_path)
    for number, item in enumerate(ITEMS):
        written.add(item)
        if not (number + 1) % flushed_after:
            written.flush()
    written.flush()
    written.flush()
    again = parts(tmp_path)
    assert flat([*again.items()]) == flat(ITEMS) == [0, 1, {"x": 1}, {}, 2, 3, 4, 5, {"y": 2}, 6]
    assert (again.archive, again.records) == (3, 1)
    again.add(batch(7))
    again.flush()
    assert parts(tmp_path).records == 2
    assert flat([*parts(tmp_path).items()])[-2:] == [6, 7]


def test_what_was_not_flushed_is_read_once_more(tmp_path: Path) -> None:
    written = parts(tmp_path)
    written.add(batch(0, 1))
    written.flush()
    written.add(batch(2))
    written.add(ArchiveEnd({}))
    again = parts(tmp_path)
    assert (again.archive, again.records) == (0, 2)
    assert flat([*again.items()]) == [0, 1]


def test_parts_are_written_by_themselves_when_it_is_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("worker.scan.records.parts.SECONDS", 0.0)
    parts(tmp_path).add(batch(0))
    assert parts(tmp_path).records == 1
