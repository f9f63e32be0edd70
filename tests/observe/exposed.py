"""Metrics as a reader of the exposition sees them."""

from __future__ import annotations

from prometheus_client.metrics_core import Metric as Family
from prometheus_client.openmetrics.parser import text_string_to_metric_families as read_openmetrics
from prometheus_client.parser import text_string_to_metric_families as read_text

from worker.observe.catalogue import CATALOGUE
from worker.observe.metrics import Info, Metrics, ServedMetrics

OPENMETRICS = "application/openmetrics-text;version=1.0.0"
INFO = Info(
    scheme="00112233445566ff",
    predicate="simhash",
    k=3,
    layout="4x16",
    shards=2,
    partitions=4,
    output="tag",
    generation="b",
)


def families(metrics: Metrics | ServedMetrics, accept: str = "") -> dict[str, Family]:
    """The families by name as Prometheus knows it: a counter's name ends in ``_total``."""
    body, content_type = metrics.exposition(accept)
    read = read_openmetrics if content_type.startswith("application/openmetrics-text") else read_text
    return {
        f"{family.name}_total" if family.type == "counter" else family.name: family for family in read(body.decode())
    }


def series(metrics: Metrics | ServedMetrics) -> dict[str, float]:
    """Every sample by its name and label values in the order of the catalogue: ``dedup_pages_total unique zh``."""
    order = {metric.name: metric.labels for metric in CATALOGUE}
    return {
        " ".join([sample.name, *(sample.labels[name] for name in order.get(name) or sample.labels)]): sample.value
        for name, family in families(metrics).items()
        for sample in family.samples
    }
