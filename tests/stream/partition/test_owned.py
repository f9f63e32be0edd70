"""Pages of one partition from consumed to committed, and the one batch in flight."""

from __future__ import annotations

from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler_plugin.wire.errors import Refused, UsageError
from crawler_plugin.wire.topics import ANSWERS, FINGERPRINTS, PAGES
from tests.columns import pending
from tests.simulation.memory_log import MemoryLog
from tests.stream.partition.taken import Taken, claiming, decided, record
from tests.stream.script import (
    ANSWER,
    COMMIT,
    CRASH,
    REBALANCE,
    REDELIVER,
    TAKE_OVER,
    Page,
    Stage,
    answer,
    batch,
    claim,
    write,
)
from worker.stream.log import Committed, NotYet
from worker.stream.observer import Observer
from worker.stream.partition.owned import OwnedPartition
from worker.stream.partition.record_sizes import record_bytes
from worker.stream.policy import ReplayPoint
from worker.stream.states import PartitionState

A: Final = Page("http://a/", 0b000)
B: Final = Page("http://b/", 0b111)


# the place where an owner begins


def test_an_owner_that_finds_no_commit_commits_the_ends_of_both_logs_with_the_first_offset() -> None:
    at = Taken()
    for number in range(3):
        write(at.world, batch(claim(0, partition=9)))
        write(at.world, answer(number, 0))
    assert at.partition.locate(at.log) == ReplayPoint(3, 3)
    assert at.world.committed[0] == Committed(0, "1 3 3")
    assert at.partition.state is PartitionState.REPLAYING
    assert at.partition.catch_up_to == 3


def test_no_answer_to_a_batch_that_will_be_read_lies_before_the_first_replay_point() -> None:
    at = Taken()

    def another_worker_goes_on(member: str) -> None:
        number = write(at.world, batch(claim(0, partition=9)))
        write(at.world, answer(number, 0))

    at.world.meanwhile = another_worker_goes_on
    point = at.partition.locate(at.log)
    answered = [number for number, _ in enumerate(at.world.topics[ANSWERS, 0].records)]
    assert all(offset >= point.answers_offset for offset in answered if offset >= point.batch)


def test_an_owner_that_finds_a_commit_begins_at_its_replay_point() -> None:
    at = Taken(committed=Committed(2, "1 1 2"))
    for number in range(3):
        write(at.world, batch(claim(0, partition=9)))
        write(at.world, answer(number, 0))
    assert at.partition.locate(at.log) == ReplayPoint(1, 2)
    assert (at.partition.committed_offset, at.partition.claimed_up_to, at.partition.catch_up_to) == (2, 1, 3)
    assert at.world.committed[0] == Committed(2, "1 1 2")


def test_an_owner_commits_where_the_answers_begin_when_its_replay_point_is_older_and_no_batch_came_since() -> None:
    at = Taken(committed=Committed(2, "1 3 2"))
    for number in range(3):
        write(at.world, batch(claim(0, partition=9)))
        write(at.world, answer(number, 0))
    at.world.topics[ANSWERS, 0].forget(3)
    assert at.partition.locate(at.log) == ReplayPoint(3, 3)
    write(at.world, batch(claim(3)))
    at.partition = OwnedPartition(0, Observer())
    assert at.partition.locate(at.log) == ReplayPoint(3, 3)
    assert at.world.committed[0] == Committed(2, "1 3 3")


def test_an_owner_waits_for_its_predecessors_pending_transaction() -> None:
    stage = Stage().play(A, ANSWER)
    transaction = stage.begin_settling()
    successor = MemoryLog(stage.world, "w1")
    with pytest.raises(NotYet):
        OwnedPartition(0, Observer()).locate(successor)
    stage.world.advance(transaction)
    partition = OwnedPartition(0, Observer())
    partition.locate(successor)
    assert partition.committed_offset == 1


def test_a_first_commit_that_is_not_accepted_is_asked_for_again() -> None:
    at = Taken()
    at.world.groups[PAGES].evict("w")
    with pytest.raises(NotYet):
        at.partition.locate(at.log)
    assert at.partition.state is PartitionState.LOCATING
    assert 0 not in at.world.committed


@pytest.mark.parametrize("offset", [5, 99])
def test_a_commit_beyond_the_end_of_pages_is_refused(offset: int) -> None:
    with pytest.raises(Refused, match=r"partition 0 of pages is consumed up to .* 0 to 4.*repair --accept-gap"):
        Taken(committed=Committed(offset, "1 0 0")).begin()


def test_pages_that_passed_their_retention_unread_are_refused() -> None:
    at = Taken(committed=Committed(1, "1 0 0"))
    at.world.topics[PAGES, 0].forget(2)
    with pytest.raises(Refused, match=r"consumed up to offset 1, but holds 2 to 4.*repair --accept-gap"):
        at.begin()


def test_a_commit_at_the_very_end_is_fine() -> None:
    assert Taken(committed=Committed(4, "1 0 0")).begin().state is PartitionState.CLAIMING


