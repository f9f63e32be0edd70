"""Reads JSON lines and JSON arrays: each line, or element, is an object, and a page."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, Final, cast

import msgspec

from crawler_plugin.wire.errors import UsageError
from worker.scan.inputs.fields import Chosen, Fields, columns_of
from worker.scan.inputs.opening import DamagedFile, StoredFile
from worker.scan.inputs.packed_file import RowsOfBytes
from worker.scan.inputs.records import MARKS, ArchivedPage, BrokenRecord, Fate, RecordPlace, marks_of
from worker.scan.inputs.tables.elements import elements_of
from worker.scan.inputs.tables.lines import Line, line_end, lines_of
from worker.scan.inputs.transcoding import BOM
from worker.scan.inputs.unpacking import Compression

_FIRST_ROWS: Final = 16
"""Rows by which fields are chosen."""
_FIRST_LINES: Final = 1000
"""Lines among which they are looked for."""
_MOST_DIGITS: Final = 1000
"""Digits of a whole number; Python refuses to read numbers of thousands, which take long to read."""
_decode: Final = msgspec.json.Decoder(dict[str, Any]).decode


class JsonlFile(RowsOfBytes):
    """A file of JSON lines.

    Raises:
        DamagedFile: it is damaged from its beginning on.
        UsageError: none of its first lines is an object, or a field that the user named is in none of them.
    """

    kind = "jsonl"
    part: ClassVar = "line"

    def __init__(self, file: StoredFile, compression: Compression | None, most_bytes: int, fields: Fields) -> None:
        super().__init__(file, compression, most_bytes, fields.file_encoding)
        self.transcode()
        beginning = self.beginning()
        self._mark: Final = BOM if beginning.startswith(BOM) else b""
        self._line_end: Final = line_end(beginning)
        rows, damage, is_empty = self._first_rows()
        if damage and not rows:
            raise DamagedFile(f"{file.name} holds no whole {self.part}: {damage}")
        if not rows and not is_empty:
            raise UsageError(f"{file.name} has no {self.part} that is a JSON object: name another file")
        self._chosen = Chosen(file.name, fields, columns_of(rows), rows) if rows else None

    @property
    def fields(self) -> Mapping[str, str]:
        return {**(self._chosen.by_role if self._chosen else {}), **self.stated}

    def records(self) -> Iterator[ArchivedPage | BrokenRecord]:
        for _, record in self._lines():
            yield record

    def rows_of_pages(self) -> Iterator[tuple[bytes, ArchivedPage]]:
        for part, record in self._lines():
            if isinstance(record, ArchivedPage):
                yield part, record

    @contextmanager
    def rows_target(self, target: Path) -> Generator[Callable[[bytes], None]]:
        with self.packed_target(target) as out:
            out.write(self._mark)
            yield out.write

    def marked(self, row: bytes, fate: Fate) -> bytes:
        content = row.rstrip()
        found = _row(Line(0, content), RecordPlace(self.name, 0))
        fields = dict(zip(MARKS, marks_of(fate), strict=True))
        if isinstance(found, dict) and found.keys() & fields.keys():  # of an earlier run
            return json.dumps(found | fields).encode() + row[len(content) :]
        return content[:-1] + b"," + json.dumps(fields).encode()[1:] + row[len(content) :]

    def _parts(self) -> Iterator[Line]:
        """The lines that should be objects."""
        for line in lines_of(self.pieces(), self.most_bytes, self._line_end):
            yield line if line.offset or not self._mark else line._replace(content=line.content.removeprefix(BOM))

    def _lines(self) -> Iterator[tuple[bytes, ArchivedPage | BrokenRecord]]:
        if self._chosen is None:
            return
        for line in self._parts():
            place = RecordPlace(self.name, line.offset)
            if line.broken:
                yield b"", BrokenRecord(place, line.broken, line.detail)
            elif line.content and not line.content.isspace():
                row = _row(line, place)
                yield line.content, row if isinstance(row, BrokenRecord) else self._chosen.page(row, place)

    def _first_rows(self) -> tuple[list[dict[str, Any]], str, bool]:
        """The rows by which fields are chosen, the damage before or among them, and whether there is nothing."""
        rows: list[dict[str, Any]] = []
        damage = ""
        is_empty = True
        for tried, line in enumerate(self._parts()):
            is_blank = not line.broken and not line.content.strip()
            row = None if line.broken or is_blank else _row(line, RecordPlace(self.name, line.offset))
            is_empty = is_empty and is_blank
            if isinstance(row, dict):
                rows.append(row)
            elif line.broken == "damaged":
                damage = line.detail
            if len(rows) == _FIRST_ROWS or tried == _FIRST_LINES:
                break
        return rows, damage, is_empty


class JsonArray(JsonlFile):
    """A file of one JSON array, as ``scrapy crawl -o items.json`` writes it, or of several, one after the other."""

    kind = "json"
    part: ClassVar = "element"

    @contextmanager
    def rows_target(self, target: Path) -> Generator[Callable[[bytes], None]]:
        with self.packed_target(target) as out:
            before = self._mark + b"[\n"

            def write(element: bytes) -> None:
                nonlocal before
                out.write(before + element.strip())
                before = b",\n"

            yield write
            out.write(b"\n]\n" if before == b",\n" else self._mark + b"[]\n")

    def _parts(self) -> Iterator[Line]:
        return elements_of(self.pieces(), self.most_bytes)


def _row(line: Line, place: RecordPlace) -> dict[str, Any] | BrokenRecord:
    content = line.content
    try:
        return _decode(content)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        is_other = isinstance(error, msgspec.ValidationError) and not content.lstrip().startswith(b"{")
        why = str(error)
    try:
        # Python writes NaN and halves of surrogate pairs, which are no JSON, and reads them; and JSON allows numbers of
        # any size, which is no reason to lose their page.
        row = json.loads(content, parse_int=_number)
    except (ValueError, RecursionError):
        if is_other:
            return BrokenRecord(place, "no-object", f"{content[:60]!r}")
        return BrokenRecord(place, "no-json", why)
    return cast(dict[str, Any], row) if isinstance(row, dict) else BrokenRecord(place, "no-object", f"{content[:60]!r}")


def _number(digits: str) -> int | float:
    return int(digits) if len(digits) < _MOST_DIGITS else float(digits)
