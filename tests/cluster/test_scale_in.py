"""Fewer workers, tried with real workers that have names: a worker that leaves for good delays no other, while the
others wait for a worker that only stops."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.cluster.cluster import Cluster, WorkerProcess, running
from tests.cluster.crawl import Crawler, invented
from tests.cluster.outside import traces
from tests.guarantees import check_guarantees
from tests.waiting import wait_for
from worker.compose.topology import cluster as outside

pytestmark = pytest.mark.cluster

SESSION: Final = "kafka.session_timeout_seconds=600"
"""No session ends within this test."""


@pytest.fixture
def cluster(broker: str, topic_prefix: str, tmp_path: Path) -> Iterator[Cluster]:
    with Cluster(broker, topic_prefix, tmp_path, ["topics.partitions=2", "topics.shards=2", SESSION]) as made:
        yield made


def test_a_worker_that_is_taken_away_for_good_leaves_and_one_that_is_stopped_keeps_its_place(cluster: Cluster) -> None:
    def start(name: str) -> WorkerProcess:
        return running(cluster.start_worker(f"kafka.instance_id={name}", "log.format=json"))

    stays, leaves = start("stays"), start("leaves")
    with (
        outside(cluster.settings) as view,
        Crawler(cluster.options, cluster.prefix, invented(seed=7), a_second=40) as crawler,
    ):
        wait_for(lambda: both_have_a_shard(stays, leaves), "the shards to be shared out")
        leaves.process.send_signal(signal.SIGUSR1)
        assert leaves.process.wait(60) == 0
        assert view.named() == ["stays"]
        crawler.stop()
        cluster.wait_until_committed()  # this needs all shards
        assert stays.stop() == 0
        assert view.named() == ["stays"], "it may be started again, and finds its shards"
        assert view.workers() == [], "and all the same it is known to have stopped"
    check_guarantees(traces(cluster.bootstrap, cluster.prefix))
    for worker, name in ((stays, "stays"), (leaves, "leaves")):
        assert {json.loads(line)["worker"] for line in worker.said().splitlines()} == {name}, "all that it says is JSON"


def both_have_a_shard(*workers: WorkerProcess) -> bool:
    """Whether each worker answers for one of the two shards."""
    return all("answering" in worker.said() for worker in workers) and "lost" in workers[0].said()