def test_a_commit_of_another_program_is_refused() -> None:
    with pytest.raises(Refused, match="`python -m worker repair`"):
        Taken(committed=Committed(1, "")).begin()


def test_a_replay_point_that_is_gone_is_refused() -> None:
    at = Taken(committed=Committed(1, "1 0 0"))
    write(at.world, batch(claim(0)))
    at.world.topics[FINGERPRINTS, 0].forget(1)
    with pytest.raises(Refused, match=r"partition 0 of pages has to read on from batch 0.*repair --accept-gap"):
        at.begin()


def test_claims_beyond_the_end_of_pages_are_refused() -> None:
    at = Taken(pages=4)
    at.partition.locate(at.log)
    at.partition.on_read(pending(0, claim(4)))
    with pytest.raises(Refused, match=r"claimed up to offset 4, but pages ends at 4.*topics\.prefix"):
        at.partition.begin_claiming(at.log)


# claimed pages


def test_only_pages_above_what_was_claimed_by_anybody_are_claimed() -> None:
    partition = claiming()
    partition.on_read(pending(0, claim(0), claim(7, partition=1), claim(1)))
    assert [partition.consume(record(offset)) for offset in range(4)] == [False, False, True, True]
    for offset in range(4):
        partition.fingerprinted(claim(offset))
    assert [one.offset for one in partition.ready_claims(10)] == [2, 3]


def test_a_dead_page_is_claimed_like_any_other() -> None:
    partition = claiming(0, 1)
    partition.fingerprinted(claim(0, dead="parser-raised"))
    partition.fingerprinted(claim(1))
    assert [one.dead for one in partition.ready_claims(10)] == ["parser-raised", None]


@given(
    arrivals=st.permutations(range(8)),
    asked=st.lists(st.tuples(st.integers(0, 8), st.integers(0, 4)), max_size=8),
    claimed_by_others=st.sets(st.integers(0, 7), max_size=2),
)
def test_claims_are_in_strict_order_of_offset_whatever_order_pages_come_back_in(
    arrivals: list[int], asked: list[tuple[int, int]], claimed_by_others: set[int]
) -> None:
    partition = claiming(*range(8))
    claimed: list[int] = []
    for number, offset in enumerate(arrivals):
        if number == 4:
            for other in claimed_by_others:
                partition.on_read(pending(0, claim(other)))
        partition.fingerprinted(claim(offset))
        for when, most in asked:
            if when == number:
                claimed += [one.offset for one in partition.ready_claims(most)]
    claimed += [one.offset for one in partition.ready_claims(100)]
    assert claimed == sorted(set(claimed))
    assert set(range(8)) - set(claimed) <= set(range(max(claimed_by_others, default=-1) + 1)), "every page is claimed"


def test_bytes_that_are_held_are_counted_with_key_and_headers_until_they_are_committed() -> None:
    partition = claiming()
    pages = [record(offset, value) for offset, value in enumerate([b"four", None, b"", b"sixsix"])]
    pages[1] = pages[1]._replace(headers=[("large", b"x" * (2 << 20))])
    pages[2] = pages[2]._replace(key=b"k" * 1000)
    sizes = [page.weight for page in pages]
    for page in pages:
        partition.consume(page)
    assert partition.held_bytes == sum(sizes) > (2 << 20) + 1000
    partition.on_decided(decided(0, [claim(0), claim(1)]))
    assert len(partition.settleable(10, 2 << 20)) == 1, "the second alone is more than may be committed at once"
    partition.committed(2, Committed(2, "1 1 2"))
    assert partition.held_bytes == sum(sizes[2:])
    assert list(partition.held) == [2, 3]


def test_a_page_that_is_delivered_twice_is_held_once() -> None:
    partition = claiming(0)
    before = partition.held_bytes
    assert not partition.consume(record(0))
    assert partition.held_bytes == before > 0
    partition.fingerprinted(claim(0))
    assert len(partition.ready_claims(10)) == 1
    assert partition.ready_claims(10) == []


# void claims


def test_decisions_below_the_committed_offset_were_committed_by_a_predecessor() -> None:
    partition = claiming(committed=2)
    partition.on_decided(decided(0, [claim(1), claim(2), claim(3, partition=1)]))
    assert [due.decision.claim.offset for due in partition.decisions] == [2]


def test_a_void_claim_whose_first_one_was_seen_is_fine() -> None:
    partition = claiming(committed=2)
    partition.on_decided(decided(0, [claim(2), claim(3)]))
    partition.on_decided(decided(1, [claim(1), claim(3), claim(2), claim(4)], void=[0, 1, 2]))
    assert [due.decision.claim.offset for due in partition.decisions] == [2, 3, 4]


def test_a_void_claim_inside_the_batch_of_its_first_one_is_fine() -> None:
    partition = claiming()
    partition.on_decided(decided(0, [claim(0), claim(0)], void=[1]))
    assert len(partition.decisions) == 1


def test_a_void_claim_whose_first_one_was_never_seen_is_refused() -> None:
    partition = claiming(committed=2)
    with pytest.raises(Refused, match=r"page 2 of partition 0 was claimed before.*`python -m worker repair`"):
        partition.on_decided(decided(0, [claim(2)], void=[0]))


