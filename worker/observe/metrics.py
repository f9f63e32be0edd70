"""Counts what the worker does and shows it to Prometheus. The one home of prometheus_client."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import metadata
from itertools import accumulate
from typing import Final

from prometheus_client import CollectorRegistry, GCCollector, PlatformCollector, ProcessCollector
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
)
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.registry import Collector

from crawler_plugin.wire.errors import UnreadableRecord
from crawler_plugin.wire.forgetting import ForgetCondition
from crawler_plugin.wire.messages import Claim
from crawler_plugin.wire.outcomes import Verdict
from crawler_plugin.wire.page_headers import PageMeta
from worker import __version__
from worker.observe import catalogue
from worker.observe.catalogue import CATALOGUE, Counter, Kind, Labels, Metric
from worker.observe.counters import Counters, FewValues, Observations
from worker.observe.gauges import Gauges, missing_for_readiness
from worker.observe.health import Health, Liveness
from worker.observe.origins import Origins, hosts_json
from worker.stream.log import Record
from worker.stream.observer import Observer
from worker.stream.watchdog import Watch
from worker.stream.worker import Worker
from worker.verdict.decide import DEAD, DUPLICATE, Decision
from worker.verdict.findings import canonical_of

LANGUAGES: Final = 16
REASONS: Final = 32
STAGES: Final = 32
"""This many values of a label have numbers of their own; the program itself has about half as many."""

NO_LANGUAGE: Final = "none"
"""As ``worker.page.words.scripts.language`` names it; a page that could not be read has no language either."""


_OF_VERDICTS: Final = (
    catalogue.PAGES,
    catalogue.PAGE_BYTES,
    catalogue.DUPLICATES,
    catalogue.SUSPECT_DUPLICATES,
    catalogue.DEAD_LETTERS,
    catalogue.DISTANCE,
    catalogue.LATENCY,
    catalogue.LOOP_AGE,
    catalogue.READY,
)
"""The metrics that need no broker and no shards."""


@dataclass(frozen=True, kw_only=True)
class Info:
    """The running version and its settings: the labels of ``dedup_build_info`` and ``dedup_settings_info`` by name.

    ``scheme`` is 16 hex digits. ``partitions`` are those of ``pages``.
    """

    scheme: str
    predicate: str
    k: int
    layout: str
    shards: int
    partitions: int
    output: str
    generation: str = ""
    replicas: int = 1
    version: str = __version__
    python: str = platform.python_version()
    kafka_client: str = metadata.version("kafka-python")

    def labels(self, metric: Metric) -> Labels:
        return tuple(str(getattr(self, name)) for name in metric.labels)


class Metrics(Observer):
    """All counts of the worker, in a Prometheus registry of its own.

    The methods of ``Observer``, ``passed`` and ``sample`` are called in the worker's thread; ``exposition`` in any.
    Traffic is counted in plain numbers as it happens, a few microseconds a page; ``sample`` looks at what the worker
    holds. Prometheus' own objects are made only when someone scrapes.

    Args:
        now: seconds since 1970, to be compared with the broker's time stamps.
        stopwatch: seconds, monotonic.
        health: kept up to date here, and shown by ``worker.observe.health``.
        hosts: this many hosts have series of their own; 0: none has.
    """

    def __init__(
        self,
        info: Info,
        *,
        now: Callable[[], float] = time.time,
        stopwatch: Callable[[], float] = time.monotonic,
        health: Health | None = None,
        hosts: int = 50,
    ) -> None:
        self.health: Final = health or Health()
        self._now = now
        self._stopwatch = stopwatch
        self._claimed_at: float | None = None
        self._counters = Counters(CATALOGUE)
        self._gauges = Gauges(self._counters, now)
        self._lock = self._counters.lock
        self._languages, self._reasons, self._stages = FewValues(LANGUAGES), FewValues(REASONS), FewValues(STAGES)
        self._origins = Origins(self._counters, hosts)
        for constant in (catalogue.BUILD_INFO, catalogue.SETTINGS_INFO):
            self._counters.tally(constant)[info.labels(constant)] = 1
        self._counters.tally(catalogue.SHARDS)[()] = info.shards
        self._counters.tally(catalogue.HOLDERS)[()] = info.replicas
        self._counters.tally(catalogue.PARTITIONS)[()] = info.partitions
        self._registry = _registry(_Families(self._counters, self.health))

    def exposition(self, accept: str = "") -> tuple[bytes, str]:
        """All metrics, in the format that a request's header ``Accept`` asks for, and its content type."""
        return _exposition(self._registry, accept)

    def hosts(self) -> bytes:
        with self._lock:
            rows = self._origins.table.copy()
        return hosts_json(rows)

    def failed(self, method: str) -> None:
        self._add(catalogue.OBSERVER_ERRORS, 1, method)

    # the loop

    def passed(self, now: float) -> None:
        """Note that the loop has gone round; ``now`` is by the clock of ``health``."""
        self.health.beat(now)

    def sample(self, worker: Worker, watch: Watch) -> None:
        """Look at what the worker holds; every second or two. First the state that a supervisor waits for, then the
        gauges."""
        self.health.report([*missing_for_readiness(worker), *watch.failing])
        self._gauges.take(worker, watch.lags, watch.logs)

    def stage(self, name: str, seconds: float) -> None:
        with self._lock:
            self._counters.tally(catalogue.STAGE_SECONDS)[self._stages(name),] += seconds

    def heard(self) -> None:
        self.health.heard()

    # traffic

    def committed(self, pages: Sequence[tuple[Record, Decision]]) -> None:
        now, latency = self._now(), self._counters.distribution(catalogue.LATENCY)
        with self._lock:
            self._counters.tally(catalogue.COMMITS)[()] += 1
            self._origins.at(now)
            for record, decision in pages:
                self._count(decision)
                self._counters.tally(catalogue.PAGE_BYTES)[decision.outcome,] += len(record.value or b"")
                self._count_unread(record)
                self._origins.count(record, decision)
                latency.add(max(0.0, now - record.timestamp / 1000))

    def _count(self, decision: Decision) -> None:
        tally = self._counters.tally
        if named := canonical_of(decision):
            tally(catalogue.CANONICAL)[named, decision.outcome] += 1
        if decision.change is not None and decision.change.share is not None:
            self._counters.distribution(catalogue.CHANGES).add(decision.change.share)
        tally(catalogue.PAGES)[decision.outcome, self._languages(decision.claim.language or NO_LANGUAGE)] += 1
        if decision.outcome == DUPLICATE:
            tally(catalogue.DUPLICATES)[self._reasons(decision.reason),] += 1
            tally(catalogue.SUSPECT_DUPLICATES)[()] += decision.suspect
            if decision.original is not None and decision.original.distance is not None:
                self._counters.distribution(catalogue.DISTANCE).add(decision.original.distance)
        elif decision.outcome == DEAD:
            tally(catalogue.DEAD_LETTERS)[self._reasons(decision.reason.partition(": ")[0]),] += 1

    def _count_unread(self, record: Record) -> None:
        with suppress(UnreadableRecord):  # a dead letter, counted as such
            for name in PageMeta.read(record.headers)[1]:
                self._counters.tally(catalogue.UNREAD_HEADERS)[name,] += 1

    def commit_failed(self, pages: int) -> None:
        self._add(catalogue.COMMIT_FAILURES)

    def claimed(self, claims: Sequence[Claim], again: bool) -> None:
        if again:
            self._add(catalogue.CLAIMS_RESENT, len(claims))
            return
        self._claimed_at = self._stopwatch()
        with self._lock:
            self._counters.distribution(catalogue.BATCH_CLAIMS).add(len(claims))

    def own_decided(self) -> None:
        if self._claimed_at is None:
            return
        took, self._claimed_at = self._stopwatch() - self._claimed_at, None
        with self._lock:
            self._counters.distribution(catalogue.ROUND_SECONDS).add(took)

    def answered(self, shard: int, claims: int) -> None:
        self._add(catalogue.ANSWERS)

    def stood_in(self, shard: int) -> None:
        self._add(catalogue.STOOD_IN)

    def decided(self, batches: int) -> None:
        self._add(catalogue.ROUNDS, batches)

    def unreadable(self, topic: str, offset: int, why: str) -> None:
        self._add(catalogue.UNREADABLE, 1, topic)

    def foreign_scheme(self, offset: int, scheme: bytes) -> None:
        self._add(catalogue.FOREIGN_BATCHES)

    # the index

    def restored(self, shard: int, entries: int, blocks: int, damaged: int) -> None:
        self._add(catalogue.DAMAGED_BLOCKS, damaged)

    def flushed(self, shard: int, entries: int, again: bool) -> None:
        if again:
            self._add(catalogue.FLUSH_ERRORS)
        else:
            self._add(catalogue.FLUSHED_BLOCKS)
            self._add(catalogue.FLUSHED_ENTRIES, entries)

    def found(self, kind: str) -> None:
        self._add(catalogue.FINDINGS, 1, kind)

    def hints_skipped(self, reason: str, pages: int) -> None:
        self._add(catalogue.FINDINGS_SKIPPED, pages, reason)

    def forgotten(self, shard: int, condition: ForgetCondition, offset: int, entries: int | None) -> None:
        self._add(catalogue.FORGOTTEN, entries or 0)

    def expired(self, shard: int, entries: int) -> None:
        self._add(catalogue.EXPIRED, entries)

    def _add(self, counter: Counter, count: float = 1, *labels: str) -> None:
        with self._lock:
            self._counters.tally(counter)[labels] += count


