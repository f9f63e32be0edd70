"""Rows of verdicts as JSON lines, CSV or Parquet; in the first two each row is there as soon as it comes."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, Final

from worker.results.rows import COUNTS, line_of

JSONL: Final = "jsonl"
CSV: Final = "csv"
PARQUET: Final = "parquet"
FORMATS: Final = (JSONL, CSV, PARQUET)
_OF_FORMULAS: Final = tuple("=+-@\t\r\n'＝＋－＠")
"""First signs of texts that a spreadsheet runs, the wide ones included, and the sign that prevents it."""
_GROUP_ROWS: Final = 50_000

Row = dict[str, Any]


def write_jsonl(rows: Iterable[Row], out: BinaryIO) -> None:
    """A line of JSON for each row."""
    for row in rows:
        out.write(line_of(row))
        out.flush()


def write_csv(rows: Iterable[Row], names: Sequence[str], out: BinaryIO) -> None:
    """A line with the names, then one for each row; unknown values are empty.

    A text that a spreadsheet would run as a formula (OWASP, "CSV Injection") has ``'`` before it, and so has a text
    that begins with ``'``: removing one from each text that begins with it restores the original. Texts are in quotes,
    so that no ``;`` in them begins a cell either.
    """
    text = io.TextIOWrapper(out, encoding="utf-8", newline="", write_through=True)
    lines = csv.writer(text, quoting=csv.QUOTE_NONNUMERIC)
    lines.writerow(names)
    for row in rows:
        lines.writerow(map(_harmless, row.values()))
        text.flush()
    text.detach()


def _harmless(value: object) -> object:
    return f"'{value}" if isinstance(value, str) and value.startswith(_OF_FORMULAS) else value


def write_parquet(rows: Iterator[Row], names: Sequence[str], out: Path) -> None:
    """A file of columns of these names.

    Raises:
        OSError: there is no room.
    """
    import pyarrow as pa  # the library is large, and only this needs it
    import pyarrow.parquet as pq

    types = {
        "offset": pa.int64(),
        "distance": pa.int16(),
        "similarity": pa.float32(),
        "changed": pa.float32(),
        "tokens": pa.int64(),
        "status": pa.int64(),
        "partition": pa.int64(),
        "fetched": pa.timestamp("ms", tz="UTC"),
        "suspect": pa.bool_(),
        **dict.fromkeys(COUNTS, pa.int64()),
    }
    schema = pa.schema([(name, types.get(name, pa.string())) for name in names])
    with pq.ParquetWriter(out, schema, compression="zstd", write_page_checksum=True) as writer:
        while group := list(islice(rows, _GROUP_ROWS)):
            writer.write_table(pa.Table.from_pylist(group, schema=schema))
