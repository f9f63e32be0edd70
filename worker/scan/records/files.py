"""Files of records: Parquet, of whoever wrote them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import IO, Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from crawler_plugin.wire.errors import UsageError
from worker.fingerprint.scheme import Scheme
from worker.scan.records.schema import SCHEMA, refuse_others

_WORDS: Final = ["file", "spider", "language", "scheme"]
"""Columns in which few words come again and again."""


class RecordWriter:
    """Writes records to a file that was opened for writing; ``close`` ends it."""

    def __init__(self, target: IO[bytes] | str, schema: pa.Schema) -> None:
        self._writer: Final = pq.ParquetWriter(
            target, schema, compression="zstd", use_dictionary=_WORDS, write_statistics=["file", "fetched", "scheme"]
        )
        self.rows = 0

    def write(self, batches: Sequence[pa.RecordBatch]) -> None:
        """A row group of these."""
        if batches:
            table = pa.Table.from_batches(batches)
            self._writer.write_table(table)
            self.rows += table.num_rows

    def close(self, metadata: Mapping[str, str]) -> None:
        """End it; ``metadata`` are kept beside the records."""
        self._writer.add_key_value_metadata(dict(metadata))
        self._writer.close()


def records_in(name: str, file: Any, scheme: Scheme, rows: int) -> Iterator[pa.RecordBatch]:
    """The records of a file that was opened for reading, in batches of so many rows, of the schema ``SCHEMA``.

    Raises:
        UsageError: it holds no records, or is damaged.
        Refused: they were made with other settings than ``scheme`` says.
    """
    try:
        parquet = pq.ParquetFile(file)
        refuse_others(name, parquet.schema_arrow, (), scheme)
        for batch in parquet.iter_batches(rows, columns=SCHEMA.names):
            refuse_others(name, parquet.schema_arrow, batch.column("scheme").unique().to_pylist(), scheme)
            if batch.schema.remove_metadata() != SCHEMA:
                batch = pa.Table.from_batches([batch]).cast(SCHEMA).combine_chunks().to_batches()[0]
            yield batch
    except pa.ArrowException as error:
        raise UsageError(f"{name} cannot be read as records ({error}): make it anew, or leave it out") from error
