"""Lines of JSON as columns: ``verdicts.parquet`` of a scan, and the verdicts of a crawl."""

from __future__ import annotations

from itertools import islice
from operator import attrgetter
from pathlib import Path
from typing import Any, ClassVar, Final, Protocol, Self

import pyarrow as pa
import pyarrow.parquet as pq

from crawler_plugin.wire.files import replaced
from worker.scan.rows import VerdictRow

FILE: Final = "verdicts.parquet"
_GROUP_ROWS: Final = 50_000
_TYPES: Final[dict[str, Any]] = {
    "offset": pa.int64(),
    "distance": pa.int16(),
    "similarity": pa.float32(),
    "tokens": pa.int64(),
    "status": pa.int64(),
    "partition": pa.int64(),
    "fetched": pa.timestamp("ms", tz="UTC"),
    "suspect": pa.bool_(),
}
"""Of columns that are not text."""


class Decodable(Protocol):
    """A row of named fields, which a line of JSON holds."""

    __struct_fields__: ClassVar[tuple[str, ...]]

    @classmethod
    def decode(cls, line: bytes) -> Self:
        """Raises ``UnreadableRecord`` for anything that is no such row."""


def write_parquet(lines: Path, target: Path, kind: type[Decodable] = VerdictRow) -> None:
    """Write the rows of ``lines``, by default a ``verdicts.jsonl``, in their order; the file has its name once it is
    whole.

    Raises:
        OSError: there is no room.
        UnreadableRecord: a line is no such row.
    """
    names = kind.__struct_fields__
    values = attrgetter(*names)
    schema = pa.schema([(name, _TYPES.get(name, pa.string())) for name in names])
    with (
        lines.open("rb") as source,
        replaced(target) as beside,
        pq.ParquetWriter(beside, schema, compression="zstd") as writer,
    ):
        while rows := [kind.decode(line) for line in islice(source, _GROUP_ROWS)]:
            columns = zip(*map(values, rows), strict=True)
            writer.write_table(pa.table(dict(zip(names, columns, strict=True)), schema=schema))
