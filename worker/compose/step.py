"""Settings → the arguments of the worker's step, whether its logs are Kafka's or not."""

from __future__ import annotations

from functools import partial

from crawler_plugin.wire.topics import DAY_MS
from worker.compose import parts
from worker.compose.kernels import compile_apart
from worker.compose.machine import MIB
from worker.config import Settings
from worker.fingerprint.fingerprinted import Fingerprinted
from worker.fingerprint.fingerprinter import Fingerprinter, Recipe
from worker.fingerprint.scheme import Scheme
from worker.pool.process_pool import ProcessPool
from worker.stream.partition.fingerprint_pool import Source
from worker.stream.policy import Policy, within
from worker.verdict.findings import FindingRules


def fingerprinters(settings: Settings, made: Recipe, processes: int) -> ProcessPool[Source, Fingerprinted]:
    """Child processes that make fingerprints of pages; ``made`` is ``parts.recipe(settings)``."""
    compile_apart()  # otherwise each of the processes would compile all of it
    return ProcessPool(
        partial(Fingerprinter, made),
        Fingerprinted,
        processes=processes,
        timeout_seconds=settings.page.timeout_seconds,
        memory_bytes=settings.page.memory_mb * MIB,
    )


def policy(settings: Settings, scheme: Scheme, writer: bytes, log_bytes: int | None = None) -> Policy:
    """The settings of the step; ``log_bytes`` if the logs accept only smaller records than the settings say."""
    ttl = settings.near.ttl_days
    return Policy(
        scheme=scheme.id,
        scheme_text=scheme.encode(),
        shards=settings.topics.shards,
        partitions=settings.topics.partitions,
        generation=settings.topics.generation,
        near=parts.near(settings),
        writer=writer,
        ttl=None if ttl is None else int(ttl * DAY_MS),
        replicas=settings.index.replicas,
        hedge=settings.index.hedge_ms / 1000,
        track_changes=settings.near.track_changes,
        findings=FindingRules(**settings.findings.model_dump()),
        output=settings.output.mode,
        **within(log_bytes or settings.topics.max_message_bytes, settings.index.flush_entries),
        held_bytes=settings.commit.megabytes * MIB,
        commit_pages=settings.commit.pages,
        commit_bytes=settings.commit.megabytes * MIB // 2,
    )
