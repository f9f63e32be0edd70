"""Prometheus itself takes the exposition and the configuration in ``deploy/``."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator

import pytest

from tests.observe.exposed import INFO, series
from tests.observe.prometheus import LOCAL, Prometheus, needs_prometheus
from tests.stream.script import COMMIT, CRASH, FLUSH, REDELIVER, Page, Stage
from worker.observe.health import HealthServer
from worker.observe.metrics import Metrics
from worker.stream.watchdog import Watch

pytestmark = [pytest.mark.prometheus, needs_prometheus]


def counted() -> Metrics:
    """Metrics of a worker that has seen each kind of event at least once."""
    stage = Stage(shards=2, partitions=2).play(
        Page("http://a/", 0b000), Page("http://b/", 0b001), Page("http://dead/", "dead"), COMMIT, FLUSH
    )
    stage.play(Page("http://c/", 0b111), REDELIVER, COMMIT, CRASH, Page("http://a/", 0b001), COMMIT)
    metrics = Metrics(INFO)
    for listener in stage.observers.values():
        for method, calls in listener.told.items():
            for told in calls:
                getattr(metrics, method)(*told)
    metrics.unreadable("index", 3, "torn")
    metrics.stage("poll", 0.25)
    stage.worker.observer = metrics
    watch = Watch(stage.worker.log, stage.worker, 60)
    watch.check(0)
    metrics.sample(stage.worker, watch)
    return metrics


@pytest.mark.parametrize("made", [lambda: Metrics(INFO), counted], ids=["fresh", "counted"])
def test_promtool_finds_nothing_wrong_with_the_exposition(made: Callable[[], Metrics]) -> None:
    text, _ = made().exposition()
    checked = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, check=False)
    assert checked.returncode == 0, checked.stderr.decode()
    assert not checked.stdout + checked.stderr


@pytest.fixture(scope="module")
def metrics() -> Metrics:
    return counted()


@pytest.fixture(scope="module")
def prometheus(metrics: Metrics, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    folder = tmp_path_factory.mktemp("prometheus")
    with HealthServer(metrics, LOCAL, 0) as server, Prometheus(folder, f"{server.host}:{server.port}") as running:
        yield running


def test_a_real_prometheus_scrapes_a_worker_and_sums_its_pages(prometheus: Prometheus, metrics: Metrics) -> None:
    found = prometheus.query("sum by (outcome) (dedup_pages_total) > 0")
    pages = {sample["metric"]["outcome"]: float(sample["value"][1]) for sample in found}
    assert pages == {"unique": 2, "duplicate": 1, "refetch": 1, "dead": 1}
    assert sum(pages.values()) == series(metrics)["dedup_latency_seconds_count"]
    (up,) = prometheus.query('up{job="dedup-worker"} == 1')
    assert up["metric"]["job"] == "dedup-worker"


@pytest.mark.parametrize(
    "expression",
    [
        "dedup_index_entries",
        "sum(dedup_lag_records)",
        "dedup_lag_seconds",
        "histogram_quantile(0.95, sum by (le) (dedup_latency_seconds_bucket))",
        "dedup_candidates_total / dedup_look_ups_total or vector(0)",
        'count by (shard) (dedup_shard_state{state="answering"} == 1)',
        "dedup_shard_state * on (instance) group_left (scheme) dedup_settings_info",
        "process_resident_memory_bytes",
    ],
)
def test_questions_that_operators_ask_have_an_answer(prometheus: Prometheus, expression: str) -> None:
    assert prometheus.query(expression)


def test_what_prometheus_stores_is_what_was_exposed(prometheus: Prometheus, metrics: Metrics) -> None:
    prometheus.query("dedup_ready")
    found = prometheus.query('{__name__=~"dedup_.*_(total|count|sum)"}')
    stored = sorted((sample["metric"]["__name__"], float(sample["value"][1])) for sample in found)
    names = {sample["metric"]["__name__"] for sample in found}
    exposed = sorted((key.split(" ")[0], value) for key, value in series(metrics).items() if key.split(" ")[0] in names)
    assert stored == exposed
