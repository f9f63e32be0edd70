"""Takes the gauges of a worker every second or two, in the worker's own thread, and says why it is not ready."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple
from weakref import ref

from crawler_plugin.wire.topics import ANSWERS, FINGERPRINTS, INDEX, PAGES
from worker.observe import catalogue
from worker.observe.catalogue import Gauge, Labels
from worker.observe.counters import Counters
from worker.pool.process_pool import PoolUsage
from worker.stream.log import Bounds, Role
from worker.stream.partition.owned import OwnedPartition
from worker.stream.shard.live import Index
from worker.stream.shard.owned import OwnedShard
from worker.stream.states import PartitionState, ShardState
from worker.stream.worker import Worker

REST: Final = 200
"""After a measurement that reads a whole index, this many times its duration passes without one. So measuring takes
half a percent of the loop's time at most, however large the index is."""

OF_SHARDS: Final = tuple(metric for metric in catalogue.CATALOGUE if metric.labels[:1] == ("shard",))
SHARD_STATES: Final = tuple(state for state in ShardState if state is not ShardState.LOST)
PARTITION_STATES: Final = tuple(state for state in PartitionState if state is not PartitionState.LOST)


class Looked(NamedTuple):
    """A shard's index and its two counts when it was last seen; the reference keeps no lost index in memory."""

    index_ref: ref[Index]
    look_ups: int
    candidates: int


@dataclass(eq=False)
class Gauges:
    """Takes the gauges of a worker, and the counts that its parts keep; those of a shard begin anew with each restore.

    The numbers go to ``counters``. ``now`` is in seconds since 1970, to be compared with the broker's time stamps;
    ``stopwatch`` is in seconds and monotonic.
    """

    counters: Counters
    now: Callable[[], float] = time.time
    stopwatch: Callable[[], float] = time.perf_counter

    def __post_init__(self) -> None:
        self._seen: dict[int, Looked] = {}
        self._usage = PoolUsage()
        self._written: Mapping[str, int] = {}
        self._starved: dict[int, tuple[float, Mapping[int, int]]] = {}
        self._measured: dict[int, int] = {}
        self._measure_from = float("-inf")

    def take(self, worker: Worker, lags: Mapping[int, int], logs: Mapping[str, Bounds]) -> None:
        """Look at everything.

        ``lags`` has the uncommitted pages by partition: a new mapping after each new look. ``logs`` has the bounds of
        both logs.
        """
        self._measure_one(worker)
        gauges = self._of_shards(worker.shards.values()) | self._of_partitions(worker.partitions.values(), lags)
        gauges[catalogue.REPLAY_MARGIN] = _replay_margins(worker, logs)
        look_ups, candidates = self._looked(worker)
        before, self._usage = self._usage, worker.fingerprinting.usage
        written_before, self._written = self._written, worker.log.written()
        with self.counters.lock:
            for gauge, numbers in gauges.items():
                tally = self.counters.tally(gauge)
                tally.clear()
                tally.update(numbers)
            self.counters.tally(catalogue.LOOK_UPS)[()] += look_ups
            self.counters.tally(catalogue.CANDIDATES)[()] += candidates
            self.counters.tally(catalogue.PARSER_REPLACEMENTS)[()] += self._usage.replaced - before.replaced
            self.counters.tally(catalogue.PARSING)[()] = self._usage.outstanding
            for stage, seconds in self._usage.stage_seconds.items():
                self.counters.tally(catalogue.STAGE_SECONDS)[stage,] += seconds - before.stage_seconds.get(stage, 0.0)
            for topic, size in self._written.items():
                self.counters.tally(catalogue.WRITTEN_BYTES)[topic,] += size - written_before.get(topic, 0)
            self.counters.tally(catalogue.MEMORY_LIMIT)[()] = worker.resources.memory_limit.limit

    def _of_shards(self, shards: Iterable[OwnedShard]) -> dict[Gauge, dict[Labels, float]]:
        gauges: dict[Gauge, dict[Labels, float]] = {Gauge(metric): {} for metric in OF_SHARDS}
        for shard in shards:
            name = str(shard.number)
            gauges[catalogue.SHARD_STATE] |= {(name, state.value): shard.state is state for state in SHARD_STATES}
            gauges[catalogue.SHARD_ROLE] |= {(name, role.value): shard.role is role for role in Role}
            gauges[catalogue.RESTORE_PROGRESS][name,] = _restored(shard)
            if shard.live is None:
                continue
            gauges[catalogue.ENTRIES][name,] = len(shard.live.index)
            gauges[catalogue.UNFLUSHED][name,] = shard.live.unflushed
            gauges[catalogue.INDEX_BYTES][name, "tables"] = shard.live.nbytes
            gauges[catalogue.INDEX_BYTES][name, "urls"] = shard.live.index.url_bytes
            gauges[catalogue.SPLITS][name,] = shard.live.index.splits
            if shard.number in self._measured:
                gauges[catalogue.LARGEST_BUCKET][name,] = self._measured[shard.number]
        return gauges

    def _of_partitions(
        self, partitions: Iterable[OwnedPartition], lags: Mapping[int, int]
    ) -> dict[Gauge, dict[Labels, float]]:
        partitions = list(partitions)
        states: dict[Labels, float] = {
            (str(partition.number), state.value): float(partition.state is state)
            for partition in partitions
            for state in PARTITION_STATES
        }
        owned = {partition.number for partition in partitions}
        self._starved = {number: since for number, since in self._starved.items() if number in owned}
        waiting: dict[Labels, float] = {(str(number),): lag for number, lag in lags.items() if number in owned}
        return {
            catalogue.PARTITION_STATE: states,
            catalogue.LAG_RECORDS: waiting,
            catalogue.LAG_SECONDS: {(): max((self._age(partition, lags) for partition in partitions), default=0.0)},
            catalogue.HELD_PAGES: {(): sum(len(partition.held) for partition in partitions)},
            catalogue.HELD_BYTES: {(): sum(partition.held_bytes for partition in partitions)},
        }

    def _age(self, partition: OwnedPartition, lags: Mapping[int, int]) -> float:
        """Seconds for which this partition's oldest page has waited.

        If no page is held but pages wait at the broker, the seconds count from when that was first seen, as soon as two
        different looks at the lag agree on it. (One look alone may be older than the last commit.)
        """
        now = self.now()
        oldest = next(iter(partition.held.values()), None)
        if oldest is not None or not lags.get(partition.number):
            self._starved.pop(partition.number, None)
            return 0.0 if oldest is None else max(0.0, now - oldest.timestamp / 1000)
        since, first_look = self._starved.setdefault(partition.number, (now, lags))
        return 0.0 if first_look is lags else max(0.0, now - since)

    def _looked(self, worker: Worker) -> tuple[int, int]:
        """Look-ups and candidates since the last time; those of a lost shard since it was last seen are missing."""
        look_ups = candidates = 0
        seen = {}
        for number, index in _indexes(worker).items():
            before = self._seen.get(number)
            if before is None or before.index_ref() is not index:
                before = Looked(ref(index), 0, 0)
            seen[number] = Looked(before.index_ref, index.look_ups, index.candidates)
            look_ups += index.look_ups - before.look_ups
            candidates += index.candidates - before.candidates
        self._seen = seen
        return look_ups, candidates

    def _measure_one(self, worker: Worker) -> None:
        """Measure the fullest bucket of the shard whose turn it is; that looks at all of its buckets."""
        indexes = _indexes(worker)
        self._measured = {number: found for number, found in self._measured.items() if number in indexes}
        begun = self.stopwatch()
        if not indexes or begun < self._measure_from:
            return
        # First a shard that was never measured; then the one whose measurement is the oldest.
        number = next((number for number in indexes if number not in self._measured), next(iter(self._measured), 0))
        self._measured.pop(number, None)
        self._measured[number] = indexes[number].largest_bucket
        ended = self.stopwatch()
        self._measure_from = ended + REST * (ended - begun)


