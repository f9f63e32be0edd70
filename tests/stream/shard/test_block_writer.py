"""Blocks on their way to the topic, and the burial of expired blocks."""

from __future__ import annotations

from typing import Final

from crawler_plugin.wire.messages import Block, decode
from crawler_plugin.wire.topics import INDEX
from tests.simulation.memory_log import OnItsWay
from tests.stream.script import (
    ANSWER,
    COMMIT,
    COMPACT,
    CRASH,
    FLUSH,
    Page,
    Stage,
)

A: Final = Page("http://a/", 0b000)
COPY_OF_A: Final = Page("http://copy/", 0b000)
B: Final = Page("http://b/", 0b111)
MUCH_LATER: Final = Page("http://later/", 0b111000, fetched=100)
AT_LAST: Final = Page("http://last/", 0b111000000, fetched=300)


def stage_of_one_shard(ttl: int | None = None) -> Stage:
    return Stage(shards=1, ttl=ttl)


def blocks(stage: Stage) -> list[tuple[int, int, int]]:
    """(after, to, entries) of each block on the topic."""
    records = stage.world.topics[INDEX, 0].records
    found = [decode(Block, record.value) for record in records if record.value is not None]
    return [(block.after, block.to, block.count) for block in found]


def tombstones(sends: list[OnItsWay]) -> list[bytes | None]:
    return [send.key for send in sends if send.value is None]


def write_a_block(stage: Stage) -> bytes:
    """Seal, send and land a block; returns its key."""
    stage.worker.flush(seal=True)
    (send,) = stage.on_their_way(INDEX)
    stage.land(INDEX)
    stage.worker.flush()
    assert send.key is not None
    return send.key


def test_nothing_decided_writes_nothing() -> None:
    stage = stage_of_one_shard()
    stage.worker.flush(seal=True)
    stage.play(A, ANSWER)
    stage.worker.flush()
    assert stage.on_their_way(INDEX) == []


def test_one_block_is_in_flight_at_a_time() -> None:
    stage = stage_of_one_shard().play(A, ANSWER)
    stage.worker.flush(seal=True)
    stage.play(B, ANSWER)
    stage.worker.flush(seal=True)
    stage.worker.flush(seal=True)
    assert len(stage.on_their_way(INDEX)) == 1
    assert not stage.worker.flushed
    stage.land(INDEX)
    stage.worker.flush()
    assert len(stage.on_their_way(INDEX)) == 1
    stage.land(INDEX)
    stage.worker.flush()
    assert blocks(stage) == [(-1, 0, 1), (0, 1, 1)]
    assert stage.worker.flushed


def test_a_block_whose_send_failed_is_sent_again_as_it_was_under_another_key() -> None:
    stage = stage_of_one_shard().play(A, ANSWER)
    stage.worker.flush(seal=True)
    (lost,) = stage.on_their_way(INDEX)
    stage.play(B, ANSWER)
    stage.world.land(lost, lost=True)
    stage.worker.flush(seal=True)
    (again,) = stage.on_their_way(INDEX)
    assert again.value == lost.value
    assert again.key != lost.key
    assert stage.observer.told["flushed"] == [(0, 1, True)]
    stage.play(FLUSH)
    stage.world.land_late(lost)
    assert blocks(stage) == [(-1, 0, 1), (0, 1, 1), (-1, 0, 1)]
    stage.play(COMMIT, CRASH, COMMIT).check()


def test_a_block_that_landed_without_a_word_stands_there_twice_and_does_no_harm() -> None:
    stage = stage_of_one_shard().play(A, ANSWER)
    stage.worker.flush(seal=True)
    stage.world.land(stage.on_their_way(INDEX)[0], acknowledged=False)
    stage.play(FLUSH, COMPACT)
    assert blocks(stage) == [(-1, 0, 1), (-1, 0, 1)]
    stage.play(COMMIT, CRASH, COPY_OF_A, COMMIT, FLUSH).check()


# burials


def test_a_block_with_anything_alive_is_not_buried() -> None:
    stage = stage_of_one_shard(ttl=10).play(A, ANSWER, Page("http://young/", 0b111, fetched=95), ANSWER)
    write_a_block(stage)
    stage.play(MUCH_LATER, ANSWER)
    write_a_block(stage)
    assert tombstones(stage.on_their_way(INDEX)) == []


def test_a_tombstone_is_sent_once_and_again_if_that_failed() -> None:
    stage = stage_of_one_shard(ttl=10).play(A, ANSWER)
    expired = write_a_block(stage)
    stage.play(MUCH_LATER, ANSWER)
    write_a_block(stage)
    stage.worker.flush()
    assert tombstones(stage.on_their_way(INDEX)) == [expired]
    stage.world.land(stage.on_their_way(INDEX)[0], lost=True)
    stage.worker.flush()
    assert tombstones(stage.on_their_way(INDEX)) == [expired]
    stage.land(INDEX)
    stage.worker.flush()
    assert stage.on_their_way(INDEX) == []


def test_without_ttl_nothing_is_ever_buried() -> None:
    stage = stage_of_one_shard().play(A, ANSWER, FLUSH, MUCH_LATER, ANSWER, FLUSH, AT_LAST, ANSWER, FLUSH, COMMIT)
    assert all(record.value is not None for record in stage.world.topics[INDEX, 0].records)
