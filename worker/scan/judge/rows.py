"""Verdicts as columns: the content of ``verdicts.parquet``, from which lines are made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from crawler_plugin.wire.messages import NEAR_REASONS, NOT_KNOWN
from worker.fingerprint.near import EXACT_BYTES, EXACT_TEXT
from worker.fingerprint.sketch import similarity
from worker.results.rows import OF_SCAN
from worker.verdict.decide import DEAD, DUPLICATE, FIRST, NO_FEATURES, REFETCH, SAME_URL, UNIQUE, Decision, Decisions

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
"""The fields of ``crawler_plugin.wire.outcomes.Verdict`` that a scan writes, in the order of its lines."""

_OUTCOMES: Final = (UNIQUE, DUPLICATE, REFETCH, DEAD)
_REASONS: Final = (*NEAR_REASONS, SAME_URL, FIRST, NO_FEATURES)
_SAME, _FIRST, _BARE = map(_REASONS.index, (SAME_URL, FIRST, NO_FEATURES))
_EXACT: Final = [NEAR_REASONS.index(reason) for reason in (EXACT_TEXT, EXACT_BYTES)]
_SIMILARITY: Final = np.round([min(1.0, max(0.0, similarity(agreeing))) for agreeing in range(NOT_KNOWN + 1)], 4)
"""By equal slots."""
_NONE: Final = -1


class Originals:
    """The survivors that pages of a batch are near to, one for each of m pages.

    ``place`` int64 (m,), ascending, is that of the page; ``number`` int64 (m,) that of the survivor among all pages.
    ``distance`` and ``agreement`` uint8 (m,) are ``NOT_KNOWN`` if they are not known, ``reason`` uint8 (m,) is a place
    in ``NEAR_REASONS``.
    """

    def __init__(self, decisions: Decisions) -> None:
        (answer,) = decisions.answers
        stored = np.flatnonzero(decisions.stored != _NONE)
        hits = decisions.stored[stored]
        here = np.flatnonzero(decisions.earlier != _NONE)
        originals = [decision.original for decision in map(decisions.of, here.tolist())]
        found = [original for original in originals if original is not None]
        place = np.concatenate([stored, here])
        order = np.argsort(place, kind="stable")
        self.place: Final = place[order]

        def column(name: str, dtype: str, others: list[int]) -> NDArray[Any]:
            kept = np.frombuffer(getattr(answer, name), dtype)[hits]
            return np.concatenate([kept, np.array(others, dtype)])[order]

        self.number: Final = column("original_batch", "<i8", [each.order[0] for each in found]) + column(
            "original_place", "<u4", [each.order[1] for each in found]
        )
        self.distance: Final = column("distance", "u1", [_known(each.distance) for each in found])
        self.agreement: Final = column("agreement", "u1", [_known(each.agreement) for each in found])
        self.reason: Final = column("reason", "u1", [NEAR_REASONS.index(each.reason) for each in found])


def verdict_rows(
    records: pa.RecordBatch,
    decisions: Decisions,
    urls_at: Callable[[NDArray[np.int64]], pa.Array],
    ids_at: Callable[[NDArray[np.int64]], pa.Array],
    is_suspect: Callable[[Decision], bool] | None,
) -> pa.RecordBatch:
    """The verdicts on n pages.

    Args:
        records: of the pages, n rows of ``worker.scan.records.schema.SCHEMA``.
        decisions: by one shard on the claims that were made of them, none of which is void.
        urls_at: the URLs of pages by their number, which counts the pages judged before.
        ids_at: the names of these pages.
        is_suspect: whether ``SingleShard`` calls a duplicate suspect; None where no survivor is suspect.
    """
    count, pages, alive = len(records), decisions.claims.pages, decisions.claims.alive
    originals = Originals(decisions)
    place = originals.place
    again = decisions.again[place]
    outcome = np.where(decisions.unique, 0, 3)
    outcome[place] = np.where(again, 2, 1)
    reason = np.where(pages.bare, _BARE, _FIRST)
    reason[place] = np.where(again, _SAME, originals.reason)
    known = np.where(np.isin(originals.reason, _EXACT), 1.0, _SIMILARITY[originals.agreement])
    is_known = (originals.agreement != NOT_KNOWN) | np.isin(originals.reason, _EXACT)
    suspect = np.zeros(count, np.bool_)
    if is_suspect is not None:
        suspect[place] = [is_suspect(decisions.of(number)) for number in place.tolist()]
    title = pages.title
    assert title is not None and pages.sketch is not None and pages.bands is not None
    dead = decisions.claims.dead
    reasons, details = (pa.array([part[number] for part in map(_parted, dead.values())]) for number in (0, 1))
    is_dead = pa.array(~alive)
    made = {
        "verdict": _words(_OUTCOMES, outcome),
        "reason": pc.replace_with_mask(_words(_REASONS, reason), is_dead, reasons.cast(pa.string())),
        "detail": pc.replace_with_mask(_words(("",), np.zeros(count, np.int64)), is_dead, details.cast(pa.string())),
        "suspect": pa.array(suspect),
        "duplicate_of": _at(place, urls_at(originals.number), count),
        "duplicate_of_id": _at(place, ids_at(originals.number), count),
        "distance": _at(place, pa.array(originals.distance, mask=originals.distance == NOT_KNOWN), count),
        "similarity": _at(place, pa.array(known, mask=~is_known), count),
        "fingerprint": pc.if_else(pa.array(~pages.bare), _hex(pages.fingerprint.byteswap()), None),
        "text_hash": pc.if_else(is_dead, "", _hex(pages.text_hash.byteswap())),
        "sketch": _hex_or_empty(pages.sketch),
        "bands": _hex_or_empty(pages.bands),
        "title_hash": pc.if_else(pa.array((title != 0) & (title & 1 == 0)), _hex(title.byteswap()), ""),
        **_changes(decisions, count),
    }
    columns = [made[field.name] if field.name in made else records.column(field.name) for field in ROWS]
    arrays = [column.cast(field.type) for column, field in zip(columns, ROWS, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=ROWS)


def _changes(decisions: Decisions, count: int) -> dict[str, pa.Array]:
    """``previous`` and ``changed``; null where changes are not tracked."""
    if decisions.seen is None:
        return {"previous": pa.nulls(count, pa.string()), "changed": pa.nulls(count, pa.float64())}
    told = [decisions.of(place) for place in range(count)]
    previous = [None if each.change is None else each.change.previous for each in told]
    return {
        "previous": pa.array(previous, pa.string()),
        "changed": pa.array([each.changed for each in told], pa.float64()),
    }


def _parted(dead: str) -> tuple[str, str]:
    """Reason and detail."""
    reason, _, detail = dead.partition(": ")
    return reason, detail


def _known(value: int | None) -> int:
    return NOT_KNOWN if value is None else value


def _words(words: Sequence[str], places: NDArray[np.int64]) -> pa.Array:
    return pa.array(words, pa.string()).take(pa.array(places))


def _at(place: NDArray[np.int64], values: pa.Array, count: int) -> pa.Array:
    """The values at these places out of all, null elsewhere."""
    numbers, missing = np.zeros(count, np.int64), np.ones(count, np.bool_)
    numbers[place], missing[place] = np.arange(len(place)), False
    return values.take(pa.array(numbers, mask=missing))


def _hex(column: NDArray[Any]) -> pa.Array:
    """Each entry's bytes in hex."""
    column = np.ascontiguousarray(column)
    count, width = len(column), 2 * column.dtype.itemsize * (column.shape[1] if column.ndim > 1 else 1)
    digits = pa.py_buffer(column.tobytes().hex().encode())
    ends = pa.py_buffer(np.arange(0, width * (count + 1), width, dtype=np.int32))
    return pa.Array.from_buffers(pa.string(), count, [None, ends, digits])


def _hex_or_empty(column: NDArray[Any]) -> pa.Array:
    """The hex digits of rows of words; empty if all are 0."""
    return pc.if_else(pa.array(column.any(axis=1)), _hex(column), "")
