"""How long a worker's answers take while a second worker takes over half of its shards, seen from the topics alone."""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles
from typing import Final

from benchmarks.index_topic import MILLION
from crawler_plugin.wire.errors import Unavailable
from crawler_plugin.wire.messages import Answer, Batch, decode
from crawler_plugin.wire.page_headers import PageMeta
from crawler_plugin.wire.topics import ANSWERS, FINGERPRINTS
from worker.compose.processes import ModuleProcess, see_that_it_runs, wait_until_ready
from worker.compose.worker import kafka_log
from worker.config import Settings
from worker.sizing.scaling import bind
from worker.stream.kafka.connection import client_options
from worker.stream.kafka.publish import publish_pages
from worker.stream.log import Log, Record, read_to_end

READY_SECONDS: Final = 300.0
LOOK_SECONDS: Final = 1.0
"""Seconds between two reads of the workers' answers. The benchmark does not ask for their metrics then: that takes each
of them, and the core that it shares with the broker, longer than an answer does."""
PAGES_A_SECOND: Final = 50
BEFORE_SECONDS: Final = 5.0
AFTER_SECONDS: Final = 5.0
_WORDS: Final = 200
_NICENESS: Final = 10
"""Niceness of the second worker: its weight is a tenth of the weight of others."""


@dataclass(frozen=True)
class Handover:
    """Milliseconds from the moment when a batch could be answered to the first worker's answers to it, by the broker's
    clock.

    A batch can be answered when it is there and all answers to the batch before are there. ``handover_seconds`` is from
    the second worker's start until it has answered for half of the shards; answers until some
    seconds after that count.
    """

    batches: int
    answers: int
    median_ms: float
    ninety_ninth_ms: float
    longest_ms: float
    handover_seconds: float
    longest_standstill_ms: float

    def line(self, entries: int) -> str:
        """The result as a line for people."""
        return (
            f"{entries / MILLION:g}M survivors, half of the shards taken over within {self.handover_seconds:.1f} s: "
            f"the first worker's {self.answers} answers to {self.batches} batches took {self.median_ms:.0f} ms in the "
            f"median, {self.ninety_ninth_ms:.0f} ms in 99 of 100, {self.longest_ms:.0f} ms at most. Verdicts, which "
            f"need all shards, stood still for {self.longest_standstill_ms:.0f} ms at most, while the other half was "
            "rebuilt"
        )


@contextmanager
def leave_first_core() -> Iterator[list[int]]:
    """Keep this process, and all processes that it starts in the block, on the second core, if there is one; yields the
    first core.

    A JVM that starts this way collects with one thread: two threads on one core get in each other's way.
    """
    cores = sorted(os.sched_getaffinity(0))
    bind(os.getpid(), cores[1:2] or cores)
    try:
        yield cores[:1]
    finally:
        bind(os.getpid(), cores)


def measure_handover(settings: Settings, folder: Path, first_core: Sequence[int]) -> Handover:
    """One worker with everything, pages that keep coming, then a second worker.

    The first worker has ``first_core`` to itself. All other processes should be together on another core
    (``leave_first_core``), and the second worker takes the time that they leave: where others take time that the first
    worker or the broker needs, the load of the machine delays the answers.

    Raises:
        Unavailable: a worker ended or did not become ready.
    """
    topics = settings.topics
    log = kafka_log(settings, client_options(settings.kafka), b"measures")
    try:
        first_batch = log.bounds(FINGERPRINTS, 0).end
        stop = threading.Event()
        crawl = threading.Thread(target=_publish, args=(settings, stop))
        with _worker(settings, folder, 1) as first:
            bind(first.pid, first_core)
            wait_until_ready([first], topics.shards, topics.partitions, READY_SECONDS)
            crawl.start()
            try:
                time.sleep(BEFORE_SECONDS)
                first_answer = log.bounds(ANSWERS, 0).end
                second_came = time.time() * 1000
                with _worker(settings, folder, 2) as second:
                    _serve_last(second.pid)
                    shared_out = _wait_until_half_is_taken(log, first_answer, [first, second], topics.shards)
                    time.sleep(AFTER_SECONDS)
                    ended = time.time() * 1000
                    stop.set()
                    crawl.join()
            finally:
                stop.set()
        return _judge(log, first_batch, (second_came, ended), shared_out)
    finally:
        log.close(settings.shutdown.seconds)


