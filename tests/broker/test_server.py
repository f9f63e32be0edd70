"""The broker's life: start, stop, kill, start again; the data that it keeps and the starts that it refuses."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import KafkaAdminClient

from crawler_plugin.wire.errors import Unavailable, UsageError
from worker.broker import folder
from worker.broker.server import LocalBroker, new_cluster_id

pytestmark = pytest.mark.cluster

TOPIC = "kept"
PARTITION = TopicPartition(TOPIC, 0)


@pytest.fixture
def own_broker(tmp_path: Path) -> Iterator[LocalBroker]:
    """A broker of this test alone, not yet started."""
    own = LocalBroker(data_dir=tmp_path / "data")
    yield own
    own.kill()


@pytest.fixture(scope="module")
def odd_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("odd") / "a, b=${c} \\ 数据"


@pytest.fixture(scope="module")
def running(odd_folder: Path) -> Iterator[LocalBroker]:
    """A broker that no test ends."""
    with LocalBroker(data_dir=odd_folder) as started:
        yield started


def write(servers: str, *values: bytes) -> None:
    producer = KafkaProducer(bootstrap_servers=servers, acks="all")
    for value in values:
        producer.send(TOPIC, value, partition=0).get(timeout=30)
    producer.close()


def read(servers: str) -> list[bytes]:
    """Everything in the topic, from its beginning to the end as it is now."""
    consumer = KafkaConsumer(bootstrap_servers=servers, group_id=None, enable_auto_commit=False)
    consumer.assign([PARTITION])
    consumer.seek_to_beginning()
    end = consumer.end_offsets([PARTITION])[PARTITION]
    values: list[bytes] = []
    while consumer.position(PARTITION) < end:
        for records in consumer.poll(timeout_ms=1000).values():
            values += [record.value for record in records]
    consumer.close()
    return values


def make_topic(servers: str) -> None:
    with KafkaAdminClient(bootstrap_servers=servers) as admin:
        admin.create_topics({TOPIC: {"num_partitions": 1, "replication_factor": 1}}, wait_for_metadata=True)


def cluster_id(servers: str) -> str:
    with KafkaAdminClient(bootstrap_servers=servers) as admin:
        return str(admin.describe_cluster()["cluster_id"])


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_data_and_cluster_id_survive_an_end_in_order_and_a_kill(
    own_broker: LocalBroker, tmp_path: Path, end: str
) -> None:
    own_broker.start()
    servers = own_broker.bootstrap_servers
    make_topic(servers)
    write(servers, b"one", b"two")
    identity = cluster_id(servers)

    getattr(own_broker, end)()
    assert not own_broker.is_running
    assert (tmp_path / "data" / "kafka" / ".kafka_cleanshutdown").exists() is (end == "stop"), "logs marked as whole"
    own_broker.start()

    assert own_broker.bootstrap_servers == servers
    assert cluster_id(servers) == identity
    write(servers, b"three")
    assert read(servers) == [b"one", b"two", b"three"]


def test_starting_a_running_broker_changes_nothing(running: LocalBroker) -> None:
    pid = running.pid
    running.start()
    assert running.pid == pid


def test_stopping_what_does_not_run_is_fine(own_broker: LocalBroker) -> None:
    own_broker.stop()
    own_broker.kill()
    assert own_broker.pid is None


def test_a_folder_name_that_would_mean_something_to_java_is_only_a_name(running: LocalBroker) -> None:
    make_topic(running.bootstrap_servers)
    write(running.bootstrap_servers, b"one")
    assert read(running.bootstrap_servers) == [b"one"]


def test_a_second_broker_on_the_same_folder_is_refused_and_the_first_goes_on(
    running: LocalBroker, odd_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder, "PATIENCE_S", 0.0)
    with pytest.raises(Unavailable, match=rf"already runs on .*{running.bootstrap_servers}.*--data-dir"):
        LocalBroker(data_dir=odd_folder).start()
    assert cluster_id(running.bootstrap_servers)


def test_a_busy_port_is_refused_and_says_what_listens_there(tmp_path: Path, broker: str) -> None:
    taken = int(broker.rpartition(":")[2])
    with pytest.raises(Unavailable, match=f"port {taken} .*taken by a Kafka broker.*--port"):
        LocalBroker(data_dir=tmp_path / "data", port=taken).start()
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(Unavailable, match=f"port {port} .*taken by another program"):
            LocalBroker(data_dir=tmp_path / "data", port=port).start()


def test_after_a_refusal_the_folder_is_free_for_the_next_start(tmp_path: Path, broker: str) -> None:
    taken = int(broker.rpartition(":")[2])
    with pytest.raises(Unavailable):
        LocalBroker(data_dir=tmp_path / "data", port=taken).start()
    with LocalBroker(data_dir=tmp_path / "data") as second_try:
        assert second_try.is_running


def test_a_start_that_kafka_gives_up_on_ends_with_its_own_words(own_broker: LocalBroker, tmp_path: Path) -> None:
    (tmp_path / "data" / "kafka").mkdir(parents=True)
    (tmp_path / "data" / "broker.lock").touch()
    (tmp_path / "data" / "kafka" / "__cluster_metadata-0").touch()
    with pytest.raises(Unavailable, match=r"(?s)FileAlreadyExists.*__cluster_metadata-0.*whole log is .*broker\.log"):
        own_broker.start()
    assert own_broker.pid is None


def test_a_heap_larger_than_the_machine_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="smaller --heap-mb"):
        LocalBroker(data_dir=tmp_path / "data", heap_mb=100_000_000).start()


def test_waiting_for_a_broker_that_was_never_started_is_a_mistake(own_broker: LocalBroker) -> None:
    with pytest.raises(RuntimeError, match="start"):
        own_broker.wait()


def test_no_cluster_id_looks_like_an_option_of_a_command() -> None:
    assert not any(new_cluster_id().startswith("-") for _ in range(2000))
