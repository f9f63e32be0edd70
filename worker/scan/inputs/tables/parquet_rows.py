"""Reads Parquet: each row is a page, and only the columns that describe it are read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import compress, groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from crawler_plugin.wire.errors import UsageError
from worker.scan.inputs.fields import EITHER, Chosen, Fields
from worker.scan.inputs.opening import DamagedFile, Reading, StoredFile, failing, needs
from worker.scan.inputs.records import MARKS, ArchivedPage, BrokenRecord, Fate, Fates, RecordPlace, marks_of

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

_BATCH_BYTES: Final = 16 * 1024 * 1024
_BATCH_ROWS: Final = 1024
_FIRST_ROWS: Final = 16
_BUFFER: Final = 1024 * 1024
_UNSUPPORTED: Final = re.compile("support|implement|unhandled|not built|unrecognized|unknown", re.IGNORECASE)
"""Arrow's messages about values that it cannot write, as opposed to damaged ones."""


class _Column(NamedTuple):
    """Values of a type that Python has."""

    values: pa.Array
    is_text: bool = False

    def to_list(self) -> list[Any]:
        values: list[Any] = self.values.to_pylist()
        return [_decoded(value) for value in values] if self.is_text else values


class ParquetRows:
    """A Parquet file. From a damaged row group, the rows before the damage are read, and then the next group.

    Raises:
        DamagedFile: its end, which says where everything is, cannot be read.
        UsageError: pyarrow is not installed, no column holds a page, or a column that the user named is not there.
    """

    form: Final = "parquet"

    def __init__(self, file: StoredFile, most_bytes: int, fields: Fields) -> None:
        try:
            import pyarrow as pa
            import pyarrow.compute as pc
            import pyarrow.parquet as pq
        except ImportError as error:
            raise needs("pyarrow", f"reading the Parquet file {file.name}") from error
        self._pq: Final = pq
        self._pa: Final = pa
        self._pc: Final = pc
        self.name: Final = file.name
        self.below: Final = file.below
        self.bytes_read = 0
        self.passed_over: Final[Mapping[str, int]] = {}
        self._file: Final = file
        self._most_bytes: Final = most_bytes
        reading = file.open()
        try:
            source = self._opened(reading)
            schema = source.schema_arrow
            self._ways: Final = _ways(schema)
            either = [name for name in self._ways if name.lower().rpartition(".")[2] in EITHER]
            rows: list[dict[str, Any]] = []
            if source.num_row_groups and either:
                _, batch = next(self._batches(source, 0, either, _FIRST_ROWS), (0, ""))
                rows = [] if isinstance(batch, str) else _rows(self._columns(batch, either))
        finally:
            reading.close()
        self._chosen: Final = Chosen(file.name, fields, list(self._ways), rows)

    @property
    def fields(self) -> Mapping[str, str]:
        return self._chosen.by_role

    @property
    def bytes_in_all(self) -> int | None:
        return self._file.size

    def records(self) -> Iterator[ArchivedPage | BrokenRecord]:
        reading = self._file.open()
        try:
            source = self._opened(reading)
            begin = 0
            self.bytes_read = 0
            for group in range(source.num_row_groups):
                yield from self._group(source, group, begin)
                begin += source.metadata.row_group(group).num_rows
                share = begin / max(source.metadata.num_rows, 1)
                self.bytes_read = round(share * (self.bytes_in_all or 0))
        finally:
            reading.close()

    def refuse_unwritable(self) -> None:
        """Try the steps of ``write_parts`` on the first row.

        Raises:
            UsageError: pyarrow can read the judged columns of the file, but cannot write all of it.
        """
        reading = self._file.open()
        try:
            source = self._opened(reading)
            first = _first_rows(source)
            with self._writer(self._pa.BufferOutputStream(), source) as writer:
                if first is not None:  # the last one alone: rows that stay are cut out of those that do not
                    self._write(writer, self._pa.Table.from_batches([first]), [(first.num_rows - 1, 1)])
        except (self._pa.ArrowException, NotImplementedError, OSError) as error:
            self._see_who_failed(error)
            if _UNSUPPORTED.search(str(error)):  # other errors are damage, which is reported where it is
                raise self._unwritable(error) from error
        finally:
            reading.close()

    def write_parts(self, kept: Path, removed: Path | None, fates: Fates) -> list[BrokenRecord]:
        """With all columns, and a row group for each that has a row left."""
        lost: list[BrokenRecord] = []
        marks = MARKS if fates.are_marks else ()
        reading = self._file.open()
        try:
            source = self._opened(reading)
            with ExitStack() as stack:
                targets = {True: kept} if removed is None else {True: kept, False: removed}
                writers = {
                    stays: stack.enter_context(self._writer(path, source, marks)) for stays, path in targets.items()
                }
                begin = 0
                for group in range(source.num_row_groups):
                    found: list[Fate | None] = [None] * source.metadata.row_group(group).num_rows
                    for record in self._group(source, group, begin):
                        if isinstance(record, ArchivedPage):
                            found[record.place.offset - begin] = fates.of(record)
                    parts = {stays: [one is not None and one.stays is stays for one in found] for stays in writers}
                    rows = self._whole(source, group) if any(map(any, parts.values())) else None
                    if isinstance(rows, str):
                        written = map(any, zip(*parts.values(), strict=True))
                        places = [RecordPlace(self.name, begin + at) for at in compress(range(len(found)), written)]
                        lost += [BrokenRecord(place, "damaged", rows) for place in places]
                    elif rows is not None:
                        if marks:
                            rows = self._marked(rows, found)
                        for stays, writer in writers.items():
                            if any(parts[stays]):
                                self._write(writer, rows, _runs(parts[stays]))
                    begin += len(found)
        except NotImplementedError as error:
            raise self._unwritable(error) from error
        finally:
            reading.close()
        return lost

    def _marked(self, rows: pa.Table, fates: Sequence[Fate | None]) -> pa.Table:
        """With the columns ``MARKS``, in the place of those of an earlier run."""
        values = [(None, None) if one is None else marks_of(one) for one in fates]
        rows = rows.drop_columns([name for name in MARKS if name in rows.column_names])
        for name, column in zip(MARKS, zip(*values, strict=True), strict=True):
            rows = rows.append_column(name, self._pa.array(column, self._pa.string()))
        return rows

    def _whole(self, source: pq.ParquetFile, group: int) -> pa.Table | str:
        """All columns of a row group, or why they cannot be read."""
        try:
            return source.read_row_group(group, use_threads=False)
        except (self._pa.ArrowException, OSError, ValueError) as error:
            self._see_who_failed(error)
            return f"row group {group} cannot be read with all columns: {error}"

    def _write(self, writer: pq.ParquetWriter, rows: pa.Table, runs: Iterable[tuple[int, int]]) -> None:
        """A row group of some runs of rows."""
        if rows.schema.types != writer.schema.types:
            rows = rows.cast(writer.schema)
        # Not by a filter: there is none for some types.
        kept = self._pa.concat_tables([rows.slice(first, count) for first, count in runs])
        writer.write_table(kept, row_group_size=max(1, kept.num_rows))

    def _unwritable(self, error: Exception) -> UsageError:
        return UsageError(
            f"pyarrow cannot write a copy of {self.name} ({error}): leave --write out, or make a file of other types "
            "or compression and scan that"
        )

    def _writer(self, target: Any, source: pq.ParquetFile, marks: Sequence[str] = ()) -> pq.ParquetWriter:
        schema = source.schema_arrow
        for at, field in enumerate(schema):
            schema = schema.set(at, field.with_type(self._sliceable(field.type)))
        for name in marks:
            if name in schema.names:
                schema = schema.remove(schema.get_field_index(name))
            schema = schema.append(self._pa.field(name, self._pa.string()))
        return self._pq.ParquetWriter(target, schema, **_as_written(source))

    def _sliceable(self, type_: pa.DataType, *, is_within: bool = False) -> pa.DataType:
        """The type in which a column is written. Views within others are the same on the disk as types without views,
        and pyarrow does not write parts of them."""
        pa, types = self._pa, self._pa.types
        if is_within and types.is_string_view(type_):
            return pa.large_string()
        if is_within and types.is_binary_view(type_):
            return pa.large_binary()
        if types.is_struct(type_):
            return pa.struct([self._field(type_.field(at)) for at in range(type_.num_fields)])
        if types.is_map(type_):
            return pa.map_(self._field(type_.key_field), self._field(type_.item_field), type_.keys_sorted)
        if types.is_fixed_size_list(type_):
            return pa.list_(self._field(type_.value_field), type_.list_size)
        if types.is_list(type_) or types.is_large_list(type_):
            return (pa.list_ if types.is_list(type_) else pa.large_list)(self._field(type_.value_field))
        return type_

    def _field(self, field: pa.Field) -> pa.Field:
        return field.with_type(self._sliceable(field.type, is_within=True))

    def _group(self, source: pq.ParquetFile, group: int, begin: int) -> Iterator[ArchivedPage | BrokenRecord]:
        for offset, batch in self._batches(source, group, self._chosen.columns, _BATCH_ROWS):
            place = RecordPlace(self.name, begin + offset)
            if isinstance(batch, str):
                yield BrokenRecord(place, "damaged", batch)
                return
            columns = self._columns(batch, self._chosen.columns, self._chosen.by_role.get("text"))
            sizes = self._sizes(columns, batch.num_rows)
            fits = [size <= self._most_bytes for size in sizes]
            if not all(fits):
                chosen = self._pa.array(fits)
                columns = {name: one._replace(values=one.values.filter(chosen)) for name, one in columns.items()}
            rows = iter(_rows(columns))
            for index, size in enumerate(sizes):
                place = RecordPlace(self.name, begin + offset + index)
                if fits[index]:
                    yield self._chosen.page(next(rows), place)
                else:
                    yield BrokenRecord(place, "too-large", f"{size} bytes, at most {self._most_bytes} are read")

    def _columns(self, batch: pa.RecordBatch, names: Sequence[str], text: str | None = None) -> dict[str, _Column]:
        """The columns of these names. Of several columns of one name it is the first. Lists of strings in the column
        ``text`` are joined."""
        found = {}
        for name in names:
            first, *within = self._ways[name]
            values = batch.column(batch.schema.get_all_field_indices(first)[0])
            for inner in within:
                values = self._pc.struct_field(values, [values.type.get_all_field_indices(inner)[0]])
            found[name] = self._column(self._joined(values) if name == text else values)
        return found

    def _joined(self, values: pa.Array) -> pa.Array:
        """Each list of strings as one string, with a line a string; None for a list with a null."""
        pa, type_ = self._pa, values.type
        if str(type_).startswith(("list", "large_list", "fixed_size_list")) and "string" in str(type_.value_type):
            lists = values.cast(pa.large_list(pa.large_string()))
            return self._pc.binary_join(lists, pa.scalar("\n", pa.large_string()))
        return values

    def _column(self, values: pa.Array) -> _Column:
        """Characters and bytes as bytes, times in milliseconds, numbers as they are. None for other values: Python has
        no type for some of them, and no page is in them."""
        pa, types = self._pa, self._pa.types
        if getattr(values.type, "extension_name", "") == "arrow.uuid":
            words = [None if value is None else str(value).encode() for value in values.to_pylist()]
            return _Column(pa.array(words, pa.large_binary()), is_text=True)
        if isinstance(values.type, pa.BaseExtensionType):
            values = values.storage
        if types.is_dictionary(values.type):
            values = values.dictionary_decode()
        type_ = values.type
        if types.is_string(type_) or types.is_large_string(type_) or types.is_string_view(type_):
            return _Column(values.cast(pa.large_binary()), is_text=True)
        if any(is_one(type_) for is_one in (types.is_binary, types.is_large_binary, types.is_binary_view)):
            return _Column(values.cast(pa.large_binary()))
        if types.is_fixed_size_binary(type_):
            return _Column(values.cast(pa.large_binary()))
        if types.is_timestamp(type_):
            return _Column(values.cast(pa.timestamp("ms", type_.tz), safe=False).cast(pa.int64()))
        if types.is_integer(type_) or types.is_floating(type_) or types.is_boolean(type_):
            return _Column(values)
        return _Column(pa.nulls(len(values)))

    def _sizes(self, columns: Mapping[str, _Column], rows: int) -> list[int]:
        """Bytes of text in each row."""
        sizes = [0] * rows
        for column in columns.values():
            if column.values.type == self._pa.large_binary():
                lengths = self._pc.binary_length(column.values).to_pylist()
                sizes = [size + (length or 0) for size, length in zip(sizes, lengths, strict=True)]
        return sizes

    def _batches(
        self, source: pq.ParquetFile, group: int, columns: list[str] | None, most_rows: int
    ) -> Iterator[tuple[int, pa.RecordBatch | str]]:
        """Batches of a row group, each with its first row's place in it; at the end why the rest cannot be read."""
        about = source.metadata.row_group(group)
        rows = about.num_rows
        size = max(1, min(most_rows, rows * _BATCH_BYTES // max(about.total_byte_size, 1)))
        offset = 0
        try:
            for batch in source.iter_batches(size, row_groups=[group], columns=columns, use_threads=False):
                yield offset, batch
                offset += batch.num_rows
        except (self._pa.ArrowException, OSError, ValueError) as error:
            self._see_who_failed(error)
            yield offset, f"rows {offset} to {rows - 1} of row group {group} cannot be read: {error}"
            return
        if offset != rows:
            yield offset, f"row group {group} has {offset} rows, {rows} were announced"

    def _opened(self, reading: Reading) -> pq.ParquetFile:
        try:
            return self._pq.ParquetFile(
                reading.stream, buffer_size=_BUFFER, pre_buffer=False, page_checksum_verification=True
            )
        except (self._pa.ArrowException, OSError, ValueError) as error:
            raise DamagedFile(
                f"{self.name} is no whole Parquet file ({error}): write it again, or leave it out"
            ) from error

    def _see_who_failed(self, error: Exception) -> None:
        """Raises ``Unavailable`` if the disk or the network failed, not the file."""
        if isinstance(error, OSError) and error.errno is not None:
            raise failing(self.name, error)


def _rows(columns: Mapping[str, _Column]) -> list[dict[str, Any]]:
    """As values of Python. Characters that are not UTF-8 are bytes."""
    names = list(columns)
    return [
        dict(zip(names, row, strict=True)) for row in zip(*(one.to_list() for one in columns.values()), strict=True)
    ]


def _decoded(value: bytes | None) -> str | bytes | None:
    try:
        return None if value is None else value.decode()
    except UnicodeDecodeError:
        return value


def _ways(schema: pa.Schema) -> dict[str, tuple[str, ...]]:
    """For each name by which a value can be reached, the names of the columns that lead there, outer ones first."""
    found: dict[str, tuple[str, ...]] = {name: (name,) for name in schema.names}
    waiting: list[tuple[tuple[str, ...], Any]] = [((field.name,), field.type) for field in schema]
    while waiting:
        way, type_ = waiting.pop(0)
        for index in range(type_.num_fields if str(type_).startswith("struct") else 0):
            inner = type_.field(index)
            found.setdefault(".".join((*way, inner.name)), (*way, inner.name))
            waiting.append(((*way, inner.name), inner.type))
    return found


def _runs(kept: Sequence[bool]) -> Iterator[tuple[int, int]]:
    """The first place and the length of each run of consecutive places that are kept."""
    at = 0
    for is_kept, group in groupby(kept):
        count = len(list(group))
        if is_kept:
            yield at, count
        at += count


def _first_group(source: pq.ParquetFile) -> int | None:
    """The first row group with a row."""
    about = source.metadata
    return next((group for group in range(about.num_row_groups) if about.row_group(group).num_rows), None)


def _first_rows(source: pq.ParquetFile) -> pa.RecordBatch | None:
    """Two rows, or one, with all columns; None if there is none."""
    group = _first_group(source)
    return None if group is None else next(source.iter_batches(2, row_groups=[group], use_threads=False), None)


def _as_written(source: pq.ParquetFile) -> dict[str, Any]:
    """The packing of the columns; pyarrow's default if one of them cannot be read."""
    group = _first_group(source)
    if group is None:
        return {}
    try:
        _first_rows(source)  # Arrow ends the process when it is asked for the name of an unknown compression
    except Exception:
        return {}
    about = source.metadata.row_group(group)
    columns = [about.column(index) for index in range(about.num_columns)]
    names = {"UNCOMPRESSED": "none", "UNKNOWN": "lz4"}  # the first LZ4 of Hadoop, which is read and has no name
    return {"compression": {one.path_in_schema: names.get(one.compression, one.compression) for one in columns}}
