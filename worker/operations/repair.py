"""Goes on after a gap: when logs or pages that workers would have to read have passed their retention.

A worker then refuses to go on, since its knowledge would be incomplete and no one would see it. A repair accepts the
loss, says what was lost, and moves the replay points so that everything after it is exact again.

**What is known for certain.** The watermark, the claimed offsets and the answers offset just after a batch are a
function of the log alone, so every block gives them for all shards: a *state*. A state is readable if a worker could
read the logs on from it.

**A readable state exists** (some shard's blocks reach into the logs):

1. Shards whose replay point is gone go on at the oldest readable state. The content of their blocks is kept; survivors
   that were decided in between and stand in no block are lost. All shards then agree on void claims, since the claimed
   offsets are exact.
2. Page partitions whose replay point is gone go on at the newest readable state up to which all claims are committed.
   There is none if pages were claimed whose verdicts can no longer be read: then they go on at the oldest one, and
   those pages are left out.

**None exists** (all workers were away for longer than the retention): no one knows what was claimed after the last
state, but no shard has kept a survivor of those claims either. So they count as never made.

3. All shards go on at the end of both logs, with the last known watermark, and with the claimed offsets of the last
   state or, where more was committed since, of the consumed offset. Conditions of records after that state are
   forgotten, too, as far as the records are still there.
4. All page partitions go on at the same place, and claim anew what is not committed. Pages that were claimed up to the
   last state and not committed are left out: their survivors are in the index.

In both cases:

5. Pages that passed their retention unread are left out.
6. A consumed offset may be missing, may have been written by another program, or may lie below pages that were claimed
   before it was written. The repair then finds it again from the outputs: brokers forget the offsets of a group that
   was away for long (``offsets.retention.minutes``, a week), and a worker that finds none begins with the first page.
   That is right for a partition of which no page was ever claimed.

A shard goes on by *bridges*: empty blocks in the holes of its cover. A bridge that ends at a state has that state's
header. A bridge that ends where an intact block begins, at a batch whose state is unknown, must never be where a
restore ends; its answers offset lies beyond the end of any log, so that such a restore would be refused. A snapshot on
some machine may still hold survivors that a bridge has given up. Workers do not use it then, since the owners of a
shard must all know the same.

**Order.** Consumed offsets first, which the broker refuses while anyone is in the group; then the bridges. Another
repair completes one that ends halfway.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, Protocol

from crawler_plugin.wire.errors import Refused, UnreadableRecord
from crawler_plugin.wire.forgetting import Forget, ForgetCondition, Forgotten
from crawler_plugin.wire.messages import Batch, Block, decode, decode_claims, encode, forgotten_of
from crawler_plugin.wire.page_headers import Headers
from crawler_plugin.wire.topics import FINGERPRINTS, INDEX, PAGES
from worker.index.blocks import NO_BATCH, Header, cover, pack
from worker.index.entries import Entries
from worker.index.forgetting import one_more
from worker.operations.inspect import ShardTopic, read_shard
from worker.operations.switch import STOP_ALL, Groups, consumed_offset, running
from worker.stream.barrier import NEW_PREFIX, Barrier, barriers, outside, refuse_poisoned
from worker.stream.log import Bounds, Committed, Readable, read_to_end
from worker.stream.policy import BRIDGE_HEADER, NOTHING, SCHEME_HEADER, Note, Policy, ReplayPoint, other_scheme
from worker.stream.replay import Logs, Reach, check_reach, logs_of
from worker.verdict.claims import Claims
from worker.verdict.clock import NO_WATERMARK

NEVER_THERE: Final = 2**62
"""The answers offset of a bridge that must never be where a restore ends: no log comes so far."""


class Place(Readable, Groups, Protocol):
    """The broker's operations that a repair needs, without being a member of any group."""

    def committed_up_to(self, partition: int) -> int:
        """The highest offset of a partition of ``pages`` that is in the outputs, as they are kept; -1 for none."""

    def write(self, records: Iterable[tuple[str, int, bytes, bytes, Headers]]) -> None:
        """Append (topic, partition, key, value, headers), acknowledged one by one."""


