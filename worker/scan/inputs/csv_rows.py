"""Reads tables as text: CSV, TSV, and what is cut by ``;`` or ``|``. The first row names the columns."""

from __future__ import annotations

import csv
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from worker.errors import UsageError
from worker.scan.inputs.fields import Chosen, Fields
from worker.scan.inputs.kind import delimiter_of, header_of
from worker.scan.inputs.lines import Line, lines_of
from worker.scan.inputs.opening import StoredFile
from worker.scan.inputs.packed_file import PackedFile
from worker.scan.inputs.records import ArchivedPage, BrokenRecord, RecordPlace
from worker.scan.inputs.unpacking import Compression

_BOM: Final = b"\xef\xbb\xbf"
_UTF_16: Final = (b"\xff\xfe", b"\xfe\xff")
_FIRST_ROWS: Final = 16
_READ_AGAIN: Final = 16
"""How many times as much as the file holds may be read again behind rows that a stray quote has made too long."""
_READ_AGAIN_AT_LEAST: Final = 256 * 1024 * 1024


class _Row(NamedTuple):
    """The lines of a row and its cells, byte by byte; or what is broken."""

    offset: int
    content: bytes
    cells: list[str]
    broken: str = ""
    detail: str = ""


class CsvRows(PackedFile):
    """A table as text. Its bytes are cut into cells before they are decoded, so that a cell may be in any encoding in
    which quotes and delimiters are those of ASCII: a body is handed on as bytes.

    Raises:
        UsageError: no column holds a page, or one that was named is not there.
    """

    kind = "csv"

    def __init__(self, file: StoredFile, compression: Compression | None, most_bytes: int, fields: Fields) -> None:
        super().__init__(file, compression, most_bytes)
        # The limit is one for the whole process; ours is kept by counting lines.
        csv.field_size_limit(max(csv.field_size_limit(), most_bytes))
        header = next(lines_of(self.pieces(), most_bytes), Line(0, b""))
        if header.content.startswith(_UTF_16):
            raise UsageError(
                f"{file.name} is in UTF-16: `iconv -f UTF-16 -t UTF-8` makes a file of it that can be read"
            )
        names = (fields.url, fields.body, fields.text, fields.id)
        self._delimiter: Final = delimiter_of(header.content, names) or ("\t" if b"\t" in header.content else ",")
        self._columns: Final = header_of(header.content, self._delimiter)
        rows = []
        for row in self._rows():
            if not row.broken:
                rows.append({name: cell.encode("latin-1") for name, cell in zip(self._columns, row.cells, strict=True)})
            if len(rows) > _FIRST_ROWS:
                break
        texts = [{name: cell.decode(errors="replace") for name, cell in row.items()} for row in rows[1:]]
        self._chosen: Final = Chosen(file.name, fields, self._columns, texts)
        self._read: Final = [(name, self._columns.index(name)) for name in self._chosen.columns]

    @property
    def fields(self) -> Mapping[str, str]:
        return self._chosen.by_role

    def records(self) -> Iterator[ArchivedPage | BrokenRecord]:
        for row in self._rows():
            if row.offset or row.broken:
                yield self._record(row)

    def write_kept(self, target: Path, keep: Callable[[ArchivedPage], bool]) -> list[BrokenRecord]:
        with self.packed_target(target) as kept:
            for row in self._rows():
                if row.offset or row.broken:
                    record = self._record(row)
                    if isinstance(record, BrokenRecord) or not keep(record):
                        continue
                kept.write(row.content)
        return []

    def _record(self, row: _Row) -> ArchivedPage | BrokenRecord:
        place = RecordPlace(self.name, row.offset)
        if row.broken:
            return BrokenRecord(place, row.broken, row.detail)
        return self._chosen.page({name: row.cells[at].encode("latin-1") for name, at in self._read}, place)

    def _rows(self) -> Iterator[_Row]:
        """All rows, the header first. A row of too few or too many cells is one line: the next begins a row."""
        lines = lines_of(self.pieces(), self.most_bytes)
        ahead: deque[Line] = deque()
        read = again = 0
        while True:
            first = ahead.popleft() if ahead else next(lines, None)
            if first is None:
                return
            if first.broken:
                yield _Row(first.offset, b"", [], first.broken, first.detail)
                continue
            taken = _Taken(first, ahead, lines, self.most_bytes)
            try:
                cells = next(csv.reader(taken, delimiter=self._delimiter), [])
                why = taken.why
            except csv.Error as error:
                cells, why = [], str(error)
            content = b"".join(line.content for line in taken.lines)
            read += len(content)
            if not why and not content.strip():
                continue
            if not why and len(cells) != len(self._columns):
                why = f"{len(cells)} cells, {len(self._columns)} columns"
            if not why:
                yield _Row(first.offset, content, cells)
                continue
            rest = taken.lines[1:]
            size = len(content) - len(first.content)
            if rest and again + size <= max(_READ_AGAIN_AT_LEAST, _READ_AGAIN * read) and self._are_rows(rest):
                again += size
                read -= size
                ahead.extendleft(reversed(rest))
            elif taken.is_too_large:
                why = f"more than {self.most_bytes} bytes are read at once"
                yield _Row(first.offset, b"", [], "too-large", why)
                self._skip(content.count(b'"'), ahead, lines)
                continue
            yield _Row(first.offset, b"", [], "no-columns", why)

    def _are_rows(self, lines: list[Line]) -> bool:
        """Whether these lines behind a quote that was opened are rows, most of them, rather than the quoted cell."""
        good = bad = 0
        try:
            for cells in csv.reader((line.content.decode("latin-1") for line in lines), delimiter=self._delimiter):
                good += len(cells) == len(self._columns)
                bad += len(cells) not in (0, len(self._columns))
        except csv.Error:
            bad += 1
        return good >= bad

    def _skip(self, quotes: int, ahead: deque[Line], lines: Iterator[Line]) -> None:
        """Go behind a cell that is too large, to the end of the line in which its quote is closed."""
        while quotes % 2 and (line := ahead.popleft() if ahead else next(lines, None)):
            quotes += line.content.count(b'"')


class _Taken:
    """Hands lines to the reader of a row, which asks for more only within a quoted cell. ``why`` says what is wrong
    where the next one cannot be a part of it.
    """

    def __init__(self, first: Line, ahead: deque[Line], lines: Iterator[Line], most_bytes: int) -> None:
        self.lines: Final = [first]
        self.why = ""
        self.is_too_large = False
        self._ahead = ahead
        self._more = lines
        self._left = most_bytes - len(first.content)
        self._is_begun = False

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        if not self._is_begun:
            self._is_begun = True
            line = self.lines[0]
            content = line.content if line.offset else line.content.removeprefix(_BOM)
            return content.decode("latin-1")
        line = self._ahead.popleft() if self._ahead else next(self._more, Line(0, b"", "end"))
        if line.broken or len(line.content) > self._left:
            self.is_too_large = not line.broken
            if line.broken != "end":
                self._ahead.appendleft(line)
            self.why = "a quote is open where the file ends, or is damaged"
            raise StopIteration
        self._left -= len(line.content)
        self.lines.append(line)
        return line.content.decode("latin-1")
