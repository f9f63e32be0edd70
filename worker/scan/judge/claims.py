"""Records as claims, column by column."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from crawler_plugin.wire.errors import Refused
from crawler_plugin.wire.messages import SKETCH_BYTES
from worker.index.queries import Queries
from worker.verdict.claims import Claims

_MOST_MS: Final = 10**15
"""The year 33658: a later time counts something else."""


def claims_of(records: pa.RecordBatch, first: int, now: int, *, sketched: bool) -> Claims:
    """The claims of pages, each dated by its fetch time.

    Args:
        records: n rows of ``worker.scan.records.schema.SCHEMA``, each with a URL.
        first: the offset of the first record; those of the others follow.
        now: dates records without a fetch time, in milliseconds since 1970 UTC.
        sketched: whether the predicate reads sketches; otherwise no claim has any.

    Raises:
        Refused: a sketch is missing or has another length, or there are more than 256 languages.
    """
    count = len(records)
    language = records.column("language").dictionary_encode()
    if len(language.dictionary) > 256:
        raise Refused(f"records of {len(language.dictionary)} languages are no records of this program: make them anew")
    dead = records.column("dead")
    urls, ends = _texts(records.column("url"))
    bare = records.column("fingerprint").is_null().to_numpy(zero_copy_only=False)
    sketch = _words(records.column("sketch"), np.dtype("<u8"), sketched)
    if sketched and not (bare | sketch.any(axis=1)).all():
        raise Refused(
            "records without sketches, as of an index with near.predicate=simhash, can only be judged by that "
            "predicate: set it, or make the records of pages"
        )
    fetched = records.column("fetched").fill_null(now)
    return Claims(
        partition=np.zeros(count, np.int64),
        offset=np.arange(first, first + count, dtype=np.int64),
        clock=np.clip(_int64(fetched), -_MOST_MS, _MOST_MS),
        language=language.indices.to_numpy(zero_copy_only=False).astype(np.uint8),
        languages=tuple(language.dictionary.to_pylist()),
        dead={place: dead[place].as_py() for place in np.flatnonzero(dead.is_valid()).tolist()},
        pages=Queries(
            fingerprint=_int64(records.column("fingerprint").fill_null(0)).view(np.uint64),
            bare=bare,
            text_hash=_int64(records.column("text_hash")).view(np.uint64),
            tokens=_int64(records.column("tokens")).astype(np.uint32),
            bands=_words(records.column("bands"), np.dtype("<u4"), sketched),
            sketch=sketch,
            scope=_int64(records.column("scope")).view(np.uint64),
            site=_int64(records.column("site")).astype(np.uint32),
            title=_int64(records.column("title")).astype(np.uint32),
            title_words=_int64(records.column("title_words")).view(np.uint64),
            doubt=_int64(records.column("doubt")).astype(np.uint8),
        ),
        urls=urls,
        ends=ends,
        canonical=np.zeros(count, np.uint64),
        status=np.zeros(count, np.uint16),
        template=_int64(records.column("template")).astype(np.uint32),
    )


def _int64(column: pa.Array) -> NDArray[np.int64]:
    """Arrow's own memory may not be written to, and kernels accept no read-only arrays."""
    return np.array(column, np.int64)


def _texts(column: pa.Array) -> tuple[bytes, NDArray[np.int64]]:
    """All of them one after the other, and where each ends."""
    if not len(column):
        return b"", np.zeros(0, np.int64)
    _, ends, content = column.buffers()
    offsets = np.frombuffer(ends, np.int32)[column.offset : column.offset + len(column) + 1]
    return bytes(memoryview(content)[offsets[0] : offsets[-1]]), (offsets[1:] - offsets[0]).astype(np.int64)


def _words(column: pa.BinaryArray, dtype: np.dtype[Any], wanted: bool) -> NDArray[Any]:
    """(n, 32 / itemsize); zeros where they are not wanted."""
    shape = len(column), SKETCH_BYTES // dtype.itemsize
    if not wanted:
        return np.zeros(shape, dtype)
    if not pc.all(pc.equal(pc.binary_length(column), SKETCH_BYTES)).as_py() and len(column):
        raise Refused(f"a sketch does not have {SKETCH_BYTES} bytes: make the records anew")
    return np.frombuffer(_texts(column)[0], dtype).reshape(shape).copy()
