"""Files of records: Parquet, whatever program wrote them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from crawler_plugin.wire.errors import UsageError
from worker.fingerprint.scheme import Scheme
from worker.scan.inputs.archive_ref import ArchiveRef
from worker.scan.records.schema import SCHEMA, refuse_incomplete, refuse_others, words_of

_ARCHIVE: Final = "crawl-dedup.archive"
_PASSED_OVER: Final = "crawl-dedup.passed-over"
_GROUP_ROWS: Final = 1 << 16
_WORDS: Final = ["file", "spider", "language", "scheme"]
"""Columns in which few words come again and again."""


class RecordWriter:
    """Writes a file of records, in row groups of ``_GROUP_ROWS``; ``close`` ends it."""

    def __init__(self, target: Path, schema: pa.Schema) -> None:
        self._writer: Final = pq.ParquetWriter(
            target,
            schema,
            compression="zstd",
            use_dictionary=_WORDS,
            write_statistics=["file", "fetched", "scheme"],
            write_page_checksum=True,
        )
        self._held: list[pa.RecordBatch] = []
        self._rows = 0

    def write(self, batch: pa.RecordBatch) -> None:
        """Add these records."""
        self._held.append(batch)
        self._rows += len(batch)
        if self._rows >= _GROUP_ROWS:
            self._flush()

    def close(self, metadata: Mapping[str, str]) -> None:
        """End the file; ``metadata`` are kept with the records."""
        self._flush()
        self._writer.add_key_value_metadata(dict(metadata))
        self._writer.close()

    def _flush(self) -> None:
        if self._held:
            self._writer.write_table(pa.Table.from_batches(self._held))
        self._held, self._rows = [], 0


class AboutRecords(NamedTuple):
    """A file's description of itself: the number of rows, the words of their scheme, the archive that they are of, and
    which records of the archive hold no page. Without an archive another program has written the file."""

    rows: int
    scheme: Scheme | None
    archive: ArchiveRef | None
    passed_over: Mapping[str, int]


def of_archive(archive: ArchiveRef, passed_over: Mapping[str, int]) -> dict[str, str]:
    """The metadata of its records."""
    return {
        _ARCHIVE: msgspec.json.encode(archive).decode(),
        _PASSED_OVER: msgspec.json.encode(dict(passed_over)).decode(),
    }


def about_records(name: str, file: BinaryIO) -> AboutRecords:
    """The description in the file, which is closed then.

    Raises:
        UsageError: it is no Parquet, or is damaged.
    """
    with file, as_usage_error(name):
        found = parquet(file)
        words = found.schema_arrow.metadata or {}
        kept = {**words, **(found.metadata.metadata or {})}
        archive, passed_over = kept.get(_ARCHIVE.encode()), kept.get(_PASSED_OVER.encode(), b"{}")
        return AboutRecords(
            found.metadata.num_rows,
            words_of(found.schema_arrow),
            None if archive is None else msgspec.json.decode(archive, type=ArchiveRef),
            msgspec.json.decode(passed_over, type=dict[str, int]),
        )


def records_in(name: str, file: BinaryIO | Path, scheme: Scheme, rows: int) -> Iterator[pa.RecordBatch]:
    """The records of a file, in batches of this many rows, of the schema ``SCHEMA``.

    Raises:
        UsageError: it holds no records, or is damaged.
        Refused: they were made with other settings than ``scheme`` says.
    """
    with as_usage_error(name), parquet(file) as found:
        refuse_others(name, found.schema_arrow, (), scheme)
        for batch in found.iter_batches(rows, columns=SCHEMA.names):
            refuse_others(name, found.schema_arrow, batch.column("scheme").unique().to_pylist(), scheme)
            refuse_incomplete(name, batch)
            yield batch if batch.schema.equals(SCHEMA) else _cast(batch)


def _cast(batch: pa.RecordBatch) -> pa.RecordBatch:
    columns = [batch.column(field.name).cast(field.type) for field in SCHEMA]
    return pa.RecordBatch.from_arrays(columns, schema=SCHEMA)


def parquet(file: BinaryIO | Path) -> pq.ParquetFile:
    """The Parquet file, whose pages are compared with their checksums, if they have any, when they are read."""
    return pq.ParquetFile(file, page_checksum_verification=True)


@contextmanager
def as_usage_error(name: str) -> Iterator[None]:
    """Turns errors about a file of this name that is no Parquet, or is damaged, into ``UsageError``."""
    try:
        yield
    except (pa.ArrowException, msgspec.DecodeError, UnicodeDecodeError, RecursionError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:  # of the disk; Arrow's own have no number
            raise
        raise UsageError(f"{name} cannot be read as records ({error}): make it anew, or leave it out") from error
