"""The worker's step: answer, decide, store, claim, commit, in one thread over the port to the log."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from crawler_plugin.wire.errors import Unavailable
from crawler_plugin.wire.messages import Claim
from worker.pool.process_pool import PoolUsage
from worker.stream.barrier import Ends
from worker.stream.inheritance import Inheritance
from worker.stream.log import Log, NotYet, Record, Role
from worker.stream.log_follower import Follower, LogSubscriber
from worker.stream.observer import Observer, contained
from worker.stream.partition.commit import Committer
from worker.stream.partition.owned import OwnedPartition
from worker.stream.partition.page_claimer import Claimer
from worker.stream.policy import Policy, ReplayPoint
from worker.stream.resources import WorkerResources
from worker.stream.shard.live import IndexFactory, LiveShard
from worker.stream.shard.owned import OwnedShard
from worker.stream.states import PartitionState, ShardState

HINT_SECONDS: Final = 0.02
"""For hints in one pass of the loop. Other workers wait for this worker's answers in that time; with less, hints on
many copies would be left out."""

QUIET_SECONDS: Final = 2.0
"""After this long without a batch, no other worker waits for the answers of a worker that leaves."""

_log = logging.getLogger(__name__)


class Fingerprinting(Protocol):
    """Turns consumed pages into claims, elsewhere and in any order; a page that cannot be read becomes a dead claim."""

    @property
    def usage(self) -> PoolUsage:
        """Its work to do and its use of time so far, for metrics."""

    def submit(self, record: Record) -> None:
        """Take a page; its claim comes back from ``claims``."""

    def claims(self, wait: float = 0.0) -> Sequence[Claim]:
        """The claims that are done since the last call; waits at most this many seconds for the first of them."""


@dataclass(eq=False)
class Worker:
    """Everything one process does, as steps that a loop runs in turn and a simulation in any order.

    1. ``poll``: heartbeat; partitions lost and gained; pages consumed.
    2. ``take_up``: locate gained partitions, restore gained shards, let them join a follower.
    3. ``read``: both logs, by every follower.
    4. ``answer``: the first undecided batch, by every shard that is active here, or whose active holder is silent.
    5. ``decide``: the batches that all shards have answered; store survivors, collect decisions.
    6. ``claim``: fingerprinted pages as one batch. It comes after the answers, for which other workers wait.
    7. ``commit``: outputs and consumed offsets in one transaction.
    8. ``flush``: hints on decided pages, within a budget; findings and blocks of survivors to their topics, snapshots
       to the disk; tombstones for expired blocks.
    9. ``tidy``, every second or so: read what other holders of a shard have written, remove expired entries.

    Every step may raise ``crawler_plugin.wire.errors.Stop``; the process then ends, and the next owner of its work
    takes it up from the logs.
    """

    log: Log
    policy: Policy
    fingerprinting: Fingerprinting
    new_index: IndexFactory
    new_key: Callable[[], bytes]
    observer: Observer = field(default_factory=Observer)
    resources: WorkerResources = field(default_factory=WorkerResources)
    clock: Callable[[], float] = time.monotonic
    """In seconds: it measures how long another holder of a shard has been silent, and nothing else."""

    def __post_init__(self) -> None:
        self.observer = contained(self.observer)
        self.partitions: dict[int, OwnedPartition] = {}
        self.shards: dict[int, OwnedShard] = {}
        self.followers: list[Follower] = []
        self.ends = Ends(self.log.all_bounds, self.log.has_partition)
        self.inheritance = Inheritance(self.log)
        self.draining = False
        self.parted = False
        self._asked_at = 0.0
        self._lost: list[Iterator[None]] = []
        self._turn = 0
        self.claimer = Claimer(self.log, self.policy, self.observer)
        self.committer = Committer(self.log, self.policy, self.observer)

    # 1

    def poll(self) -> int:
        """Take part in both groups and take in the consumed pages; returns how many.

        The memory of lost shards is freed a little in each step: to free a gigabyte takes tens of milliseconds.
        """
        if self._lost and next(self._lost[-1], self) is self:
            self._lost.pop()
        if self.parted:
            if any(follower.pending for follower in self.followers):
                self._asked_at = self.clock()
            return 0
        self._poll_shards()
        for number in (pages := self.log.pages().poll()).lost:
            self._lose_partition(number)
        for number in pages.gained:
            self._renew_partition(number)
        for record in pages.records:
            self.ends.seen(record.partition, record.offset)
            partition = self.partitions.get(record.partition)
            if partition is None or partition.state is not PartitionState.CLAIMING or self.draining:
                continue
            if partition.consume(record):
                self.fingerprinting.submit(record)
        self._hold_back()
        return len(pages.records)

    def _poll_shards(self) -> None:
        """Take in which roles of which shards were lost and gained.

        Where a shard has two holders, the worker keeps a lost shard until the next assignment shows that it does not
        come back, in whatever role: so a change of roles costs no restore. Until then the shard goes on as a standby.
        """
        kept = [number for number, shard in self.shards.items() if shard.role is None]
        answering = frozenset(n for n, shard in self.shards.items() if shard.state is ShardState.ANSWERING)
        self.log.shards().caught_up(answering)
        polled = self.log.shards().poll()
        for number, _ in polled.lost:
            if self.policy.replicas == 1:
                self._lose_shard(number)
            elif number in self.shards:
                self.shards[number].hold(None)
        for number, role in polled.gained:
            if number >= self.policy.shards:
                continue  # the topic has partitions that are no shards: they hold nothing, and never will
            if number not in self.shards:
                self._take_shard(number)
            self.shards[number].hold(role)
        if polled.assigned or self.resources.memory_limit.crowded:
            for number in kept:
                if self.shards[number].role is None:
                    self._lose_shard(number)

    def drain(self) -> None:
        """Consume nothing more; consumed pages are still claimed and committed."""
        self.draining = True

    def part(self) -> None:
        """Leave both groups, once all is drained, and stand by for the shards until others answer for them.

        The others have to learn of it and to restore the shards first, and all verdicts would wait for that.
        """
        for number in list(self.partitions):
            self._lose_partition(number)
        for shard in self.shards.values():
            shard.hold(Role.STANDBY)
        self.log.leave()
        for follower in self.followers:
            follower.forget_others()
        self.parted, self._asked_at = True, self.clock()

    @property
    def relieved(self) -> bool:
        """Whether, since this worker has parted, others have answered for each shard that is here, or there was nothing
        to answer for ``QUIET_SECONDS``."""
        return self.clock() - self._asked_at >= QUIET_SECONDS or all(
            self._follower_of(live).heard_another(shard.number) for shard, live in self._live()
        )

    def close(self) -> None:
        """Stop reading; the next owner does all that is not committed."""
        for follower in self.followers:
            follower.close()
        for shard in self.shards.values():
            shard.close()
        self.inheritance.close()
        self.followers = []

    @property
    def drained(self) -> bool:
        """Whether everything consumed is committed."""
        return not self.committing and not any(partition.held for partition in self.partitions.values())

    @property
    def barred(self) -> bool:
        """Whether all before a record that must not be decided is decided here, for some of the owned shards and
        partitions: the worker waits for what can be committed."""
        return any(follower.barred is not None for follower in self.followers)

    @property
    def committing(self) -> bool:
        return not self.committer.idle

    @property
    def flushed(self) -> bool:
        """Whether every active shard has its sealed blocks acknowledged and its snapshot written."""
        return all(shard.flushed for shard in self.shards.values())

    def _hold_back(self) -> None:
        held_bytes = sum(partition.held_bytes for partition in self.partitions.values())
        full = self.draining or held_bytes >= self.policy.held_bytes
        self.log.pages().hold(
            frozenset(n for n, p in self.partitions.items() if full or p.state is not PartitionState.CLAIMING)
        )

    def _renew_partition(self, number: int) -> None:
        self._lose_partition(number)
        counts = self.policy.output == "count"
        self.partitions[number] = OwnedPartition(number, self.observer, counts, self.inheritance.consumed)
        if number >= self.policy.partitions:
            # The topic has grown. The outputs may not have grown: then claimed pages could not be committed.
            self.partitions[number].move(PartitionState.UNCLAIMED)

    def _lose_partition(self, number: int) -> None:
        partition = self.partitions.pop(number, None)
        if partition is not None:
            partition.move(PartitionState.LOST)
            self._leave(partition)
            self.claimer.drop(number)

    def _take_shard(self, number: int) -> None:
        self.shards[number] = OwnedShard(number, self.log, self.policy, self.observer, self.resources, self.ends)

    def _lose_shard(self, number: int) -> None:
        shard = self.shards.pop(number, None)
        if shard is not None:
            shard.move(ShardState.LOST)
            shard.close()
            if shard.live is not None:
                self._leave(shard.live)
                self._lost.append(shard.live.index.dismantle())

    # 2

    def take_up(self) -> None:
        """Bring gained partitions and shards one step nearer to work.

        Once the broker does not answer for one partition or shard, the others wait for a later step: otherwise the
        worker would wait for one time-out after the other. ``Watch`` judges how long the broker may be away. A
        partition or shard that had begun to replay then starts again, since it may have come to no follower.
        """
        for partition in list(self.partitions.values()):
            try:
                if partition.state is PartitionState.LOCATING:
                    self._join(partition, partition.locate(self.log))
                elif partition.state is PartitionState.REPLAYING and self._caught_up(partition):
                    partition.begin_claiming(self.log)
            except NotYet:
                continue
            except Unavailable:
                if partition.state is not PartitionState.LOCATING:
                    self._renew_partition(partition.number)
                return
        loaded = False
        for shard in list(self.shards.values()):
            try:
                if shard.state is ShardState.RESTORING and (live := shard.restore(self.new_index, self.new_key)):
                    self._join(live, live.replay_point)
                    loaded = True
            except Unavailable:
                if shard.state is not ShardState.RESTORING:
                    self._lose_shard(shard.number)
                    self._take_shard(shard.number)
                    self.shards[shard.number].hold(shard.role)
                return
        if loaded and not any(shard.state is ShardState.RESTORING for shard in self.shards.values()):
            _log.info("%s", self.resources.memory_limit)

    def _caught_up(self, partition: OwnedPartition) -> bool:
        return self._follower_of(partition).told_up_to >= partition.catch_up_to

    def _join(self, subscriber: LogSubscriber, point: ReplayPoint) -> None:
        for follower in self.followers:
            if follower.place.batch == point.batch:
                break
        else:
            follower = Follower(self.log, self.policy, point, self.observer, self.ends, self.clock)
            follower.subscribers.append(self.claimer)
            self.followers.append(follower)
        follower.join(subscriber)

    def _leave(self, subscriber: LogSubscriber) -> None:
        for follower in self.followers:
            follower.leave(subscriber)

    def _follower_of(self, subscriber: LogSubscriber) -> Follower:
        return next(follower for follower in self.followers if subscriber in follower.subscribers)

    # 3

    def read(self, wait: float = 0.0) -> None:
        """Read what both logs have; waits at most this many seconds for more."""
        for follower in self.followers:
            follower.read(wait if follower is self.followers[0] else 0.0)

    # 4

    def answer(self) -> int:
        """Answer for every owned shard; returns how many answers were sent.

        It makes all look-ups before it sends the first answer, so that the answers can go to the broker in one request.
        """
        found = [(shard, shard.answer(self._follower_of(live))) for shard, live in self._live()]
        answers = [(shard, answer) for shard, answer in found if answer is not None]
        for shard, answer in answers:
            shard.send(answer)
        return len(answers)

    # 5

    def decide(self) -> int:
        """Decide the batches that all shards have answered; followers that meet at the same batch become one.

        The follower that is furthest decides first. The others decide no batch at or after the batch at which it stands
        then: each of them either stops before that place or arrives exactly there, and then it is closed.

        Raises:
            Barred: all before a record that must not be decided is decided and committed, where this worker owns it.
        """
        count = 0
        in_flight = not self.claimer.idle
        ahead: list[Follower] = []
        for follower in sorted(self.followers, key=lambda follower: follower.place.batch, reverse=True):
            decided = follower.decide(before=ahead[-1].place.batch if ahead else None)
            if decided and not ahead:
                self.observer.decided(decided)
            count += decided
            if ahead and ahead[-1].place.batch == follower.place.batch:
                for subscriber in follower.subscribers:
                    if subscriber is not self.claimer:
                        ahead[-1].join(subscriber)
                follower.close()
            else:
                ahead.append(follower)
        self.followers = [follower for follower in ahead if self._needed(follower)]
        if in_flight and self.claimer.idle:
            self.observer.own_decided()
        self._end_at_a_barrier()
        return count

    def _end_at_a_barrier(self) -> None:
        """End the worker at a record that must not be decided, once all that it owns has come there.

        It commits the decisions before: no other worker would do that later. A partition without any claim so far
        begins where the logs end, so it may stand after such a record: there the worker decides nothing more.
        """
        barriers = [barrier for follower in self.followers if (barrier := follower.barred) is not None]
        if not barriers or any(shard.live is None for shard in self.shards.values()):
            return
        first = min(barriers)
        if any(follower.barred is None and follower.place.batch < first.offset for follower in self.followers):
            return
        settled = PartitionState.CLAIMING, PartitionState.UNCLAIMED
        if all(p.state in settled and not p.decisions for p in self.partitions.values()):
            raise first.refusal()

    def _needed(self, follower: Follower) -> bool:
        if any(subscriber is not self.claimer for subscriber in follower.subscribers):
            return True
        follower.close()
        return False

    # 6

    def claim(self, wait: float = 0.0, *, send: bool = True) -> bool:
        """Take in fingerprinted pages, for ``wait`` seconds where some are under way.

        With ``send``, send the batch that has gathered, unless one is in flight; true if one was sent.
        """
        for claim in self.fingerprinting.claims(wait):
            partition = self.partitions.get(claim.partition)
            if partition is not None:
                partition.fingerprinted(claim)
        if not send:
            return False
        before = self.claimer.ticket
        self.claimer.step(self._in_turn())
        return self.claimer.ticket is not before

    # 7

    def commit(self, *, begin: bool = True, refresh: bool = False) -> bool:
        """See how the transaction in flight ended, then begin the next; true if one was begun."""
        for partition in self.committer.finish():
            self._renew_partition(partition.number)
        if not begin:
            return False
        owned = self._in_turn()
        places = {partition.number: self._follower_of(partition).place for partition in owned}
        return self.committer.begin(places, owned, refresh=refresh)

    def _in_turn(self) -> list[OwnedPartition]:
        """The partitions that claim, with another one first each time: under a backlog the first takes all the room."""
        claiming = [partition for partition in self.partitions.values() if partition.state is PartitionState.CLAIMING]
        self._turn += 1
        first = self._turn % len(claiming) if claiming else 0
        return claiming[first:] + claiming[:first]

    # 8

    def hint(self) -> None:
        """Work out hints on decided pages, which wait behind all verdicts: a few pages of each shard, and more until
        the time for hints is over."""
        end = self.clock() + HINT_SECONDS
        waiting = [live.hints for _, live in self._live()]
        while (waiting := [hints for hints in waiting if hints.step()]) and self.clock() < end:
            pass

    def flush(self, *, seal: bool = False, keep: bool = False) -> None:
        """Send findings, write sealed blocks and tombstones; with ``seal``, first seal what was decided since the last
        block.

        With ``keep`` also take a snapshot of every shard, if this worker has a folder for them: one in each later step.
        Taking a shard's state copies it, and the answers wait during that time; with copies of all shards at once the
        worker would need memory for a second index.
        """
        self.hint()
        due = None
        taken = any(shard.snapshot_writer is not None and shard.snapshot_writer.holds for shard, _ in self._live())
        for shard, live in self._live():
            if not shard.writes:
                continue
            if shard.snapshot_writer is not None:
                shard.snapshot_writer.due |= keep
                if due is None and not taken and shard.snapshot_writer.due:
                    due = shard.snapshot_writer
            if seal or (due is not None and shard.snapshot_writer is due):
                live.seal()
            if due is not None and shard.snapshot_writer is due:
                due.capture(live)
            if shard.announcer is not None:
                shard.announcer.step()
            if shard.block_writer is not None and shard.knows_its_blocks:
                shard.block_writer.step()
                if shard.snapshot_writer is not None:
                    shard.snapshot_writer.step(live, shard.block_writer)

    # 9

    def tidy(self) -> None:
        """Take in what has landed on ``index``; remove expired entries from memory.

        Once the broker does not answer for one shard, the others are not asked for, as in ``take_up``.
        """
        is_away = False
        for shard, live in self._live():
            if shard.index_follower is not None and not is_away:
                try:
                    shard.index_follower.step()
                except Unavailable:
                    is_away = True
            self.observer.expired(shard.number, live.tidy())

    def _live(self) -> list[tuple[OwnedShard, LiveShard]]:
        return [(shard, shard.live) for shard in self.shards.values() if shard.live is not None]
