"""``verdicts.parquet``: the lines of ``verdicts.jsonl`` as columns."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from worker.scan.inputs.packed_file import renamed_when_whole
from worker.scan.rows import VerdictRow

FILE: Final = "verdicts.parquet"
_GROUP_ROWS: Final = 50_000
_TYPES: Final[dict[str, Any]] = {
    "offset": pa.int64(),
    "distance": pa.int16(),
    "similarity": pa.float32(),
    "tokens": pa.int64(),
    "fetched": pa.timestamp("ms", tz="UTC"),
}
"""Of columns that are not text."""
SCHEMA: Final = pa.schema([(name, _TYPES.get(name, pa.string())) for name in VerdictRow.__struct_fields__])


def write_parquet(lines: Path, target: Path) -> None:
    """Write the rows of ``lines``, a ``verdicts.jsonl``, in their order; the file has its name once it is whole.

    Raises:
        OSError: there is no room.
        UnreadableRecord: a line is no verdict.
    """
    with (
        lines.open("rb") as source,
        renamed_when_whole(target) as beside,
        pq.ParquetWriter(beside, SCHEMA, compression="zstd") as writer,
    ):
        while rows := [VerdictRow.decode(line) for line in islice(source, _GROUP_ROWS)]:
            columns = {name: [getattr(row, name) for row in rows] for name in VerdictRow.__struct_fields__}
            writer.write_table(pa.table(columns, schema=SCHEMA))
