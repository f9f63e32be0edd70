"""The pages that a scan has read so far, as files of records, so that an interrupted scan reads no page again.

A part is whole, or it is not there. It holds records in the order of the archives, and says where among them an archive
ended. A scan that goes on judges all of them once more, which takes microseconds each, and reads on after the last.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from crawler_plugin.wire.files import replaced
from worker.fingerprint.scheme import Scheme
from worker.scan.records.files import RecordWriter, records_in

SECONDS: Final = 10.0
"""After a scan was killed, at most this much reading is repeated."""
_ROWS: Final = 4096
_ENDS: Final = "crawl-dedup.ends"
_TOOK: Final = "crawl-dedup.seconds"


class ArchiveEnd(NamedTuple):
    """Stands after the last record of an archive: how many whole records of it hold no page, by a word for the
    reason."""

    passed_over: Mapping[str, int]


Item: TypeAlias = pa.RecordBatch | ArchiveEnd


class RecordParts:
    """The parts in a folder, which is made if needed.

    ``archive`` counts the archives that were read to their end, ``records`` the records of the next one, ``seconds``
    the time for all of it; all as of the parts.
    """

    def __init__(self, folder: Path, schema: pa.Schema, scheme: Scheme) -> None:
        self._folder: Final = folder
        self._schema: Final = schema
        self._scheme: Final = scheme
        folder.mkdir(parents=True, exist_ok=True)
        self._count = len([*folder.glob("*.parquet")])
        self._open: list[pa.RecordBatch] = []
        self._rows = 0
        self._ends: list[tuple[int, Mapping[str, int]]] = []
        self.archive, self.records, self.seconds = 0, 0, 0.0
        for number in range(self._count):
            rows, ends, seconds = _about(self._file(number))
            self.archive += len(ends)
            self.records = rows - ends[-1][0] if ends else self.records + rows
            self.seconds += seconds
        self._begun = time.monotonic()

    def items(self) -> Iterator[Item]:
        """All content of the parts, in order.

        Raises:
            UsageError, Refused: as ``records_in``.
        """
        for number in range(self._count):
            file = self._file(number)
            _, ends, _ = _about(file)
            at = 0
            for batch in records_in(str(file), file, self._scheme, _ROWS):
                yield from split(batch, at, ends)
                at += len(batch)
            for _, passed_over in ends:
                yield ArchiveEnd(passed_over)

    def add(self, item: Item) -> None:
        """Add the next records; written after ``SECONDS``, or when ``flush`` is called."""
        if isinstance(item, ArchiveEnd):
            self._ends.append((self._rows, item.passed_over))
        else:
            self._open.append(item)
            self._rows += len(item)
        if time.monotonic() - self._begun >= SECONDS:
            self.flush()

    def flush(self) -> None:
        """When this returns, everything that was added outlives a crash of the machine.

        Raises:
            OSError: there is no room.
        """
        seconds = time.monotonic() - self._begun
        if not self._open and not self._ends:
            return
        with replaced(self._file(self._count)) as beside:
            writer = RecordWriter(beside, self._schema)
            for batch in self._open:
                writer.write(batch)
            writer.close({_ENDS: json.dumps(self._ends), _TOOK: str(seconds)})
        self._count += 1
        self._open, self._rows, self._ends = [], 0, []
        self.seconds += seconds
        self._begun = time.monotonic()

    def _file(self, number: int) -> Path:
        return self._folder / f"{number:06}.parquet"


def _about(file: Path) -> tuple[int, list[tuple[int, Mapping[str, int]]], float]:
    """Rows, the ends of archives, seconds."""
    found = pq.read_metadata(file)
    ends = [(rows, passed_over) for rows, passed_over in json.loads(found.metadata[_ENDS.encode()])]
    return found.num_rows, ends, float(found.metadata[_TOOK.encode()])


def split(batch: pa.RecordBatch, at: int, ends: list[tuple[int, Mapping[str, int]]]) -> Iterator[Item]:
    """The batch, which begins after this many rows, with the ends within it; these are removed."""
    begin = 0
    while ends and ends[0][0] < at + len(batch):
        rows, passed_over = ends.pop(0)
        if rows - at > begin:
            yield batch.slice(begin, rows - at - begin)
            begin = rows - at
        yield ArchiveEnd(passed_over)
    yield batch.slice(begin)
