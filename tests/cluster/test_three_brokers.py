"""Three brokers, and what happens to transactions when one of them is killed in their midst."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest
from kafka import KafkaAdminClient

from tests.cluster.cluster import NO_DICTIONARY, Cluster
from tests.cluster.crawl import Crawler, invented
from tests.cluster.outside import traces
from tests.guarantees import check_guarantees
from tests.waiting import wait_for
from worker.broker.cluster import NODES, LocalCluster
from worker.broker.server import LocalBroker
from worker.topics import VERDICTS

pytestmark = [pytest.mark.cluster, pytest.mark.long]

PAGES_A_SECOND: Final = 40


@pytest.fixture(scope="module")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    with LocalCluster(data_dir=tmp_path_factory.mktemp("brokers") / "three", announce=print) as running:
        yield running


@contextmanager
def asking(cluster: Cluster) -> Iterator[Any]:
    admin = KafkaAdminClient(**cluster.options)
    try:
        yield admin
    finally:
        admin.close()


def leader_in_mid_transaction(cluster: Cluster, brokers: LocalCluster) -> LocalBroker:
    """The broker that leads a partition to which a transaction that is open now has written verdicts."""
    topic = cluster.prefix + VERDICTS
    with asking(cluster) as admin:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            listed = admin.list_transactions(state_filters=["Ongoing"])
            names = [each.transactional_id for found in listed.values() for each in found]
            for one in admin.describe_transactions(names).values() if names else ():
                numbers = [each.partition for each in one.topic_partitions if each.topic == topic]
                if numbers:
                    partitions = admin.describe_topics([topic])[0]["partitions"]
                    leaders: dict[int, int] = {each["partition_index"]: each["leader_id"] for each in partitions}
                    return brokers.nodes[leaders[numbers[0]] - 1]
    raise AssertionError("no transaction was seen open")


@pytest.mark.parametrize("end", ["killed", "frozen"])
def test_a_leader_that_is_lost_in_mid_transaction_costs_no_page_and_repeats_none(
    brokers: LocalCluster, topic_prefix: str, tmp_path: Path, end: str
) -> None:
    with Cluster(
        brokers.bootstrap_servers, topic_prefix, tmp_path, [NO_DICTIONARY, "index.replicas=2"], copies=NODES
    ) as cluster:
        workers = [cluster.start_worker() for _ in range(2)]
        with Crawler(cluster.options, cluster.prefix, invented(1), a_second=PAGES_A_SECOND) as crawler:
            wait_for(lambda: sum(cluster.consumed().values()) > 100, "the first pages")
            for _ in range(3):
                leader = leader_in_mid_transaction(cluster, brokers)
                if end == "killed":
                    leader.kill()
                    time.sleep(3)  # longer than its session: others lead, and their transactions go on
                    leader.start()
                else:
                    assert leader.pid is not None
                    os.kill(leader.pid, signal.SIGSTOP)
                    time.sleep(6)
                    os.kill(leader.pid, signal.SIGCONT)
                goal = sum(cluster.consumed().values()) + 100
                wait_for(lambda goal=goal: sum(cluster.consumed().values()) > goal, "more pages")  # type: ignore[misc]
            crawler.stop()
        cluster.wait_until_committed()
        check_guarantees(traces(brokers.bootstrap_servers, topic_prefix))
        assert all(worker.alive for worker in workers)
        assert cluster.stop() == [0, 0]
