"""Copies the index of a generation into another one: with another number of shards, without some URLs.

The survivors keep their order among each other and come before all later ones; the watermark, the claimed offsets and
the consumed offsets stay the same. So the next pages are judged as they would have been, except for the number of
shards and the URLs that were left out.

In the new generation the survivors belong to *markers*: records at the beginning of its ``fingerprints`` that say only
that a copy was made. Marker m holds the survivors whose order became (m, place); each shard has at most one block that
ends there. There are as many markers as blocks of the usual size need. With a ttl there are so many that the clocks of
one marker's survivors are an hour apart at most: these expire together, with the last of them.

1. All workers have stopped, every claim is decided, its survivor in a block, its page committed. They may have been of
   an earlier program, if this program reads its blocks; its batches and answers are not read. Claims from a record on
   that is never decided (``worker.stream.barrier``) are left: their pages are claimed anew in the new generation.
2. Markers and blocks are written. A restore must end at the last block of its shard. In every earlier block the answers
   offset lies beyond the end of any log, so that a restore that ended there would be refused.
3. The old generation learns its successor: when its workers are started again, they refuse.
4. The new generation gets the consumed offsets. Without them its workers refuse to begin where markers are, so an
   interrupted copy has no effect: delete its topics, and copy again.

A state that was filled without Kafka (``worker.local``) becomes the beginning of a generation in the same way, without
the first and the third step: no one else has it. None of the pages on the topic is claimed then.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby, takewhile
from operator import itemgetter
from typing import Final, NamedTuple

from crawler_plugin.wire.counted import counted
from crawler_plugin.wire.errors import Refused, UnreadableRecord
from crawler_plugin.wire.messages import Batch, Block, Order, OtherVersion, decode, decode_claims, encode
from crawler_plugin.wire.page_headers import Headers
from crawler_plugin.wire.topics import ANSWERS, FINGERPRINTS, INDEX, PAGES
from worker.index.blocks import Cover, Header, cover, pack
from worker.index.entries import Entries, Survivor
from worker.operations.inspect import read_shard
from worker.operations.repair import NEVER_THERE, Place, State
from worker.operations.switch import Generation, consumed, consumed_offset, refuse_given, refuse_running
from worker.stream.barrier import barriers, outside, refuse_poisoned
from worker.stream.log import Committed, Readable, Record, read_to_end
from worker.stream.policy import COPIED, NOTHING, SCHEME_HEADER, Note, Policy, ReplayPoint, other_scheme
from worker.stream.replay import Reach, check_reach, logs_of
from worker.verdict.decide import home_shard

ALIKE_MS: Final = 60 * 60 * 1000
"""With a ttl the clocks of a marker's survivors may be this far apart; all expire with the last of them."""

_IN_ORDER: Final = "start the workers of the old generation, wait until all pages are committed, stop them with SIGTERM"

Row = tuple[Order, int, Survivor]
"""Order, the watermark just after its batch, and the survivor itself."""
Write = tuple[str, int, bytes, bytes, Headers]


@dataclass(frozen=True)
class Survivors:
    """The beginning of a generation: a state, the survivors up to there in their order, and those that are suspect."""

    state: State
    suspects: Collection[Order]
    rows: Callable[[], Iterator[Row]]


@dataclass(frozen=True)
class Drained:
    """A generation at rest: the state that all shards agree on, their covers, the consumed offsets with their notes."""

    state: State
    covers: tuple[Cover, ...]
    consumed: dict[int, tuple[Committed, Note]]

    @property
    def survivors(self) -> Survivors:
        """The survivors of all shards."""
        suspects = {order for covered in self.covers for order in covered.suspects}
        return Survivors(self.state, suspects, lambda: heapq.merge(*map(_rows, self.covers), key=itemgetter(0)))


class FromBatch(NamedTuple):
    """Survivors of one batch in their order, the watermark just after it, and the suspects, of these or others."""

    clock: int
    survivors: Sequence[Survivor]
    suspects: Collection[Order] = frozenset()


