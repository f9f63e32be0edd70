"""Reads Parquet: each row is a page, and only the columns that say something of it are read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from worker.scan.inputs.fields import Chosen, Fields
from worker.scan.inputs.opening import DamagedFile, Reading, StoredFile, failing, needs
from worker.scan.inputs.records import ArchivedPage, BrokenRecord, RecordPlace

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

_BATCH_BYTES: Final = 16 * 1024 * 1024
_BATCH_ROWS: Final = 1024
_FIRST_ROWS: Final = 16
_BUFFER: Final = 1024 * 1024


class ParquetRows:
    """A Parquet file. Of a row group that is damaged, the rows before the damage are read, and the next group.

    Raises:
        DamagedFile: its end, which says where everything is, cannot be read.
        UsageError: pyarrow is not installed, no column holds a page, or one that was named is not there.
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
            columns = list(dict.fromkeys([*schema.names, *_inner(schema)]))
            rows: list[dict[str, Any]] = []
            if source.num_row_groups:
                _, batch = next(self._batches(source, 0, None, _FIRST_ROWS), (0, ""))
                rows = [] if isinstance(batch, str) else self._rows(batch)
        finally:
            reading.close()
        self._chosen: Final = Chosen(file.name, fields, columns, rows)
        # Of a column with a dot in its name the whole is read where it is within another one.
        self._read: Final = list(
            dict.fromkeys(name if name in schema.names else name.split(".")[0] for name in self._chosen.columns)
        )

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

    def write_kept(self, target: Path, keep: Callable[[ArchivedPage], bool]) -> list[BrokenRecord]:
        """With all columns, and a row group for each that has a row left."""
        lost = []
        reading = self._file.open()
        try:
            source = self._opened(reading)
            with self._pq.ParquetWriter(target, source.schema_arrow, **_as_written(source)) as writer:
                begin = 0
                for group in range(source.num_row_groups):
                    kept = [False] * source.metadata.row_group(group).num_rows
                    for record in self._group(source, group, begin):
                        if isinstance(record, ArchivedPage) and keep(record):
                            kept[record.place.offset - begin] = True
                    try:
                        if any(kept):
                            rows = source.read_row_group(group, use_threads=False).filter(self._pa.array(kept))
                            writer.write_table(rows, row_group_size=len(kept))
                    except (self._pa.ArrowException, OSError, ValueError) as error:
                        self._see_who_failed(error)
                        where = RecordPlace(self.name, begin)
                        detail = f"{sum(kept)} pages of row group {group} cannot be read with all columns: {error}"
                        lost.append(BrokenRecord(where, "damaged", detail))
                    begin += source.metadata.row_group(group).num_rows
        finally:
            reading.close()
        return lost

    def _group(self, source: pq.ParquetFile, group: int, begin: int) -> Iterator[ArchivedPage | BrokenRecord]:
        for offset, batch in self._batches(source, group, self._read, _BATCH_ROWS):
            place = RecordPlace(self.name, begin + offset)
            if isinstance(batch, str):
                yield BrokenRecord(place, "damaged", batch)
                return
            sizes = self._sizes(batch)
            fits = [size <= self._most_bytes for size in sizes]
            rows = iter(self._rows(batch if all(fits) else batch.filter(self._pa.array(fits))))
            for index, size in enumerate(sizes):
                place = RecordPlace(self.name, begin + offset + index)
                if fits[index]:
                    yield self._chosen.page(next(rows), place)
                else:
                    yield BrokenRecord(place, "too-large", f"{size} bytes, at most {self._most_bytes} are read")

    def _sizes(self, batch: pa.RecordBatch) -> list[int]:
        """Bytes of text in each row."""
        sizes = [0] * batch.num_rows
        for column in batch.columns:
            if self._is_text(column) or self._is_binary(column):
                lengths = self._pc.binary_length(column).to_pylist()
                sizes = [size + (length or 0) for size, length in zip(sizes, lengths, strict=True)]
        return sizes

    def _rows(self, batch: pa.RecordBatch) -> list[dict[str, Any]]:
        """As values of Python. Characters that are no UTF-8 are bytes; a time is in milliseconds."""
        pa = self._pa
        columns = [
            column.cast(pa.timestamp("ms", column.type.tz), safe=False).cast(pa.int64())
            if pa.types.is_timestamp(column.type)
            else column
            for column in batch.columns
        ]
        try:
            return list(pa.RecordBatch.from_arrays(columns, names=batch.schema.names).to_pylist())
        except ValueError:
            names = [name for name, column in zip(batch.schema.names, columns, strict=True) if self._is_text(column)]
            columns = [column.cast(pa.large_binary()) if self._is_text(column) else column for column in columns]
            rows = list(pa.RecordBatch.from_arrays(columns, names=batch.schema.names).to_pylist())
            for row in rows:
                for name in names:
                    with suppress(UnicodeDecodeError):
                        row[name] = None if row[name] is None else row[name].decode()
            return rows

    def _is_text(self, column: pa.Array) -> bool:
        return bool(self._pa.types.is_string(column.type)) or bool(self._pa.types.is_large_string(column.type))

    def _is_binary(self, column: pa.Array) -> bool:
        return bool(self._pa.types.is_binary(column.type)) or bool(self._pa.types.is_large_binary(column.type))

    def _batches(
        self, source: pq.ParquetFile, group: int, columns: list[str] | None, most_rows: int
    ) -> Iterator[tuple[int, pa.RecordBatch | str]]:
        """Batches of a row group, each with its first row's place in it; at last why the rest cannot be read."""
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
        """Raises ``Unavailable`` where it is the disk or the network, not the file."""
        if isinstance(error, OSError) and error.errno is not None:
            raise failing(self.name, error)


def _inner(schema: pa.Schema) -> Iterator[str]:
    """Names of what stands within columns, with dots."""
    waiting = [(field.name, field.type) for field in schema]
    while waiting:
        before, type_ = waiting.pop(0)
        for index in range(getattr(type_, "num_fields", 0) if str(type_).startswith("struct") else 0):
            inner = type_.field(index)
            yield f"{before}.{inner.name}"
            waiting.append((f"{before}.{inner.name}", inner.type))


def _as_written(source: pq.ParquetFile) -> dict[str, Any]:
    """How the columns are packed."""
    if not source.num_row_groups:
        return {}
    about = source.metadata.row_group(0)
    columns = [about.column(index) for index in range(about.num_columns)]
    names = {"UNCOMPRESSED": "none"}
    return {"compression": {one.path_in_schema: names.get(one.compression, one.compression) for one in columns}}
