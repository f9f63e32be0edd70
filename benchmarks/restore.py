"""``python -m benchmarks restore``: rebuild the index from a real compacted topic, cold and with snapshots.

It starts a broker and fills its index topic with packed blocks as workers write them: ``--entries`` survivors,
4096 a block, over all shards. ``--handover`` measures instead how long a worker's answers take while a second one
takes over half of its shards.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import resource
import secrets
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Final

from benchmarks import report
from benchmarks.handover import Handover, leave_first_core, measure_handover
from benchmarks.index_topic import MILLION, fill
from crawler_plugin.wire.errors import UsageError
from worker.broker.configuration import AMPLE_HEAP_MB
from worker.broker.jars import KAFKA
from worker.broker.server import LocalBroker
from worker.compose import parts
from worker.compose.step import policy
from worker.compose.topology import specs
from worker.compose.worker import kafka_log
from worker.config import Settings
from worker.stream.kafka.connection import client_options
from worker.stream.kafka.topic_admin import create_topics
from worker.stream.log import Log
from worker.stream.observer import Observer
from worker.stream.policy import Policy
from worker.stream.resources import WorkerResources
from worker.stream.shard.block_writer import BlockWriter
from worker.stream.shard.restore import Restoration, Restored
from worker.stream.shard.snapshots import SnapshotFolder, SnapshotWriter

ENTRIES: Final = 10 * MILLION
_LEAST: Final = 8192
_SPACE_AN_ENTRY: Final = 140
"""Bytes on disk: the topic, and the snapshots."""


@dataclass(frozen=True)
class RestoreTime:
    """One restore of all shards. Times in seconds; ``cpu`` is of all threads of the process."""

    how: str
    entries: int
    shards: int
    wall: float
    cpu: float
    peak_memory_mib: int

    @property
    def a_second_and_core(self) -> float:
        """Survivors by CPU time."""
        return self.entries / self.cpu

    @property
    def a_second(self) -> float:
        """Survivors by the wall's clock."""
        return self.entries / self.wall


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments: how many survivors, and what to measure with them."""
    parser.add_argument("--entries", type=int, default=ENTRIES, metavar="N", help=f"survivors (default: {ENTRIES:,})")
    parser.add_argument("--rounds", type=int, default=1, help="number of restores each way (default: 1)")
    parser.add_argument(
        "--handover", action="store_true", help="measure a worker's answers while half of its shards leave"
    )
    parser.add_argument("--json", action="store_true", help="an object a measurement and line")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the results as Markdown")


def run(arguments: argparse.Namespace, load: Callable[[], Settings]) -> int:
    """Fill, measure, print, write."""
    if arguments.entries < _LEAST or arguments.rounds < 1:
        raise UsageError(f"--entries must be at least {_LEAST} and --rounds at least 1; give larger numbers")
    # The workers of a handover are processes of their own, with the defaults.
    settings = Settings() if arguments.handover else load()
    alone: AbstractContextManager[Sequence[int]] = leave_first_core() if arguments.handover else nullcontext([])
    with (
        alone as first_core,
        tempfile.TemporaryDirectory() as folder,
        LocalBroker(
            data_dir=Path(folder) / "broker",
            heap_mb=AMPLE_HEAP_MB,
            minimum_free_bytes=arguments.entries * _SPACE_AN_ENTRY,
        ) as broker,
    ):
        here = settings.model_copy(
            update={"kafka": settings.kafka.model_copy(update={"bootstrap_servers": broker.bootstrap_servers})}
        )
        create_topics(client_options(here.kafka), specs(here), 1)
        scheme = parts.scheme(here, parts.recipe(here))
        rules = policy(here, scheme, secrets.token_bytes(8))
        fill(here, rules, arguments.entries)
        if arguments.handover:
            handover = measure_handover(here, Path(folder), first_core)
            print(json.dumps(dataclasses.asdict(handover)) if arguments.json else handover.line(arguments.entries))
            _write_handover(arguments.out, handover, arguments.entries)
            return 0
        results = []
        for measured in restores(here, rules, Path(folder), arguments.rounds):
            results.append(measured)
            print(json.dumps(dataclasses.asdict(measured)) if arguments.json else line_of(measured), flush=True)
    if arguments.out:
        _write(arguments.out, results)
    return 0


def restores(settings: Settings, rules: Policy, folder: Path, rounds: int) -> Iterator[RestoreTime]:
    """Restore all shards: cold, from the topic alone; then from snapshots of them and the topic's end."""
    snapshots = SnapshotFolder(folder, settings.topics.prefix)
    log = kafka_log(settings, client_options(settings.kafka), rules.writer)
    with ThreadPoolExecutor(1) as thread:
        try:
            for number in range(rounds):
                measured, restored = _timed(
                    "cold, from the topic", settings, log, rules, WorkerResources(thread.submit)
                )
                yield measured
                if number == 0:
                    yield _timed_writing(snapshots, log, restored, rules)
                del restored
                resources = WorkerResources(thread.submit, snapshots)
                measured, restored = _timed("with snapshots", settings, log, rules, resources)
                yield measured
                del restored
        finally:
            log.close(settings.shutdown.seconds)


