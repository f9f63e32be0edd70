"""Batches as kafka-python reads them: it reads the records of all outputs back."""

from __future__ import annotations

import random
import struct
from typing import Any, Final

import crc32c
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.record.default_records import DefaultRecordBatch, DefaultRecordBatchBuilder
from kafka.record.memory_records import MemoryRecords

from tests.stream.contract import output
from tests.stream.kafka.batches import ATTRIBUTES_AT, HEADER, TIME
from worker.stream.kafka.compression import packing
from worker.stream.kafka.record_batches import BATCH_BYTES, HEADER_BYTES, RecordBatch, TooLarge, batches_of
from worker.stream.log import Output

MOST: Final = 1 << 30
CONTENTS: Final = st.none() | st.binary(max_size=200) | st.integers(8190, 8194).map(bytes)
OUTPUTS: Final = st.builds(
    Output,
    topic=st.sampled_from(["a", "b"]),
    partition=st.integers(0, 1),
    key=CONTENTS,
    value=CONTENTS,
    headers=st.lists(st.tuples(st.text(max_size=70), CONTENTS), max_size=70),
)


def read(batch: RecordBatch) -> list[Any]:
    """The records of a batch whose header is filled in as the client does it."""
    count = len(batch.outputs)
    data = bytearray(batch.data)
    HEADER.pack_into(data, 0, 0, len(data) - 12, 0, 2, 0, batch.codec, count - 1, TIME, TIME, 7, 0, 0, count)
    struct.pack_into(">I", data, 17, crc32c.crc32c(bytes(data[ATTRIBUTES_AT:])))
    (found,) = MemoryRecords(bytes(data))
    assert isinstance(found, DefaultRecordBatch)
    assert found.validate_crc()
    return list(found)


def as_written(given: Output) -> Any:
    """An output as it is written: parts that cannot be written are empty."""
    value = b"" if given.key is None and given.value is None else given.value
    return given.key, value, [(name, content or b"") for name, content in given.headers]


@given(st.lists(OUTPUTS, max_size=90), st.sampled_from(["zstd", "none"]))
def test_records_come_out_as_they_were_put_in_and_in_order(outputs: list[Output], compression: str) -> None:
    batches = list(batches_of(outputs, TIME, MOST, packing(compression)))
    for topic in ("a", "b"):
        for partition in (0, 1):
            here = [batch for batch in batches if (batch.topic, batch.partition) == (topic, partition)]
            records = [record for batch in here for record in read(batch)]
            wanted = [given for given in outputs if (given.topic, given.partition) == (topic, partition)]
            assert [given for batch in here for given in batch.outputs] == wanted
            assert [(r.key, r.value, r.headers) for r in records] == list(map(as_written, wanted))
            assert all(record.timestamp == TIME for record in records)


@pytest.mark.parametrize("size", [BATCH_BYTES // 3, BATCH_BYTES // 2, 3 * BATCH_BYTES])
def test_a_batch_ends_before_it_becomes_too_large_unless_it_has_one_record(size: int) -> None:
    given = [output(0, bytes(size)) for _ in range(5)]
    batches = list(batches_of(given, TIME, MOST, None))
    assert [len(batch.outputs) for batch in batches] == ([2, 2, 1] if size == BATCH_BYTES // 3 else [1] * 5)
    assert all(len(batch.data) <= BATCH_BYTES or len(batch.outputs) == 1 for batch in batches)
    packed = list(batches_of(given, TIME, MOST, packing("zstd")))
    assert [batch.outputs for batch in packed] == [batch.outputs for batch in batches], "it unpacks to no more"


def test_what_does_not_become_smaller_is_not_compressed() -> None:
    noise, text = random.Random(1).randbytes(10_000), b"word " * 2000
    (hard,), (easy,) = (list(batches_of([output(0, each)], TIME, MOST, packing("zstd"))) for each in (noise, text))
    assert hard.codec == 0
    assert len(hard.data) > HEADER_BYTES + len(noise)
    assert easy.codec != 0
    assert len(easy.data) < len(text) // 20
    assert read(easy)[0].value == text


def test_no_output_makes_no_batch() -> None:
    assert list(batches_of([], TIME, MOST, None)) == []


def test_a_record_is_as_large_as_the_client_says_and_one_byte_more_is_too_large() -> None:
    given = output(0, b"x" * 10_000)
    (batch,) = batches_of([given], TIME, MOST, None)
    size = DefaultRecordBatchBuilder.estimate_size_in_bytes(given.key, given.value, given.headers)
    assert len(batch.data) <= size
    assert len(list(batches_of([given], TIME, size, None))) == 1
    with pytest.raises(TooLarge) as raised:
        list(batches_of([output(0, b""), given], TIME, size - 1, packing("zstd")))
    assert raised.value.output is given
    assert raised.value.size == size
