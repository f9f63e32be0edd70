"""Records that land on a shard's partition of ``index`` after its restore."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler_plugin.wire.errors import Refused
from crawler_plugin.wire.messages import Block, decode, encode
from crawler_plugin.wire.topics import INDEX
from tests.index.logs import DecidedLog, decided_logs, plain_log
from tests.stream.pair import OTHER, Pair
from tests.stream.script import ANSWER, COMMIT, FLUSH, Page
from worker.index.blocks import cover
from worker.stream.policy import ReplayPoint
from worker.stream.shard.index_follower import GrowingCover

A, B = Page("http://a/", 0b000), Page("http://b/", 0b111)


@given(decided_logs, st.data())
def test_its_end_is_that_of_the_cover_in_whatever_order_the_blocks_land(log: DecidedLog, data: st.DataObject) -> None:
    growing, landed = GrowingCover(ReplayPoint(0, 0), -1), []
    for _ in range(data.draw(st.integers(1, 8))):
        after = data.draw(st.integers(-1, log.last - 1))
        landed.append(log.block(after, data.draw(st.integers(after + 1, log.last))))
        growing.take(landed[-1])
        found = cover(landed)
        assert (growing.to, growing.floor) == (found.end, found.floor)
        assert growing.end.answers_offset == (found.last.answers_offset if found.last else 0)


def test_a_block_above_a_hole_counts_when_the_hole_is_filled() -> None:
    log, growing = plain_log(), GrowingCover(ReplayPoint(3, 8), -1)
    growing.take(log.block(5, 9))
    assert growing.end == ReplayPoint(3, 8)
    growing.take(log.block(2, 5))
    assert growing.end == ReplayPoint(10, 29)


def test_what_is_no_block_is_counted_and_passed_over() -> None:
    pair = Pair().play(A, COMMIT, FLUSH)
    topic = pair.world.topics[INDEX, 0]
    (good,) = topic.records
    block = decode(Block, good.value)
    topic.append(0, b"1", b"no block", (), 0)
    topic.append(0, b"2", encode(msgspec.structs.replace(block, shard=1)), (), 0)
    topic.append(0, b"3", encode(msgspec.structs.replace(block, to=7, clocks=((0, 0), (1, 1)))), (), 0)
    pair.follow_index()
    assert [offset for _, offset, _ in pair.observers[OTHER].told["unreadable"]] == [1, 2, 3]
    writer = pair.held(OTHER).block_writer
    assert writer is not None
    assert writer.replay_point.batch == 1
    assert writer.block_keys_before == 4


def test_a_block_of_another_scheme_ends_the_worker() -> None:
    pair = Pair().play(A, COMMIT, FLUSH)
    topic = pair.world.topics[INDEX, 0]
    block = decode(Block, topic.records[0].value)
    topic.append(0, b"1", encode(msgspec.structs.replace(block, scheme=b"another1")), (), 0)
    with pytest.raises(Refused, match="was written with other settings"):
        pair.other.tidy()


def test_a_tombstone_is_learnt_of_and_not_written_again() -> None:
    pair = Pair(ttl=10).play(A, ANSWER, FLUSH, B._replace(fetched=100), ANSWER, FLUSH, FLUSH)
    assert pair.world.topics[INDEX, 0].records[-1].value is None
    pair.swap()
    pair.follow_index()
    pair.other.flush()
    assert pair.on_their_way(INDEX) == []
