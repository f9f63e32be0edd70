"""The rows of a job as JSON lines, CSV or Parquet, each as soon as it is there but for Parquet."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO, Final

from worker.jobs.rows import JobRow

JSONL: Final = "jsonl"
CSV: Final = "csv"
PARQUET: Final = "parquet"
FORMATS: Final = (JSONL, CSV, PARQUET)


def write_jsonl(rows: Iterable[JobRow], out: BinaryIO) -> None:
    """A line of JSON a row."""
    for row in rows:
        out.write(row.encode())
        out.flush()


def write_csv(rows: Iterable[JobRow], out: BinaryIO) -> None:
    """A line with the names, then one a row; what is not known is empty."""
    text = io.TextIOWrapper(out, encoding="utf-8", newline="", write_through=True)
    lines = csv.writer(text)
    lines.writerow(JobRow.__struct_fields__)
    for row in rows:
        lines.writerow([getattr(row, name) for name in JobRow.__struct_fields__])
        text.flush()
    text.detach()


def write_as_parquet(rows: Iterable[JobRow], out: Path) -> None:
    """A file that has its name once it is whole."""
    from worker.scan.parquet_rows import write_parquet  # the library is large, and only this needs it

    with TemporaryDirectory(dir=out.parent) as folder:
        lines = Path(folder) / "rows"
        with lines.open("wb") as file:
            write_jsonl(rows, file)
        write_parquet(lines, out, JobRow)
