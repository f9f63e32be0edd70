"""A shard rebuilt from its blocks, whatever happened to them."""

from __future__ import annotations

from typing import Final

import msgspec
import pytest

from crawler_plugin.wire.errors import Refused
from crawler_plugin.wire.messages import Block, decode, encode
from crawler_plugin.wire.topics import INDEX
from tests.simulation.memory_log import MemoryLog, World
from tests.simulation.schedule import SCHEME
from tests.stream.script import (
    ANSWER,
    CLAIM,
    COMMIT,
    COMPACT,
    CRASH,
    FLUSH,
    LOSE_BLOCKS,
    REBALANCE,
    REDELIVER,
    TAKE_OVER,
    WORDS,
    Event,
    Listener,
    Page,
    Stage,
    policy,
)
from worker.fingerprint.scheme import Scheme
from worker.stream.policy import SCHEME_HEADER, Policy, ReplayPoint
from worker.stream.shard.expiry_clocks import Clocks
from worker.stream.shard.live import LiveShard, Standing
from worker.stream.shard.restore import Restoration, Restored

PAGES: Final = [Page(f"http://{n}/", fingerprint=0b111 << 3 * (n % 9), fetched=10 * n) for n in range(12)]
P, Q, R, S, T, U = PAGES[:6]

SCRIPTS: list[tuple[Page | Event, ...]] = [
    (FLUSH, COMMIT),
    (P, COMMIT, CRASH, Q, COMMIT),
    (P, COMMIT, FLUSH, CRASH, Q, COMMIT, FLUSH),
    (P, COMMIT, FLUSH, Q, ANSWER, CRASH, R, COMMIT, FLUSH),
    (P, COMMIT, FLUSH, Q, COMMIT, LOSE_BLOCKS, R, COMMIT, FLUSH, CRASH, S, COMMIT),
    (P, COMMIT, TAKE_OVER, Q, COMMIT, FLUSH, R, COMMIT, TAKE_OVER, S, COMMIT, FLUSH, CRASH, COMMIT),
    (P, COMMIT, FLUSH, TAKE_OVER, Q, COMMIT, FLUSH, R, COMMIT, FLUSH, COMPACT, CRASH, S, COMMIT, FLUSH),
    (P, Q, COMMIT, FLUSH, R, COMMIT, FLUSH, S, T, COMMIT, FLUSH, COMPACT, CRASH, U, COMMIT, FLUSH, COMPACT, CRASH, P),
    (P, CLAIM, FLUSH, CRASH, Q, REDELIVER, FLUSH, REBALANCE, R, COMMIT, FLUSH, COMPACT, CRASH),
    tuple(item for page in PAGES for item in (page, COMMIT, FLUSH, COMPACT, CRASH)),
    tuple(item for page in PAGES for item in (page, COMMIT, LOSE_BLOCKS)),
]


@pytest.mark.parametrize("ttl", [None, 15, 45])
@pytest.mark.parametrize("script", SCRIPTS, ids=range(len(SCRIPTS)))
def test_a_rebuilt_shard_is_the_one_that_lived_through_it_all(
    script: tuple[Page | Event, ...], ttl: int | None
) -> None:
    Stage(ttl=ttl).play(*script, COMMIT).check()


# reading


class OneByOne:
    """Every read brings one record."""

    def randint(self, low: int, high: int) -> int:
        return min(1, high)


class Rebuilding:
    """One shard of a world that a stage has left behind."""

    def __init__(self, world: World, wanted: Policy | None = None) -> None:
        self.world = world
        self.observer = Listener()
        self.log = MemoryLog(world, "new")
        self.restoration = Restoration(0, self.log, wanted or policy(shards=1), self.observer)

    def finish(self) -> LiveShard:
        while not self.restoration.step():
            pass
        return self.restored().shard

    def restored(self) -> Restored:
        """The result of a restoration after all its steps."""
        restored = self.restoration.finish(Stage(shards=1).new_index)
        assert restored is not None
        return restored


def three_blocks(ttl: int | None = None) -> Stage:
    """One shard; batches 0, 1 and 2 with a survivor and a block each."""
    return Stage(shards=1, ttl=ttl).play(P, ANSWER, FLUSH, Q, ANSWER, FLUSH, R, ANSWER, FLUSH)


def put(world: World, block: Block, key: bytes, headers: tuple[tuple[str, bytes], ...] = ()) -> None:
    world.topics[INDEX, 0].append(0, key, encode(block), headers, 0)


def block_of(world: World, number: int) -> Block:
    return decode(Block, world.topics[INDEX, 0].records[number].value)


def test_an_empty_topic_is_an_empty_shard_that_reads_both_logs_from_their_beginning() -> None:
    shard = Rebuilding(World(partitions=1, shards=1)).finish()
    assert shard.standing == Standing()
    assert shard.replay_point == ReplayPoint(0, 0)
    assert len(shard.index) == 0


def test_the_end_is_asked_for_after_the_last_record_came() -> None:
    stage = three_blocks()
    last = stage.world.topics[INDEX, 0].records.pop()
    stage.world.topics[INDEX, 0].end -= 1
    stage.world.chance = OneByOne()  # type: ignore[assignment]
    rebuilding = Rebuilding(stage.world)
    assert not rebuilding.restoration.step()
    assert 0 < rebuilding.restoration.progress < 1
    stage.world.topics[INDEX, 0].append(0, last.key, last.value, last.headers, 0)  # lands while the restore reads
    assert not rebuilding.restoration.step()
    assert rebuilding.finish().standing.to == 2
    assert rebuilding.restoration.progress == 1


