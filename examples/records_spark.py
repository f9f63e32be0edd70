"""Records of pages by Spark: ``python examples/records_spark.py OUT INPUT…``, then ``python -m worker judge OUT``.

Inputs are archives, each read by one task, or Parquet tables with the columns ``url`` and ``body``. On a cluster leave
out ``master``, take ``spark-submit``, and install ``crawl-dedup[scan]`` on each machine.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql import SparkSession

from worker.records import SCHEMA, fingerprint, pages

TYPES = {pa.string(): "string", pa.int64(): "bigint", pa.binary(): "binary"}
COLUMNS = ", ".join(f"{column.name} {TYPES[column.type]}" for column in SCHEMA)


def of_archives(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    return (fingerprint(page) for batch in batches for page in pages(*batch.column("path").to_pylist()))


def of_pages(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    return map(fingerprint, batches)


if __name__ == "__main__":
    out, *inputs = sys.argv[1:]
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    batch_rows = "spark.sql.execution.arrow.maxRecordsPerBatch"  # of pages; 10,000 by default, some 400 MB
    spark = SparkSession.builder.master("local[2]").config(batch_rows, 256).getOrCreate()
    if inputs[0].endswith(".parquet"):
        records = spark.read.parquet(*inputs).select("url", "body").mapInArrow(of_pages, COLUMNS)
    else:  # pages are judged in the order of the paths
        paths = spark.createDataFrame([(path,) for path in sorted(inputs)], "path string")
        records = paths.repartitionByRange(len(inputs), "path").mapInArrow(of_archives, COLUMNS)
    records.write.parquet(out)
