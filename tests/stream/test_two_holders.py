"""A shard with two holders: which holder answers, which one writes, and the shard's state when roles change."""

from __future__ import annotations

from pathlib import Path

import pytest

from crawler_plugin.wire.topics import ANSWERS, INDEX, PAGES
from tests.stream.pair import HEDGE, ONE, OTHER, Pair
from tests.stream.script import ANSWER, CLAIM, COMMIT, FLUSH, Page
from worker.stream.log import Role
from worker.stream.resources import WorkerResources
from worker.stream.shard.memory_limit import OverMemoryLimit
from worker.stream.shard.snapshots import SnapshotFolder

A, B, C, D = (Page(f"http://{name}/", bits) for name, bits in (("a", 0b0), ("b", 0b111), ("c", 0b111000), ("d", 0b1)))


# answers


def test_the_standby_says_nothing_while_the_active_holder_answers() -> None:
    pair = Pair().play(A, COMMIT, B, COMMIT)
    assert pair.answers() == [(0, ONE), (1, ONE)]
    pair.check()


def test_the_standby_answers_what_was_left_unanswered_for_long_enough() -> None:
    pair = Pair().play(A, CLAIM)
    pair.other.read()
    pair.wait(HEDGE - 0.1)
    assert pair.other.answer() == 0
    pair.wait(0.1)
    assert pair.other.answer() == 1
    assert pair.observers[OTHER].told["stood_in"] == [(0,)]
    pair.play(COMMIT)
    assert pair.answers() == [(0, OTHER), (0, ONE)], "whoever is woken answers the same, and too late"
    pair.check()


def test_batches_that_have_gathered_do_not_wait_one_after_the_other() -> None:
    pair = Pair(partitions=2)
    pair.assign({0: ONE, 1: OTHER}, PAGES)
    pair.play(A, B._replace(partition=1), CLAIM)
    pair.other.read()
    pair.wait(HEDGE)
    for _ in range(2):
        assert pair.other.answer() == 1
        pair.land(ANSWERS)
        pair.other.read()
        pair.other.decide()
    assert pair.answers() == [(0, OTHER), (1, OTHER)]


def test_an_answer_to_an_earlier_batch_is_a_sign_of_life() -> None:
    pair = Pair(partitions=2)
    pair.assign({0: ONE, 1: OTHER}, PAGES)
    pair.play(A, B._replace(partition=1), CLAIM)
    pair.other.read()
    pair.wait(HEDGE)
    pair.one.read()
    pair.one.answer()
    pair.land(ANSWERS)
    pair.other.read()
    pair.other.decide()
    assert pair.other.answer() == 0, "the second batch has waited as long, but its holder works"
    pair.wait(HEDGE)
    assert pair.other.answer() == 1


# blocks


def test_only_the_active_holder_writes() -> None:
    pair = Pair(flush_entries=1).play(A, ANSWER, FLUSH, B, ANSWER, FLUSH)
    assert pair.blocks() == [(-1, 0, ONE), (0, 1, ONE)]
    assert pair.other.flushed


def test_the_standby_lets_go_of_what_blocks_cover_and_goes_on_from_their_end() -> None:
    pair = Pair().play(A, ANSWER, FLUSH, B, ANSWER)
    pair.follow_index()
    assert pair.unwritten(OTHER) == 1
    pair.swap()
    pair.follow_index()
    pair.play(FLUSH)
    assert pair.blocks() == [(-1, 0, ONE), (0, 1, OTHER)]
    pair.follow_index()
    assert pair.unwritten(ONE) == 0
    pair.play(COMMIT).check()


def test_who_becomes_active_reads_its_predecessors_last_block_before_it_writes() -> None:
    pair = Pair().play(A, ANSWER, FLUSH)
    pair.swap()
    pair.other.flush(seal=True)
    flushed = [pair.other.flushed]
    pair.other.tidy()
    pair.other.flush()
    assert [*flushed, pair.other.flushed] == [False, True]
    assert pair.on_their_way(INDEX) == []
    assert pair.blocks() == [(-1, 0, ONE)]
    pair.play(B, ANSWER, FLUSH)
    assert pair.blocks() == [(-1, 0, ONE), (0, 1, OTHER)]