def missing_for_readiness(worker: Worker) -> list[str]:
    """The reasons why a worker cannot do all of its own work, in words; empty if there are none."""
    missing = []
    if worker.draining:
        missing.append("the worker is draining")
    for topic, group in ((PAGES, worker.log.pages()), (INDEX, worker.log.shards())):
        if group.membership().evicted:
            missing.append(f"the worker is not, or not yet, a member of the consumer group on {topic}")
    for shard in worker.shards.values():
        if shard.role is None:
            continue
        if shard.live is None:
            read = f"{_restored(shard):.0%} of its blocks read"
            missing.append(f"shard {shard.number} is {shard.state.value}, {read}")
        elif shard.state is not ShardState.ANSWERING:
            missing.append(f"shard {shard.number} is {shard.state.value}")
    missing += [
        f"partition {partition.number} is {partition.state.value}"
        for partition in worker.partitions.values()
        if partition.state not in (PartitionState.CLAIMING, PartitionState.UNCLAIMED)
    ]
    return missing


def _replay_margins(worker: Worker, logs: Mapping[str, Bounds]) -> dict[Labels, float]:
    """By log: where the oldest replay point of this worker lies between the log's beginning (0) and its end (1).

    A replay point after the last batch needs nothing of either log, although answers that no worker waited for may lie
    after it.
    """
    points = [
        *(partition.committed_point for partition in worker.partitions.values() if partition.committed_offset >= 0),
        *(shard.block_writer.replay_point for shard in worker.shards.values() if shard.block_writer is not None),
    ]
    if not points or not logs:
        return {}
    batches, answers = logs[FINGERPRINTS], logs[ANSWERS]
    needed = [point for point in points if point.batch < batches.end]
    return {
        (FINGERPRINTS,): min((_margin(point.batch, batches) for point in needed), default=1.0),
        (ANSWERS,): min((_margin(point.answers_offset, answers) for point in needed), default=1.0),
    }


def _margin(place: int, bounds: Bounds) -> float:
    """How far a place is from a log's beginning, 0 to 1; 1 also if nothing was removed, or nothing follows."""
    if bounds.begin == 0 or place >= bounds.end:
        return 1.0
    return (place - bounds.begin) / (bounds.end - bounds.begin) if place > bounds.begin else 0.0


def _indexes(worker: Worker) -> dict[int, Index]:
    return {number: shard.live.index for number, shard in worker.shards.items() if shard.live is not None}


def _restored(shard: OwnedShard) -> float:
    """Share of the shard's blocks that is read, 0 to 1."""
    if shard.restoration is not None:
        return shard.restoration.progress
    return float(shard.live is not None)