@dataclass(frozen=True)
class State:
    """The knowledge of every shard just after batch ``to``: the answers offset, the watermark, the claimed offsets, and
    the forgotten conditions."""

    to: int
    answers_offset: int
    watermark: int
    claimed_up_to: Mapping[int, int]
    forgotten: tuple[Forgotten, ...] = ()

    @classmethod
    def of(cls, block: Block) -> State:
        """The state as of the last batch of a block."""
        return cls(block.to, block.answers_offset, block.watermark, dict(block.claimed_up_to), forgotten_of(block))

    @property
    def point(self) -> ReplayPoint:
        """From where a worker with this knowledge reads on."""
        return ReplayPoint(self.to + 1, self.answers_offset)

    def knows(self, partition: int) -> int:
        """The highest claimed offset of a partition of ``pages``, -1 for none."""
        return self.claimed_up_to.get(partition, -1)


BEGINNING: Final = State(NO_BATCH, 0, NO_WATERMARK, {})
"""Before the first batch; readable while both logs are whole."""


@dataclass(frozen=True)
class ShardPlace:
    """Where a shard stands. ``damaged`` are the intact blocks above its cover; ``floor`` is that of its blocks."""

    shard: int
    point: ReplayPoint
    reach: Reach
    floor: int
    damaged: tuple[Block, ...]


@dataclass(frozen=True)
class PartitionPlace:
    """Where a partition of ``pages`` stands. ``committed`` is None if the group has no offset, or a wrong one.

    ``offset`` is then the offset by the outputs. ``point`` is None if there is none to read on from.
    """

    partition: int
    committed: Committed | None
    offset: int
    point: ReplayPoint | None
    reach: Reach
    pages: Bounds


@dataclass(frozen=True)
class Survey:
    """The data for all decisions of a repair. ``states`` ascend. If no worker could read on from any of them,
    ``forgets`` are the records after the last one by which something is to be forgotten."""

    logs: Logs
    states: tuple[State, ...]
    shards: tuple[ShardPlace, ...]
    partitions: tuple[PartitionPlace, ...]
    forgets: tuple[tuple[int, ForgetCondition], ...] = ()

    @property
    def readable(self) -> list[State]:
        """The states from which a worker could read on, ascending."""
        return [state for state in self.states if check_reach(self.logs, state.point) is Reach.FINE]


@dataclass(frozen=True)
class Bridge:
    """Empty blocks of one shard, and the batches (``after``, ``to``] of which it has lost the survivors that no block
    holds."""

    shard: int
    blocks: tuple[Block, ...]
    holes: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Move:
    """A new consumed offset of a page partition; the pages in ``skipped`` get no verdict, or none that can be read."""

    partition: int
    committed: Committed
    skipped: range


@dataclass(frozen=True)
class Plan:
    """The actions of a repair. ``annulled`` are batches whose claims count as never made."""

    bridges: tuple[Bridge, ...]
    moves: tuple[Move, ...]
    annulled: range

    @property
    def empty(self) -> bool:
        """There is nothing to repair."""
        return not self.bridges and not self.moves


def survey(place: Place, policy: Policy, partitions: Iterable[int]) -> Survey:
    """Read where everything stands; changes nothing, and holds the blocks of one shard at a time.

    Raises:
        Refused: the index was written with other settings, or contradicts itself.
        Unavailable: a transaction is pending.
    """
    logs = logs_of(place)
    states: dict[int, State] = {BEGINNING.to: BEGINNING} if logs.whole else {}
    shards = []
    for number in range(policy.shards):
        found = read_shard(place, number)
        for scheme in found.words.keys() - {policy.scheme}:
            raise other_scheme(policy, scheme, found.words[scheme], INDEX)
        _collect(found.blocks, states)
        shards.append(_shard_place(found, logs))
    ascending = tuple(states[to] for to in sorted(states))
    consumed = {number: consumed_offset(place, number) for number in partitions}
    begun = _begun(place, ascending, policy) if None in consumed.values() else frozenset()
    return Survey(
        logs,
        ascending,
        tuple(shards),
        tuple(_partition_place(place, each, logs, ascending, begun=each[0] in begun) for each in consumed.items()),
        ()
        if any(check_reach(logs, state.point) is Reach.FINE for state in ascending)
        else tuple(_forgets(place, ascending[-1].to if ascending else NO_BATCH, policy)),
    )


