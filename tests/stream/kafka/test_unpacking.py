"""Fetched batches are parsed one record at a time: bombs, torn and forged records cost only themselves."""

from __future__ import annotations

import gzip
import sys
import tracemalloc
from collections.abc import Iterator
from typing import Any, Final

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from kafka import TopicPartition, errors
from kafka.consumer.fetcher import Fetcher
from kafka.record.memory_records import MemoryRecords

from tests.stream.kafka.batches import CODECS, GZIP, NONE, TIME, ZSTD, Fields, batch, records_of, sealed
from worker.stream.kafka import decompression
from worker.stream.kafka.decompression import PIECE_BYTES, ZSTD_WINDOW_BYTES
from worker.stream.kafka.errors import as_stop
from worker.stream.kafka.unpacking import MOST_HEADERS, POLL_BYTES, PollBudget, Unpacking
from worker.stream.log import Record

HERE: Final = TopicPartition("pages", 3)
MOST: Final = 1 << 20
MIB: Final = 1 << 20
COMPRESSED: Final = [kind for kind in CODECS if kind != "none"]
PAGE: Final[Fields] = (b"http://a/", b"<p>page</p>" * 50, [("url", b"http://a/"), ("status", b"200")])
BOMB: Final[Fields] = (b"http://b/", b"\0" * (34 * MIB), [("url", b"http://b/")])


class Polls:
    """Parses an answer of the broker as a consumer's polls do."""

    def __init__(self, raw: bytes, offset: int = 0, most: int = MOST) -> None:
        self.budget = PollBudget()
        self.unpacking = Unpacking(most, self.budget, offset, HERE, MemoryRecords(raw))

    def poll(self, most: int = 200) -> list[Record]:
        self.budget.left = POLL_BYTES
        return self.unpacking.take(most)

    def all(self, most: int = 200) -> Iterator[list[Record]]:
        """The records of one poll after the other."""
        while self.unpacking:
            yield self.poll(most)


def read(raw: bytes, offset: int = 0, most: int = MOST) -> list[Record]:
    return [record for taken in Polls(raw, offset, most).all() for record in taken]


def by_the_client(raw: bytes, offset: int = 0) -> list[Record]:
    """The records as kafka-python reads them."""
    found = Fetcher.PartitionRecords(offset, HERE, MemoryRecords(raw)).take(10**6)
    return [Record(r.partition, r.offset, r.key, r.value, r.headers, r.timestamp) for r in found]


texts = st.binary(max_size=40)
contents = st.lists(
    st.tuples(
        st.none() | texts,
        st.none() | st.binary(max_size=2000),
        st.lists(st.tuples(st.text(max_size=9), texts | st.none())),
    ),
    min_size=1,
    max_size=8,
)


@pytest.mark.parametrize("kind", CODECS)
@given(given=contents, skipped=st.integers(0, 8))
@settings(max_examples=40, deadline=None)
def test_sound_batches_are_read_as_by_the_client(kind: str, given: list[Fields], skipped: int) -> None:
    raw = batch(kind, given, base=17) + batch("none", given[:1], base=17 + len(given))
    assert read(raw, 17 + skipped) == by_the_client(raw, 17 + skipped)


@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize("kind", CODECS)
def test_a_bomb_costs_only_itself_wherever_it_stands(kind: str, place: int) -> None:
    pages = [PAGE, PAGE]
    pages.insert(place, BOMB)
    raw = batch(kind, pages, base=5)
    found = read(raw)
    assert [record.offset for record in found] == [5, 6, 7]
    assert all(record.timestamp == TIME and record.partition == 3 for record in found)
    bomb = found.pop(place)
    assert bomb.oversize > 34 * MIB
    assert (bomb.key, bomb.value, bomb.headers, bomb.unreadable) == (BOMB[0], b"", (), None)
    assert [(record.key, record.value, record.headers, record.oversize) for record in found] == [(*PAGE, 0)] * 2


@pytest.mark.parametrize("kind", ["gzip", "lz4", "zstd"])
def test_no_more_than_a_piece_of_a_bomb_is_ever_held(kind: str) -> None:
    raw = batch(kind, [PAGE, BOMB, PAGE])
    tracemalloc.start()
    try:
        read(raw)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 4 * MIB


@pytest.mark.parametrize("kind", COMPRESSED)
def test_a_batch_of_many_pages_comes_in_portions(kind: str) -> None:
    page: Fields = (None, b"\0" * (MOST - 1000), [])
    polls = Polls(batch(kind, [page] * 40))
    taken = list(polls.all())
    assert [record.offset for records in taken for record in records] == list(range(40))
    assert max(map(len, taken)) * MOST <= POLL_BYTES + 2 * MOST


