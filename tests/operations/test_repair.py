"""After a gap: the repair names the lost pages, nothing else is lost, and from then on everything is exact again."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from typing import Final, Self

import pytest

from crawler_plugin.wire.errors import Refused, Unavailable
from crawler_plugin.wire.topics import ANSWERS, FINGERPRINTS, INDEX, PAGES
from tests.simulation.memory_log import World
from tests.simulation.place import TwinPlace
from tests.stream.script import ANSWER, COMMIT, FLUSH, LOSE_BLOCKS, Page, Stage, policy
from worker.operations.repair import Plan, Survey, carry_out, plan, refuse_superseded, survey
from worker.stream.log import Committed
from worker.stream.policy import Note
from worker.stream.worker import Worker

LOGS: Final = (FINGERPRINTS, ANSWERS)


def everybody_dies(world: World, workers: dict[str, Worker]) -> None:
    """Kill all workers, so that nothing is on its way any more and the groups are empty."""
    for name in list(workers):
        del workers[name]
        world.crash(name)
    world.transactions.clear()
    world.limbo.clear()


KEYS = count(10**6)


def look(stage: Stage) -> tuple[Survey, Plan]:
    surveyed = survey(TwinPlace(stage.world), stage.policy, range(stage.world.partitions))
    return surveyed, plan(surveyed, stage.policy)


def repair(stage: Stage) -> Plan:
    """Repair, and check that nothing is left to repair."""
    _, planned = look(stage)
    carry_out(TwinPlace(stage.world), planned, stage.policy, lambda: next(KEYS).to_bytes(16, "big"))
    assert look(stage)[1].empty
    return planned


class Away(Stage):
    """A stage whose workers are all away for a while."""

    def away(self) -> Self:
        everybody_dies(self.world, self.workers)
        self.deaf.clear()
        return self

    def forget(self, batches: int | None = None, answers: int | None = None) -> Self:
        """Retention removes this many batches and answers, or all."""
        for topic, begin in zip(LOGS, (batches, answers), strict=True):
            partition = self.world.topics[topic, 0]
            partition.forget(partition.end if begin is None else begin)
        return self

    def back(self, *script: Page) -> list[str]:
        """Start a worker, and publish these pages; returns all verdicts."""
        self.take_over()
        self.play(*script, COMMIT)
        return self.verdicts()


def pages(*names: str, partition: int = 0) -> list[Page]:
    """Pages as different as their names."""
    return [Page(f"http://{name}.example/", 0b111 << 3 * (ord(name) - 97), partition=partition) for name in names]


A, B, C, D, E, F = pages(*"abcdef")
A2 = Page("http://a2.example/", A.fingerprint)
B2, C2 = Page("http://b2.example/", B.fingerprint), Page("http://c2.example/", C.fingerprint)


def test_where_nothing_is_gone_there_is_nothing_to_repair() -> None:
    stage = Away().play(A, B, COMMIT, FLUSH, C, COMMIT).away()
    assert repair(stage) == Plan((), (), range(0))


@pytest.mark.parametrize("flushed", [True, False])
def test_a_partition_of_which_nothing_was_claimed_yet_needs_no_repair(flushed: bool) -> None:
    stage = Away().play(A, B, COMMIT)
    if flushed:
        stage.play(FLUSH)
    stage.away()
    stage.world.partitions = stage.world.outputs = 2
    stage.publish(A2._replace(partition=1))
    assert repair(stage).empty
    assert stage.back(C)[-1] == "http://a2.example/ duplicate http://a.example/"


def test_a_consumed_offset_that_was_reset_by_hand_is_found_again_from_the_outputs() -> None:
    stage = Away().play(A, B, COMMIT, FLUSH).away()
    stage.world.committed[0] = Committed(0, "")
    with pytest.raises(Refused, match=r"which this program did not write.*`python -m worker repair`"):
        stage.back(A2)
    stage.away()
    (move,) = repair(stage).moves
    assert (move.committed.offset, list(move.skipped)) == (2, [])
    assert [line.split()[1] for line in stage.back()] == ["unique", "unique", "duplicate"]


def test_an_idle_crawl_whose_logs_have_passed_needs_no_repair() -> None:
    stage = Away().play(A, B, COMMIT, FLUSH).away().forget()
    assert repair(stage).empty
    assert stage.back(A2)[-1] == "http://a2.example/ duplicate http://a.example/"


def test_nor_one_whose_last_answers_were_given_twice() -> None:
    stage = Away().play(A, B, COMMIT, FLUSH).away()
    answers = stage.world.topics[ANSWERS, 0]
    answers.append(0, None, answers.records[-1].value, (), 0)
    stage.forget()
    assert repair(stage).empty
    assert stage.back(A2)[-1] == "http://a2.example/ duplicate http://a.example/"


def test_pages_that_a_block_knows_as_claimed_and_nobody_has_committed_are_left_out_and_listed() -> None:
    stage = Away().play(A, COMMIT, B, C, ANSWER, FLUSH, D, ANSWER).away().forget()
    planned = repair(stage)
    assert [list(move.skipped) for move in planned.moves] == [[1, 2]]
    assert stage.back(E) == ["http://a.example/ unique", "http://d.example/ unique", "http://e.example/ unique"]


def test_intact_blocks_above_a_lost_one_are_kept() -> None:
    stage = Away(shards=1).play(A, COMMIT, FLUSH, B, COMMIT, FLUSH, C, COMMIT, FLUSH, D, COMMIT).away()
    del stage.world.topics[INDEX, 0].records[1]
    stage.forget(3, 3)
    planned = repair(stage)
    assert [bridge.holes for bridge in planned.bridges] == [((0, 1),)]
    verdicts = stage.back(*(Page(f"{page.url}copy", page.fingerprint) for page in (A, B, C, D)))
    assert [line.split()[1] for line in verdicts[4:]] == ["duplicate", "unique", "duplicate", "duplicate"]


def test_a_bridge_to_a_batch_that_nobody_knows_is_never_where_a_restore_ends() -> None:
    stage = Away(shards=1).play(A, COMMIT, FLUSH, B, COMMIT, FLUSH, C, COMMIT, FLUSH).away()
    blocks = stage.world.topics[INDEX, 0].records
    del blocks[1]
    stage.forget(2, 0)
    repair(stage)
    del blocks[1]  # the intact block above the bridge goes too
    with pytest.raises(Refused, match="made anew"):
        stage.back()


def test_a_partition_goes_on_at_the_newest_state_that_leaves_nothing_out() -> None:
    stage = Away(partitions=2).play(A, COMMIT)  # partition 1 has committed its first offset, and waits
    for page in (B, C, D):
        stage.play(page, COMMIT, FLUSH)
    stage.away()
    stage.world.committed[1] = Committed(0, "1 0 0")
    stage.forget(2, 4)
    planned = repair(stage)
    assert [(move.partition, move.committed, list(move.skipped)) for move in planned.moves] == [
        (1, Committed(0, "1 4 8"), [])
    ]
    assert stage.back(*pages("e", partition=1))[-1] == "http://e.example/ unique"


def test_pages_that_passed_their_retention_unread_are_left_out_and_listed() -> None:
    stage = Away().play(A, COMMIT, FLUSH).away().play(B, C, D)
    stage.world.topics[PAGES, 0].forget(3)
    planned = repair(stage)
    assert [(move.committed.offset, list(move.skipped)) for move in planned.moves] == [(3, [1, 2])]
    assert planned.bridges == ()
    assert stage.back() == ["http://a.example/ unique", "http://d.example/ unique"]


def test_a_crawl_that_has_not_begun_needs_no_repair() -> None:
    stage = Away().away()
    stage.world.committed.clear()
    assert repair(stage).empty


def test_it_refuses_while_a_worker_is_in_a_group() -> None:
    stage = Away().play(A, COMMIT, LOSE_BLOCKS)
    stage.forget()
    planned = look(stage)[1]
    assert not planned.empty
    before = dict(stage.world.committed)
    with pytest.raises(Refused, match="stop all of them"):
        carry_out(TwinPlace(stage.world), planned, stage.policy, lambda: b"key")
    assert stage.world.committed == before


def test_looking_changes_nothing() -> None:
    stage = Away().play(A, COMMIT, LOSE_BLOCKS).away().forget()

    def everything_there() -> object:
        world = stage.world
        return dict(world.committed), {place: list(found.records) for place, found in world.topics.items() if found.end}

    before = everything_there()
    look(stage)
    assert everything_there() == before


def test_a_transaction_that_is_open_is_waited_for() -> None:
    stage = Away().play(A, ANSWER)
    stage.begin_settling()
    with pytest.raises(Unavailable, match=r"kafka\.transaction_timeout_seconds"):
        look(stage)


@pytest.mark.parametrize("topic", [FINGERPRINTS, ANSWERS, PAGES])
def test_topics_made_anew_are_not_repaired(topic: str) -> None:
    stage = Away().play(A, B, COMMIT, FLUSH).away()
    del stage.world.topics[topic, 0]
    with pytest.raises(Refused, match="made anew under the same name"):
        look(stage)


@pytest.mark.parametrize("successor", ["b", ""])
def test_a_generation_that_gave_its_outputs_away_is_refused_unless_its_workers_only_count(successor: str) -> None:
    stage = Away(partitions=2).play(A, COMMIT, FLUSH).away()
    place = TwinPlace(stage.world)
    refuse_superseded(place, "a", range(2), stage.policy)
    offset, text = stage.world.committed[1]
    given_away = Note.from_metadata(text, "here")._replace(successor=successor)
    stage.world.committed[1] = Committed(offset, given_away.to_metadata())
    with pytest.raises(Refused, match=rf"topics\.generation='a' has given .* --set topics\.generation={successor},"):
        refuse_superseded(place, "a", range(2), stage.policy)
    refuse_superseded(place, "a", range(2), replace(stage.policy, output="count"))


def test_blocks_that_contradict_each_other_are_not_repaired() -> None:
    stage = Away().play(A, COMMIT, FLUSH).away()
    other = Away().play(A, B, COMMIT, FLUSH).away()
    stage.world.topics[INDEX, 1] = other.world.topics[INDEX, 1]
    with pytest.raises(Refused, match=r"topics\.prefix"):
        look(stage)


def test_blocks_of_other_settings_are_not_repaired() -> None:
    stage = Away().play(A, COMMIT, FLUSH).away()
    with pytest.raises(Refused, match="other settings"):
        survey(TwinPlace(stage.world), policy(scheme=b"another1"), range(1))