def test_records_that_compaction_removed_are_not_waited_for() -> None:
    stage = three_blocks()
    stage.world.topics[INDEX, 0].append(0, b"gone", None, (), 0)
    stage.world.topics[INDEX, 0].compact(bury=True)
    assert Rebuilding(stage.world).finish().standing.to == 2


def test_a_buried_block_does_not_count_even_before_compaction() -> None:
    stage = three_blocks()
    last = stage.world.topics[INDEX, 0].records[-1]
    stage.world.topics[INDEX, 0].append(0, last.key, None, (), 0)
    assert Rebuilding(stage.world).finish().standing.to == 1


def test_the_shard_goes_on_from_the_header_of_the_last_block() -> None:
    stage = three_blocks()
    last = block_of(stage.world, 2)
    shard = Rebuilding(stage.world).finish()
    assert shard.standing == Standing(
        to=2,
        answers_offset=last.answers_offset,
        watermark=20,
        claimed_up_to={0: 2},
        floor=-1,
        clocks=Clocks(),
    )
    assert shard.replay_point == ReplayPoint(3, last.answers_offset)
    assert shard.unflushed == 0


def test_what_has_expired_is_not_loaded() -> None:
    shard = Rebuilding(three_blocks(ttl=5).world, policy(shards=1, ttl=5)).finish()
    assert shard.standing.floor == 1
    assert [entry.order for entry in shard.index.entries()] == [(2, 0)]
    assert shard.standing.clocks == Clocks([(2, 20)])


def test_the_keys_on_the_topic_and_the_largest_floor_are_handed_on_for_burials() -> None:
    stage = three_blocks(ttl=5)
    records = stage.world.topics[INDEX, 0].records
    rebuilding = Rebuilding(stage.world, policy(shards=1, ttl=5))
    while not rebuilding.restoration.step():
        pass
    _, known, position, floor = rebuilding.restored()
    buried = {record.key for record in records if record.value is None}
    assert known == {r.key: decode(Block, r.value).to for r in records if r.value and r.key not in buried}
    assert position == records[-1].offset + 1
    assert floor == 1


# damage


def test_a_block_above_a_gap_is_dropped_and_told_and_the_logs_are_read_instead() -> None:
    stage = three_blocks()
    del stage.world.topics[INDEX, 0].records[1]
    rebuilding = Rebuilding(stage.world)
    assert rebuilding.finish().standing.to == 0
    assert rebuilding.observer.told["restored"] == [(0, 1, 2, 1)]
    stage.play(CRASH, COMMIT, FLUSH).check()


def test_a_record_that_is_no_block_is_passed_over_and_told() -> None:
    stage = three_blocks()
    stage.world.topics[INDEX, 0].append(0, b"junk", b"junk", (), 0)
    rebuilding = Rebuilding(stage.world)
    assert rebuilding.finish().standing.to == 2
    assert [(topic, offset) for topic, offset, _ in rebuilding.observer.told["unreadable"]] == [(INDEX, 3)]


def test_junk_under_the_key_of_a_block_takes_its_place() -> None:
    stage = three_blocks()
    stage.world.topics[INDEX, 0].append(0, stage.world.topics[INDEX, 0].records[2].key, b"junk", (), 0)
    assert Rebuilding(stage.world).finish().standing.to == 1


def test_a_block_of_another_shard_is_passed_over_and_told() -> None:
    stage = three_blocks()
    put(stage.world, msgspec.structs.replace(block_of(stage.world, 2), shard=1, to=9), b"stray")
    rebuilding = Rebuilding(stage.world)
    assert rebuilding.finish().standing.to == 2
    ((_, _, why),) = rebuilding.observer.told["unreadable"]
    assert why == "a block of shard 1 in partition 0"


def test_blocks_that_end_alike_and_differ_in_state_are_refused() -> None:
    stage = three_blocks()
    put(stage.world, msgspec.structs.replace(block_of(stage.world, 2), watermark=99), b"other")
    with pytest.raises(Refused, match=r"end at batch 2 and differ in watermark: .*python -m worker repair"):
        Rebuilding(stage.world).finish()


# schemes


def test_a_block_of_another_scheme_stops_the_worker_and_says_which_setting_differs() -> None:
    stage = three_blocks()
    theirs = Scheme.of({"near.k": 3, "shards": 2})
    foreign = msgspec.structs.replace(block_of(stage.world, 2), scheme=b"another8")
    put(stage.world, foreign, b"foreign", ((SCHEME_HEADER, theirs.encode()),))
    with pytest.raises(Refused, match=r"topic index .*: near\.k is 1 here and 3 there\. .*topics\.generation"):
        Rebuilding(stage.world).finish()


def test_a_block_of_another_scheme_without_its_words_is_named_by_its_id() -> None:
    stage = three_blocks()
    put(stage.world, msgspec.structs.replace(block_of(stage.world, 2), scheme=b"another8"), b"foreign")
    with pytest.raises(Refused, match=f"scheme {b'another8'.hex()} instead of {SCHEME.hex()}"):
        Rebuilding(stage.world).finish()


def test_the_words_of_our_own_scheme_stand_beside_every_block() -> None:
    records = three_blocks().world.topics[INDEX, 0].records
    assert [dict(record.headers) for record in records] == [{SCHEME_HEADER: WORDS.encode()}] * 3