class Fallen(NamedTuple):
    """A survivor that is near to an earlier one by the new rules, and why; ``reason`` as in a verdict."""

    url: str
    near_to: str
    reason: str


Falls = Callable[[int, Sequence[Survivor]], Mapping[Order, Fallen]]
"""Given a batch's clock and survivors, says which of them fall; called for each batch in turn."""


@dataclass
class Copied:
    """The result of a copy. ``forgotten`` are the URLs that were in the index and were left out, ``fallen`` the
    survivors that fell."""

    entries: int = 0
    markers: int = 0
    forgotten: set[str] = field(default_factory=set)
    fallen: list[Fallen] = field(default_factory=list)


def drained(source: Place, name: str, policy: Policy, partitions: Iterable[int]) -> Drained:
    """Step 1; reads all blocks and holds them. ``partitions`` are all partitions of ``pages``.

    Raises:
        Refused: workers are running, something is undecided or uncommitted, or a block is missing; the message says
            what to do.
        Unavailable: a transaction is pending.
    """
    generation = Generation(name, source)
    refuse_running(generation)
    partitions = tuple(partitions)
    covers = tuple(covered(source, shard, policy) for shard in range(policy.shards))
    states = [None if found.last is None else State.of(found.last) for found in covers]
    if not any(states):
        raise Refused(
            f"the index of {generation.shown} is empty, so there is nothing to copy. If no page was ever committed "
            f"there, workers may begin in a new topics.generation without a copy; else {_IN_ORDER}"
        )
    if any(state != states[0] for state in states) or states[0] is None:
        ends = ", ".join("nothing" if state is None else f"batch {state.to}" for state in states)
        raise Refused(
            f"the shards of {generation.shown} are not all written up to the same batch, but up to {ends}: {_IN_ORDER}"
        )
    state = states[0]
    if (reach := check_reach(logs_of(source), state.point)) is not Reach.FINE:
        raise Refused(f"the next record after batch {state.to} is {reach.value}: run `python -m worker repair` first")
    pages = {partition: source.bounds(PAGES, partition) for partition in partitions}
    pages_end = {partition: bounds.end for partition, bounds in pages.items()}
    refuse_poisoned(state.claimed_up_to, pages_end, f"blocks of {generation.shown}")
    if (undecided := _next_batch(source, state.to + 1, policy)) is not None:
        raise Refused(f"batch {undecided} of {generation.shown} is in no block yet: {_IN_ORDER}")
    offsets = {number: consumed_of(generation, number, begin, state, policy) for number, (begin, _) in pages.items()}
    for partition, (committed, _) in offsets.items():
        if state.knows(partition) >= committed.offset:
            raise Refused(
                f"pages {committed.offset} to {state.knows(partition)} of partition {partition} of {PAGES} are judged "
                f"but not committed: {_IN_ORDER}"
            )
    return Drained(state, covers, offsets)


def consumed_of(
    generation: Generation, partition: int, begin: int, state: State, policy: Policy
) -> tuple[Committed, Note]:
    """The consumed offset; its ``begin`` for a new partition, of which no page was ever claimed.

    Raises:
        Unavailable, Refused: as ``consumed``.
    """
    if state.knows(partition) < 0 and consumed_offset(generation.groups, partition) is None:
        return Committed(begin, ""), Note(state.point, NOTHING if policy.output == "count" else 0)
    return consumed(generation, partition)


def refuse_used(target: Place, name: str, policy: Policy) -> None:
    """Check that nothing was ever written in the new generation.

    Raises:
        Refused: something was, perhaps by an interrupted copy.
    """
    refuse_running(Generation(name, target))
    ends = {topic: target.bounds(topic, 0).end for topic in (FINGERPRINTS, ANSWERS)}
    ends[INDEX] = sum(target.bounds(INDEX, shard).end for shard in range(policy.shards))
    if used := [topic for topic, end in ends.items() if end]:
        raise Refused(
            f"the topics {', '.join(used)} of topics.generation={name!r} are not empty: take another name, or, if "
            f"nothing in them is needed, `python -m worker topics delete --generation {name!r}` and run this again"
        )


