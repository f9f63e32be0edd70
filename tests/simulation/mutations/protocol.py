"""Ways to break the protocol between workers: claims, answers, blocks, consumed offsets."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import msgspec
import numpy as np

from crawler_plugin.wire.messages import Answer, decode, encode
from crawler_plugin.wire.topics import ANSWERS, FINGERPRINTS, INDEX, PAGES
from tests.simulation.memory_log import MemoryPages
from tests.simulation.mutations.mutation import Mutation, in_place_of, replaced
from tests.simulation.plain_index import PlainIndex, found_of, records_of
from worker.fingerprint.near import SimHashNear
from worker.index import blocks as index_blocks
from worker.index.queries import Found
from worker.stream.log import Committed, Membership, Sent
from worker.stream.log_follower import Follower
from worker.stream.partition.owned import Due, OwnedPartition
from worker.stream.policy import Note, ReplayPoint
from worker.stream.shard import block_writer, live, restore
from worker.stream.shard.live import LiveShard, Standing
from worker.stream.shard.owned import OwnedShard
from worker.verdict import decide as decide_module
from worker.verdict.claims import Claims
from worker.verdict.decide import Decision


@in_place_of(OwnedShard, "answer")
def answers_before_earlier_batches_are_decided(_: Any, self: OwnedShard, follower: Follower) -> None:
    """A shard answers a batch as soon as it has read it: it misses survivors of the batches between."""
    if self.live is None or follower.answers_reader.position < self.answer_from:
        return
    asked = self.__dict__.setdefault("all_asked", set())
    for pending in follower.pending:
        if pending.offset not in asked and self.number not in follower.answers.get(pending.offset, {}):
            asked.add(pending.offset)
            self.log.append(ANSWERS, 0, None, encode(self.live.answer(pending)))


@in_place_of(PlainIndex, "earliest_near")
def nearest_for_earliest(_: Any, self: PlainIndex, queries: Any, expired_up_to: int = -1) -> Found:
    """The nearest survivor counts instead of the earliest: after a refetch or expiry, a page names another one."""
    found = {}
    for number, query in enumerate(records_of(queries)):
        near = [
            (match.distance or 0, slot, survivor, match)
            for slot, survivor in enumerate(self.survivors)
            if survivor.order[0] > expired_up_to and (match := self.near(query, survivor))
        ]
        if near:
            found[number] = min(near)[1:]
    return found_of(found, len(queries))


@in_place_of(PlainIndex, "earliest_near")
def less_than_for_at_most(honest: Any, self: PlainIndex, queries: Any, expired_up_to: int = -1) -> Any:
    """A shard finds only distances below k: the pages at exactly k survive twice."""
    scoped: Any = self.near
    narrow = PlainIndex(SimHashNear(scoped.near.k - 1))
    narrow.survivors = self.survivors
    return honest(narrow, queries, expired_up_to)


@in_place_of(live, "void_claims")
def redelivered_page_judged_anew(_: Any, partition: Any, offset: Any, claimed: Any) -> Any:
    """No claim is void: a page that a second owner claims again is judged, and committed, a second time."""
    return np.zeros(len(offset), np.bool_)


def identity_by_url_and_fetch_time(stack: ExitStack) -> None:
    """A claim is void if its URL and fetch time were seen: a page published twice never gets its second verdict."""
    answer, on_decided = LiveShard.answer, LiveShard.on_decided

    def identities(claims: Any) -> list[int]:
        return [sum(claim.url.encode()) * 1_000_003 + claim.clock for claim in claims]

    def answer_by_identity(self: LiveShard, pending: Any) -> Any:
        seen = set(self.standing.claimed_up_to)
        found = identities(pending.claims)
        void = np.array([one in seen or one in found[:place] for place, one in enumerate(found)], np.bool_)
        with replaced(live, "void_claims", lambda *_: void):
            return answer(self, pending)

    def decided_by_identity(self: LiveShard, decided: Any) -> None:
        claims = decided.claims
        honest = claims.highest
        claims.__dict__["highest"] = dict(zip(identities(claims), claims.offset.tolist(), strict=True))
        try:
            on_decided(self, decided)
        finally:
            claims.__dict__["highest"] = honest

    stack.enter_context(replaced(LiveShard, "answer", answer_by_identity))
    stack.enter_context(replaced(LiveShard, "on_decided", decided_by_identity))


@in_place_of(OwnedPartition, "ready_claims")
def dead_letters_decided_outside_the_log(honest: Any, self: OwnedPartition, most: int) -> list[Any]:
    """The owner alone commits a page that cannot be read: an earlier owner may have claimed it alive."""
    alive = []
    for claim in honest(self, most):
        if claim.dead is None:
            alive.append(claim)
        else:
            due = Due(Decision((0, 0), claim, "dead", claim.dead), self.committed_point)
            self.decisions.append(due)
            self.claimed_up_to = max(self.claimed_up_to, claim.offset)
    return alive


@in_place_of(OwnedPartition, "ready_claims")
def claims_out_of_order(_: Any, self: OwnedPartition, most: int) -> list[Any]:
    """Each page is claimed as soon as it is fingerprinted: a slower page before it finds itself void."""
    ready = [self.claims.pop(offset) for offset in list(self.waiting) if offset in self.claims][:most]
    taken = {claim.offset for claim in ready}
    self.waiting = type(self.waiting)(offset for offset in self.waiting if offset not in taken)
    return ready


def highest_to_instead_of_the_cover(stack: ExitStack) -> None:
    """``after`` moves when a block is sent, and a restore goes on from the highest ``to``: a lost block is a hole."""
    honest = block_writer.BlockWriter._acknowledge

    def acknowledge(self: block_writer.BlockWriter) -> None:
        if self.flight is not None and self.flight.ticket.state is Sent.FAILED:
            self.flight = None
            self.shard.sealed.popleft()
            return
        honest(self)

    def cover(blocks: Any) -> Any:
        found = restore_cover(blocks := list(blocks))
        if not found.damaged:
            return found
        # No hole is seen where each block is taken to begin at the end of the one before it.
        closed, end = [], -1
        for block in sorted(blocks, key=lambda block: block.to):
            closed.append(msgspec.structs.replace(block, after=min(block.after, max(end, -1), block.to - 1)))
            end = block.to
        return restore_cover(closed)

    restore_cover = index_blocks.cover
    stack.enter_context(replaced(block_writer.BlockWriter, "_acknowledge", acknowledge))
    stack.enter_context(replaced(restore, "cover", cover))


@in_place_of(block_writer.BlockWriter, "_send")
def blocks_overwritten_under_one_key(_: Any, self: block_writer.BlockWriter, block: Any) -> None:
    """A block's key is the place where it begins: a shorter block of a second owner replaces a longer one."""
    key = block.after.to_bytes(8, "big", signed=True)
    self.block_keys[key] = block.to
    ticket = self.log.append(INDEX, self.shard.number, key, encode(block))
    self.flight = block_writer.Flight(key, block, ticket)


