"""Records of pages by Ray Data: ``python examples/records_ray.py OUT INPUT…``, then ``python -m worker judge OUT``.

Inputs are archives, each read by one task, or Parquet tables with the columns ``url`` and ``body``. On a cluster,
install ``crawl-dedup[scan]`` on each machine.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pyarrow as pa
import ray

from worker.records import fingerprint, pages


def of_archive(row: pa.Table) -> Iterator[pa.Table]:
    for batch in pages(*row["path"].to_pylist()):
        yield pa.Table.from_batches([fingerprint(batch)])


def of_pages(table: pa.Table) -> pa.Table:
    return pa.Table.from_batches([fingerprint(batch) for batch in table.to_batches()])


if __name__ == "__main__":
    out, *inputs = sys.argv[1:]
    ray.data.DataContext.get_current().execution_options.preserve_order = True  # pages are judged in this order
    if inputs[0].endswith(".parquet"):
        table = ray.data.read_parquet(inputs).select_columns(["url", "body"])
        records = table.map_batches(of_pages, batch_format="pyarrow", batch_size=256)
    else:
        paths = ray.data.from_items([{"path": path} for path in sorted(inputs)], override_num_blocks=len(inputs))
        records = paths.map_batches(of_archive, batch_format="pyarrow", batch_size=1)
    records.write_parquet(out)