def copy(
    source: Place,
    target: Place,
    names: tuple[str, str],
    found: Drained,
    policy: Policy,
    new_key: Callable[[], bytes],
    without: Collection[str] = (),
    falls: Falls | None = None,
) -> Copied:
    """Steps 2 to 4. ``policy`` is that of the new generation, ``names`` of both; the rest as for ``CopiedIndex``.

    Raises:
        Refused: someone else writes there, or the outputs were given to another generation.
        Unavailable: the broker did not accept a record; delete the new topics and copy again.
    """
    for _, note in found.consumed.values():
        refuse_given(Generation(names[0], source), note, names[1])
    result = Copied()
    plant(target, names[1], writes_of(found.survivors, policy, new_key, result, without, falls), result)
    source.commit(
        {
            partition: Committed(committed.offset, note._replace(successor=names[1]).to_metadata())
            for partition, (committed, note) in found.consumed.items()
        }
    )
    target.commit(begins(found.consumed, result))
    return result


def kept(blocks: Sequence[Block], target: Place, policy: Policy, partitions: Iterable[int]) -> Drained:
    """The content of a state, as if it had been drained from another generation; its workers begin with the first page.

    Args:
        blocks: those of the state, each continuing the one before it.
        policy: of the generation that begins with it.
        partitions: of ``pages``.

    Raises:
        Refused: no page was ever judged.
    """
    if not blocks:
        raise Refused("the state holds no judged page: scan into it first (`python -m worker scan --state`)")
    state = State(0, 0, blocks[-1].watermark, {})
    return Drained(state, (cover(blocks),), from_the_first_page(target, policy, partitions))


def from_the_first_page(target: Place, policy: Policy, partitions: Iterable[int]) -> dict[int, tuple[Committed, Note]]:
    """The consumed offsets of a generation that has claimed no page of these partitions of ``pages``."""
    note = Note(ReplayPoint(0, 0), NOTHING if policy.output == "count" else 0)
    return {number: (Committed(target.bounds(PAGES, number).begin, ""), note) for number in partitions}


def seed(target: Place, name: str, found: Drained, policy: Policy, new_key: Callable[[], bytes]) -> Copied:
    """Steps 2 and 4, for the result of ``kept``.

    Raises:
        Refused: someone else writes there.
        Unavailable: the broker did not accept a record; delete the new topics and seed again.
    """
    result = Copied()
    plant(target, name, writes_of(found.survivors, policy, new_key, result), result)
    target.commit(begins(found.consumed, result))
    return result


def plant(target: Place, name: str, writes: Iterable[Write], result: Copied) -> None:
    """Step 2: write the records, which are counted in ``result``, and check that the logs hold nothing else.

    Raises:
        Refused: someone else writes there.
        Unavailable: the broker did not accept a record.
    """
    target.write(writes)
    ends = target.bounds(FINGERPRINTS, 0).end, target.bounds(ANSWERS, 0).end
    if ends != (result.markers, 0):
        raise Refused(
            f"another program wrote to {FINGERPRINTS} or {ANSWERS} of topics.generation={name!r} during the copy: stop "
            f"it, `python -m worker topics delete --generation {name!r}` and run this again"
        )


def begins(consumed: Mapping[int, tuple[Committed, Note]], result: Copied) -> dict[int, Committed]:
    """The consumed offsets of the new generation."""
    point = ReplayPoint(result.markers, 0)
    return {
        partition: Committed(committed.offset, note._replace(point=point, successor=None).to_metadata())
        for partition, (committed, note) in consumed.items()
    }


def covered(source: Readable, shard: int, policy: Policy) -> Cover:
    """The content of a shard's blocks.

    Raises:
        Refused: a block is damaged, or of other settings.
    """
    found = read_shard(source, shard)
    for scheme in found.words.keys() - {policy.scheme}:
        raise other_scheme(policy, scheme, found.words[scheme], INDEX)
    whole = cover(found.blocks)
    if found.unreadable or whole.damaged:
        raise Refused(f"blocks of shard {shard} are damaged: `python -m worker index inspect` says more")
    return whole


