"""Records of archives by processes of this machine, a file each: ``python examples/records_processes.py OUT INPUT…``.

``python -m worker fingerprint`` does the same; this example is for programs that have pages of their own to add, or a
pool. Then ``python -m worker judge OUT`` judges them in the order of the files' names.
"""

from __future__ import annotations

import sys
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import pyarrow.parquet as pq

from worker.records import SCHEMA, fingerprint, pages


def write_records(out: Path, archive: str) -> int:
    """Write the records and return their number; the file gets its name when it is whole."""
    target = out / f"{Path(archive).name}.parquet"
    beside = target.with_suffix(".unfinished")
    count = 0
    with pq.ParquetWriter(beside, SCHEMA, compression="zstd") as writer:
        for batch in pages(archive):
            writer.write_batch(fingerprint(batch))
            count += len(batch)
    beside.rename(target)
    return count


if __name__ == "__main__":
    folder, archives = Path(sys.argv[1]), sys.argv[2:]
    folder.mkdir(parents=True, exist_ok=True)
    with ProcessPoolExecutor() as pool:
        for name, number in zip(archives, pool.map(partial(write_records, folder), archives), strict=True):
            print(f"{number:,} records of {name}")
