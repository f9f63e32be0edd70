"""``python -m worker``: the worker itself."""

from __future__ import annotations

import gc
import logging
import secrets
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial

from crawler_plugin.wire.errors import Stop, Unavailable, UsageError
from worker.compose import parts
from worker.compose.machine import give_back_freed_memory, memory_for_index, parsers
from worker.compose.step import fingerprinters, policy
from worker.compose.topology import specs
from worker.config import Settings
from worker.fingerprint.scheme import Scheme
from worker.observe.events import EventLog
from worker.observe.health import HealthServer
from worker.observe.log_lines import announce
from worker.observe.metrics import Info, Metrics
from worker.stopping import AskedToStop
from worker.stream.kafka.connection import Options, client_options
from worker.stream.kafka.log import KafkaLog
from worker.stream.kafka.topic_admin import compare_topics
from worker.stream.observer import together
from worker.stream.partition.fingerprint_pool import FingerprintPool
from worker.stream.preflight import check_scheme, check_topics, limits
from worker.stream.resources import WorkerResources
from worker.stream.runner import Rhythm, Runner
from worker.stream.shard.snapshots import SnapshotFolder
from worker.stream.watchdog import Watch
from worker.stream.worker import Worker

_log = logging.getLogger(__name__)


def work(settings: Settings, asked: AskedToStop, server: HealthServer) -> int:
    """Work until told to stop, then drain; 0 unless something stops the worker. ``server`` gets the content to show."""
    give_back_freed_memory()
    made = parts.recipe(settings)
    scheme = parts.scheme(settings, made)
    options = client_options(settings.kafka)
    _log.info("looking for the topics at %s", settings.kafka.bootstrap_servers)
    try:
        differences = compare_topics(options, specs(settings))
        check_topics(differences)
    except Unavailable:
        if asked.by_now():
            return 0  # the operator who has stopped it need not learn why it took so long
        raise
    writer = secrets.token_bytes(8)
    most = limits(specs(settings), differences)
    rules = policy(settings, scheme, writer, most.logs)
    metrics = _metrics(settings, scheme)
    with (
        fingerprinters(settings, made, parsers(settings)) as pool,
        this_machine(settings) as local,
    ):
        metrics.health.report(["joining the groups of the workers"])
        server.show(metrics)
        announce(f"metrics: {server.address}/metrics")
        log = kafka_log(settings, options, writer)
        parsing = FingerprintPool(pool, most.outputs, scope_of=parts.scope_of(settings, made), ttl=rules.ttl)
        new_index = parts.new_index(settings)
        observer = together(metrics, EventLog())
        worker = Worker(log, rules, parsing, new_index, partial(secrets.token_bytes, 16), observer, local)
        try:
            check_scheme(log, rules)
            log.prepare()
            watch = Watch(log, worker, settings.kafka.patience_seconds)
            runner = Runner(worker, parsing, watch, rhythm(settings), metrics)

            def stop_running() -> None:
                metrics.health.leaving = asked.for_good
                runner.stop(for_good=asked.for_good)

            asked.tell(stop_running)
            gc.collect()
            gc.freeze()  # these objects stay, and looking through them once more would hold up answers
            _log.info("worker %s runs, scheme %s", writer.hex(), rules.scheme.hex())
            announce("worker is running")
            if not runner.run():
                _log.warning(
                    "shutdown.seconds are over before all pages were committed; their next owner judges the rest"
                )
        except Stop as stop:
            metrics.health.report([str(stop)])  # clients learn the reason until the logs are closed
            raise
        finally:
            worker.close()
            log.close(settings.shutdown.seconds, leave=asked.for_good)
            if asked.for_good:
                server.wait_for_scrape()
    _log.info("worker %s has ended", writer.hex())
    return 0


def rhythm(settings: Settings) -> Rhythm:
    """When the loop commits, flushes and gives up draining."""
    return Rhythm(
        commit_seconds=settings.commit.seconds,
        commit_pages=settings.commit.pages,
        flush_seconds=settings.index.flush_seconds,
        keep_seconds=settings.index.snapshot_seconds,
        drain_seconds=settings.shutdown.seconds,
    )


@contextmanager
def this_machine(settings: Settings) -> Iterator[WorkerResources]:
    """A thread, the folder for snapshots and the memory for the index, by these settings.

    Raises:
        UsageError: the folder cannot be made.
    """
    index = settings.index
    snapshots = None
    if index.state_dir is not None:
        snapshots = SnapshotFolder(index.state_dir, settings.topics.prefix, settings.topics.generation)
        try:
            snapshots.make()
        except OSError as error:
            raise UsageError(
                f"index.state_dir: {index.state_dir} cannot be made ({error.strerror}); name a folder that this "
                "program may write to, or leave the setting out"
            ) from error
    memory = memory_for_index(settings)
    background = ThreadPoolExecutor(1, thread_name_prefix="shards")
    try:
        yield WorkerResources(background.submit, snapshots, memory)
    finally:
        background.shutdown(wait=False, cancel_futures=True)


def kafka_log(settings: Settings, options: Options, writer: bytes) -> KafkaLog:
    """This worker's side of the broker; joins both groups."""
    kafka = settings.kafka
    return KafkaLog(
        options,
        prefix=settings.topics.prefix,
        group=kafka.group,
        generation=settings.topics.generation,
        writer=writer.hex(),
        instance=kafka.instance_id,
        rack=kafka.client_rack,
        shards=settings.topics.shards,
        replicas=settings.index.replicas,
        max_message_bytes=settings.topics.max_message_bytes,
        compression=settings.topics.compression,
        session_seconds=kafka.session_timeout_seconds,
        heartbeat_seconds=kafka.heartbeat_seconds,
        transaction_seconds=kafka.transaction_timeout_seconds,
        delivery_seconds=kafka.delivery_timeout_seconds,
        patience_seconds=kafka.patience_seconds,
    )


def _metrics(settings: Settings, scheme: Scheme) -> Metrics:
    near, index = settings.near, settings.index
    return Metrics(
        Info(
            scheme=scheme.id.hex(),
            predicate=near.predicate,
            k=near.k,
            layout=index.layout,
            shards=settings.topics.shards,
            partitions=settings.topics.partitions,
            output=settings.output.mode,
            generation=settings.topics.generation,
            replicas=settings.index.replicas,
        ),
        hosts=settings.metrics.hosts,
    )
