"""Reads JSON lines: each line is an object, and a page."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, cast

import msgspec

from worker.errors import UsageError
from worker.scan.inputs.fields import Chosen, Fields, columns_of
from worker.scan.inputs.lines import Line, lines_of
from worker.scan.inputs.opening import DamagedFile, StoredFile
from worker.scan.inputs.packed_file import PackedFile
from worker.scan.inputs.records import ArchivedPage, BrokenRecord, RecordPlace
from worker.scan.inputs.unpacking import Compression

_BOM: Final = b"\xef\xbb\xbf"
_FIRST_ROWS: Final = 16
"""Rows by which fields are chosen."""
_FIRST_LINES: Final = 1000
"""Lines among which they are looked for."""
_decode: Final = msgspec.json.Decoder(dict[str, Any]).decode


class JsonlFile(PackedFile):
    """A file of JSON lines.

    Raises:
        DamagedFile: it is damaged from its beginning on.
        UsageError: none of its first lines is an object, or a field that was named is in none of them.
    """

    kind = "jsonl"

    def __init__(self, file: StoredFile, compression: Compression | None, most_bytes: int, fields: Fields) -> None:
        super().__init__(file, compression, most_bytes)
        rows, damage = self._first_rows()
        if damage and not rows:
            raise DamagedFile(f"{file.name} holds no whole line: {damage}")
        if not rows and file.size:
            raise UsageError(f"{file.name} has no line that is a JSON object: name another file")
        self._chosen = Chosen(file.name, fields, columns_of(rows), rows) if rows else None

    @property
    def fields(self) -> Mapping[str, str]:
        return self._chosen.by_role if self._chosen else {}

    def records(self) -> Iterator[ArchivedPage | BrokenRecord]:
        for _, record in self._lines():
            yield record

    def write_kept(self, target: Path, keep: Callable[[ArchivedPage], bool]) -> list[BrokenRecord]:
        with self.packed_target(target) as kept:
            for line, record in self._lines():
                if isinstance(record, ArchivedPage) and keep(record):
                    kept.write(line)
        return []

    def _lines(self) -> Iterator[tuple[bytes, ArchivedPage | BrokenRecord]]:
        if self._chosen is None:
            return
        for line in lines_of(self.pieces(), self.most_bytes):
            place = RecordPlace(self.name, line.offset)
            if line.broken:
                yield b"", BrokenRecord(place, line.broken, line.detail)
            elif not line.content.isspace():
                row = _row(line, place)
                yield line.content, row if isinstance(row, BrokenRecord) else self._chosen.page(row, place)

    def _first_rows(self) -> tuple[list[dict[str, Any]], str]:
        """Those by which fields are chosen, and what damage there is before or among them."""
        rows: list[dict[str, Any]] = []
        damage = ""
        for tried, line in enumerate(lines_of(self.pieces(), self.most_bytes)):
            row = None if line.broken or line.content.isspace() else _row(line, RecordPlace(self.name, line.offset))
            if isinstance(row, dict):
                rows.append(row)
            elif line.broken == "damaged":
                damage = line.detail
            if len(rows) == _FIRST_ROWS or tried == _FIRST_LINES:
                break
        return rows, damage


def _row(line: Line, place: RecordPlace) -> dict[str, Any] | BrokenRecord:
    content = line.content
    if not line.offset:
        content = content.removeprefix(_BOM)
    try:
        return _decode(content)
    except msgspec.ValidationError:
        return BrokenRecord(place, "no-object", f"{content[:60]!r}")
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        why = str(error)
    try:
        # Python writes NaN and halves of surrogate pairs, which are no JSON, and reads them.
        row = json.loads(content)
    except (ValueError, RecursionError):
        return BrokenRecord(place, "no-json", why)
    return cast(dict[str, Any], row) if isinstance(row, dict) else BrokenRecord(place, "no-object", f"{content[:60]!r}")