def test_void_claims_of_other_partitions_are_not_its_concern() -> None:
    claiming(committed=2).on_decided(decided(0, [claim(2, partition=1)], void=[0]))


def test_offsets_that_were_reset_are_found_out() -> None:
    stage = Stage().play(A, COMMIT, B, COMMIT)
    stage.world.committed[0] = Committed(0, stage.world.committed[0].metadata)
    stage.play(CRASH)
    with pytest.raises(Refused, match="was claimed before, but that claim is not in the log"):
        stage.play(COMMIT)


# committed pages


def ready(partition: OwnedPartition, pages: int = 100, size: int = 10_000) -> list[int]:
    return [one.offset for one, _ in partition.settleable(pages, size)]


def test_pages_are_committed_from_the_head_in_order_and_only_with_a_decision() -> None:
    partition = claiming(0, 1, 2)
    assert ready(partition) == []
    partition.on_decided(decided(0, [claim(0), claim(1)]))
    assert ready(partition) == [0, 1]


def test_a_decision_waits_for_its_page() -> None:
    partition = claiming()
    partition.on_decided(decided(0, [claim(0), claim(1)]))
    assert ready(partition) == []
    partition.consume(record(0))
    assert ready(partition) == [0]


def test_a_page_that_was_claimed_and_is_now_too_large_to_be_read_is_not_left_out() -> None:
    partition = claiming()
    partition.consume(record(0, b"")._replace(oversize=1 << 24))
    partition.on_decided(decided(0, [claim(0)]))
    with pytest.raises(UsageError, match=r"page 0 of partition 0 has 16777216 bytes.*topics\.max_message_bytes"):
        ready(partition)


@pytest.mark.parametrize(
    ("pages", "size", "count"),
    [(100, 4.0, 4), (2, 4.0, 2), (1, 4.0, 1), (100, 3.0, 3), (100, 2.99, 2), (100, 0.1, 1)],
    ids=["all", "two pages", "one page", "exactly the bytes", "a byte too few", "at least one, however large"],
)
def test_a_transaction_is_bounded_by_pages_and_bytes(pages: int, size: float, count: int) -> None:
    """``size`` is measured in pages of this partition."""
    partition = claiming(0, 1, 2, 3)
    one = next(iter(partition.held.values()))
    partition.on_decided(decided(0, [claim(offset) for offset in range(4)]))
    assert len(ready(partition, pages, int(size * record_bytes(one.key, one.value, one.headers)))) == count


def test_a_claimed_page_that_the_topic_does_not_hold_any_more_is_refused() -> None:
    partition = claiming(1)
    partition.on_decided(decided(0, [claim(0), claim(1)]))
    with pytest.raises(Refused, match=r"page 0 of partition 0 was claimed, but pages does not hold it.*--accept-gap"):
        ready(partition)


@pytest.mark.parametrize(
    ("count", "committed"),
    [
        (0, Committed(0, "1 0 0")),
        (1, Committed(1, "1 0 0")),
        (2, Committed(2, "1 3 6")),
        (3, Committed(3, "1 3 6")),
        (4, Committed(4, "1 5 9")),
    ],
    ids=["nothing", "inside the first batch", "all of the first batch", "inside the second", "everything"],
)
def test_what_is_committed_leads_a_successor_to_all_decisions_left_behind(count: int, committed: Committed) -> None:
    partition = claiming(0, 1, 2, 3)
    partition.on_decided(decided(0, [claim(0), claim(1)]))
    partition.on_decided(decided(3, [claim(2), claim(3)]))
    assert partition.commit_point(count, place=ReplayPoint(5, 9)) == committed


def test_the_offset_that_is_committed_is_the_next_page_and_skips_holes() -> None:
    partition = claiming(0, 3)
    partition.on_decided(decided(0, [claim(0), claim(3)]))
    assert partition.commit_point(1, ReplayPoint(1, 2)).offset == 1
    assert partition.commit_point(2, ReplayPoint(1, 2)).offset == 4


def test_nothing_to_commit_commits_the_same_offset_with_a_newer_place() -> None:
    partition = claiming(committed=2)
    assert partition.commit_point(0, ReplayPoint(7, 9)) == Committed(2, "1 7 9")


@pytest.mark.parametrize("mishap", [(CRASH,), (REBALANCE,), (TAKE_OVER,), (REDELIVER,), (ANSWER, CRASH)])
def test_a_partition_committed_page_by_page_passes_from_hand_to_hand(mishap: tuple[object, ...]) -> None:
    stage = Stage(commit_pages=1)
    pages = [Page(f"http://{n}/", 0b111 << 3 * n) for n in range(12)]
    stage.play(*pages, ANSWER)
    for _ in range(3):
        stage.begin_settling()
        stage.world.settle_down()
        stage.worker.commit()
        stage.world.settle_down()
        stage.play(*mishap)  # type: ignore[arg-type]
    stage.play(COMMIT)
    assert stage.verdicts() == [f"http://{n}/ unique" for n in range(12)]
    stage.check()
