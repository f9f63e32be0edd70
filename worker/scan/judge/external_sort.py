"""Sorts more rows than memory holds by a number each."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

KEY: Final = "key"
"""The column of the numbers, int64, after all others."""
_AT_ONCE: Final = 1 << 20
"""Rows that are sorted in memory."""
_GROUP_ROWS: Final = 1 << 14


def with_key(rows: pa.RecordBatch, keys: NDArray[np.int64]) -> pa.RecordBatch:
    """The rows with a number each."""
    return rows.append_column(KEY, pa.array(keys))


def in_order(
    rows: Callable[[], Iterable[pa.RecordBatch]], keys: NDArray[np.int64], folder: Path
) -> Iterator[pa.RecordBatch]:
    """The rows by rising key, those of equal keys in the order in which they came.

    Args:
        rows: returns all of them, with keys.
        keys: all of them, in any order: by these the rows are divided into files that can be sorted separately.
        folder: for these files; it is made, and deleted at the end.
    """
    parts = -(-len(keys) // _AT_ONCE) or 1
    bounds = np.sort(keys)[_AT_ONCE::_AT_ONCE] if parts > 1 else keys[:0]
    bounds = np.unique(bounds)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    writers: dict[int, pq.ParquetWriter] = {}
    held: dict[int, list[pa.RecordBatch]] = {}
    try:
        for batch in rows():
            numbers = np.searchsorted(bounds, batch.column(KEY).to_numpy(), side="right")
            for number in np.unique(numbers).tolist():
                own = held.setdefault(number, [])
                own.append(batch.filter(pa.array(numbers == number)))
                if sum(map(len, own)) >= _GROUP_ROWS:
                    _write(writers, number, held.pop(number), folder)
        for number in [*held]:
            _write(writers, number, held.pop(number), folder)
    finally:
        for writer in writers.values():
            writer.close()
    for number in sorted(writers):
        file = folder / f"{number}.parquet"
        table = pq.read_table(file)
        order = np.argsort(table.column(KEY).to_numpy(), kind="stable")
        yield from table.take(order).drop_columns([KEY]).to_batches(_GROUP_ROWS)
        file.unlink()
    shutil.rmtree(folder)


def _write(writers: dict[int, pq.ParquetWriter], number: int, batches: list[pa.RecordBatch], folder: Path) -> None:
    if number not in writers:
        writers[number] = pq.ParquetWriter(folder / f"{number}.parquet", batches[0].schema, compression="zstd")
    writers[number].write_table(pa.Table.from_batches(batches))
