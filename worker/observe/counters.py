"""The counts, as plain numbers: cheap for the worker's thread, whole for each scrape."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from worker.observe.catalogue import Counter, Gauge, Histogram, Kind, Labels, Metric

OTHER: Final = "other"
"""Stands for all values of a label beyond those that have numbers of their own."""

Tally = defaultdict[Labels, float]
"""A counter's or gauge's numbers by the values of its labels."""


class Observations(NamedTuple):
    """A histogram at one moment. ``counts`` are by bucket, not cumulative; the last one has no upper bound."""

    counts: tuple[int, ...]
    total: float


class Distribution:
    """A histogram that is being filled."""

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self._bounds = bounds
        self._counts = [0] * (len(bounds) + 1)
        self._total = 0.0

    def add(self, value: float) -> None:
        """Count one observation; a value equal to a bound is within it."""
        self._counts[bisect_left(self._bounds, value)] += 1
        self._total += value

    def now(self) -> Observations:
        return Observations(tuple(self._counts), self._total)


class FewValues:
    """Keeps a label's values few: the first ones stay as they are, any further one becomes ``other``.

    Every value of a label is a series that Prometheus keeps for weeks; values that come from outside must not be able
    to fill its memory.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._known: set[str] = set()

    def __call__(self, value: str) -> str:
        if value not in self._known:
            if len(self._known) >= self._most:
                return OTHER
            self._known.add(value)
        return value


class Counters:
    """The numbers of all metrics of a catalogue.

    Writers count in the results of ``tally`` and ``distribution``; a writer holds ``lock`` all the time, so that
    ``copy`` sees related numbers (pages and their latencies, say) together.
    """

    def __init__(self, catalogue: Iterable[Metric]) -> None:
        self.lock: Final = threading.Lock()
        self._tallies: dict[str, Tally] = {}
        self._distributions: dict[str, Distribution] = {}
        for metric in catalogue:
            if metric.kind is Kind.HISTOGRAM:
                self._distributions[metric.name] = Distribution(metric.bounds)
            else:
                seeds = metric.seeds if metric.labels else ((),)
                self._tallies[metric.name] = defaultdict(float, dict.fromkeys(seeds, 0.0))

    def tally(self, metric: Counter | Gauge) -> Tally:
        return self._tallies[metric.name]

    def distribution(self, metric: Histogram) -> Distribution:
        return self._distributions[metric.name]

    def copy(self) -> tuple[Mapping[str, Mapping[Labels, float]], Mapping[str, Observations]]:
        """All numbers at one moment, by name: counters and gauges, histograms."""
        with self.lock:
            tallies = {name: dict(tally) for name, tally in self._tallies.items()}
            return tallies, {name: distribution.now() for name, distribution in self._distributions.items()}
