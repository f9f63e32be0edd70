"""Settings → what the worker's step is given, whether its logs are Kafka's or not."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from functools import partial
from typing import TypeVar

from crawler_plugin.wire.errors import PageError
from crawler_plugin.wire.messages import PageMeta
from crawler_plugin.wire.topics import DAY_MS
from worker.compose import parts
from worker.compose.machine import MIB
from worker.config import PageSettings, Settings
from worker.fingerprint.fingerprinted import Fingerprinted
from worker.fingerprint.fingerprinter import Fingerprinter, Recipe
from worker.fingerprint.scheme import Scheme
from worker.pool.process_pool import ProcessPool
from worker.stream.partition.fingerprint_pool import Source
from worker.stream.policy import Policy, within
from worker.verdict.findings import FindingRules

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")


def fingerprinters(settings: Settings, made: Recipe, processes: int) -> ProcessPool[Source, Fingerprinted]:
    """Child processes that make fingerprints of pages; ``made`` is ``parts.recipe(settings)``."""
    return ProcessPool(
        partial(Fingerprinter, made),
        Fingerprinted,
        processes=processes,
        timeout_seconds=settings.page.timeout_seconds,
        memory_bytes=settings.page.memory_mb * MIB,
    )


def parsed(
    task: Callable[[], Callable[[bytes, PageMeta], T]],
    result: type[T],
    page: PageSettings,
    pages: Iterable[tuple[K, bytes, PageMeta]],
) -> Iterator[tuple[K, T | PageError]]:
    """What the task makes of each of a few pages, with its key, in any order.

    They are read one after the other in a process that ends if a page is made to break parsers.

    Args:
        task: picklable; called in that process, it returns the task, whose results are of the type ``result``.
    """
    memory = page.memory_mb * MIB
    with ProcessPool[K, T](
        task,
        result,
        processes=1,
        timeout_seconds=page.timeout_seconds,
        memory_bytes=memory,
        result_bytes=memory,
    ) as pool:
        yield from pool.each(pages)


def policy(settings: Settings, scheme: Scheme, writer: bytes, log_bytes: int | None = None) -> Policy:
    """What the step needs to know; ``log_bytes`` where the logs take smaller records than the settings say."""
    ttl = settings.near.ttl_days
    return Policy(
        scheme=scheme.id,
        scheme_text=scheme.encode(),
        shards=settings.topics.shards,
        partitions=settings.topics.partitions,
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
