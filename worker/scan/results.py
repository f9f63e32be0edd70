"""The output of a scan and of ``judge`` while they run: lines, letters and columns, and counts of all of it."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import BinaryIO, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from worker.places import Folder
from worker.results.rows import DEAD_LETTERS, VERDICTS, line_of
from worker.scan.judge.judge import Judge
from worker.scan.judge.rows import ROWS
from worker.scan.records.parts import ArchiveEnd
from worker.scan.summary import VerdictCounts
from worker.scan.writing.verdict_columns import VerdictColumns

PARQUET: Final = "verdicts.parquet"
PARTS: Final = "verdicts"
PART_ROWS: Final = 1 << 20
"""The file name of verdicts, if there are several files."""
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
_PLACES: Final = 4
"""Decimal places of a float in a verdict, before it is stored in 32 bits."""


class Results:
    """Verdicts on the pages of records.

    Args:
        lines: whether each verdict is a line of ``verdicts.jsonl``, too; only on this machine.
        parts: whether columns are files of a million rows in the folder ``PARTS``; otherwise they are one file.
    """

    def __init__(self, target: Folder, *, lines: bool, parts: bool) -> None:
        self._held: Final = ExitStack()
        self._lines: Final = self._opened(target, VERDICTS) if lines else None
        self._letters: Final = self._opened(target, DEAD_LETTERS)
        self._columns: Final = _Columns(target, parts)
        self.by_archive: Final[list[VerdictCounts]] = []
        """The counts of each archive that has ended."""
        self._counts = VerdictCounts()
        self.pages = self.copies = self.broken = 0

    def _opened(self, target: Folder, name: str) -> BinaryIO:
        """Here a line is there as soon as it is written; elsewhere all of them are when this is closed."""
        here = Path(target.path(name)) if target.is_here else self._held.enter_context(target.replaced(name))
        return self._held.enter_context(here.open("wb"))

    def take(self, records: pa.RecordBatch, judge: Judge) -> None:
        """Judge pages, and write the results.

        Raises:
            OverMemoryLimit: the index may not grow any more.
            OSError: there is no room.
        """
        self.take_letters(records)
        for rows in judge.verdicts(pages_among(records)):
            self.take_rows(rows)

    def take_rows(self, rows: pa.RecordBatch) -> None:
        """Write verdicts, rows of ``worker.scan.judge.rows``."""
        self._columns.write(rows)
        if self._lines is not None:
            self._lines.writelines(map(line_of, rows.to_pylist()))
        self._counts.add(rows)
        self.pages += len(rows)
        self.copies += len(rows) - rows.column("duplicate_of").null_count

    def take_letters(self, records: pa.RecordBatch) -> None:
        """Write down which of these pages could not be read."""
        if records.column("dead").null_count == len(records):
            return
        for row in records.filter(records.column("dead").is_valid()).select([*_LETTER, "dead"]).to_pylist():
            reason, _, detail = row.pop("dead").partition(": ")
            self._letters.write(line_of({**row, "reason": reason, "detail": detail}))
            if row["url"] is None:
                self._counts.dead_letters[reason] += 1
                self.broken += 1

    def end(self, archive: ArchiveEnd) -> None:
        """All pages of an archive were taken."""
        self._counts.passed_over.update(archive.passed_over)
        self.by_archive.append(self._counts)
        self._counts = VerdictCounts()

    def close(self) -> None:
        """All archives have ended: make the output whole."""
        self._columns.close()
        self._held.close()

    def discard(self) -> None:
        """Close the files; columns are not kept."""
        self._columns.discard()
        self._held.close()


def lines_of(columns: VerdictColumns) -> Iterator[bytes]:
    """The lines of ``verdicts.jsonl``, as they would have been written with the columns.

    Raises:
        UsageError: a file is damaged, or has other columns.
    """
    for stored in columns.batches(ROWS.names):
        rows = pa.Table.from_batches([stored]).cast(ROWS)
        for place, field in enumerate(ROWS):
            if pa.types.is_floating(field.type):
                rows = rows.set_column(place, field, pc.round(rows.column(place), _PLACES))
        yield from map(line_of, rows.to_pylist())


def pages_among(records: pa.RecordBatch) -> pa.RecordBatch:
    """The records that are pages, readable or not."""
    return records if not records.column("url").null_count else records.filter(records.column("url").is_valid())


class _Discarded(Exception):
    """The file that was begun must not be kept."""


class _Columns:
    """One file, or several in turn, each of which gets its name once it is whole. A separate thread writes it: most of
    the work is compression, which lets other threads run."""

    def __init__(self, target: Folder, parts: bool) -> None:
        self._target: Final = target
        self._parts: Final = parts
        self._thread: Final = ThreadPoolExecutor(1, thread_name_prefix="verdicts")
        self._number = 0
        self._open()

    def write(self, rows: pa.RecordBatch) -> None:
        if self._parts and self._written >= PART_ROWS:
            self._finish()
            self._open()
        self._held.append(rows)
        self._rows += len(rows)
        if self._rows >= _GROUP_ROWS:
            self._flush()

    def close(self) -> None:
        self._finish()
        self._thread.shutdown()

    def discard(self) -> None:
        self._thread.shutdown()
        self._writer.close()
        with suppress(_Discarded), self._stack:
            raise _Discarded

    def _open(self) -> None:
        name = f"{PARTS}/{self._number:05}.parquet" if self._parts else PARQUET
        self._number += 1
        self._stack = ExitStack()
        beside = self._stack.enter_context(self._target.replaced(name))
        self._writer = pq.ParquetWriter(
            beside,
            _AS_STORED,
            compression="zstd",
            use_dictionary=_WORDS,
            write_statistics=["file"],
            write_page_checksum=True,
        )
        self._held: list[pa.RecordBatch] = []
        self._rows = self._written = 0
        self._writing: Future[None] | None = None

    def _flush(self) -> None:
        if self._writing is not None:
            self._writing.result()
        if self._held:
            self._writing = self._thread.submit(_write, self._writer, self._held)
        self._written += self._rows
        self._held, self._rows = [], 0

    def _finish(self) -> None:
        self._flush()
        self._flush()
        self._writer.close()
        self._stack.close()


def _write(writer: pq.ParquetWriter, rows: list[pa.RecordBatch]) -> None:
    writer.write_table(pa.Table.from_batches(rows).cast(_AS_STORED))
