"""The records on the topics: written and read back, and refused when torn or foreign."""

from __future__ import annotations

import struct
import zlib
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler_plugin.wire.errors import Refused, UnreadableRecord
from crawler_plugin.wire.messages import (
    COLUMN_WIDTHS,
    EVIDENCE_BYTES,
    NEAR_REASONS,
    OPTIONAL_WIDTHS,
    Answer,
    Batch,
    Block,
    Claim,
    Hit,
    OtherVersion,
    decode,
    encode,
)
from tests.columns import answer_of, batch_of

U64 = st.integers(0, 2**64 - 1)
I64 = st.integers(-(2**63), 2**63 - 1)
OFFSET = st.integers(0, 2**63 - 1)
TEXT = st.text(st.characters(exclude_categories=["Cs"]))
SCHEME = st.binary(min_size=8, max_size=8)

CLAIMS = st.builds(
    Claim,
    partition=st.integers(0, 1000),
    offset=OFFSET,
    clock=I64,
    url=TEXT,
    fingerprint=st.none() | U64,
    text_hash=U64,
    tokens=st.integers(0, 2**32 - 1),
    dead=st.none() | TEXT,
    sketch=st.sampled_from([b"", bytes(range(32))]),
    bands=st.sampled_from([b"", bytes(range(32, 64))]),
    site=st.sampled_from([0, 2**32 - 1]),
    title=st.sampled_from([0, 2**32 - 1]),
    doubt=st.integers(0, 2),
)
BATCHES = st.builds(batch_of, st.lists(CLAIMS, max_size=5), SCHEME, st.binary())
HITS = st.builds(
    Hit,
    place=st.integers(0, 2**32 - 1),
    order=st.tuples(OFFSET, st.integers(0, 2**32 - 1)),
    url=TEXT,
    distance=st.none() | st.integers(0, 64),
    reason=st.sampled_from(NEAR_REASONS),
)
ANSWERS = st.builds(
    answer_of,
    st.lists(HITS, max_size=5),
    st.lists(st.integers(0, 1000), max_size=5),
    scheme=SCHEME,
    writer=st.binary(),
    batch=OFFSET,
    shard=st.integers(0, 1000),
)


MESSAGES: dict[type[Any], st.SearchStrategy[Batch | Answer]] = {Batch: BATCHES, Answer: ANSWERS}


def block(count: int = 2, **changes: object) -> Block:
    """A block whose columns are zeros except for the changes."""
    fields: dict[str, object] = {
        "scheme": b"schemeid",
        "writer": b"w",
        "shard": 3,
        "after": -1,
        "to": 9,
        "answers_offset": 10,
        "watermark": 1_700_000_000_000,
        "claimed_up_to": ((0, 41), (7, 2)),
        "floor": -1,
        "count": count,
        "clocks": ((9, 1_700_000_000_000),),
        "urls": (b"packed",),
    }
    columns = {name: bytes(range(count * width)) for name, width in COLUMN_WIDTHS.items()}
    return Block(**{**fields, **columns, **changes})  # type: ignore[arg-type]


def with_payload(value: bytes, payload: bytes) -> bytes:
    """The same envelope around another payload, with the right length and checksum."""
    return value[:4] + struct.pack("<II", len(payload), zlib.crc32(payload)) + payload


@pytest.mark.parametrize("kind", MESSAGES)
@given(data=st.data())
def test_a_message_read_back_is_the_same(kind: type[Any], data: st.DataObject) -> None:
    message = data.draw(MESSAGES[kind])
    assert decode(kind, encode(message)) == message


@pytest.mark.parametrize("count", [0, 1, 2, 10])
def test_a_block_read_back_is_the_same(count: int) -> None:
    assert decode(Block, encode(block(count))) == block(count)
    rich = {name: bytes(count * width) for name, width in OPTIONAL_WIDTHS.items()}
    full = block(count, **rich, suspects=bytes(12), evidence=bytes(range(2 * EVIDENCE_BYTES)))
    assert decode(Block, encode(full)) == full
    assert block(count, **rich, suspects=bytes(12)).with_evidence(full.evidence) == full


