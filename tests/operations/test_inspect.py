"""Reports on the index topic: on a sound shard, and on each possible fault of one."""

from __future__ import annotations

from typing import Final

import msgspec
import pytest

from crawler_plugin.wire.messages import Block, decode, encode
from crawler_plugin.wire.topics import ANSWERS, FINGERPRINTS, INDEX
from tests.simulation.memory_log import MemoryLog, World
from tests.stream.script import ANSWER, COMMIT, FLUSH, LOSE_BLOCKS, Page, Stage
from worker.operations.inspect import ShardReport, inspect, read_shard
from worker.stream.policy import SCHEME_HEADER

PAGES: Final = [Page(f"http://{n}/", fingerprint=0b111 << 3 * n, fetched=10 * n) for n in range(4)]


def written(*script: object) -> World:
    """One shard, with a block of each page."""
    stage = Stage(shards=1)
    for page in PAGES:
        stage.play(page, COMMIT, FLUSH)
    return stage.world


def look(world: World) -> ShardReport:
    (report,) = inspect(MemoryLog(world, "look"), [0])
    return report


def blocks(world: World) -> list[Block]:
    return [decode(Block, record.value) for record in world.topics[INDEX, 0].records]


def put(world: World, key: bytes, value: bytes | None, headers: tuple[tuple[str, bytes], ...] = ()) -> int:
    return world.topics[INDEX, 0].append(0, key, value, headers, 0)


def test_of_a_sound_shard_it_tells_what_a_restore_would_load() -> None:
    world = written()
    report = look(world)
    records = world.topics[INDEX, 0].records
    assert (report.shard, report.entries, report.blocks, report.damaged, report.problems) == (0, 4, 4, 0, ())
    assert report.complete_up_to == blocks(world)[-1].to
    assert report.writers == (b"w1".hex(),)
    assert report.bytes == sum(len(record.key or b"") + len(record.value or b"") for record in records)
    assert (report.batches_to_spare, report.answers_to_spare) == (
        report.complete_up_to + 1,
        blocks(world)[-1].answers_offset,
    )


def test_an_empty_topic_is_a_shard_of_which_nothing_is_known_and_nothing_is_wrong() -> None:
    report = look(World(partitions=1, shards=1))
    assert (report.entries, report.complete_up_to, report.floor, report.blocks, report.problems) == (0, -1, -1, 0, ())


def test_blocks_above_a_hole_are_damaged_and_the_cover_ends_before_it() -> None:
    world = written()
    second = world.topics[INDEX, 0].records[1]
    put(world, second.key or b"", None)
    report = look(world)
    assert (report.entries, report.blocks, report.damaged) == (1, 3, 2)
    assert report.complete_up_to == blocks_before(world, 1)
    assert any(
        line.startswith("2 blocks lie above batch 0, and the blocks between are lost") for line in report.problems
    )


def blocks_before(world: World, number: int) -> int:
    """The offset at which the block before this one ends."""
    return decode(Block, world.topics[INDEX, 0].records[number - 1].value).to


def test_a_record_that_is_no_sound_block_of_the_shard_is_named_by_its_offset_until_it_is_overwritten() -> None:
    world = written()
    foreign = put(world, b"foreign", b"not ours")
    elsewhere = put(world, b"elsewhere", encode(msgspec.structs.replace(blocks(written())[0], shard=5)))
    forged = put(world, b"forged", encode(msgspec.structs.replace(blocks(written())[0], after=7, to=8)))
    told = read_shard(MemoryLog(world, "look"), 0).unreadable
    assert [line.partition(":")[0] for line in told] == [f"offset {number}" for number in (foreign, elsewhere, forged)]
    assert told[1].endswith("a block of shard 5")
    assert [line[:24] for line in look(world).problems] == ["a record cannot be read,"] * 3
    for key in (b"foreign", b"elsewhere", b"forged"):
        put(world, key, None)
    assert look(world).problems == ()


def test_blocks_of_two_schemes_are_a_problem_and_the_words_of_each_are_kept() -> None:
    world = written()
    last = blocks(world)[-1]
    other = msgspec.structs.replace(last, scheme=b"another!")
    put(world, b"other", encode(other), ((SCHEME_HEADER, b"other words"),))
    found = read_shard(MemoryLog(world, "look"), 0)
    assert set(found.words) == {last.scheme, b"another!"}
    assert dict(found.words[b"another!"]) == {SCHEME_HEADER: b"other words"}
    assert "blocks of 2 schemes, written with different settings" in look(world).problems


@pytest.mark.parametrize(
    ("topic", "begin", "spare", "said"),
    [(FINGERPRINTS, 2, 1, None), (FINGERPRINTS, 4, -1, "gone"), (ANSWERS, 4, -1, "gone")],
)
def test_it_tells_how_much_of_the_logs_may_go_before_the_shard_needs_it(
    topic: str, begin: int, spare: int, said: str | None
) -> None:
    stage = Stage(shards=1)
    for page in PAGES[:3]:
        stage.play(page, COMMIT, FLUSH)
    stage.play(PAGES[3], ANSWER, LOSE_BLOCKS)
    stage.world.topics[topic, 0].forget(begin)
    report = look(stage.world)
    assert (report.batches_to_spare if topic == FINGERPRINTS else report.answers_to_spare) == spare
    assert [f"is {said}: run `python -m worker repair`" in line for line in report.problems] == (
        [] if said is None else [True]
    )