def refuse_superseded(place: Groups, name: str, partitions: Iterable[int], policy: Policy) -> None:
    """Check that the generation ``name`` still has the outputs, as its workers check before they begin.

    A generation that gave them to another has nothing that a repair could save, unless its workers only count
    (``policy``).

    Raises:
        Refused: it was given a successor.
        Unavailable: a transaction is pending.
    """
    for number in partitions if policy.output != "count" else ():
        if (found := consumed_offset(place, number)) is None:
            continue
        note = _note(number, found)
        if note is not None and note.successor is not None:
            raise Refused(
                f"topics.generation={name!r} has given the outputs to topics.generation={note.successor!r}, so a "
                f"repair here would be of no use: run the same command with --set topics.generation={note.successor}, "
                "or with --set output.mode=count if you mean workers of the old generation that only count"
            )


def barrier(place: Place, survey: Survey, policy: Policy) -> Barrier | None:
    """The first record from the replay points on that is never decided, if any; no repair goes past it."""
    begin, end = survey.logs.fingerprints
    ends = outside(place)
    reader = place.reader(FINGERPRINTS, 0, max(begin, min(shard.point.batch for shard in survey.shards)))
    return next(barriers(ends, read_to_end(reader, end), policy), None)


def plan(survey: Survey, policy: Policy) -> Plan:
    """The necessary actions, from the survey alone.

    Raises:
        Refused: a topic was made anew under the same name, or blocks hold a claim that no page can have; no repair
            corrects that.
    """
    _refuse_topics_made_anew(survey)
    ends = {partition.partition: partition.pages.end for partition in survey.partitions}
    for state in survey.states:
        refuse_poisoned(state.claimed_up_to, ends, f"blocks on {INDEX} that end at batch {state.to}")
    gone = [shard for shard in survey.shards if shard.reach is Reach.GONE]
    if gone and not survey.readable:
        return _annul(survey, policy)
    bridges = tuple(_bridge(shard, survey.readable[0], policy) for shard in gone)
    moves = (_move(partition, survey, policy) for partition in survey.partitions)
    return Plan(bridges, tuple(move for move in moves if move is not None), range(0))


def carry_out(place: Place, planned: Plan, policy: Policy, new_key: Callable[[], bytes]) -> None:
    """Set consumed offsets, then write the bridges.

    Raises:
        Refused: someone is in one of the groups.
        Unavailable: the broker did not accept a record; run the repair again.
    """
    refuse_workers(place)
    if planned.moves:
        place.commit({move.partition: move.committed for move in planned.moves})
    headers = [(SCHEME_HEADER, policy.scheme_text), (BRIDGE_HEADER, b"1")]
    place.write(
        [
            (INDEX, bridge.shard, new_key(), encode(block), headers)
            for bridge in planned.bridges
            for block in bridge.blocks
        ]
    )


def refuse_workers(place: Place) -> None:
    """Check that there is no worker that would go on from the data that is being changed.

    Raises:
        Refused: there is one.
    """
    if workers := place.workers():
        raise Refused(f"{running(workers)}, and would go on with the data that this command changes: {STOP_ALL}")


