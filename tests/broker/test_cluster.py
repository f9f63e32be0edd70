"""Three brokers on this machine: failures of one broker that do no harm to written records."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kafka import KafkaAdminClient, KafkaProducer

from crawler_plugin.wire.errors import UsageError
from tests.broker.test_server import TOPIC, read
from tests.waiting import wait_for
from worker.broker.cluster import NODES, LocalCluster
from worker.broker.configuration import HOST, Node, node_properties, server_properties
from worker.broker.folder import LOCK, read_meta

IDS = {1, 2, 3}


def test_a_node_knows_the_others_and_keeps_copies_on_all_of_them() -> None:
    node = Node(2, "some-cluster", (21_001, 21_002, 21_003))
    properties = server_properties(21_000, 21_002) | node_properties(node)
    assert properties["controller.quorum.voters"] == f"1@{HOST}:21001,2@{HOST}:21002,3@{HOST}:21003"
    assert f"CONTROLLER://{HOST}:21002" in properties["listeners"]
    factors = {name: value for name, value in properties.items() if name.endswith("replication.factor")}
    assert set(factors.values()) == {"3"}
    least = {name: value for name, value in properties.items() if name.endswith((".min.isr", "insync.replicas"))}
    assert set(least.values()) == {"2"}
    assert (len(factors), len(least)) == (4, 3)


def test_the_folder_of_a_single_broker_is_refused(tmp_path: Path) -> None:
    (tmp_path / LOCK).touch()
    with pytest.raises(UsageError, match="holds the topics of a single broker: give another --data-dir"):
        LocalCluster(data_dir=tmp_path)


def test_ports_follow_the_one_that_is_given(tmp_path: Path) -> None:
    cluster = LocalCluster(data_dir=tmp_path, port=21_000)
    assert cluster.bootstrap_servers == f"{HOST}:21000,{HOST}:21001,{HOST}:21002"
    free = LocalCluster(data_dir=tmp_path).bootstrap_servers.split(",")
    assert len(set(free)) == NODES


def options(cluster: LocalCluster) -> dict[str, Any]:
    return {"bootstrap_servers": cluster.bootstrap_servers.split(",")}


@pytest.fixture
def running(tmp_path: Path) -> Iterator[LocalCluster]:
    with LocalCluster(data_dir=tmp_path / "cluster", announce=print) as started:
        yield started


def partition_of(cluster: LocalCluster) -> dict[str, Any]:
    with KafkaAdminClient(**options(cluster)) as admin:
        found: dict[str, Any] = admin.describe_topics([TOPIC])[0]["partitions"][0]
        return found


@pytest.mark.cluster
@pytest.mark.long
def test_what_is_written_outlives_any_one_of_them_and_so_does_the_cluster(
    running: LocalCluster, tmp_path: Path
) -> None:
    with KafkaAdminClient(**options(running)) as admin:
        admin.create_topics({TOPIC: {"num_partitions": 1, "replication_factor": NODES}}, wait_for_metadata=True)
    producer = KafkaProducer(**options(running), acks="all")
    producer.send(TOPIC, b"1").get(timeout=60)
    before = partition_of(running)
    assert set(before["replica_nodes"]) == IDS
    leader = running.nodes[before["leader_id"] - 1]
    leader.kill()
    producer.send(TOPIC, b"2").get(timeout=60)
    assert partition_of(running)["leader_id"] != before["leader_id"]
    leader.start()
    wait_for(lambda: set(partition_of(running)["isr_nodes"]) == IDS, "the third copy to be whole again", 60)
    producer.close()
    running.kill()
    running.start()
    metas = [read_meta(tmp_path / "cluster" / f"node-{number}") for number in IDS]
    assert len({meta["cluster.id"] for meta in metas}) == 1
    assert read(running.bootstrap_servers) == [b"1", b"2"]


@pytest.mark.cluster
@pytest.mark.long
def test_a_broker_that_ends_by_itself_is_started_again(running: LocalCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    class Enough(Exception):
        """The broker runs again."""

    told: list[str] = []

    def hear(message: str) -> None:
        told.append(message)
        if "runs again" in message:
            raise Enough

    monkeypatch.setattr(running, "_announce", hear)
    second = running.nodes[1]
    assert second._jvm is not None
    second._jvm._process.kill()
    with pytest.raises(Enough):
        running.keep()
    assert second.is_running
    assert "broker 2 of 3 ended, starting it again: the broker ended by itself (killed by SIGKILL)" in told[0]
