"""Reads tables as text: CSV, TSV, and tables with ``;`` or ``|`` between cells. The first row names the columns."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import Final

from crawler_plugin.wire.errors import UsageError
from worker.page.decode import UndecodableError, decode
from worker.scan.inputs.fields import Chosen, Fields
from worker.scan.inputs.opening import StoredFile
from worker.scan.inputs.packed_file import RowsOfBytes
from worker.scan.inputs.records import MARKS, ArchivedPage, BrokenRecord, Fate, Fates, RecordPlace, marks_of
from worker.scan.inputs.tables.csv_lines import Row, rows_of
from worker.scan.inputs.tables.header import delimiter_of, lines_before_rows
from worker.scan.inputs.tables.lines import Line, line_end, lines_of
from worker.scan.inputs.unpacking import Compression

_FIRST_ROWS: Final = 16
_HEADER_LINES: Final = 64
"""Lines of a header whose names have lines in them, and of the text before it."""


class CsvRows(RowsOfBytes):
    """A table as text. Its bytes are cut into cells before they are decoded, so that a cell may be in any encoding in
    which quotes and delimiters are those of ASCII: a body is handed on as bytes, and a text that is not UTF-8 is read
    in the encoding that it seems to be in. A table in an encoding that the user named, or in UTF-16, is transcoded.

    Of columns of one name the first counts. A backslash escapes a quote, as in files of Spark and MySQL, if more of the
    first rows have all cells in that way.

    Raises:
        UsageError: no column holds a page, or a column that the user named is not there.
    """

    kind = "csv"

    def __init__(self, file: StoredFile, compression: Compression | None, most_bytes: int, fields: Fields) -> None:
        super().__init__(file, compression, most_bytes, fields.file_encoding)
        self.transcode()
        # The limit is one for the whole process; ours is kept by counting lines.
        csv.field_size_limit(max(csv.field_size_limit(), most_bytes))
        start = self.beginning()
        self._line_end: Final = line_end(start)
        names = (fields.url, fields.body, fields.text, fields.id)
        first = [line.content for line in islice(self._lines(), _HEADER_LINES)]
        beginning = b"".join(first)
        self._delimiter: Final = delimiter_of(beginning, names) or ("\t" if b"\t" in beginning[:4096] else ",")
        self._head, self._columns = lines_before_rows(first, self._delimiter)
        self._escapes = False
        rows = self._first_rows()
        if b'\\"' in beginning:
            self._escapes = True
            escaped = self._first_rows()
            self._escapes = len(escaped) > len(rows)
            rows = escaped if self._escapes else rows
        texts = [
            {
                name: _bytes(cell).decode(errors="replace")
                for name, cell in reversed([*zip(self._columns, row, strict=True)])
            }
            for row in rows
        ]
        self._chosen: Final = Chosen(file.name, fields, self._columns, texts, _seems_to_be_in(start))
        self._is_marked = False
        """Whether a written copy has the columns ``MARKS``."""
        self._read: Final = [(name, self._columns.index(name)) for name in self._chosen.columns]

    @property
    def fields(self) -> Mapping[str, str]:
        return {**self._chosen.by_role, **self.stated}

    def records(self) -> Iterator[ArchivedPage | BrokenRecord]:
        for row in self._rows():
            yield self._record(row)

    def write_parts(self, kept: Path, removed: Path | None, fates: Fates) -> list[BrokenRecord]:
        self._is_marked = fates.are_marks
        if self._is_marked and (taken := set(MARKS) & set(self._columns)):
            raise UsageError(f"{self.name} has a column {min(taken)} already: rename it, or take --duplicates drop")
        return super().write_parts(kept, removed, fates)

    def rows_of_pages(self) -> Iterator[tuple[bytes, ArchivedPage]]:
        for row in self._rows():
            record = self._record(row)
            if isinstance(record, ArchivedPage):
                yield row.content, record

    @contextmanager
    def rows_target(self, target: Path) -> Generator[Callable[[bytes], None]]:
        with self.packed_target(target) as out:
            head = b"".join(line.content for line in islice(self._lines(), self._head))
            out.write(self._with_cells(head, MARKS) if self._is_marked else head)
            yield out.write

    def marked(self, row: bytes, fate: Fate) -> bytes:
        return self._with_cells(row, marks_of(fate))

    def _with_cells(self, row: bytes, cells: Sequence[str | None]) -> bytes:
        """More cells after those of a row."""
        content = row.rstrip(b"\r\n")
        more = io.StringIO()
        csv.writer(more, delimiter=self._delimiter, lineterminator="").writerow(["", *cells])
        return content + more.getvalue().encode() + row[len(content) :]

    def _record(self, row: Row) -> ArchivedPage | BrokenRecord:
        place = RecordPlace(self.name, row.offset)
        if row.broken:
            return BrokenRecord(place, row.broken, row.detail)
        cells: dict[str, bytes | str] = {name: _bytes(row.cells[at]) for name, at in self._read}
        if self.encoding is not None:
            # Characters, so that the page's own statement about its encoding no longer counts.
            cells = {name: bytes(cell).decode(errors="replace") for name, cell in cells.items()}  # type: ignore[arg-type]
        return self._chosen.page(cells, place)

    def _rows(self) -> Iterator[Row]:
        """All rows after the header."""
        lines = islice(self._lines(), self._head, None)
        return rows_of(lines, len(self._columns), self._delimiter, self.most_bytes, escapes=self._escapes)

    def _first_rows(self) -> list[list[str]]:
        return [row.cells for row in islice(self._rows(), _FIRST_ROWS) if not row.broken]

    def _lines(self) -> Iterator[Line]:
        return lines_of(self.pieces(), self.most_bytes, self._line_end)


def _bytes(cell: str) -> bytes:
    return cell.encode("latin-1")


def _seems_to_be_in(beginning: bytes) -> str | None:
    """The encoding of a table with this beginning; None for UTF-8."""
    with suppress(UndecodableError):
        found = decode(beginning).encoding
        return None if found.startswith("utf") else found
    return None