@in_place_of(block_writer.BlockWriter, "_bury")
def tombstone_before_its_floor_is_acknowledged(honest: Any, self: block_writer.BlockWriter) -> None:
    """Blocks are buried by the floor in memory: after a crash nothing on the topic says where the cover begins."""
    self.floor = max(self.floor, self.shard.standing.expired_up_to(self.shard.policy.ttl))
    honest(self)


@in_place_of(block_writer.BlockWriter, "_acknowledge")
def tombstones_for_blocks_without_live_entries(honest: Any, self: block_writer.BlockWriter) -> None:
    """A block without entries is buried although it lies above the floor: the cover has a hole there."""
    flight = self.flight
    honest(self)
    if flight is not None and flight.ticket.state is Sent.DONE and flight.block.count == 0:
        self.burials[flight.key] = self.log.append(INDEX, self.shard.number, flight.key, None)


def _header_as_of_sending(stack: ExitStack, **taken: Callable[[LiveShard], Any]) -> None:
    honest = block_writer.BlockWriter._send

    def send(self: block_writer.BlockWriter, block: Any) -> None:
        later = {name: value(self.shard) for name, value in taken.items()}
        honest(self, msgspec.structs.replace(block, **later))

    stack.enter_context(replaced(block_writer.BlockWriter, "_send", send))


