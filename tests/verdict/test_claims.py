"""Claims as columns: nothing is lost on the way through a record, and contradictory columns are refused."""

from __future__ import annotations

import zlib
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler_plugin.wire import messages
from crawler_plugin.wire.errors import UnreadableRecord
from crawler_plugin.wire.messages import (
    NOT_STORED,
    PARDONED,
    VERSIONS,
    Batch,
    Claim,
    FlaggedBatch,
    OtherVersion,
    decode,
    encode,
)
from tests.columns import batch_of, claims_of
from worker.fingerprint.sketch import SKETCH_BYTES
from worker.verdict.claims import Claims

U64 = st.integers(0, 2**64 - 1)
U32 = st.integers(0, 2**32 - 1)
I64 = st.integers(-(2**63), 2**63 - 1)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
NOT_ZERO = st.binary(min_size=SKETCH_BYTES, max_size=SKETCH_BYTES).filter(any)
CLAIMS = st.builds(
    Claim,
    partition=st.integers(-(2**31), 2**31 - 1),
    offset=I64,
    clock=I64,
    url=TEXT,
    fingerprint=st.none() | U64,
    text_hash=U64,
    tokens=st.integers(0, 2**32 - 1),
    language=st.sampled_from(["", "en", "zh"]),
    dead=st.none() | TEXT,
    sketch=st.just(b"") | NOT_ZERO,
    bands=st.just(b"") | NOT_ZERO,
    scope=U64,
    canonical=U64,
    status=st.integers(0, 2**16 - 1),
    template=U32,
    site=U32,
    title=U32,
    title_words=U64,
    doubt=st.integers(0, 2),
    flags=st.sampled_from((0, 0, 0, NOT_STORED, PARDONED, NOT_STORED | PARDONED)),
)
TWO = [Claim(partition=0, offset=1, clock=5, url=url, language="en") for url in ("http://ä/", "b")]


@given(rows=st.lists(CLAIMS, max_size=8))
def test_claims_come_back_from_a_record_as_they_were(rows: list[Claim]) -> None:
    found = Claims.of_batch(batch_of(rows))
    assert list(found) == rows == list(Claims.of(rows))
    assert found[:2] == rows[:2]
    assert [found.url(place) for place in range(len(rows))] == [row.url for row in rows]
    assert found.alive.tolist() == [row.dead is None for row in rows]


@pytest.mark.parametrize(("flags", "version"), [(0, 3), (NOT_STORED, 4), (PARDONED, 4)])
def test_a_batch_without_marks_is_as_it_was_before_there_were_any_and_one_with_them_of_another_version(
    flags: int, version: int
) -> None:
    rows = [TWO[0], msgspec.structs.replace(TWO[1], flags=flags)]
    value = encode(batch_of(rows))
    assert value[2] == version
    found = decode(Batch, value)
    assert isinstance(found, FlaggedBatch) == bool(flags)
    assert list(Claims.of_batch(found)) == rows
    assert (Claims.of_batch(found).flags is None) == (not flags)


def test_a_program_that_knows_no_flags_refuses_the_batch_and_is_to_be_upgraded(monkeypatch: pytest.MonkeyPatch) -> None:
    flagged = encode(batch_of([msgspec.structs.replace(TWO[0], flags=PARDONED)]))
    monkeypatch.setattr(messages, "VERSIONS", VERSIONS | {FlaggedBatch: 0})
    with pytest.raises(OtherVersion, match="version 4 on the topics, this program reads version 3: upgrade") as refused:
        decode(Batch, flagged)
    assert not refused.value.earlier


@pytest.mark.parametrize(("kind", "bits"), [(Batch, 2), (Batch, 3), (FlaggedBatch, 8), (FlaggedBatch, 255)])
def test_marks_that_a_version_does_not_know_are_refused(kind: type[Batch], bits: int) -> None:
    given = msgspec.structs.asdict(GOOD) | {"packed": zlib.compress(PACKED[:-3] + bytes([bits]) + PACKED[-2:])}
    with pytest.raises(UnreadableRecord, match="bare"):
        Claims.of_batch(kind(**given))


@given(rows=st.lists(CLAIMS, max_size=8))
def test_the_highest_claimed_offset_is_known_of_each_partition(rows: list[Claim]) -> None:
    highest: dict[int, int] = {}
    for row in rows:
        highest[row.partition] = max(row.offset, highest.get(row.partition, row.offset))
    assert Claims.of(rows).highest == highest


@pytest.mark.parametrize(
    "wrong",
    [
        {"partition": 2**31},
        {"offset": 2**63},
        {"tokens": -1},
        {"text_hash": 2**64},
        {"scope": -1},
        {"site": 2**32},
        {"title": -1},
        {"title_words": 2**64},
        {"doubt": 256},
    ],
)
def test_numbers_that_fit_into_no_column_are_an_error(wrong: dict[str, int]) -> None:
    with pytest.raises(OverflowError):
        Claims.of([msgspec.structs.replace(TWO[0], **wrong)])


def test_a_batch_of_more_languages_than_a_byte_counts_is_an_error() -> None:
    rows = [msgspec.structs.replace(TWO[0], language=str(number)) for number in range(257)]
    assert len(Claims.of(rows[:256])) == 256
    with pytest.raises(ValueError, match="257 languages"):
        Claims.of(rows)


GOOD = batch_of(TWO)
PACKED = zlib.decompress(GOOD.packed)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"urls": b"no zlib"}, "cannot be decompressed"),
        ({"urls": zlib.compress(b"http://")}, "bytes that were announced"),
        ({"urls": GOOD.urls + b"more"}, "bytes that were announced"),
        ({"urls": zlib.compress(b"http://\xff\xff/b")}, "not UTF-8"),
        ({"urls": zlib.compress(b"http:///b\xc3\xa4")}, "ends inside a character"),
        ({"urls": b""}, "bytes that were announced"),
        ({"packed": zlib.compress(PACKED[:-1])}, "bytes that were announced"),
        ({"packed": zlib.compress(PACKED[:-3] + b"\x02" + PACKED[-2:])}, "bare"),
        ({"packed": zlib.compress(PACKED[:-1] + b"\x01")}, "language"),
        ({"languages": ()}, "language"),
        ({"dead": ((2, "parser-raised"),)}, "a reason for a claim"),
        ({"dead": ((-1, "parser-raised"),)}, "a reason for a claim"),
    ],
)
def test_a_record_that_contradicts_itself_is_refused(changes: dict[str, Any], why: str) -> None:
    with pytest.raises(UnreadableRecord, match=why):
        Claims.of_batch(msgspec.structs.replace(GOOD, **changes))


def test_a_record_that_would_fill_the_memory_is_refused() -> None:
    lengths = PACKED[48:56]
    assert sum(lengths) == len(b"http://") + 4
    bomb = PACKED[:48] + bytes([*lengths[:6], 255, 255]) + PACKED[56:]
    packed = zlib.compress(bomb)
    with pytest.raises(UnreadableRecord, match="announces"):
        Claims.of_batch(msgspec.structs.replace(GOOD, packed=packed, urls=zlib.compress(bytes(1 << 24))))


def test_columns_that_no_claim_has_anything_in_are_left_out() -> None:
    assert (GOOD.sketch, GOOD.bands, GOOD.scope) == (b"", b"", b"")
    assert isinstance(GOOD, Batch)
    assert claims_of(GOOD) == TWO
