"""The data that the demo reads from workers over HTTP: their metrics, their partitions and shards, their readiness."""

from __future__ import annotations

import socket
from collections import Counter
from types import SimpleNamespace

import pytest

from worker.observe.catalogue import CATALOGUE
from worker.observe.health import Health, HealthServer
from worker.observe.scrape import (
    CLAIMED,
    COMMITTED,
    PARTITION_STATE,
    SHARD_STATE,
    SURVIVORS,
    WorkerShare,
    are_shared_out,
    is_ready,
    samples,
    scrape,
    share_of,
)


def showing(exposition: str) -> HealthServer:
    """A server with this exposition, as Prometheus would read it at a worker's address."""
    exposes = SimpleNamespace(health=Health(), exposition=lambda accept: (exposition.encode(), "text/plain"))
    return HealthServer(exposes, "127.0.0.1", 0)


def test_metrics_are_summed_over_labels_and_workers_and_a_silent_worker_counts_nothing() -> None:
    with (
        showing('# TYPE x counter\nx_total{a="1"} 2.0\nx_total{a="2"} 3.0\nx_created 1.7e+09\n') as one,
        showing('x_total{a="1"} 4.0\n') as other,
        socket.socket() as taken,
    ):
        taken.bind(("127.0.0.1", 0))  # bound but not listening: no other program gets the port, and nothing answers
        silent = f"http://127.0.0.1:{taken.getsockname()[1]}/metrics"
        addresses = [f"{one.address}/metrics", silent, f"{other.address}/metrics"]
        assert scrape(addresses) == Counter({"x_total": 9, "x_created": 1_700_000_000})
        assert scrape([silent]) == Counter()
        assert share_of(samples(silent)) == WorkerShare()
        assert not is_ready(silent)


def test_a_worker_is_ready_when_its_readyz_says_so() -> None:
    health = Health()
    exposes = SimpleNamespace(health=health, exposition=lambda accept: (b"", ""))
    with HealthServer(exposes, "127.0.0.1", 0) as server:
        assert not is_ready(f"{server.address}/metrics")
        health.report([])
        health.heard()
        assert is_ready(f"{server.address}/metrics")


def test_the_metrics_that_are_read_are_declared() -> None:
    names = {metric.name for metric in CATALOGUE}
    assert {CLAIMED.removesuffix("_sum"), COMMITTED, SHARD_STATE, PARTITION_STATE, SURVIVORS} <= names


def test_a_share_is_what_a_worker_does_its_work_for() -> None:
    shown = """# TYPE dedup_shard_state gauge
dedup_shard_state{shard="10",state="answering"} 1.0
dedup_shard_state{shard="10",state="restoring"} 0.0
dedup_shard_state{shard="9",state="answering"} 1.0
dedup_shard_state{shard="3",state="answering"} 0.0
dedup_shard_state{shard="3",state="restoring"} 1.0
dedup_partition_state{partition="4",state="claiming"} 1.0
dedup_partition_state{partition="5",state="locating"} 1.0
dedup_index_entries{shard="10"} 30.0
dedup_index_entries{shard="9"} 12.0
dedup_pages_total{outcome="unique",language="zh"} 5.0
dedup_pages_total{outcome="duplicate",language="zh"} 2.0
"""
    with showing(shown) as server:
        assert share_of(samples(f"{server.address}/metrics")) == WorkerShare((9, 10), (4,), survivors=42, committed=7)


@pytest.mark.parametrize(
    ("shares", "shared_out"),
    [
        ([WorkerShare((0, 1), (0, 1))], True),
        ([WorkerShare((0,), (1,)), WorkerShare((1,), (0,))], True),
        ([WorkerShare((0, 1), (0, 1)), WorkerShare()], False),
        ([WorkerShare((0, 1), (0,)), WorkerShare((), (1,))], False),
        ([WorkerShare((0, 1), (0,)), WorkerShare((1,), (1,))], False),
        ([WorkerShare((0,), (0, 1))], False),
        ([], False),
    ],
)
def test_all_is_shared_out_when_each_has_one_owner_and_no_worker_none(
    shares: list[WorkerShare], shared_out: bool
) -> None:
    assert are_shared_out(shares, shards=2, partitions=2) is shared_out
