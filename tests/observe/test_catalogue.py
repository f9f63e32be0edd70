"""The catalogue lists exactly the exposed metrics, and follows Prometheus' conventions."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.observe.exposed import INFO, OPENMETRICS, families
from tools.docs import metrics_table
from worker.observe.catalogue import CATALOGUE, Kind, Metric
from worker.observe.metrics import Metrics

FIXED = {
    "dedup_pages_total": ("outcome", "language"),
    "dedup_distance": (),
    "dedup_index_entries": ("shard",),
    "dedup_lag_records": ("partition",),
    "dedup_lag_seconds": (),
    "dedup_dead_letters_total": ("reason",),
    "dedup_build_info": ("version", "python", "kafka_client"),
    "dedup_settings_info": ("scheme", "predicate", "k", "layout", "shards", "output", "generation"),
}
"""Names and labels that dashboards outside of this project rely on."""
BASE_UNITS = {"seconds", "bytes", "ratio"}


def test_names_that_others_rely_on_have_not_changed() -> None:
    assert FIXED.items() <= {metric.name: metric.labels for metric in CATALOGUE}.items()


@pytest.mark.parametrize("accept", ["", OPENMETRICS])
def test_every_declared_metric_is_exposed_with_its_meaning_and_type_before_anything_has_happened(accept: str) -> None:
    exposed = families(Metrics(INFO), accept)
    for metric in CATALOGUE:
        assert exposed[metric.name].documentation == metric.text
        assert exposed[metric.name].type == metric.kind.value


@pytest.mark.parametrize("accept", ["", OPENMETRICS])
def test_nothing_is_exposed_that_is_not_declared_but_the_process_and_python(accept: str) -> None:
    exposed = families(Metrics(INFO), accept)
    ours = {name for name in exposed if not name.startswith(("process_", "python_"))}
    assert ours == {metric.name for metric in CATALOGUE}
    assert {"process_resident_memory_bytes", "python_gc_collections_total"} <= exposed.keys()


def test_series_have_the_declared_labels() -> None:
    exposed = families(Metrics(INFO))
    for metric in CATALOGUE:
        for sample in exposed[metric.name].samples:
            assert sample.labels.keys() - {"le"} == set(metric.labels), metric.name


def test_names_and_units_keep_to_the_conventions() -> None:
    names = [metric.name for metric in CATALOGUE]
    assert len(names) == len(set(names))
    for metric in CATALOGUE:
        assert re.fullmatch(r"dedup_[a-z]+(_[a-z]+)*", metric.name)
        assert metric.text.endswith(".")
        assert "\n" not in metric.text
        last = metric.name.removesuffix("_total").rpartition("_")[2]
        assert (last in BASE_UNITS) == (metric.unit in BASE_UNITS), metric.name
        assert last not in BASE_UNITS or last == metric.unit, metric.name


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": "dedup_pages", "kind": Kind.COUNTER},
        {"name": "dedup_pages_total", "kind": Kind.GAUGE},
        {"name": "dedup_distance", "kind": Kind.HISTOGRAM},
        {"name": "dedup_distance", "kind": Kind.HISTOGRAM, "bounds": (2, 1)},
        {"name": "dedup_distance", "kind": Kind.HISTOGRAM, "bounds": (1, 1)},
        {"name": "dedup_entries", "kind": Kind.GAUGE, "bounds": (1, 2)},
        {"name": "dedup_pages_total", "kind": Kind.COUNTER, "labels": ("reason",), "seeds": (("a", "b"),)},
    ],
)
def test_a_metric_that_contradicts_itself_cannot_be_declared(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=wrong["name"]):
        Metric(text="A text.", unit="pages", **wrong)


def test_the_table_has_a_row_for_each_metric_and_only_bars_between_cells() -> None:
    rows = metrics_table().splitlines()[2:]
    assert [row.split("`")[1] for row in rows] == [metric.name for metric in CATALOGUE]
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {6}
