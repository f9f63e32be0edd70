"""Claims made of columns are those that are made one by one."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler_plugin.wire.errors import Refused
from crawler_plugin.wire.messages import Claim
from worker.scan.judge.claims import claims_of
from worker.scan.records.schema import SCHEMA, RecordRow, as_records
from worker.verdict.claims import Claims

U64 = st.integers(0, 2**64 - 1)
U32 = st.integers(0, 2**32 - 1)
SKETCH = st.binary(min_size=32, max_size=32)
SKETCHES = SKETCH | st.just(b"")


@st.composite
def claims(draw: st.DrawFn) -> Claim:
    fingerprint = draw(U64 | st.none())
    return Claim(
        partition=0,
        offset=0,
        clock=draw(st.integers(-(10**12), 10**13)),
        url=draw(st.text(st.characters(codec="utf-8"), min_size=1, max_size=9)),
        fingerprint=fingerprint,
        text_hash=draw(U64),
        tokens=draw(U32),
        language=draw(st.sampled_from(["", "zh", "latin"])),
        dead=draw(st.none() | st.just("timeout") | st.just("bad-url: no host")),
        sketch=draw(SKETCHES if fingerprint is None else SKETCH.filter(any)),
        bands=draw(SKETCHES),
        scope=draw(U64),
        template=draw(U32),
        site=draw(U32),
        title=draw(U32),
        title_words=draw(U64),
        doubt=draw(st.integers(0, 2)),
    )


def row_of(claim: Claim, fetched: int | None = None) -> RecordRow:
    said = {name: getattr(claim, name) for name in RecordRow._fields if hasattr(claim, name)}
    said |= {"offset": 0, "canonical": None, "sketch": claim.sketch or bytes(32), "bands": claim.bands or bytes(32)}
    return RecordRow(file="f", id="i", fetched=fetched, **said)


def records_of(rows: list[Claim]) -> pa.RecordBatch:
    return as_records([row_of(row, row.clock) for row in rows], SCHEMA)


def columns(found: Claims) -> dict[str, Any]:
    pages = {field.name: getattr(found.pages, field.name) for field in fields(found.pages)}
    names = (field.name for field in fields(found) if field.name not in ("rows", "pages", "languages", "language"))
    return pages | {name: getattr(found, name) for name in names} | {"language": [row.language for row in found]}


@given(st.lists(claims(), max_size=6), st.integers(0, 3), st.booleans())
def test_they_are_the_claims_that_the_records_were_made_of(rows: list[Claim], first: int, cut: bool) -> None:
    records = records_of(rows)
    if cut:
        records, rows = records.slice(1), rows[1:]
    found = claims_of(records, first, 0, sketched=True)
    expected = Claims.of([row.at(first + place, row.clock) for place, row in enumerate(rows)])
    for name, column in columns(expected).items():
        np.testing.assert_array_equal(columns(found)[name], column, name)


def test_pages_without_a_fetch_time_are_dated_now_and_sketches_are_left_out_where_nobody_asks_for_them() -> None:
    row = Claim(partition=0, offset=0, clock=0, url="u", sketch=b"s" * 32, bands=b"b" * 32)
    found = claims_of(as_records([row_of(row)], SCHEMA), 0, 17, sketched=False)
    assert found.clock.tolist() == [17]
    assert (found[0].sketch, found[0].bands) == (b"", b"")


def test_a_sketch_of_another_length_is_refused() -> None:
    row = row_of(Claim(partition=0, offset=0, clock=0, url="u", bands=b"b" * 32))._replace(bands=b"short")
    with pytest.raises(Refused, match="32 bytes"):
        claims_of(as_records([row], SCHEMA), 0, 0, sketched=True)