def _next_batch(source: Place, offset: int, policy: Policy) -> int | None:
    """The first batch of this scheme from an offset on; None if there is none before a record that is never decided.

    A batch of an earlier program counts, as that program's workers decide it. Batches after one that is never decided
    are not decided either: their pages are claimed anew.
    """
    begin, end = source.bounds(FINGERPRINTS, 0)
    ends = outside(source)
    for record in read_to_end(source.reader(FINGERPRINTS, 0, max(begin, offset)), end):
        if _of_earlier_program(record):
            return record.offset
        if next(barriers(ends, [record], policy), None) is not None:
            return None
        try:
            if decode_claims(record.value).scheme == policy.scheme:
                return record.offset
        except UnreadableRecord:
            continue
    return None


def is_of_earlier_program(source: Place, offset: int) -> bool:
    """Whether the record of ``fingerprints`` at this offset is a batch of an earlier program."""
    records = read_to_end(source.reader(FINGERPRINTS, 0, offset), offset + 1)
    return any(map(_of_earlier_program, records))


def _of_earlier_program(record: Record) -> bool:
    try:
        decode(Batch, record.value)
    except OtherVersion as other:
        return other.earlier
    except UnreadableRecord:
        pass
    return False


def _rows(found: Cover) -> Iterator[Row]:
    """The survivors of one shard, in their order, without those that had expired when its last block was written."""
    for piece in found.pieces:
        clocks = dict(piece.clocks)
        for survivor in piece.entries():
            yield survivor.order, clocks[survivor.order[0]], survivor


class Marker:
    """Collects for one marker: survivors by their new shard, renumbered."""

    def __init__(self, number: int, shards: int) -> None:
        self.number = number
        self.rows: list[list[Survivor]] = [[] for _ in range(shards)]
        self.suspects: list[list[Order]] = [[] for _ in range(shards)]
        self.bytes = [0] * shards
        self.count = 0
        self.first_clock = 0
        self.last_clock = 0

    def full(self, clock: int, policy: Policy) -> bool:
        """Whether a survivor of this clock belongs into the next marker."""
        return self.count > 0 and (
            max(map(len, self.rows)) >= policy.flush_entries
            or max(self.bytes) >= policy.flush_bytes
            or (policy.ttl is not None and clock - self.first_clock > ALIKE_MS)
        )

    def take_suspect(self, survivor: Survivor) -> None:
        """The next survivor is suspect."""
        self.suspects[home_shard(survivor, len(self.rows))].append((self.number, self.count))

    def take(self, survivor: Survivor, clock: int) -> None:
        """Add the next survivor in order."""
        if not self.count:
            self.first_clock = clock
        shard = home_shard(survivor, len(self.rows))
        self.rows[shard].append(survivor._replace(order=(self.number, self.count)))
        self.bytes[shard] += len(survivor.url)
        self.count += 1
        self.last_clock = clock