def header_with_the_workers_own_position(stack: ExitStack) -> None:
    """The header has the answers offset at sending: answers to batches after ``to`` lie before it, and a restored shard
    waits forever.
    """
    _header_as_of_sending(stack, answers_offset=lambda shard: shard.standing.answers_offset)


def header_with_the_workers_own_watermark(stack: ExitStack) -> None:
    """The header has the watermark at sending: entries of the restored shard expire too early."""
    _header_as_of_sending(stack, watermark=lambda shard: shard.standing.watermark)


def header_with_the_workers_own_floor(stack: ExitStack) -> None:
    """The header has the floor at sending, above what the block covers: a restore misses the entries between."""

    def floor(shard: LiveShard) -> int:
        return shard.standing.expired_up_to(shard.policy.ttl)

    _header_as_of_sending(stack, floor=floor)


@in_place_of(restore.Restoration, "step")
def restore_up_to_an_end_taken_at_its_start(_: Any, self: restore.Restoration) -> bool:
    """A restore does not see a block that lands while it reads: the logs need not reach back to the block before."""
    if self._end is None:
        self._end = self.log.bounds(INDEX, self.number).end
    for record in self.reader.read():
        if record.offset < self._end:
            self._take(record)
    return self.reader.position >= self._end


@in_place_of(OwnedPartition, "_first_commit")
def fresh_partition_claims_without_a_first_commit(_: Any, self: OwnedPartition, log: Any) -> Committed:
    """The successor finds claims but no commit: it takes the ends anew and waits for verdicts that were given."""
    answers_offset = log.bounds(ANSWERS, 0).end
    batch = log.bounds(FINGERPRINTS, 0).end
    return Committed(log.bounds(PAGES, self.number).begin, ReplayPoint(batch, answers_offset).to_metadata())


@in_place_of(OwnedPartition, "commit_point")
def offset_metadata_a_batch_late(honest: Any, self: OwnedPartition, count: int, place: ReplayPoint) -> Committed:
    """The replay point lies after the batch with the next decision: the successor never sees that decision."""
    committed = honest(self, count, place)
    batch, answers_offset = Note.from_metadata(committed.metadata, "mutation").point
    return Committed(committed.offset, ReplayPoint(batch + 1, answers_offset).to_metadata())


@in_place_of(Follower, "_take_answer")
def last_answer_instead_of_first(honest: Any, self: Follower, record: Any) -> None:
    """All answers are equal, so verdicts are the same; but the answers offset depends on when a worker looked."""
    honest(self, record)
    answer = decode(Answer, record.value)
    of_batch = self.answers.get(answer.batch, {})
    if answer.shard in of_batch:
        of_batch[answer.shard] = (answer, record.offset)


@in_place_of(decide_module, "earliest_in_batch")
def no_pairs_inside_a_batch(_: Any, pages: Any, asked: Any, near: Any, flagged: Any) -> Any:
    """Pages are compared only with stored survivors: two copies in one batch both survive."""
    return np.full(len(pages), -1, np.int64)


@in_place_of(Standing, "expired_up_to")
def expiry_by_a_local_clock(honest: Any, self: Standing, ttl: int | None) -> Any:
    """A shard expires entries by its worker's clock, which here is a little later at each look."""
    self.__dict__["drift"] = self.__dict__.get("drift", 0) + 1
    return honest(self, None if ttl is None else max(0, ttl - self.__dict__["drift"] % 7))


def commit_by_an_evicted_member(stack: ExitStack) -> None:
    """The worker does not refuse generation -1, and the broker accepts it: pages are committed twice."""
    stack.enter_context(replaced(Membership, "evicted", False))


