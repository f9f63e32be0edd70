"""Ways to break what holds when ``pages`` is given more partitions than some workers claim."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from crawler_plugin.wire.topics import ANSWERS, FINGERPRINTS, PAGES
from tests.simulation.memory_log import in_memory
from tests.simulation.mutations.mutation import Mutation, in_place_of
from worker.stream.barrier import Barrier
from worker.stream.log import Committed, Log
from worker.stream.log_follower import Follower, Pending
from worker.stream.partition.owned import OwnedPartition
from worker.stream.policy import Note, ReplayPoint
from worker.stream.shard.live import LiveShard
from worker.stream.shard.owned import OwnedShard
from worker.stream.states import PartitionState
from worker.stream.worker import Worker


@in_place_of(Worker, "_renew_partition")
def claims_whatever_it_is_given(honest: Any, self: Worker, number: int) -> None:
    """Pages of a partition that the outputs do not have are claimed: their verdicts cannot be written."""
    policy, self.policy = self.policy, replace(self.policy, partitions=1 << 31)
    honest(self, number)
    self.policy = policy


@in_place_of(Follower, "_checked")
def a_claim_beyond_the_setting_is_forged(honest: Any, self: Follower, read: Pending | Barrier) -> Pending | Barrier:
    """A worker that claims fewer partitions ends at the first claim of a worker that claims more."""
    if isinstance(read, Pending) and max(read.claims.highest, default=0) >= self.policy.partitions:
        return Barrier(read.offset, "claims a page of a partition that is not set")
    found: Pending | Barrier = honest(self, read)
    return found


@in_place_of(Worker, "__post_init__")
def counts_partitions_at_its_start(honest: Any, self: Worker) -> None:
    """A claim of a partition that was added later is taken for forged."""
    honest(self)
    there = in_memory(self.log).world.partitions
    self.ends._has = lambda topic, number: number < there


@in_place_of(LiveShard, "on_decided")
def keeps_claimed_offsets_of_its_own_partitions_only(honest: Any, self: LiveShard, decided: Any) -> None:
    """A shard forgets claims beyond its worker's setting: a page that comes twice is judged twice."""
    honest(self, decided)
    claimed = self.standing.claimed_up_to
    self.standing.claimed_up_to = {n: offset for n, offset in claimed.items() if n < self.policy.partitions}


@in_place_of(LiveShard, "on_decided")
def claimed_offsets_of_partitions_not_yet_seen(honest: Any, self: LiveShard, decided: Any) -> None:
    """A block lists each partition of the setting, with -1 before its first page: two settings, two headers."""
    self.standing.claimed_up_to = dict.fromkeys(range(self.policy.partitions), -1) | self.standing.claimed_up_to
    honest(self, decided)


@in_place_of(OwnedShard, "restore")
def restores_claimed_offsets_of_its_own_partitions_only(honest: Any, self: OwnedShard, *how: Any) -> LiveShard | None:
    """A restore leaves out the partitions beyond the setting that blocks list: later blocks lack them, too."""
    found: LiveShard | None = honest(self, *how)
    if found is not None:
        claimed = found.standing.claimed_up_to
        found.standing.claimed_up_to = {n: offset for n, offset in claimed.items() if n < self.policy.partitions}
    return found


@in_place_of(OwnedPartition, "_first_commit")
def a_new_partition_begins_at_its_end(_: Any, self: OwnedPartition, log: Log) -> Committed:
    """Pages that have waited until a worker claims the partition are never judged."""
    point = ReplayPoint(log.bounds(FINGERPRINTS, 0).end, log.bounds(ANSWERS, 0).end)
    first = Committed(log.bounds(PAGES, self.number).end, Note(point, self.written_from).to_metadata())
    log.pages().commit({self.number: first})
    return first


@in_place_of(Worker, "_end_at_a_barrier")
def waits_for_who_stands_behind_a_barrier(_: Any, self: Worker) -> None:
    """A new partition begins behind a record that no one may decide: its worker waits there forever, silently."""
    barred = [follower.barred for follower in self.followers]
    if not barred or barred[0] is None or None in barred or any(s.live is None for s in self.shards.values()):
        return
    settled = PartitionState.CLAIMING, PartitionState.UNCLAIMED
    if all(p.state in settled and not p.decisions for p in self.partitions.values()):
        raise barred[0].refusal()


OF_PARTITIONS: tuple[Mutation, ...] = (
    claims_whatever_it_is_given,
    a_claim_beyond_the_setting_is_forged,
    counts_partitions_at_its_start,
    keeps_claimed_offsets_of_its_own_partitions_only,
    claimed_offsets_of_partitions_not_yet_seen,
    restores_claimed_offsets_of_its_own_partitions_only,
    a_new_partition_begins_at_its_end,
)
OF_COPYING_PARTITIONS: tuple[Mutation, ...] = (waits_for_who_stands_behind_a_barrier,)
