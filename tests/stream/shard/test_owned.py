"""A shard that a worker owns: it is restored, answers only what earlier owners left, and disappears without a trace."""

from __future__ import annotations

from itertools import count

import msgspec
import pytest

from crawler_plugin.wire.errors import Refused, Unavailable
from crawler_plugin.wire.messages import Block, decode, encode
from crawler_plugin.wire.topics import ANSWERS, INDEX
from tests.columns import hits_of
from tests.simulation.memory_log import MemoryLog
from tests.stream.script import ANSWER, CLAIM, COMMIT, FLUSH, Listener, Page, Stage
from worker.stream.barrier import Ends
from worker.stream.log import Bounds, Sent
from worker.stream.log_follower import Follower
from worker.stream.resources import WorkerResources
from worker.stream.shard.memory_limit import MemoryLimit
from worker.stream.shard.owned import OwnedShard
from worker.stream.states import ShardState

A, B, C = Page("http://a/", 0b000), Page("http://b/", 0b001), Page("http://c/", 0b111)


class Owner:
    """Owns the one shard of a world that a stage has left behind, and follows its logs."""

    def __init__(self, stage: Stage, limit: int = 0) -> None:
        self.stage = stage
        self.log = MemoryLog(stage.world, "owner")
        self.told = Listener()
        self.resources = WorkerResources(memory_limit=MemoryLimit(limit))
        ends = Ends(self.log.all_bounds, self.log.has_partition)
        self.shard = OwnedShard(0, self.log, stage.policy, self.told, self.resources, ends)
        self.ends = ends

    def restore(self) -> Follower:
        """Restore the shard; returns the follower of the logs from its replay point."""
        keys = count()
        while (live := self.shard.restore(self.stage.new_index, lambda: next(keys).to_bytes(16, "big"))) is None:
            pass
        follower = Follower(self.log, self.stage.policy, live.replay_point, self.told, self.ends)
        follower.join(live)
        return follower

    @property
    def states(self) -> list[ShardState]:
        return [state for _, state in self.told.told["shard_state"]]


def test_it_tells_each_state_from_its_first_block_to_its_loss() -> None:
    owner = Owner(Stage(shards=1).play(A, COMMIT, FLUSH, B, CLAIM))
    assert owner.states == [ShardState.RESTORING]
    follower = owner.restore()
    assert owner.states[1:] == [ShardState.REPLAYING]
    follower.read()
    assert owner.shard.answer(follower) is not None
    owner.shard.move(ShardState.LOST)
    assert owner.states[2:] == [ShardState.ANSWERING, ShardState.LOST]


def test_it_answers_the_first_undecided_batch_once_and_again_only_where_sending_failed() -> None:
    owner = Owner(Stage(shards=1).play(A, COMMIT, FLUSH, B, CLAIM))
    follower = owner.restore()
    follower.read()
    answer = owner.shard.answer(follower)
    assert answer is not None
    assert [hit.url for hit in hits_of(answer)] == ["http://a/"]
    owner.shard.send(answer)
    assert owner.shard.answer(follower) is None
    world = owner.stage.world
    (send,) = [send for send in world.sends if send.topic == ANSWERS]
    world.land(send, lost=True)
    assert owner.shard.ticket is not None
    assert owner.shard.ticket.state is Sent.FAILED
    assert owner.shard.answer(follower) == answer


def test_what_an_earlier_owner_has_answered_is_read_before_anything_is_answered() -> None:
    stage = Stage(shards=1).play(A, COMMIT, FLUSH, B, ANSWER, C, CLAIM)
    owner = Owner(stage)
    follower = owner.restore()
    assert owner.shard.answer_from == stage.world.topics[ANSWERS, 0].end
    assert owner.shard.answer(follower) is None, "nothing was read yet"
    follower.read()
    assert owner.shard.answer(follower) is None, "the first undecided batch has its answer"
    assert follower.decide() == 1
    answer = owner.shard.answer(follower)
    assert answer is not None
    assert answer.batch == follower.pending[0].offset


def test_while_the_broker_does_not_say_where_the_blocks_begin_it_asks_again(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage(shards=1).play(A, COMMIT, FLUSH)

    def away(log: MemoryLog, topic: str, partition: int) -> Bounds:
        raise Unavailable("the broker is away")

    with monkeypatch.context() as patched:
        patched.setattr(MemoryLog, "bounds", away)
        owner = Owner(stage)
        with pytest.raises(Unavailable):
            owner.shard.restore(stage.new_index, lambda: b"")
        assert owner.shard.restoration is None
    owner.restore()
    assert owner.shard.live is not None
    assert len(owner.shard.live.index) == 1


def test_a_block_that_tells_of_a_claim_that_no_page_can_have_is_refused() -> None:
    stage = Stage(shards=1).play(A, COMMIT, FLUSH)
    topic = stage.world.topics[INDEX, 0]
    last = topic.records[-1]
    poisoned = msgspec.structs.replace(decode(Block, last.value), claimed_up_to=((0, 1000),))
    topic.append(0, last.key, encode(poisoned), (), 0)
    with pytest.raises(Refused, match=r"blocks of shard 0 on index tell of a claim of page 1000 of partition 0"):
        Owner(stage).restore()


def test_its_share_of_memory_is_given_back_and_nothing_of_it_is_read_any_more() -> None:
    owner = Owner(Stage(shards=1).play(A, C, COMMIT, FLUSH), limit=1 << 20)
    owner.restore()
    assert owner.resources.memory_limit.entries == 2
    owner.shard.close()
    assert owner.resources.memory_limit.entries == 0
    assert owner.shard.restoration is None