def _collect(blocks: Sequence[Block], states: dict[int, State]) -> None:
    """Add the states in blocks, which must be the same in all shards."""
    for block in blocks:
        if block.answers_offset >= NEVER_THERE:
            continue  # a bridge of an earlier repair, or a part of a copy
        told = State.of(block)
        if states.setdefault(block.to, told) != told:
            raise Refused(
                f"blocks that end at batch {block.to} differ in what was claimed or answered by then: {told} in shard "
                f"{block.shard}, {states[block.to]} in another. Nothing tells which is right: {NEW_PREFIX}"
            )


def _shard_place(found: ShardTopic, logs: Logs) -> ShardPlace:
    try:
        covered = cover(found.blocks)
    except Refused as error:
        raise Refused(f"{error}. A repair cannot tell which of the two is right: {NEW_PREFIX}") from error
    last = covered.last
    point = ReplayPoint(last.to + 1, last.answers_offset) if last else BEGINNING.point
    return ShardPlace(found.shard, point, check_reach(logs, point), covered.floor, covered.damaged)


def _begun(place: Place, states: Sequence[State], policy: Policy) -> frozenset[int]:
    """The partitions of which any page was ever claimed, as far as blocks know, and the log after the last of them."""
    found = {number for state in states for number in state.claimed_up_to}
    begin, end = place.bounds(FINGERPRINTS, 0)
    begin = max(begin, states[-1].to + 1) if states else begin
    if begin < end:
        for record in read_to_end(place.reader(FINGERPRINTS, 0, begin), end):
            found.update(highest_claims(record.value, policy))
    return frozenset(found)


def highest_claims(value: bytes | None, policy: Policy) -> Mapping[int, int]:
    """By partition, the highest page that a record of ``fingerprints`` claims; none for records that workers skip."""
    try:
        batch = decode(Batch, value)
        return Claims.of_batch(batch).highest if batch.scheme == policy.scheme else {}
    except (UnreadableRecord, Refused):
        return {}


def _forgets(place: Place, after: int, policy: Policy) -> Iterator[tuple[int, ForgetCondition]]:
    """The conditions of records after a batch, as far as the records are still there, with their offsets."""
    begin, end = place.bounds(FINGERPRINTS, 0)
    for record in read_to_end(place.reader(FINGERPRINTS, 0, max(begin, after + 1)), end):
        with suppress(UnreadableRecord, Refused):
            if isinstance(found := decode_claims(record.value), Forget) and found.scheme == policy.scheme:
                yield record.offset, found.condition


def _note(number: int, committed: Committed) -> Note | None:
    """The note of a consumed offset; None if another program has written it."""
    try:
        return Note.from_metadata(committed.metadata, f"partition {number} of {PAGES}")
    except Refused:
        return None


def _partition_place(
    place: Place, consumed: tuple[int, Committed | None], logs: Logs, states: Sequence[State], *, begun: bool
) -> PartitionPlace:
    number, committed = consumed
    pages = place.bounds(PAGES, number)
    last = place.committed_up_to(number)
    if committed is None and not begun and last < 0:
        return PartitionPlace(number, None, pages.begin, None, Reach.FINE, pages)  # no page of it was ever claimed
    if committed is not None and (note := _note(number, committed)) is not None:
        told = [state for state in states if state is not BEGINNING and state.to < note.point.batch]
        if all(known < committed.offset for known in (last, *(state.knows(number) for state in told))):
            reach = check_reach(logs, note.point)
            return PartitionPlace(number, committed, committed.offset, note.point, reach, pages)
    offset = last + 1 if last >= 0 else pages.begin
    return PartitionPlace(number, None, offset, None, Reach.GONE, pages)


def _refuse_topics_made_anew(survey: Survey) -> None:
    who = [f"shard {shard.shard}" for shard in survey.shards if shard.reach is Reach.BEYOND]
    who += [
        f"partition {partition.partition} of {PAGES}"
        for partition in survey.partitions
        if partition.reach is Reach.BEYOND or partition.offset > partition.pages.end
    ]
    if who:
        raise Refused(
            f"{', '.join(who)}: beyond the logs' end, so a topic was made anew under the same name. What workers kept "
            f"of the old topic does not fit the new one: make all topics anew, or {NEW_PREFIX}"
        )