def _wait_until_half_is_taken(log: Log, begin: int, workers: Sequence[ModuleProcess], shards: int) -> int:
    """Wait until another worker than the first one to answer has answered for half of the shards.

    Returns the broker's clock then, in milliseconds since 1970 UTC.
    """
    reader = log.reader(ANSWERS, 0, begin)
    deadline = time.monotonic() + READY_SECONDS
    first_writer = b""
    taken: set[int] = set()
    try:
        while True:
            for record in reader.read():
                answer = decode(Answer, record.value)
                first_writer = first_writer or answer.writer
                if answer.writer != first_writer:
                    taken.add(answer.shard)
                if len(taken) >= shards // 2:
                    return record.timestamp
            for worker in workers:
                see_that_it_runs(worker)
            if time.monotonic() > deadline:
                raise Unavailable(
                    f"the second worker has not answered for half of the shards after {READY_SECONDS:g} s; the end of "
                    f"its output:\n{workers[-1].last_lines()}\nTry again when the machine is less busy"
                )
            time.sleep(LOOK_SECONDS)
    finally:
        reader.close()


def _judge(log: Log, first_batch: int, counted: tuple[float, float], shared_out: float) -> Handover:
    begin, end = counted
    batches = {
        record.offset: record.timestamp
        for record in _all(log, FINGERPRINTS, first_batch)
        if record.value and decode(Batch, record.value).count
    }
    answers = [(decode(Answer, record.value), record.timestamp) for record in _all(log, ANSWERS, 0) if record.value]
    first_worker = answers[0][0].writer
    decided: dict[int, int] = {}
    for answer, at in answers:
        decided[answer.batch] = max(decided.get(answer.batch, 0), at)
    ready, last = {}, 0
    for batch in sorted(decided):
        ready[batch] = max(batches.get(batch, 0), last)
        last = decided[batch]
    meanwhile = [
        (answer.batch, at)
        for answer, at in answers
        if answer.writer == first_worker and answer.batch in batches and begin <= at <= end
    ]
    took = [at - ready[batch] for batch, at in meanwhile]
    standstill = max(
        (decided[batch] - ready[batch] for batch in ready if begin <= decided[batch] <= end),
        default=0,
    )
    return Handover(
        batches=len({batch for batch, _ in meanwhile}),
        answers=len(took),
        median_ms=median(took),
        ninety_ninth_ms=quantiles(took, n=100, method="inclusive")[98],
        longest_ms=max(took),
        handover_seconds=(shared_out - begin) / 1000,
        longest_standstill_ms=standstill,
    )


def _all(log: Log, topic: str, begin: int) -> list[Record]:
    reader = log.reader(topic, 0, begin)
    return list(read_to_end(reader, log.bounds(topic, 0).end))


def _publish(settings: Settings, stop: threading.Event) -> None:
    publish_pages(client_options(settings.kafka), settings.topics.prefix, random_pages(stop, PAGES_A_SECOND))


def random_pages(stop: threading.Event, a_second: float) -> Iterator[tuple[PageMeta, bytes]]:
    """Texts of random words, at this rate a second."""
    chance = random.Random(7)
    number = 0
    while not stop.wait(1 / a_second):
        words = (f"word{chance.randrange(20_000)}" for _ in range(_WORDS))
        number += 1
        yield PageMeta(url=f"http://handover.example/{number}", form="text"), " ".join(words).encode()


def _serve_last(pid: int) -> None:
    """Serve the process that has just begun, and all that it starts, after others that want the core (sched(7))."""
    os.setpriority(os.PRIO_PROCESS, pid, _NICENESS)
    with suppress(OSError):  # where sessions have weights, the niceness of a process counts within its own only
        Path(f"/proc/{pid}/autogroup").write_text(str(_NICENESS))


def _worker(settings: Settings, folder: Path, number: int) -> ModuleProcess:
    given = {"kafka.bootstrap_servers": settings.kafka.bootstrap_servers, "metrics.port": 0, "page.processes": 1}
    arguments = [part for key, value in given.items() for part in ("--set", f"{key}={value}")]
    return ModuleProcess(f"worker {number}", "worker", arguments, folder)
