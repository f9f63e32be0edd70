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
_OF_FORMULAS: Final = tuple("=+-@\t\r\n'＝＋－＠")
"""Signs with which a text begins that a spreadsheet runs, the wide ones included, and the one that keeps it."""


def write_jsonl(rows: Iterable[JobRow], out: BinaryIO) -> None:
    """A line of JSON a row."""
    for row in rows:
        out.write(row.encode())
        out.flush()


def write_csv(rows: Iterable[JobRow], out: BinaryIO) -> None:
    """A line with the names, then one a row; what is not known is empty.

    A text that a spreadsheet would take for a formula (OWASP, "CSV Injection") has ``'`` before it, and so has one that
    begins with ``'``: who takes one away from each text that begins with it has what was there. Texts are in quotes, so
    that no ``;`` in them begins a cell either.
    """
    text = io.TextIOWrapper(out, encoding="utf-8", newline="", write_through=True)
    lines = csv.writer(text, quoting=csv.QUOTE_NONNUMERIC)
    lines.writerow(JobRow.__struct_fields__)
    for row in rows:
        lines.writerow([_harmless(getattr(row, name)) for name in JobRow.__struct_fields__])
        text.flush()
    text.detach()


def _harmless(value: object) -> object:
    return f"'{value}" if isinstance(value, str) and value.startswith(_OF_FORMULAS) else value


def write_as_parquet(rows: Iterable[JobRow], out: Path) -> None:
    """A file that has its name once it is whole."""
    from worker.scan.parquet_rows import write_parquet  # the library is large, and only this needs it

    with TemporaryDirectory(dir=out.parent) as folder:
        lines = Path(folder) / "rows"
        with lines.open("wb") as file:
            write_jsonl(rows, file)
        write_parquet(lines, out, JobRow)