def _move(partition: PartitionPlace, survey: Survey, policy: Policy) -> Move | None:
    """Steps 2, 5 and 6 for one partition; None if there is nothing to do."""
    offset, point = partition.offset, partition.point
    if partition.reach is Reach.GONE:
        behind = [state for state in survey.readable if state.knows(partition.partition) < offset]
        if not behind and not survey.readable:
            return None  # the logs hold nothing, and no shard has lost anything: there was never a claim
        state = behind[-1] if behind else survey.readable[0]
        offset, point = max(offset, state.knows(partition.partition) + 1), state.point
    if point is None:
        return None
    offset = max(offset, partition.pages.begin)
    committed = Committed(offset, _noted(partition, point, policy))
    return (
        None if committed == partition.committed else Move(partition.partition, committed, _skipped(partition, offset))
    )


def _noted(partition: PartitionPlace, point: ReplayPoint, policy: Policy) -> str:
    """The note with a new replay point; it keeps which pages go to the outputs, if that is known."""
    if partition.committed is None:
        return Note(point, NOTHING if policy.output == "count" else 0).to_metadata()
    note = Note.from_metadata(partition.committed.metadata, f"partition {partition.partition} of {PAGES}")
    return note._replace(point=point).to_metadata()


def _skipped(partition: PartitionPlace, offset: int) -> range:
    return range(partition.offset, offset)


def _annul(survey: Survey, policy: Policy) -> Plan:
    """Steps 3 and 4: no shard's knowledge reaches into the logs."""
    last = survey.states[-1] if survey.states else BEGINNING
    claimed = dict(last.claimed_up_to)
    moves = []
    for partition in survey.partitions:
        number = partition.partition
        if partition.point is None and partition.reach is Reach.FINE:
            continue
        claimed[number] = max(last.knows(number), partition.offset - 1)
        offset = max(claimed[number] + 1, partition.pages.begin)
        committed = Committed(offset, _noted(partition, survey.logs.end, policy))
        moves.append(Move(number, committed, range(partition.offset, offset)))
    known = {number: offset for number, offset in claimed.items() if offset >= 0}
    end = survey.logs.end
    forgotten = last.forgotten
    for offset, condition in survey.forgets:
        forgotten = one_more(forgotten, Forgotten(condition, offset, last.watermark)) or forgotten
    state = State(end.batch - 1, end.answers_offset, last.watermark, known, forgotten)
    bridges = tuple(_bridge(shard, state, policy) for shard in survey.shards)
    return Plan(bridges, tuple(moves), range(last.to + 1, end.batch))


def _bridge(shard: ShardPlace, state: State, policy: Policy) -> Bridge:
    """Empty blocks in the holes of a shard's cover up to a state."""
    holes = []
    reached = shard.point.batch - 1
    for block in sorted(shard.damaged, key=lambda block: block.after):
        if reached < block.after < state.to:
            holes.append((reached, block.after))
        if block.after < state.to:
            reached = max(reached, block.to)
    if reached < state.to:
        holes.append((reached, state.to))
    blocks = tuple(_empty_block(shard, after, to, state, policy) for after, to in holes)
    return Bridge(shard.shard, blocks, tuple(holes))


def _empty_block(shard: ShardPlace, after: int, to: int, state: State, policy: Policy) -> Block:
    header = Header(
        scheme=policy.scheme,
        writer=policy.writer,
        shard=shard.shard,
        after=after,
        to=to,
        answers_offset=state.answers_offset if to == state.to else NEVER_THERE,
        watermark=state.watermark if to == state.to else NO_WATERMARK,
        claimed_up_to=state.claimed_up_to if to == state.to else {},
        floor=shard.floor,
        clocks=(),
        forgotten=state.forgotten if to == state.to else (),
    )
    return pack(Entries.empty(), header)