@pytest.mark.parametrize("kind", COMPRESSED)
def test_a_poll_ends_within_a_bomb_and_the_next_one_goes_on_there(kind: str) -> None:
    polls = Polls(batch(kind, [PAGE, BOMB, PAGE]))
    first = polls.poll()
    assert [record.offset for record in first] == [0]
    assert polls.unpacking.next_fetch_offset == 1
    assert polls.poll() == [], "it has unpacked enough, and has no record"
    assert polls.unpacking.next_fetch_offset == 1
    assert [record.offset for taken in polls.all() for record in taken] == [1, 2]
    assert polls.unpacking.next_fetch_offset == 3


def test_reading_from_within_a_batch_on_passes_over_a_bomb_before_it() -> None:
    assert [record.offset for record in read(batch("gzip", [PAGE, BOMB, PAGE, PAGE]), offset=2)] == [2, 3]


def test_no_more_records_come_than_are_asked_for() -> None:
    polls = Polls(batch("gzip", [PAGE] * 5))
    assert [[record.offset for record in taken] for taken in polls.all(2)] == [[0, 1], [2, 3], [4]]


# records that cannot be read


@pytest.mark.parametrize("kind", COMPRESSED)
def test_a_stream_that_is_cut_off_costs_what_follows(kind: str) -> None:
    codec, compress = CODECS[kind]
    noise = bytes((number * number * 31 >> 7) & 255 for number in range(3 * PIECE_BYTES))
    pages: list[Fields] = [PAGE, (None, noise, []), PAGE, PAGE]
    packed = compress(records_of(pages))
    found = read(sealed(packed[: len(packed) * 9 // 10], codec, 4) + batch("none", [PAGE], base=4))
    assert [record.offset for record in found] == [0, 1, 2, 3, 4]
    assert found[-1].value == PAGE[1]
    torn = [record for record in found if record.unreadable]
    assert torn == found[4 - len(torn) : 4]
    assert torn
    assert all("the batch" in (record.unreadable or "") for record in torn)


@pytest.mark.parametrize("kind", CODECS)
@given(cut=st.integers(0, 2000), flipped=st.integers(0, 2000))
@settings(max_examples=40, deadline=None)
def test_whatever_a_batch_holds_every_offset_comes_once(kind: str, cut: int, flipped: int) -> None:
    codec, compress = CODECS[kind]
    packed = bytearray(compress(records_of([PAGE, PAGE, PAGE])))
    packed[flipped % len(packed)] ^= 0x55
    found = read(sealed(bytes(packed[: len(packed) - cut % len(packed)]), codec, 3, base=9))
    assert [record.offset for record in found] == [9, 10, 11]


def varint(number: int) -> bytes:
    number = number << 1 ^ number >> 63
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def framed(content: bytes, number: int, length: int | None = None) -> bytes:
    """A record with this content, with its true length or another length."""
    inner = b"\0" + varint(0) + varint(number) + content
    return varint(len(inner) if length is None else length) + inner


EMPTY: Final = varint(-1) + varint(-1) + varint(0)
FORGED: Final[dict[str, tuple[bytes, list[bool]]]] = {
    "longer than the batch": (framed(EMPTY, 1, 2**31 - 1), [True, False, False]),
    "of negative length": (framed(EMPTY, 1, -5), [True, False, False]),
    "of no length": (framed(EMPTY, 1, 0), [True, False, False]),
    "a byte too long": (framed(EMPTY, 1, len(framed(EMPTY, 1))), [True, False, False]),
    "of another's offset": (framed(EMPTY, 0), [True, False, False]),
    "of an offset behind the last": (framed(EMPTY, 3), [True, False, False]),
    "a length that does not end": (b"\xff" * 11, [True, False, False]),
    "a key longer than the record": (framed(varint(100) + varint(-1) + varint(0), 1), [True, False, True]),
    "a value longer than the record": (framed(varint(-1) + varint(2**31 - 1) + varint(0), 1), [True, False, True]),
    "bytes left over": (framed(EMPTY + b"\0", 1), [True, False, True]),
    "a negative number of headers": (framed(varint(-1) * 2 + varint(-1), 1), [True, False, True]),
    "headers without end": (framed(varint(-1) * 2 + varint(2**31 - 1), 1), [True, False, True]),
    "a header without name": (framed(varint(-1) * 2 + varint(1) + varint(-1) * 2, 1), [True, False, True]),
    "a header whose name is no text": (
        framed(varint(-1) * 2 + varint(1) + varint(2) + b"\xff\xfe" + varint(-1), 1),
        [True, False, True],
    ),
    "more headers than anybody has": (
        framed(varint(-1) * 2 + varint(MOST_HEADERS + 1) + (varint(0) + varint(-1)) * (MOST_HEADERS + 1), 1),
        [True, False, True],
    ),
}


@pytest.mark.parametrize("kind", ["none", "gzip", "zstd"])
@pytest.mark.parametrize("forged", FORGED)
def test_a_forged_record_costs_itself_and_what_cannot_be_found_behind_it(forged: str, kind: str) -> None:
    record, readable = FORGED[forged]
    codec, compress = CODECS[kind]
    raw = sealed(compress(framed(EMPTY, 0) + record + framed(EMPTY, 2)), codec, 3)
    found = read(raw)
    assert [record.offset for record in found] == [0, 1, 2]
    assert [record.unreadable is None and not record.oversize for record in found] == readable
    assert all(record.value == b"" for record in found if record.unreadable)


def test_as_many_headers_as_are_read_are_read() -> None:
    page: Fields = (None, None, [(str(number), None) for number in range(MOST_HEADERS)])
    (record,) = read(batch("none", [page]))
    assert len(record.headers) == MOST_HEADERS


def test_what_checksum_does_not_fit_is_refused_as_often_as_it_is_read() -> None:
    raw = bytearray(batch("gzip", [PAGE]) + batch("gzip", [PAGE], base=1))
    raw[-1] ^= 1
    polls = Polls(bytes(raw))
    assert [record.offset for record in polls.poll()] == [0]
    for _ in range(2):
        with pytest.raises(errors.CorruptRecordError, match=r"offset 1 .* failed crc check"):
            polls.poll()


def test_the_message_formats_of_old_brokers_are_named() -> None:
    raw = bytearray(batch("none", [PAGE]))
    raw[16] = 1
    with pytest.raises(errors.KafkaError, match="v1"):
        Unpacking(MOST, PollBudget(), 0, HERE, MemoryRecords(bytes(raw)), check_crcs=False).take(1)


def test_what_an_aborted_transaction_wrote_is_passed_over() -> None:
    def written(raw: bytes, producer: int) -> bytes:
        """The batch as written in a transaction of this producer; the checksum is not checked here."""
        changed = bytearray(raw)
        changed[22] |= 0x10
        changed[43:51] = producer.to_bytes(8, "big")
        return bytes(changed)

    class Aborted:
        producer_id, first_offset = 7, 0

    raw = written(batch("gzip", [PAGE]), 7) + written(batch("gzip", [PAGE], base=1), 8)
    found = Unpacking(
        MOST,
        PollBudget(),
        0,
        HERE,
        MemoryRecords(raw),
        check_crcs=False,
        isolation_level=1,
        aborted_transactions=[Aborted],
    )
    assert [record.offset for record in found.take(10)] == [1]


# codecs


@pytest.mark.parametrize(
    ("kind", "module"), [("snappy as Java writes it", "snappy"), ("lz4", "lz4.frame"), ("zstd", "zstandard")]
)
def test_a_codec_whose_library_is_missing_is_named_with_what_to_install(
    kind: str, module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    polls = Polls(batch(kind, [PAGE]))
    for _ in range(2):
        with pytest.raises(errors.UnsupportedCodecError, match=kind.split()[0]) as caught:
            polls.poll()
        assert "pip install python-snappy, lz4 or zstandard" in str(as_stop(caught.value, "pages"))


def test_a_codec_of_the_future_is_refused() -> None:
    with pytest.raises(errors.UnsupportedCodecError, match="7"):
        read(sealed(b"", 7, 1))


def test_a_stream_of_zstd_that_wants_more_memory_is_not_read() -> None:
    def page(window_log: int) -> bytes:
        parameters = zstandard.ZstdCompressionParameters(window_log=window_log, write_content_size=False)
        compressor = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
        return sealed(compressor.compress(records_of([PAGE])) + compressor.flush(), ZSTD, 1)

    largest = ZSTD_WINDOW_BYTES.bit_length() - 1
    assert read(page(largest))[0].value == PAGE[1]
    (record,) = read(page(largest + 1))
    assert "memory" in (record.unreadable or "")


def test_a_record_just_as_large_as_may_be_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = sealed(gzip.compress(records_of([PAGE])), GZIP, 1)
    (large,) = read(raw, most=0)
    assert read(raw, most=large.oversize)[0].value == PAGE[1]
    assert read(raw, most=large.oversize - 1) == [large]
    assert read(sealed(records_of([PAGE]), NONE, 1), most=large.oversize - 1) == [large]


def test_memory_that_runs_out_is_no_matter_of_one_record(monkeypatch: pytest.MonkeyPatch) -> None:
    def run_out(*_: Any) -> Iterator[bytes]:
        yield from ()
        raise MemoryError

    monkeypatch.setitem(decompression._CODECS, GZIP, ("gzip", "zlib", run_out))
    with pytest.raises(MemoryError):
        read(batch("gzip", [PAGE]))
