"""What a scan and ``judge`` write while they go on: lines, letters and columns, and counts of all of it."""

from __future__ import annotations

from contextlib import ExitStack, suppress
from pathlib import Path
from typing import BinaryIO, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from crawler_plugin.wire.files import replaced
from worker.results.rows import DEAD_LETTERS, VERDICTS, line_of
from worker.scan.judge.judge import Judge
from worker.scan.judge.rows import ROWS
from worker.scan.records.parts import ArchiveEnd
from worker.scan.summary import Counts

PARQUET: Final = "verdicts.parquet"
PART_ROWS: Final = 1 << 20
"""Of a file of verdicts, where there are several."""
_GROUP_ROWS: Final = 1 << 16
_WORDS: Final = ["file", "verdict", "reason", "detail", "language", "previous", "spider"]
"""Columns in which few words come again and again."""
_LETTER: Final = ("file", "offset", "id", "url")
_STORED: Final = {
    "similarity": pa.float32(),
    "changed": pa.float32(),
    "fetched": pa.timestamp("ms", tz="UTC"),
}
_AS_STORED: Final = pa.schema([(field.name, _STORED.get(field.name, field.type)) for field in ROWS])


class Results:
    """Verdicts on the pages of records, in a folder.

    Args:
        lines: whether each verdict is a line of ``verdicts.jsonl``, too.
        parts: whether columns are files of a million rows in the folder ``verdicts``; else they are one file.
    """

    def __init__(self, folder: Path, judge: Judge, *, lines: bool, parts: bool) -> None:
        self._judge: Final = judge
        self._held: Final = ExitStack()
        self._lines: Final = self._held.enter_context((folder / VERDICTS).open("wb")) if lines else None
        self._letters: Final[BinaryIO] = self._held.enter_context((folder / DEAD_LETTERS).open("wb"))
        self._columns: Final = _Columns(folder, parts)
        self.by_archive: Final[list[Counts]] = []
        """Of each archive that has ended."""
        self._counts = Counts()
        self.pages = self.copies = self.broken = 0

    def take(self, records: pa.RecordBatch) -> None:
        """Judge pages, and write what is told of them.

        Raises:
            OverMemoryLimit: the index may not grow any more.
            OSError: there is no room.
        """
        self._take_letters(records)
        for rows in self._judge.verdicts(pages_among(records)):
            self._columns.write(rows)
            if self._lines is not None:
                self._lines.writelines(map(line_of, rows.to_pylist()))
            self._counts.add(rows)
            self.pages += len(rows)
            self.copies += pc.sum(rows.column("duplicate_of").is_valid()).as_py() or 0

    def end(self, archive: ArchiveEnd) -> None:
        """All pages of an archive were taken."""
        self._counts.passed_over.update(archive.passed_over)
        self.by_archive.append(self._counts)
        self._counts = Counts()

    def close(self) -> None:
        """All archives have ended: make what was written whole."""
        self._columns.close()
        self._held.close()

    def discard(self) -> None:
        """Let go of the files; what is in columns is not kept."""
        self._columns.discard()
        self._held.close()

    def _take_letters(self, records: pa.RecordBatch) -> None:
        if records.column("dead").null_count == len(records):
            return
        for row in records.filter(records.column("dead").is_valid()).select([*_LETTER, "dead"]).to_pylist():
            reason, _, detail = row.pop("dead").partition(": ")
            self._letters.write(line_of({**row, "reason": reason, "detail": detail}))
            if row["url"] is None:
                self._counts.dead_letters[reason] += 1
                self.broken += 1


def pages_among(records: pa.RecordBatch) -> pa.RecordBatch:
    """Those that are pages, readable or not."""
    return records if not records.column("url").null_count else records.filter(records.column("url").is_valid())


class _Discarded(Exception):
    """What was begun is not to be kept."""


class _Columns:
    """One file, or one after the other, of which each has its name once it is whole."""

    def __init__(self, folder: Path, parts: bool) -> None:
        self._folder: Final = folder / "verdicts" if parts else folder
        self._parts: Final = parts
        self._folder.mkdir(exist_ok=True)
        self._number = 0
        self._open()

    def write(self, rows: pa.RecordBatch) -> None:
        self._held.append(rows)
        self._rows += len(rows)
        if self._rows >= _GROUP_ROWS:
            self._flush()
        if self._parts and self._written >= PART_ROWS:
            self.close()
            self._open()

    def close(self) -> None:
        self._flush()
        self._writer.close()
        self._stack.close()

    def discard(self) -> None:
        self._writer.close()
        with suppress(_Discarded), self._stack:
            raise _Discarded

    def _open(self) -> None:
        name = f"{self._number:05}.parquet" if self._parts else PARQUET
        self._number += 1
        self._stack = ExitStack()
        beside = self._stack.enter_context(replaced(self._folder / name))
        self._writer = pq.ParquetWriter(beside, _AS_STORED, compression="zstd", use_dictionary=_WORDS)
        self._held: list[pa.RecordBatch] = []
        self._rows = self._written = 0

    def _flush(self) -> None:
        if self._held:
            self._writer.write_table(pa.Table.from_batches(self._held).cast(_AS_STORED))
        self._written += self._rows
        self._held, self._rows = [], 0
