"""The batch of claims in flight: one at a time, sent again unchanged, freed by its decision."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from crawler_plugin.wire.messages import Batch, Claim, decode
from tests.columns import claims_of
from tests.simulation.memory_log import MemoryLog, World
from tests.stream.partition.taken import claiming, decided, record
from tests.stream.script import (
    Listener,
    Page,
    claim,
    policy,
)
from worker.fingerprint.scoped import DOUBTED, TEMPLATE
from worker.stream.partition.owned import OwnedPartition
from worker.stream.partition.page_claimer import Claimer

A: Final = Page("http://a/", 0b000)
B: Final = Page("http://b/", 0b111)


class Sending:
    """A claimer and partitions that have pages to claim."""

    def __init__(self, *partitions: OwnedPartition, most: int = 10) -> None:
        self.world = World(partitions=1, shards=1)
        self.observer = Listener()
        self.claimer = Claimer(MemoryLog(self.world, "w"), policy(claims_a_batch=most), self.observer)
        self.partitions = partitions

    def step(self) -> list[list[tuple[int, int]]]:
        """The batches on their way after a step, as sources."""
        self.claimer.step(self.partitions)
        return [[(one.partition, one.offset) for one in batch] for batch in self.sent]

    @property
    def sent(self) -> list[Sequence[Claim]]:
        """The batches on their way."""
        return [claims_of(decode(Batch, send.value)) for send in self.world.sends]

    @property
    def doubts(self) -> list[list[int]]:
        """The doubts of the claims on their way."""
        return [[one.doubt for one in batch] for batch in self.sent]


def with_claims(*offsets: int, partition: int = 0) -> OwnedPartition:
    owned = claiming()
    owned.number = partition
    give(owned, *offsets)
    return owned


def give(owned: OwnedPartition, *offsets: int) -> None:
    for offset in offsets:
        owned.consume(record(offset))
        owned.fingerprinted(claim(offset, partition=owned.number))


def of_template(owned: OwnedPartition, *offsets: int) -> OwnedPartition:
    """The partition, with pages of one site and one text under titles of their own."""
    for offset in offsets:
        owned.consume(record(offset))
        title = 2 * offset + 2 + 1000 * owned.number
        page: dict[str, Any] = {"partition": owned.number, "tokens": 60, "site": 7, "title": title, "doubt": DOUBTED}
        owned.fingerprinted(claim(offset, 5, **page))
    return owned


def partition(number: int) -> OwnedPartition:
    return with_claims(partition=number)


def test_nothing_to_claim_sends_nothing() -> None:
    at = Sending(with_claims())
    assert at.step() == []
    assert at.claimer.idle


def test_a_batch_gathers_the_claims_of_all_partitions_up_to_its_size() -> None:
    at = Sending(with_claims(0, 1), with_claims(5, 6, partition=1), most=3)
    assert at.step() == [[(0, 0), (0, 1), (1, 5)]]


def test_the_next_batch_waits_until_the_one_before_it_is_decided() -> None:
    partition = with_claims(0)
    at = Sending(partition)
    at.step()
    give(partition, 1, 2)
    at.world.settle_down()
    assert at.step() == []
    at.claimer.on_decided(decided(0, [claim(0)]))
    assert at.claimer.idle
    assert at.step() == [[(0, 1), (0, 2)]]


def test_after_a_send_error_the_same_claims_go_again_before_any_further_ones() -> None:
    partition = with_claims(0, 1)
    at = Sending(partition)
    at.step()
    give(partition, 2)
    at.world.land(at.world.sends[0], lost=True)
    assert at.step() == [[(0, 0), (0, 1)]]
    assert [again for _, again in at.observer.told["claimed"]] == [False, True]


def test_sent_twice_the_first_to_be_decided_frees_the_claimer() -> None:
    at = Sending(with_claims(0))
    at.step()
    at.world.land(at.world.sends[0], acknowledged=False)
    at.step()
    at.claimer.on_decided(decided(0, [claim(0)]))
    assert at.claimer.idle
    at.claimer.on_decided(decided(1, [claim(0)], void=[0]))
    assert at.claimer.idle


def test_a_batch_of_another_writer_does_not_free_the_claimer() -> None:
    at = Sending(with_claims(0))
    at.step()
    other = replace(decided(0, [claim(0)]), writer=b"other")
    at.claimer.on_decided(other)
    assert not at.claimer.idle


def test_an_earlier_batch_of_its_own_does_not_free_the_claimer() -> None:
    at = Sending(with_claims(0, 1))
    at.step()
    at.claimer.on_decided(decided(0, [claim(0)]))
    assert not at.claimer.idle


def test_claims_of_a_lost_partition_are_neither_sent_again_nor_waited_for() -> None:
    at = Sending(with_claims(0), with_claims(5, partition=1))
    at.step()
    at.claimer.drop(0)
    at.world.land(at.world.sends[0], lost=True)
    assert at.step() == [[(1, 5)]]
    at.claimer.drop(1)
    assert at.claimer.idle


def test_a_text_under_several_titles_of_its_site_is_claimed_as_a_template_s_whatever_the_partitions() -> None:
    at = Sending(of_template(partition(0), 0, 1), of_template(partition(1), 0, 1, 2))
    at.step()
    assert at.doubts == [[DOUBTED, DOUBTED, TEMPLATE, TEMPLATE, TEMPLATE]]
    sent = at.sent[0]
    at.world.settle_down()
    at.claimer.on_decided(decided(0, sent))
    of_template(at.partitions[0], 2)
    at.step()
    assert at.doubts == [[TEMPLATE]]


def test_a_claim_that_is_sent_again_says_what_it_said_and_its_title_counts_once() -> None:
    first, other = of_template(partition(0), 0, 1), of_template(partition(1), 0, 1)
    at = Sending(first, other, most=3)
    at.step()
    for _ in range(4):
        at.world.land(at.world.sends[0], lost=True)
        at.step()
        assert at.doubts == [[DOUBTED, DOUBTED, TEMPLATE]]
    sent = at.sent[0]
    at.world.settle_down()
    at.claimer.on_decided(decided(0, sent))
    at.step()
    assert at.doubts == [[TEMPLATE]]


def test_pages_that_are_claimed_again_when_their_partition_comes_back_count_once() -> None:
    at = Sending(of_template(partition(0), 0, 1))
    for _ in range(3):
        at.step()
        assert at.doubts == [[DOUBTED] * 2]
        at.world.land(at.world.sends[0], lost=True)
        at.claimer.drop(0)
        at.partitions = (of_template(partition(0), 0, 1),)


def test_a_new_process_has_seen_no_title() -> None:
    for _ in range(2):
        at = Sending(of_template(partition(0), 0, 1, 2, 3))
        at.step()
        assert at.doubts == [[DOUBTED] * 2 + [TEMPLATE] * 2]