class OnMachines(Pair):
    """Each worker has a folder for snapshots on a machine of its own."""

    def __init__(self, folder: Path) -> None:
        self.folders = [SnapshotFolder(folder, name) for name in (ONE, OTHER)]
        self.given = iter(self.folders)
        super().__init__()

    def local(self) -> WorkerResources:
        return WorkerResources(snapshots=next(self.given))

    def keep(self) -> None:
        """Let each worker that takes snapshots take one and write it."""
        self.follow_index()
        for keep in (True, False, False):
            for worker in self.workers.values():
                worker.flush(keep=keep)
            self.land(INDEX)

    @property
    def written(self) -> list[bool]:
        """Whether there is a snapshot on each of the two machines."""
        return [folder.file(0).exists() for folder in self.folders]


def test_only_the_active_holder_takes_snapshots_and_lets_go_of_a_state_when_it_is_demoted(tmp_path: Path) -> None:
    pair = OnMachines(tmp_path).play(A, COMMIT)
    pair.keep()
    assert pair.written == [True, False]
    pair.folders[0].file(0).unlink()
    pair.play(B, COMMIT)
    pair.one.flush(keep=True)
    pair.swap()
    writer = pair.held(ONE).snapshot_writer
    assert writer is not None
    assert writer.idle
    pair.keep()
    assert pair.written == [False, True]
    pair.check()


# roles that are taken away and given


def test_a_change_of_roles_costs_no_restore() -> None:
    pair = Pair().play(A, COMMIT)
    before = [pair.held(name).live for name in (ONE, OTHER)]
    pair.swap()
    pair.play(B, CLAIM)
    assert [pair.held(name).live for name in (ONE, OTHER)] == before
    assert [pair.held(name).role for name in (ONE, OTHER)] == [Role.STANDBY, Role.ACTIVE]
    assert pair.one.answer() == 0
    assert pair.other.answer() == 1
    assert pair.observers[ONE].times("restored") == 1


def test_what_was_taken_is_kept_until_the_next_assignment_and_given_back_as_it_went_on() -> None:
    pair = Pair().play(A, COMMIT)
    before = pair.held(OTHER).live
    pair.give({Role.ACTIVE: ONE})
    assert pair.held(OTHER).role is None
    pair.play(B, COMMIT)
    pair.give({Role.ACTIVE: ONE, Role.STANDBY: OTHER})
    assert pair.held(OTHER).live is before
    assert before is not None
    assert before.standing.to == 1
    pair.check()


def test_what_the_next_assignment_does_not_give_back_is_dropped() -> None:
    pair = Pair().play(A, COMMIT)
    pair.give({Role.ACTIVE: ONE})
    assert pair.other.shards.keys() == {0}
    pair.tell()
    assert pair.other.shards == {}


def test_with_one_holder_what_was_taken_is_dropped_at_once() -> None:
    pair = Pair(replicas=1).play(A, COMMIT)
    pair.give({Role.STANDBY: OTHER})
    assert pair.one.shards == {}


def test_while_a_role_is_on_its_way_from_one_to_the_other_both_stand_in() -> None:
    pair = Pair().play(A, COMMIT)
    pair.give({})
    pair.play(B, CLAIM)
    pair.one.read()
    assert pair.one.answer() == 0
    pair.wait(HEDGE)
    pair.play(COMMIT)
    assert [batch for batch, _ in pair.answers()] == [0, 1, 1]
    pair.play(FLUSH)
    assert pair.blocks() == [], "nobody is active"
    pair.check()


def test_a_shard_that_is_kept_makes_room_for_one_that_comes() -> None:
    pair = Pair(shards=2)
    limit = pair.other.resources.memory_limit
    limit.limit = 1 << 20  # type: ignore[misc]
    pair.play(A, B, C, COMMIT)
    limit.limit = limit.used  # type: ignore[misc]
    pair.give({Role.ACTIVE: ONE})
    try:
        limit.reserve(7, 2)
    except OverMemoryLimit as error:
        pytest.fail(str(error))
    pair.other.poll()
    pair.other.poll()
    assert pair.other.shards == {}


def test_a_standby_takes_memory_as_an_active_holder_does() -> None:
    pair = Pair()
    for worker in pair.workers.values():
        worker.resources.memory_limit.limit = 1 << 20  # type: ignore[misc]
    pair.play(A, COMMIT)
    assert [worker.resources.memory_limit.entries for worker in pair.workers.values()] == [1, 1]
