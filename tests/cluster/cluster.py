"""Real workers as processes against the real broker, for tests and for the nemesis."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from confluent_kafka import KafkaError, KafkaException
from kafka import KafkaAdminClient, errors
from kafka.admin import ConfigResource, ConfigResourceType

from crawler_plugin.wire.page_headers import PageMeta
from crawler_plugin.wire.topics import DEAD_LETTERS, DEDUPLICATED, PAGES, VERDICTS, group_names
from tests.cluster.outside import committed_ends, last_ends
from tests.cluster.shifted_clock import ShiftedClock
from tests.waiting import DEADLINE_SECONDS, wait_for
from worker.compose.topology import specs
from worker.config import load_settings
from worker.stream.kafka.connection import Options, client_options
from worker.stream.kafka.publish import publish_pages
from worker.stream.kafka.topic_admin import PARTITIONS, Difference, alter_topics, create_topics

ELECTING = (KafkaError.LEADER_NOT_AVAILABLE, KafkaError.NOT_LEADER_FOR_PARTITION)
"""A broker's errors for a partition shortly after it was made, or after a start."""
SMALL = ("topics.partitions=2", "topics.shards=2")
PROGRAM = (sys.executable, "-m", "worker")
STARTED = "worker is running"
OUTPUTS = (VERDICTS, DEDUPLICATED, DEAD_LETTERS)
"""The topics that workers write in transactions."""


@dataclass
class WorkerProcess:
    """One ``python -m worker``, its output in a file."""

    process: subprocess.Popen[bytes]
    log: Path

    def kill(self) -> None:
        """kill -9."""
        self.process.kill()
        self.process.wait()

    def pause(self) -> None:
        """SIGSTOP."""
        self.process.send_signal(signal.SIGSTOP)

    def wake(self) -> None:
        """SIGCONT."""
        self.process.send_signal(signal.SIGCONT)

    def stop(self, by: signal.Signals = signal.SIGTERM) -> int:
        """Send SIGTERM, or another signal that ends the worker; returns the exit code."""
        self.process.send_signal(by)
        return self.process.wait(timeout=60)

    @property
    def address(self) -> str:
        """The address of its HTTP server, once the worker has printed it."""
        found = re.search(r"^metrics: (\S+)/metrics$", self.said(), re.MULTILINE)
        assert found, self.said()[-3000:]
        return found[1]

    def silence(self, patience: float) -> float:
        """Seconds since its loop's last pass, as the worker reports; 0 before it runs, ``patience`` where it does not
        answer within that time."""
        if "worker is running" not in self.said():
            return 0.0
        try:
            with urllib.request.urlopen(f"{self.address}/metrics", timeout=patience) as answer:
                age = re.search(rb"^dedup_loop_age_seconds (\S+)$", answer.read(), re.MULTILINE)
        except TimeoutError:
            return patience
        except OSError:
            return 0.0  # the worker has ended, which others check
        return float(age[1]) if age else 0.0

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    def said(self) -> str:
        """Its whole output."""
        return self.log.read_text(errors="replace")


def running(worker: WorkerProcess) -> WorkerProcess:
    """Wait until the worker says that it runs."""
    wait_for(lambda: STARTED in worker.said() or not worker.alive, "a worker to run")
    assert worker.alive, worker.said()[-3000:]
    return worker