class ServedMetrics:
    """The metrics of ``python -m worker serve``: those of a worker's metrics that count verdicts.

    ``judged`` is called in one thread, ``exposition`` in any.
    """

    def __init__(self) -> None:
        self.health: Final = Liveness()
        self._counters = Counters(_OF_VERDICTS)
        self._languages, self._reasons = FewValues(LANGUAGES), FewValues(REASONS)
        self._registry = _registry(_ServedFamilies(self._counters, self.health))

    def judged(self, verdict: Verdict, body_bytes: int, seconds: float) -> None:
        """Count a page of this size in bytes whose verdict took this long."""
        with self._counters.lock:
            tally = self._counters.tally
            tally(catalogue.PAGES)[verdict.verdict, self._languages(verdict.language or NO_LANGUAGE)] += 1
            tally(catalogue.PAGE_BYTES)[verdict.verdict,] += body_bytes
            self._counters.distribution(catalogue.LATENCY).add(seconds)
            if verdict.verdict == DUPLICATE:
                tally(catalogue.DUPLICATES)[self._reasons(verdict.reason),] += 1
                tally(catalogue.SUSPECT_DUPLICATES)[()] += verdict.suspect
                if verdict.distance is not None:
                    self._counters.distribution(catalogue.DISTANCE).add(verdict.distance)
            elif verdict.verdict == DEAD:
                tally(catalogue.DEAD_LETTERS)[self._reasons(verdict.reason),] += 1

    def exposition(self, accept: str = "") -> tuple[bytes, str]:
        """As ``Metrics.exposition``."""
        return _exposition(self._registry, accept)

    def hosts(self) -> bytes:
        """No host has numbers of its own."""
        return b"{}"


