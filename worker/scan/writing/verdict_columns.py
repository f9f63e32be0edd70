"""The verdicts of a scan in Parquet, read by columns, and by rows at any places."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from crawler_plugin.wire.errors import UsageError
from worker.places import Folder
from worker.scan.inputs.opening import needs

if TYPE_CHECKING:
    import pyarrow as pa

Numbers = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]

FILE: Final = "verdicts.parquet"
FOLDER: Final = "verdicts"
_BATCH_ROWS: Final = 64 * 1024


class VerdictColumns:
    """``verdicts.parquet`` of a folder, or all files of its folder ``verdicts`` in the order of their names: one row
    for each page, in the order of the archives.

    Raises:
        UsageError: there are none, one cannot be read, or pyarrow is not installed.
    """

    def __init__(self, folder: Folder) -> None:
        try:
            import pyarrow.parquet as pq
        except ImportError as error:
            raise needs("pyarrow", f"reading the verdicts in {folder}") from error
        self._pq: Final = pq
        self._folder: Final = folder
        within = [f"{FOLDER}/{name}" for name in Folder(folder.path(FOLDER)).names(".parquet")]
        names = within or [FILE] * (folder.size(FILE) is not None)
        if not names:
            raise UsageError(
                f"{folder} holds neither {FILE} nor {FOLDER}/*.parquet: name the folder of a scan's result"
            )
        self._files: Final = [(name, self._rows_in(name)) for name in names]
        self.rows: Final = sum(rows for _, rows in self._files)

    def batches(self, columns: Sequence[str], begin: int = 0, end: int | None = None) -> Iterator[pa.RecordBatch]:
        """These columns of the rows from ``begin`` up to ``end``, in order.

        Raises:
            UsageError: a file lacks one of them.
        """
        at = 0
        end = self.rows if end is None else end
        for name, rows in self._files:
            if at < end and begin < at + rows:
                yield from self._batches_in(name, columns, max(0, begin - at), min(rows, end - at))
            at += rows

    def places(self, columns: Sequence[str], rows: Numbers) -> Iterator[tuple[Numbers, pa.RecordBatch]]:
        """These columns of some rows, whose numbers ascend: which of ``rows`` stand in a batch, and the batch of them.

        Everything is read once; only what was asked for is held.
        """
        at = done = 0
        for batch in self.batches(columns):
            until = int(np.searchsorted(rows, at + batch.num_rows))
            if until > done:
                yield np.arange(done, until), batch.take(_indices(rows[done:until] - at))
            at, done = at + batch.num_rows, until
            if done == len(rows):
                return

    def _rows_in(self, name: str) -> int:
        with self._folder.open(name) as file:
            return int(self._opened(name, file).metadata.num_rows)

    def _batches_in(self, name: str, columns: Sequence[str], begin: int, end: int) -> Iterator[pa.RecordBatch]:
        with self._folder.open(name) as file:
            source = self._opened(name, file)
            if missing := sorted(set(columns) - set(source.schema_arrow.names)):
                raise UsageError(
                    f"{self._folder.path(name)} has no column {missing[0]!r}: name the folder of a scan's result"
                )
            at = 0
            for group in range(source.num_row_groups):
                rows = source.metadata.row_group(group).num_rows
                if at < end and begin < at + rows:
                    for batch in self._batches_of(name, source, group, columns):
                        low, high = max(0, begin - at), min(batch.num_rows, end - at)
                        if low < high:
                            yield batch.slice(low, high - low).select(list(columns))
                        at += batch.num_rows
                else:
                    at += rows

    def _batches_of(self, name: str, source: Any, group: int, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        with self._whole(name):
            yield from source.iter_batches(_BATCH_ROWS, row_groups=[group], columns=list(columns))

    def _opened(self, name: str, file: Any) -> Any:
        with self._whole(name):
            return self._pq.ParquetFile(file, page_checksum_verification=True)

    @contextmanager
    def _whole(self, name: str) -> Iterator[None]:
        try:
            yield
        except (ValueError, OSError) as error:  # Arrow's errors are values, or have no number
            if isinstance(error, OSError) and error.errno is not None:
                raise
            raise UsageError(
                f"{self._folder.path(name)} is no whole Parquet file ({error}): let the command that wrote it end, or "
                "run it again"
            ) from error


def from_hex(values: pa.Array, size: int) -> tuple[Bytes, npt.NDArray[np.bool_]]:
    """Words of ``2 * size`` hex digits as bytes, (n, size), and which of them are valid; others are zeros.

    Raises:
        ValueError: one has other digits, or more or fewer of them.
    """
    import pyarrow as pa

    column = values.cast(pa.large_binary())
    ends = np.frombuffer(column.buffers()[1], np.int64)[column.offset : column.offset + len(column) + 1]
    lengths = np.diff(ends)
    there = lengths > 0
    if (lengths[there] != 2 * size).any():
        raise ValueError(f"a word does not have {2 * size} hex digits")
    found = np.zeros((len(column), size), np.uint8)
    if there.any():
        text = np.frombuffer(column.buffers()[2], np.uint8)
        digits = _DIGITS[text[ends[:-1][there][:, None] + np.arange(2 * size)]]
        if (digits > 15).any():
            raise ValueError("a word has a character that is no hex digit")
        found[there] = digits[:, ::2] << np.uint8(4) | digits[:, 1::2]
    return found, there


def _indices(places: Numbers) -> pa.Array:
    import pyarrow as pa

    return pa.array(places)


_DIGITS: Final = np.full(256, 255, np.uint8)
for _digit in range(16):
    for _letter in {f"{_digit:x}", f"{_digit:X}"}:
        _DIGITS[ord(_letter)] = _digit
