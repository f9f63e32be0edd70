import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler_plugin.wire.errors import UnreadableRecord
from crawler_plugin.wire.messages import Block, decode, encode
from tests.index.logs import SCHEME, DecidedLog, decided_logs, plain_log
from tests.index.worlds import columns_of, page, survivors_of
from worker.index.blocks import Header, pack, tombstones, unpack
from worker.index.entries import Entries, Survivor
from worker.index.shard import Shard


def header(after: int = -1, to: int = 9, clocks: tuple[tuple[int, int], ...] = ()) -> Header:
    return Header(
        scheme=SCHEME,
        writer=b"writer",
        shard=2,
        after=after,
        to=to,
        answers_offset=40,
        watermark=1234,
        claimed_up_to={5: 50, 1: 10},
        floor=-1,
        clocks=clocks,
    )


@given(decided_logs, st.data())
def test_a_block_holds_its_survivors_through_the_wire(log: DecidedLog, data: st.DataObject) -> None:
    to = data.draw(st.integers(0, log.last))
    after = data.draw(st.integers(-1, to - 1))
    block = decode(Block, encode(log.block(after, to)))
    assert list(unpack(block)) == log.rows(max(after, log.floor(to)), to)


def test_the_header_stands_in_the_block() -> None:
    block = pack(Entries.from_rows(survivors_of([1, None], 4)), header(clocks=((4, 99),)))
    assert (block.scheme, block.writer, block.shard, block.after, block.to) == (SCHEME, b"writer", 2, -1, 9)
    assert (block.answers_offset, block.watermark, block.floor) == (40, 1234, -1)
    assert (block.claimed_up_to, block.clocks, block.count) == (((1, 10), (5, 50)), ((4, 99),), 2)


def test_columns_are_little_endian_bytes_that_anyone_can_read() -> None:
    entries = Entries.from_rows([Survivor((258, 3), "http://a/", 0x0102030405060708, 5, 600, 7)])
    block = pack(entries, header(to=300, clocks=((258, 0),)))
    assert block.batch == bytes([2, 1, 0, 0, 0, 0, 0, 0])
    assert block.place == bytes([3, 0, 0, 0])
    assert block.fingerprint == bytes([8, 7, 6, 5, 4, 3, 2, 1])
    assert block.tokens == bytes([88, 2, 0, 0])
    assert block.bare == bytes([0])


def test_sketches_and_scopes_are_in_a_block_where_there_are_any_and_take_no_byte_elsewhere() -> None:
    plain = survivors_of([1, None], 4)
    sketched = [row._replace(sketch=bytes(range(32)), bands=b"\x05" * 32, scope=2**63 + 1) for row in plain]
    for rows, width in ((plain, 0), (sketched, 32), ([plain[0], sketched[1]], 32)):
        block = decode(Block, encode(pack(Entries.from_rows(rows), header(clocks=((4, 0),)))))
        assert (len(block.sketch), len(block.bands), len(block.scope)) == (2 * width, 2 * width, width // 2)
        assert list(unpack(block)) == rows


def test_an_empty_block_is_a_block() -> None:
    block = decode(Block, encode(pack(Entries.empty(), header())))
    assert (block.count, block.urls, len(unpack(block))) == (0, (), 0)


@pytest.mark.parametrize(
    ("rows", "clocks", "problem"),
    [
        ([page(1, order=(4, 1)), page(2, order=(4, 0))], ((4, 0),), "do not ascend"),
        ([page(1, order=(3, 0))], ((3, 0),), "outside"),
        ([page(1, order=(10, 0))], ((10, 0),), "outside"),
        ([page(1, order=(4, 0))], (), "clocks"),
        ([page(1, order=(4, 0))], ((5, 0),), "clocks"),
        ([], ((5, 0),), "clocks"),
    ],
)
def test_entries_that_contradict_the_header_are_not_packed(
    rows: list[Survivor], clocks: tuple[tuple[int, int], ...], problem: str
) -> None:
    with pytest.raises(ValueError, match=problem):
        pack(Entries.from_rows(rows), header(after=3, clocks=clocks))


@pytest.mark.parametrize(
    "torn",
    [
        {"bare": b"\x00\x02"},
        {"batch": b"\x05" + b"\x00" * 7 + b"\x04" + b"\x00" * 7},
        {"batch": (b"\x63" + b"\x00" * 7) * 2},
        {"clocks": ()},
        {"urls": ()},
    ],
    ids=["bare", "order", "outside", "clocks", "urls"],
)
def test_a_block_that_contradicts_itself_is_unreadable(torn: dict[str, object]) -> None:
    block = msgspec.structs.replace(
        pack(Entries.from_rows(survivors_of([1, None], 4)), header(clocks=((4, 99),))), **torn
    )
    with pytest.raises(UnreadableRecord):
        unpack(block)


@given(st.data())
def test_a_torn_record_is_unreadable(data: st.DataObject) -> None:
    value = bytearray(encode(plain_log().block(2, 7)))
    place = data.draw(st.integers(0, len(value) - 1))
    if place in (2, 3):  # another version in the envelope means another program; the spare byte has no meaning yet
        place = 0
    value[place] ^= data.draw(st.integers(1, 255))
    for torn in (bytes(value), bytes(value[:place])):
        with pytest.raises(UnreadableRecord):
            decode(Block, torn)


def test_a_restored_shard_has_the_urls_of_its_blocks_without_opening_them() -> None:
    entries = columns_of(np.arange(600, dtype=np.uint64))
    block = pack(entries, header(to=20, clocks=tuple((batch, 0) for batch in range(12))))
    shard = Shard()
    shard.load(unpack(block))
    assert [group.stored for group in shard.entries().urls.groups[:2]] == list(block.urls[:2])  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("floor", "keys"),
    [(-1, []), (2, []), (3, [b"c"]), (4, [b"c"]), (5, [b"c", b"a", b"b"]), (99, [b"c", b"a", b"b", b"d"])],
)
def test_blocks_up_to_the_acknowledged_floor_are_buried_oldest_first(floor: int, keys: list[bytes]) -> None:
    assert tombstones({b"d": 6, b"b": 5, b"a": 5, b"c": 3}, floor) == keys
