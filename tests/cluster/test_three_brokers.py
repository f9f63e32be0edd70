"""Three brokers, and transactions during which one broker is killed."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import pytest
from kafka import KafkaAdminClient, KafkaConsumer, TopicPartition

from crawler_plugin.wire.errors import Unavailable
from crawler_plugin.wire.topics import VERDICTS
from tests.cluster.cluster import Cluster, asking
from tests.cluster.crawl import Crawler, invented
from tests.cluster.outside import traces
from tests.guarantees import check_guarantees
from tests.open_transactions import open_transactions
from tests.waiting import wait_for
from worker.broker.cluster import NODES, LocalCluster
from worker.broker.server import LocalBroker
from worker.config import KafkaSettings
from worker.stream.kafka.connection import client_options
from worker.stream.kafka.log import bounds_of, has_partition
from worker.stream.log import Bounds

pytestmark = [pytest.mark.cluster, pytest.mark.long]

PAGES_A_SECOND: Final = 40


@pytest.fixture(scope="module")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    with LocalCluster(data_dir=tmp_path_factory.mktemp("brokers") / "three", announce=print) as running:
        yield running


def leader_in_mid_transaction(cluster: Cluster, brokers: LocalCluster) -> LocalBroker:
    """The broker that leads a partition with verdicts of an open transaction."""
    topic = cluster.prefix + VERDICTS
    with asking(cluster) as admin:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            names = open_transactions(admin, cluster.settings.kafka.group)
            for one in admin.describe_transactions(names).values() if names else ():
                numbers = [each.partition for each in one.topic_partitions if each.topic == topic]
                if numbers:
                    partitions = admin.describe_topics([topic])[0]["partitions"]
                    leaders: dict[int, int] = {each["partition_index"]: each["leader_id"] for each in partitions}
                    return brokers.nodes[leaders[numbers[0]] - 1]
    raise AssertionError("no transaction was seen open")


def test_where_a_log_ends_is_known_again_when_its_leader_was_frozen_and_leads_no_more(
    brokers: LocalCluster, topic_prefix: str
) -> None:
    options = client_options(KafkaSettings(bootstrap_servers=brokers.bootstrap_servers))
    place = TopicPartition(f"{topic_prefix}any", 0)
    with KafkaAdminClient(**options) as admin:
        admin.create_topics({place.topic: {"num_partitions": 1, "replication_factor": NODES}}, wait_for_metadata=True)
        leader = admin.describe_topics([place.topic])[0]["partitions"][0]["leader_id"]
    asker = KafkaConsumer(**options, group_id=None, enable_auto_commit=False)
    try:
        bounds_of(asker, [place])
        frozen = brokers.nodes[leader - 1].pid
        assert frozen is not None
        os.kill(frozen, signal.SIGSTOP)
        time.sleep(6)
        os.kill(frozen, signal.SIGCONT)

        def is_known() -> bool:
            with suppress(Unavailable):
                return bounds_of(asker, [place]) == [Bounds(0, 0)]
            return False

        wait_for(is_known, "the end of the log", 45)
    finally:
        asker.close(autocommit=False)


@pytest.mark.parametrize("end", ["killed", "frozen"])
def test_a_partition_whose_only_broker_is_lost_is_there_all_the_same(
    brokers: LocalCluster, topic_prefix: str, end: str
) -> None:
    options = client_options(KafkaSettings(bootstrap_servers=brokers.bootstrap_servers))
    topic = f"{topic_prefix}{end}"
    with KafkaAdminClient(**options) as admin:
        admin.create_topics({topic: {"num_partitions": NODES, "replication_factor": 1}}, wait_for_metadata=True)
        leaders = {
            each["partition_index"]: each["leader_id"] for each in admin.describe_topics([topic])[0]["partitions"]
        }
    lost = brokers.nodes[leaders[1] - 1]
    asker = KafkaConsumer(**options, group_id=None, enable_auto_commit=False)
    try:
        assert has_partition(asker, TopicPartition(topic, 0))
        if end == "killed":
            lost.kill()
        else:
            assert lost.pid is not None
            os.kill(lost.pid, signal.SIGSTOP)
        for _ in range(3):
            with pytest.raises(Unavailable):
                has_partition(asker, TopicPartition(topic, 1))
        wait_for(lambda: asked(asker, TopicPartition(topic, NODES)) is False, "the others to answer", 60)
    finally:
        if end == "killed":
            lost.start()
        else:
            assert lost.pid is not None
            os.kill(lost.pid, signal.SIGCONT)
        wait_for(lambda: asked(asker, TopicPartition(topic, 1)) is True, "the broker to be back", 60)
        asker.close(autocommit=False)


def asked(asker: KafkaConsumer, place: TopicPartition) -> bool | None:
    """Whether there is such a partition; None where no broker says so."""
    with suppress(Unavailable):
        return has_partition(asker, place)
    return None


@pytest.mark.parametrize("end", ["killed", "frozen"])
def test_a_leader_that_is_lost_in_mid_transaction_costs_no_page_and_repeats_none(
    brokers: LocalCluster, topic_prefix: str, tmp_path: Path, end: str
) -> None:
    with Cluster(brokers.bootstrap_servers, topic_prefix, tmp_path, ["index.replicas=2"], copies=NODES) as cluster:
        workers = [cluster.start_worker() for _ in range(2)]
        with Crawler(cluster.options, cluster.prefix, invented(1), a_second=PAGES_A_SECOND) as crawler:
            wait_for(lambda: sum(cluster.consumed().values()) > 100, "the first pages")
            for _ in range(3):
                leader = leader_in_mid_transaction(cluster, brokers)
                if end == "killed":
                    leader.kill()
                    time.sleep(3)  # longer than the broker's session: others lead, and their transactions go on
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