def _registry(families: Collector) -> CollectorRegistry:
    registry = CollectorRegistry()
    registry.register(families)
    ProcessCollector(registry=registry)
    PlatformCollector(registry=registry)
    GCCollector(registry=registry)
    return registry


def _exposition(registry: CollectorRegistry, accept: str) -> tuple[bytes, str]:
    encode, content_type = choose_encoder(accept)
    return encode(registry), content_type


class _ServedFamilies(Collector):
    def __init__(self, counters: Counters, health: Liveness) -> None:
        self._counters = counters
        self._health = health

    def collect(self) -> Iterator[Family]:
        with self._counters.lock:
            self._counters.tally(catalogue.LOOP_AGE)[()] = self._health.age
            self._counters.tally(catalogue.READY)[()] = not self._health.not_ready()
        yield from _all_of(_OF_VERDICTS, self._counters)


class _Families(Collector):
    """Makes Prometheus' own objects from the catalogue and the counts, for one scrape."""

    def __init__(self, counters: Counters, health: Health) -> None:
        self._counters = counters
        self._health = health

    def collect(self) -> Iterator[Family]:
        with self._counters.lock:
            self._counters.tally(catalogue.LOOP_AGE)[()] = self._health.age
            self._counters.tally(catalogue.BROKER_SILENCE)[()] = self._health.silence
            self._counters.tally(catalogue.READY)[()] = not self._health.not_ready()
            self._counters.tally(catalogue.LEAVING)[()] = self._health.leaving
        yield from _all_of(CATALOGUE, self._counters)


def _all_of(metrics: Iterable[Metric], counters: Counters) -> Iterator[Family]:
    tallies, distributions = counters.copy()
    for metric in metrics:
        if metric.kind is Kind.HISTOGRAM:
            yield _histogram(metric, distributions[metric.name])
        else:
            yield _numbers(metric, tallies[metric.name])


def _numbers(metric: Metric, tally: Mapping[Labels, float]) -> Family:
    kind = CounterMetricFamily if metric.kind is Kind.COUNTER else GaugeMetricFamily
    family = kind(metric.name, metric.text, labels=metric.labels)
    for labels, number in sorted(tally.items()):
        family.add_metric(labels, number)
    return family


def _histogram(metric: Metric, seen: Observations) -> Family:
    family = HistogramMetricFamily(metric.name, metric.text)
    bounds = [*(str(float(bound)) for bound in metric.bounds), "+Inf"]
    family.add_metric((), list(zip(bounds, accumulate(seen.counts), strict=True)), seen.total)
    return family