@pytest.mark.parametrize("message", [Batch(scheme=b"", writer=b"", count=0), block(0)], ids=["batch", "block"])
def test_the_envelope_is_as_documented(message: Batch | Block) -> None:
    value = encode(message)
    magic, version, zero, length, crc = struct.unpack_from("<2sBBII", value)
    assert (magic, version, zero) == (b"DF" if isinstance(message, Batch) else b"DI", 3, 0)
    assert (length, crc) == (len(value) - 12, zlib.crc32(value[12:]))


@pytest.mark.parametrize("kind", [Batch, Answer, Block])
@given(st.binary(max_size=100) | st.none())
def test_bytes_of_others_are_refused(kind: type[Batch], value: bytes | None) -> None:
    with pytest.raises(UnreadableRecord):
        decode(kind, value)


@pytest.mark.parametrize("kind", [Batch, Answer, Block])
@given(payload=st.binary(max_size=100))
def test_a_payload_of_others_in_a_right_envelope_is_refused(kind: type[Batch], payload: bytes) -> None:
    examples: dict[type, Batch | Answer | Block] = {
        Batch: Batch(scheme=b"", writer=b"", count=0),
        Answer: Answer(scheme=b"", writer=b"", batch=0, shard=0),
        Block: block(),
    }
    with pytest.raises(UnreadableRecord):
        decode(kind, with_payload(encode(examples[kind]), payload))


def test_what_no_reader_can_follow_to_its_depth_is_refused() -> None:
    deep = b"\x91" * 100_000
    batch = encode(Batch(scheme=b"", writer=b"", count=0))
    kind, count = struct.unpack_from(">BH", batch, 12)
    assert kind == 0xDC, "an array that says in 16 bits how many fields it has"
    one_more = struct.pack(">BH", kind, count + 1)
    with pytest.raises(UnreadableRecord, match="recursion"):  # like a field that this version does not read
        decode(Batch, with_payload(batch, one_more + batch[15:] + deep))


def test_each_kind_refuses_the_others() -> None:
    values: dict[type[Any], bytes] = {Batch: encode(Batch(scheme=b"", writer=b"", count=0)), Block: encode(block())}
    pairs: tuple[tuple[type[Any], type[Any]], ...] = ((Batch, Block), (Block, Batch), (Answer, Block))
    for kind, other in pairs:
        with pytest.raises(UnreadableRecord, match=f"not a {kind.__name__}"):
            decode(kind, values[other])


@given(place=st.integers(0, 10_000), flip=st.integers(1, 255))
def test_one_damaged_byte_is_noticed(place: int, flip: int) -> None:
    value = bytearray(encode(block()))
    place %= len(value)
    value[place] ^= flip
    if place == 3:
        return  # the reserved byte may later get a meaning that old readers can ignore
    with pytest.raises(Refused if place == 2 else UnreadableRecord):  # the version's byte
        decode(Block, bytes(value))


@given(cut=st.integers(1, 10_000))
def test_a_torn_record_is_noticed(cut: int) -> None:
    value = encode(block())
    with pytest.raises(UnreadableRecord):
        decode(Block, value[: len(value) - 1 - cut % len(value)])


@pytest.mark.parametrize(("version", "move"), [(4, "upgrade this worker"), (2, "run the program that wrote it")])
def test_another_version_of_the_format_is_refused_with_the_next_move(version: int, move: str) -> None:
    value = bytearray(encode(block()))
    value[2] = version
    with pytest.raises(
        Refused, match=f"format version {version} on the topics, this program reads version 3: {move}"
    ) as refused:
        decode(Block, bytes(value))
    assert refused.value.exit_code == 4


@pytest.mark.parametrize(("kind", "way"), [(Block, "let it take over"), (Batch, "index copy --to NAME")])
def test_a_record_of_an_earlier_program_says_whether_its_index_can_be_copied(kind: type[Any], way: str) -> None:
    value = bytearray(encode(block() if kind is Block else batch_of([], b"scheme 1", b"writer 1")))
    value[2] -= 1
    with pytest.raises(OtherVersion, match=way) as refused:
        decode(kind, bytes(value))
    assert refused.value.earlier


