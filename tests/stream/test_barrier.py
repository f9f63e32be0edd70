"""A record that no worker wrote stops the crawl before the record is decided, and a copy of the index goes on without
loss."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from crawler_plugin.wire.errors import Refused
from crawler_plugin.wire.messages import Claim, encode
from crawler_plugin.wire.topics import FINGERPRINTS
from tests.operations.test_repair import everybody_dies
from tests.simulation.mutations.mutation import replaced
from tests.simulation.place import TwinPlace
from tests.stream.script import COMMIT, CRASH, FLUSH, Page, Stage, batch, claim, write
from tests.stream.test_runner import RHYTHM, Clock, Idle, NoListener, world_goes_on
from worker.operations.copy_index import drained
from worker.operations.repair import barrier, plan, survey
from worker.stream import barrier as barriers
from worker.stream.barrier import Barred, Ends, beyond
from worker.stream.log import Bounds
from worker.stream.runner import Runner

A, B, C = Page("http://a/", 0b000), Page("http://b/", 0b111), Page("http://c/", 0b111000)


def of_the_future() -> bytes:
    """A batch of a format that this program does not know."""
    value = encode(batch(claim(1)))
    return value[:2] + b"\x09" + value[3:]


FORGED: dict[str, tuple[Claim | None, str]] = {
    "beyond the end of pages": (claim(2**62), f"claims page {2**62} of partition 0, but pages ends there at 3"),
    "at the end of pages": (claim(3), "claims page 3 of partition 0, but pages ends there at 3"),
    "a partition that is not there": (
        claim(0, partition=5),
        "claims page 0 of partition 5, and pages has no such partition",
    ),
    "a negative partition": (claim(0, partition=-1), "claims page 0 of partition -1 with values that no worker writes"),
    "a negative offset": (claim(-1), "with values that no worker writes"),
    "a time that no column holds": (claim(1, clock=2**63 - 1), "with values that no worker writes"),
    "of the future": (None, "cannot be read: Batch of format version 9"),
}


@pytest.mark.parametrize("kind", FORGED)
def test_what_lies_before_it_is_decided_and_nothing_from_it_on(kind: str) -> None:
    forged, why = FORGED[kind]
    stage = Stage()
    stage.play(A, COMMIT, B)
    stage.claim()
    stage.publish(C)
    message = of_the_future() if forged is None else batch(forged, writer=b"forger")
    place = write(stage.world, message, FINGERPRINTS)
    with pytest.raises(Barred, match=f"record {place} of fingerprints .*{why}[^$]*index copy --to") as refusal:
        stage.play(COMMIT)
    assert refusal.value.exit_code == 4
    worker = stage.worker
    assert worker.followers[0].place.batch == place
    worker.commit()
    stage.world.settle_down()
    stage.play(FLUSH)
    assert stage.verdicts() == ["http://a/ unique", "http://b/ unique"]

    everybody_dies(stage.world, stage.workers)
    outside = TwinPlace(stage.world)
    surveyed = survey(outside, worker.policy, range(1))
    assert plan(surveyed, worker.policy).empty
    found = barrier(outside, surveyed, worker.policy)
    assert found is not None
    assert found.offset == place
    at_rest = drained(outside, "", worker.policy, range(1))
    assert at_rest.state.knows(0) == 1
    assert at_rest.consumed[0][0].offset == 2


def test_a_log_without_such_a_record_has_no_barrier() -> None:
    stage = Stage().play(A, B, COMMIT)
    outside = TwinPlace(stage.world)
    assert barrier(outside, survey(outside, stage.policy, range(1)), stage.policy) is None


class Counted:
    """A log that counts the requests for partitions and their ends."""

    def __init__(self, **ends: int) -> None:
        self.ends = {int(name[1:]): end for name, end in ends.items()}
        self.questions: list[list[int]] = []

    def __call__(self, places: Sequence[tuple[str, int]]) -> list[Bounds]:
        self.questions.append([number for _, number in places])
        return [Bounds(0, self.ends[number]) for _, number in places]

    def has(self, topic: str, number: int) -> bool:
        return number in self.ends


def test_nothing_is_asked_for_claims_of_pages_that_were_read_here() -> None:
    log = Counted()
    ends = Ends(log, log.has)
    for offset in range(5):
        ends.seen(0, offset)
        assert ends.after({0: offset})[0] == offset + 1
    assert log.questions == []


def test_one_question_answers_for_all_partitions_that_were_ever_asked_for_and_for_all_that_was_read_before_it() -> None:
    log = Counted(p1=10, p2=20)
    ends = Ends(log, log.has)
    assert ends.after({1: 3})[1] == 10
    for claimed in ({1: 4}, {1: 9}):
        ends.after(claimed)
    assert log.questions == [[1]]
    ends.after({2: 5})
    log.ends = {1: 100, 2: 200}
    ends.after({1: 10})
    for offset in range(11, 100):
        ends.after({1: offset, 2: 2 * offset})
    assert log.questions == [[1], [1, 2], [1, 2]]


def test_a_claim_at_the_known_end_is_asked_for_anew() -> None:
    log = Counted(p0=3)
    ends = Ends(log, log.has)
    assert ends.after({0: 3})[0] == 3
    assert beyond({0: 3}, ends.after({0: 3})) == "page 3 of partition 0, but pages ends there at 3"
    log.ends = {0: 4}
    assert beyond({0: 3}, ends.after({0: 3})) is None


def test_a_partition_that_pages_does_not_have_has_no_end_until_it_comes() -> None:
    log = Counted(p0=3)
    ends = Ends(log, log.has)
    assert beyond({0: 2, 1: 0}, ends.after({0: 2, 1: 0})) == "page 0 of partition 1, and pages has no such partition"
    log.ends[1] = 1
    assert beyond({1: 0}, ends.after({1: 0})) is None
    assert log.questions == [[0], [0, 1]]


def test_a_worker_never_asks_for_its_own_claims() -> None:
    stage = Stage()
    asked: list[object] = []
    ask = stage.worker.ends._ask
    stage.worker.ends._ask = lambda places: asked.append(places) or ask(places)  # type: ignore[func-returns-value]
    stage.play(A, COMMIT, B, COMMIT, C, COMMIT)
    assert stage.verdicts() == [f"{page.url} unique" for page in (A, B, C)]
    assert asked == []


def test_blocks_that_have_taken_a_forged_claim_over_are_refused_by_repair_copy_and_workers() -> None:
    stage = Stage().play(A, B, COMMIT)
    write(stage.world, batch(claim(2**62), writer=b"forger"))
    with replaced(barriers, "beyond", lambda *_: None):  # an earlier program, without barriers
        stage.play(COMMIT, FLUSH)
    told = f"tell of a claim of page {2**62} of partition 0, but pages ends there at 2.*topics.prefix of its own"
    with pytest.raises(Refused, match=f"blocks of shard 0 on index {told}"):
        stage.play(CRASH, COMMIT)
    everybody_dies(stage.world, stage.workers)
    outside = TwinPlace(stage.world)
    surveyed = survey(outside, stage.policy, range(1))
    with pytest.raises(Refused, match=f"blocks on index that end at batch .* {told}"):
        plan(surveyed, stage.policy)
    with pytest.raises(Refused, match=told):
        drained(outside, "", stage.policy, range(1))


def test_at_a_barrier_what_is_ruled_is_committed_and_what_is_decided_is_written_before_it_ends() -> None:
    stage = Stage().play(Page("http://a/"), COMMIT, Page("http://b/", 0b111))
    stage.claim()
    write(stage.world, batch(claim(2**62), writer=b"forger"))
    stage.publish(Page("http://c/", 0b111000))
    clock = Clock()
    runner = Runner(
        stage.worker,
        Idle(),  # type: ignore[arg-type]
        Idle(),  # type: ignore[arg-type]
        RHYTHM,
        NoListener(),
        clock,
        lambda _: world_goes_on(stage, clock),
    )
    polls = stage.worker.poll

    def poll() -> int:
        world_goes_on(stage, clock)
        return polls()

    stage.worker.poll = poll  # type: ignore[method-assign]
    with pytest.raises(Barred, match="index copy --to"):
        runner.run()
    assert not stage.worker.committing
    assert stage.worker.flushed
    assert stage.verdicts() == ["http://a/ unique", "http://b/ unique"]
    assert stage.world.committed[0].offset == 2
    everybody_dies(stage.world, stage.workers)
    at_rest = drained(TwinPlace(stage.world), "", stage.policy, range(1))
    assert at_rest.consumed[0][0].offset == 2