@in_place_of(MemoryPages, "committed")
def consumed_offset_as_of_an_earlier_question(honest: Any, self: MemoryPages, partition: int) -> Committed | None:
    """An owner that comes back begins where it began the first time: pages that another committed are committed twice.

    kafka-python does so with the answer to a request that timed out.
    """
    late = self.__dict__.setdefault("late", {})
    now = honest(self, partition)
    then: Committed | None = late.get(partition, now)
    late[partition] = now
    return then or now


@in_place_of(OwnedPartition, "_first_commit")
def fingerprints_end_taken_before_answers_end(_: Any, self: OwnedPartition, log: Any) -> Committed:
    """An answer that lands between the two looks lies before the answers offset although its batch is at or after b:
    the owner waits.
    """
    batch = log.bounds(FINGERPRINTS, 0).end
    answers_offset = log.bounds(ANSWERS, 0).end
    first = Committed(log.bounds(PAGES, self.number).begin, ReplayPoint(batch, answers_offset).to_metadata())
    log.pages().commit({self.number: first})
    return first


@in_place_of(LiveShard, "answer")
def bands_ignored_by_one_shard(honest: Any, self: LiveShard, pending: Any) -> Any:
    """One shard looks up fingerprints only: its entries are not found by their sketches."""
    if self.number:
        return honest(self, pending)
    claims = [msgspec.structs.replace(claim, bands=b"") for claim in pending.claims]
    return honest(self, type(pending)(pending.offset, pending.writer, Claims.of(claims)))


def tokens_not_carried_in_a_block(stack: ExitStack) -> None:
    """A block leaves the counts of tokens out: after a restore no ratio holds, or every one."""
    honest = index_blocks.pack

    def pack(entries: Any, header: Any) -> Any:
        return honest(dataclasses.replace(entries, tokens=np.full_like(entries.tokens, 9)), header)

    stack.enter_context(replaced(live, "pack", pack))


def sketches_not_carried_in_a_block(stack: ExitStack) -> None:
    """A block leaves the sketches out: after a restore only fingerprints are compared."""
    honest = index_blocks.pack

    def pack(entries: Any, header: Any) -> Any:
        return honest(dataclasses.replace(entries, sketch=None, bands=None), header)

    stack.enter_context(replaced(live, "pack", pack))


@in_place_of(LiveShard, "answer")
def hits_of_another_scope(honest: Any, self: LiveShard, pending: Any) -> Any:
    """A shard answers with the earliest near survivor of any scope: pages of two sites are called duplicates."""
    index: Any = self.index
    scoped = index.near
    index.near = scoped.near
    try:
        return honest(self, pending)
    finally:
        index.near = scoped


MUTATIONS: tuple[Mutation, ...] = (
    answers_before_earlier_batches_are_decided,
    nearest_for_earliest,
    less_than_for_at_most,
    redelivered_page_judged_anew,
    identity_by_url_and_fetch_time,
    dead_letters_decided_outside_the_log,
    claims_out_of_order,
    highest_to_instead_of_the_cover,
    blocks_overwritten_under_one_key,
    tombstone_before_its_floor_is_acknowledged,
    tombstones_for_blocks_without_live_entries,
    header_with_the_workers_own_position,
    header_with_the_workers_own_watermark,
    header_with_the_workers_own_floor,
    restore_up_to_an_end_taken_at_its_start,
    fresh_partition_claims_without_a_first_commit,
    offset_metadata_a_batch_late,
    last_answer_instead_of_first,
    no_pairs_inside_a_batch,
    expiry_by_a_local_clock,
    commit_by_an_evicted_member,
    consumed_offset_as_of_an_earlier_question,
    fingerprints_end_taken_before_answers_end,
)
OF_ACCURATE: tuple[Mutation, ...] = (
    bands_ignored_by_one_shard,
    tokens_not_carried_in_a_block,
    sketches_not_carried_in_a_block,
    hits_of_another_scope,
)
"""Mutations that only a world with sketches and scopes can notice."""