def test_a_torn_record_of_another_version_is_no_reason_to_stop() -> None:
    value = bytearray(encode(block()))
    value[2] = 4
    with pytest.raises(UnreadableRecord):
        decode(Block, bytes(value[:-1]))


@pytest.mark.parametrize("name", COLUMN_WIDTHS)
@pytest.mark.parametrize("change", [-1, 1])
def test_a_column_of_another_length_than_announced_is_refused(name: str, change: int) -> None:
    with pytest.raises(ValueError, match=f"column {name} has"):
        block(2, **{name: bytes(2 * COLUMN_WIDTHS[name] + change)})
    fields = msgspec.msgpack.decode(encode(block())[12:])
    fields[Block.__struct_fields__.index(name)] = bytes(2 * COLUMN_WIDTHS[name] + change)
    with pytest.raises(UnreadableRecord, match=f"column {name} has"):
        decode(Block, with_payload(encode(block()), msgspec.msgpack.encode(fields)))


@pytest.mark.parametrize(("name", "width"), [*OPTIONAL_WIDTHS.items(), ("suspects", 12), ("evidence", EVIDENCE_BYTES)])
@pytest.mark.parametrize("change", [-1, 1])
def test_a_column_that_may_be_left_out_is_whole_or_empty(name: str, width: int, change: int) -> None:
    assert not getattr(block(2, **{name: b""}), name)
    with pytest.raises(ValueError, match=f"column {name} has"):
        block(2, **{name: bytes(2 * width + change)})


@pytest.mark.parametrize(("after", "to"), [(-2, 0), (0, 0), (5, 4), (-1, -1)])
def test_a_block_of_no_batches_is_refused(after: int, to: int) -> None:
    with pytest.raises(ValueError, match="cannot hold"):
        block(after=after, to=to)


@pytest.mark.parametrize("name", ["fingerprint", "text_hash", "scope", "bands", "sketch"])
def test_a_batch_with_a_torn_column_is_refused(name: str) -> None:
    whole = encode(batch_of([Claim(partition=0, offset=0, clock=0, url="u", sketch=bytes(32), scope=1)]))
    fields = msgspec.msgpack.decode(whole[12:])
    fields[Batch.__struct_fields__.index(name)] += b"x"
    with pytest.raises(UnreadableRecord, match=f"column {name} has"):
        decode(Batch, with_payload(whole, msgspec.msgpack.encode(fields)))


@pytest.mark.parametrize("name", ["place", "original_batch", "original_place", "distance", "reason", "urls"])
def test_an_answer_with_a_torn_column_is_refused(name: str) -> None:
    whole = encode(answer_of([Hit(place=0, order=(3, 1), url="u", distance=2, reason="hamming")]))
    fields = msgspec.msgpack.decode(whole[12:])
    fields[Answer.__struct_fields__.index(name)] = [] if name == "urls" else b""
    with pytest.raises(UnreadableRecord, match="hits"):
        decode(Answer, with_payload(whole, msgspec.msgpack.encode(fields)))


@pytest.mark.parametrize(("name", "value"), [("void", b"half"[:2]), ("reason", b"\x09")])
def test_an_answer_that_says_what_none_can_is_refused(name: str, value: bytes) -> None:
    whole = encode(answer_of([Hit(place=0, order=(3, 1), url="u", distance=2, reason="hamming")]))
    fields = msgspec.msgpack.decode(whole[12:])
    fields[Answer.__struct_fields__.index(name)] = value
    with pytest.raises(UnreadableRecord, match="unknown reason"):
        decode(Answer, with_payload(whole, msgspec.msgpack.encode(fields)))


def test_answers_have_the_same_gist_whoever_wrote_them() -> None:
    hit = Hit(place=0, order=(3, 1), url="https://a.example/", distance=2, reason="hamming")
    gist = answer_of([hit], void=[1]).gist()
    assert gist == answer_of([hit], void=[1], writer=b"b").gist()
    other = msgspec.structs.replace(hit, order=(3, 2))
    for different in (answer_of([hit]), answer_of([], void=[1]), answer_of([other], void=[1])):
        assert gist != different.gist()