def _timed(
    how: str, settings: Settings, log: Log, rules: Policy, resources: WorkerResources
) -> tuple[RestoreTime, list[Restored]]:
    new_index = parts.new_index(settings)
    new_index()  # the first one loads the compiled functions
    begun, used = time.perf_counter(), time.process_time()
    waiting = [Restoration(number, log, rules, Observer(), resources) for number in range(rules.shards)]
    done: list[Restored] = []
    while waiting:
        for restoration in list(waiting):  # as a worker does: each in turn, a step
            if restoration.step() and (restored := restoration.finish(new_index)) is not None:
                done.append(restored)
                waiting.remove(restoration)
    wall, cpu = time.perf_counter() - begun, time.process_time() - used
    entries = sum(len(restored.shard.index) for restored in done)
    return RestoreTime(how, entries, len(done), wall, cpu, _peak_memory_mib()), done


def _timed_writing(snapshots: SnapshotFolder, log: Log, restored: Sequence[Restored], rules: Policy) -> RestoreTime:
    resources = WorkerResources(snapshots=snapshots)
    begun, used = time.perf_counter(), time.process_time()
    for each in restored:
        snapshot_writer = SnapshotWriter(snapshots, log, resources.background)
        snapshot_writer.capture(each.shard)
        new_key = partial(secrets.token_bytes, 16)
        block_writer = BlockWriter(log, each.shard, each.block_keys, each.position, each.floor, new_key, Observer())
        snapshot_writer.step(each.shard, block_writer)
    wall, cpu = time.perf_counter() - begun, time.process_time() - used
    entries = sum(len(each.shard.index) for each in restored)
    return RestoreTime("writing the snapshots", entries, rules.shards, wall, cpu, _peak_memory_mib())


def line_of(measured: RestoreTime) -> str:
    """The result as a line for people."""
    return (
        f"{measured.entries:,} survivors in {measured.shards} shards, {measured.how}: {measured.wall:.1f} s, "
        f"{measured.a_second / MILLION:.1f}M a second; {measured.cpu:.1f} s CPU, "
        f"{measured.a_second_and_core / MILLION:.1f}M a second and core; {measured.peak_memory_mib:,} MiB at most"
    )


def _write(out: Path, measured: Sequence[RestoreTime]) -> None:
    rows = report.together(out, [dataclasses.asdict(each) for each in measured], ("how", "entries", "shards"))
    sizes: dict[tuple[int, int], list[RestoreTime]] = {}
    for each in (RestoreTime(**row) for row in rows):
        sizes.setdefault((each.entries, each.shards), []).append(each)
    report.write(
        out,
        title="The index rebuilt",
        how="`python -m benchmarks restore`: a real broker on the same machine, its compacted index topic filled "
        "with packed blocks of 4096 survivors; all shards restored by one process, reading included. CPU time is of "
        "all its threads; the broker's is not in it. Memory is the process's peak so far.",
        versions=_versions(),
        absent=[],
        sections=[
            (f"{entries:,} survivors in {shards} shards", _table(sizes[entries, shards]))
            for entries, shards in sorted(sizes)
        ],
    )


def _table(results: Sequence[RestoreTime]) -> str:
    columns = ("", "s", "survivors/s", "CPU s", "survivors/s and core", "MiB at most")
    rows = [
        (
            each.how,
            f"{each.wall:.1f}",
            f"{each.a_second / MILLION:.1f}M",
            f"{each.cpu:.1f}",
            f"{each.a_second_and_core / MILLION:.1f}M",
            f"{each.peak_memory_mib:,}",
        )
        for each in results
    ]
    return report.table(columns, rows)


def _write_handover(out: Path | None, handover: Handover, entries: int) -> None:
    if out is not None:
        report.write(
            out,
            title="Half of the shards handed over",
            how=f"`python -m benchmarks restore --handover`. {handover.line(entries)}",
            versions=_versions(),
            absent=[],
            sections=[],
        )


def _versions() -> list[str]:
    """Versions of the client and of the broker, the two ends of the topic."""
    return [f"kafka-python {version('kafka-python')}", f"Apache Kafka {KAFKA}"]


def _peak_memory_mib() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
