"""Verdicts as columns: what stands in ``verdicts.parquet``, and what lines are made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from worker.results.rows import OF_SCAN
from worker.verdict.decide import DEAD, DUPLICATE, FIRST, NO_FEATURES, UNIQUE, Decision, Decisions

_TYPES: Final = {
    "offset": pa.int64(),
    "distance": pa.int16(),
    "similarity": pa.float64(),
    "tokens": pa.int64(),
    "fetched": pa.int64(),
    "changed": pa.float64(),
    "suspect": pa.bool_(),
}
ROWS: Final = pa.schema([(name, _TYPES.get(name, pa.string())) for name in OF_SCAN])
"""The fields of ``crawler_plugin.wire.outcomes.Verdict`` that a scan tells, in the order of its lines."""


def verdict_rows(
    records: pa.RecordBatch,
    decisions: Decisions,
    id_of: Callable[[int], str | None],
    is_suspect: Callable[[Decision], bool],
) -> pa.RecordBatch:
    """The verdicts on n pages.

    Args:
        records: of the pages, n rows of ``worker.scan.records.schema.SCHEMA``.
        decisions: on the claims that were made of them, none of which is void.
        id_of: what the page is called that was judged after so many others.
        is_suspect: what ``SingleShard`` says of a duplicate.
    """
    count = len(records)
    pages = decisions.claims.pages
    outcome = np.where(decisions.unique, UNIQUE, "").astype(object)
    reason = np.where(decisions.unique, np.where(pages.bare, NO_FEATURES, FIRST), "").astype(object)
    detail = np.full(count, "", object)
    suspect = np.zeros(count, np.bool_)
    names = "duplicate_of", "duplicate_of_id", "distance", "similarity", "previous", "changed"
    told: dict[str, list[Any]] = {name: [None] * count for name in names}
    looked_at = ~decisions.unique if decisions.seen is None else np.ones(count, np.bool_)
    for place in np.flatnonzero(looked_at).tolist():
        decision = decisions.of(place)
        original = decision.original
        outcome[place] = decision.outcome
        reason[place] = decision.reason
        if decision.outcome == DEAD:
            reason[place], _, detail[place] = decision.reason.partition(": ")
        if decision.change is not None:
            told["previous"][place], told["changed"][place] = decision.change.previous, decision.changed
        if original is not None:
            similarity = decision.similarity
            told["duplicate_of"][place] = original.url
            told["duplicate_of_id"][place] = id_of(sum(original.order))
            told["distance"][place] = original.distance
            told["similarity"][place] = None if similarity is None else round(similarity, 4)
            suspect[place] = decision.outcome == DUPLICATE and is_suspect(decision)
    alive = pa.array(decisions.claims.alive)
    title = pages.title
    assert title is not None and pages.sketch is not None and pages.bands is not None
    made = {
        **told,
        "verdict": outcome,
        "reason": reason,
        "detail": detail,
        "suspect": suspect,
        "fingerprint": _hex(pages.fingerprint.byteswap(), ~pages.bare),
        "text_hash": pc.if_else(alive, _hex(pages.text_hash.byteswap()), ""),
        "sketch": _hex_or_empty(pages.sketch),
        "bands": _hex_or_empty(pages.bands),
        "title_hash": pc.if_else(pa.array((title != 0) & (title & 1 == 0)), _hex(title.byteswap()), ""),
    }
    columns = [
        pa.array(made[field.name], field.type) if field.name in made else records.column(field.name) for field in ROWS
    ]
    return pa.RecordBatch.from_arrays(columns, schema=ROWS)


def _hex(column: NDArray[Any], valid: NDArray[np.bool_] | None = None) -> pa.Array:
    """Each entry's bytes in hex, null where they are not ``valid``."""
    column = np.ascontiguousarray(column)
    count, width = len(column), 2 * column.nbytes // max(1, len(column))
    digits = pa.py_buffer(column.tobytes().hex().encode())
    ends = pa.py_buffer(np.arange(0, width * (count + 1), width or 1, dtype=np.int32)[: count + 1])
    found = pa.Array.from_buffers(pa.string(), count, [None, ends, digits])
    return found if valid is None else pc.if_else(pa.array(valid), found, None)


def _hex_or_empty(column: NDArray[Any]) -> pa.Array:
    """Of rows of words; empty where all are 0."""
    return pc.if_else(pa.array(column.any(axis=1)), _hex(column), "")