class CopiedIndex:
    """The records of the new topics, in the order in which they are written, from survivors in their own order.

    ``without`` holds canonical URLs to leave out, ``falls`` says which of the others fall by other rules. A restore
    that ends at a block of ``answers_offset`` begins with a part of the index; ``headers`` are those of the markers.
    ``state`` is the state that the blocks claim to know.
    """

    def __init__(
        self,
        policy: Policy,
        new_key: Callable[[], bytes],
        state: State,
        answers_offset: int,
        headers: Headers = (),
        *,
        without: Collection[str] = (),
        falls: Falls | None = None,
    ) -> None:
        self.policy = policy
        self.new_key = new_key
        self.state = state
        self.without = without
        self.falls = falls
        self.answers_offset = answers_offset
        self.headers = headers
        self.result = Copied()
        self.ends = [-1] * policy.shards
        """Where the last block of each shard ended."""
        self._marker = Marker(0, policy.shards)

    def take(self, batch: FromBatch) -> Iterator[Write]:
        """Add the survivors of the next batch; yields the records that become full before."""
        clock, survivors, suspects = batch
        self.result.forgotten.update(one.url for one in survivors if one.url in self.without)
        survivors = [one for one in survivors if one.url not in self.without]
        fallen = {} if self.falls is None else self.falls(clock, survivors)
        self.result.fallen.extend(fallen.values())
        for survivor in survivors:
            if survivor.order in fallen:
                continue
            if self._marker.full(clock, self.policy):
                yield from self.cut()
            if survivor.order in suspects:
                self._marker.take_suspect(survivor)
            self._marker.take(survivor, clock)
            self.result.entries += 1

    def cut(self, *, of_all: bool = False) -> Iterator[Write]:
        """End the marker here: its record, and the blocks of the shards that have survivors in it, or ``of_all``."""
        marker, self._marker = self._marker, Marker(self._marker.number + 1, self.policy.shards)
        self.result.markers = marker.number + 1
        yield FINGERPRINTS, 0, b"", encode(Batch(scheme=COPIED, writer=self.policy.writer, count=0)), self.headers
        for shard, rows in enumerate(marker.rows):
            if not (rows or of_all):
                continue
            header = Header(
                scheme=self.policy.scheme,
                writer=self.policy.writer,
                shard=shard,
                after=self.ends[shard],
                to=marker.number,
                answers_offset=self.answers_offset,
                watermark=self.state.watermark,
                claimed_up_to=self.state.claimed_up_to,
                floor=-1,
                clocks=((marker.number, marker.last_clock),) if rows else (),
                suspects=marker.suspects[shard],
            )
            self.ends[shard] = marker.number
            block = encode(pack(Entries.from_rows(rows), header))
            yield INDEX, shard, self.new_key(), block, [(SCHEME_HEADER, self.policy.scheme_text)]

    def end(self, state: State) -> Iterator[Write]:
        """The last marker, at which every shard has a block that a restore may end at."""
        self.state, self.answers_offset = state, 0
        yield from self.cut(of_all=True)


def merged(covers: Sequence[Cover], up_to: int | None = None) -> Iterator[FromBatch]:
    """The survivors of all shards in their order, up to a batch."""
    suspects = {order for covered in covers for order in covered.suspects}
    rows = heapq.merge(*map(_rows, covers), key=itemgetter(0))
    return _by_batch(takewhile(lambda row: up_to is None or row[0][0] <= up_to, rows), suspects)


def _by_batch(rows: Iterable[Row], suspects: Collection[Order]) -> Iterator[FromBatch]:
    for _, group in groupby(rows, key=lambda row: row[0][0]):
        of_batch = list(group)
        yield FromBatch(of_batch[0][1], [survivor for _, _, survivor in of_batch], suspects)


def writes_of(
    found: Survivors,
    policy: Policy,
    new_key: Callable[[], bytes],
    result: Copied,
    without: Collection[str] = (),
    falls: Falls | None = None,
) -> Iterator[Write]:
    """All records for the new topics, in the order in which they are written; counts them in ``result``."""
    copied = CopiedIndex(policy, new_key, found.state, NEVER_THERE, without=without, falls=falls)
    copied.result = result
    for batch in _by_batch(found.rows(), found.suspects):
        yield from copied.take(batch)
    yield from copied.end(found.state)


def lines(result: Copied, without: Sequence[str]) -> Iterator[str]:
    """For people: what was copied, which URLs to leave out were not there, and what fell."""
    yield f"copied {counted(result.entries, 'entry', 'entries')}"
    if without:
        yield f"left out {len(result.forgotten):,} of {len(without):,} URLs"
    for url in without:
        if url not in result.forgotten:
            yield f"not in the index: {url}"
    if result.fallen:
        yield f"left out, near to an earlier survivor by the new rules: {len(result.fallen):,}"