@dataclass
class Cluster:
    """Topics under a prefix of their own, on ``copies`` brokers, and workers. ``more`` are further ``--set`` values."""

    bootstrap: str
    prefix: str
    folder: Path
    more: Sequence[str] = ()
    copies: int = 1
    workers: list[WorkerProcess] = field(default_factory=list)
    started: int = 0

    def __post_init__(self) -> None:
        self.overrides = [
            f"kafka.bootstrap_servers={self.bootstrap}",
            f"topics.prefix={self.prefix}",
            f"kafka.group={self.prefix.rstrip('.')}",
            "kafka.session_timeout_seconds=6",
            "kafka.heartbeat_seconds=1",
            "kafka.transaction_timeout_seconds=10",
            "commit.seconds=0.3",
            "index.flush_entries=100",
            "index.flush_seconds=2",
            "metrics.port=0",
            "page.processes=1",
            *self.more,
        ]
        self.change()

    def change(self, *more: str) -> None:
        """Further ``--set`` values, for workers that are started from now on."""
        self.overrides += more
        self.settings = load_settings(config=None, overrides=self.overrides, environ={})
        self.options = client_options(self.settings.kafka)

    def __enter__(self) -> Self:
        create_topics(self.options, specs(self.settings), self.copies)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for worker in self.workers:
            if worker.alive:
                worker.wake()
                worker.kill()

    def start_worker(
        self, *more: str, clock: ShiftedClock | None = None, program: Sequence[str] = PROGRAM
    ) -> WorkerProcess:
        """Start another worker without waiting for it. With ``clock`` it uses that clock. ``program`` may be another
        program."""
        log = self.folder / f"worker-{self.started}.log"
        self.started += 1
        overrides = [argument for pair in (*self.overrides, *more) for argument in ("--set", pair)]
        command = program if clock is None else clock.command()
        environment = {name: value for name, value in os.environ.items() if not name.startswith("DEDUP_")}
        with log.open("wb") as output:
            process = subprocess.Popen(
                [*command, *overrides],
                stdout=output,
                stderr=subprocess.STDOUT,
                env=environment,
                cwd=self.folder,
            )
        worker = WorkerProcess(process, log)
        self.workers.append(worker)
        return worker

    def publish(self, pages: Iterable[tuple[PageMeta, bytes]]) -> int:
        """Put pages on the topic, as a crawl would."""
        return publish_pages(self.options, self.prefix, pages)

    def consumed(self) -> dict[int, int]:
        """The group's consumed offset of each page partition, as committed.

        It uses kafka-python: librdkafka 2.16 dies of a segmentation fault when it lists offsets while one is pending.
        """
        group, _ = group_names(self.settings.kafka.group, self.settings.topics.generation)
        admin = KafkaAdminClient(**self.options)
        try:
            found = admin.list_group_offsets({group: None})[group]
        except errors.KafkaError as error:
            if not error.retriable:
                raise
            return {}  # the broker is making its own topics, or electing: it answers the next request
        finally:
            admin.close()
        return {partition.partition: committed.offset for partition, committed in found.items()}

    def committed(self) -> bool:
        """Whether every published page is committed, and visible to readers of committed records.

        Consumed offsets can be seen before the verdicts of their transaction; and a killed worker's transaction hides
        all records that others commit behind it, until the broker ends that transaction.
        """
        consumed = self.consumed()
        outputs = [spec.name for spec in specs(self.settings) if spec.topic in OUTPUTS]
        try:
            pages = committed_ends(self.bootstrap, [self.prefix + PAGES])
            if any(consumed.get(number, 0) < end for (_, number), end in pages.items()):
                return False
            last = last_ends(self.bootstrap, outputs)  # first: records that are committed in between do no harm
            seen = committed_ends(self.bootstrap, outputs)
        except KafkaException as error:
            if error.args[0].code() not in ELECTING:
                raise
            return False  # the broker answers the next request
        return all(seen[place] >= end for place, end in last.items())

    def wait_until_committed(self, seconds: float = DEADLINE_SECONDS) -> None:
        """Wait for every page's verdict; fails at once if a worker ends by itself."""

        def done() -> bool:
            for worker in self.workers:
                code = worker.process.poll()
                assert code in (None, 0, -signal.SIGKILL), f"a worker ended with {code}: {worker.said()[-3000:]}"
            return self.committed()

        wait_for(done, f"all pages of {self.prefix}{PAGES} to be committed", seconds)

    def stop(self) -> list[int]:
        """Send SIGTERM to all live workers; returns their exit codes."""
        return [worker.stop() for worker in self.workers if worker.alive]


@contextmanager
def asking(cluster: Cluster) -> Iterator[Any]:
    """A client for requests to the broker that workers never make."""
    admin = KafkaAdminClient(**cluster.options)
    try:
        yield admin
    finally:
        admin.close()


def grow(options: Options, topic: str, partitions: int) -> None:
    """Give a topic more partitions, as an operator does by hand; the new partitions are usable afterwards."""
    alter_topics(options, [Difference(topic, PARTITIONS, str(partitions), None)])


def alter(cluster: Cluster, topic: str, **config: str) -> None:
    """Give a topic another configuration than the settings say; ``_`` stands for a dot in its names."""
    named = {name.replace("_", "."): value for name, value in config.items()}
    with asking(cluster) as admin:
        admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, cluster.prefix + topic, named)])
