"""A login that the broker refuses counts as a wrong setting, not as a missing broker, whenever it is refused."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer

from crawler_plugin.wire.errors import UsageError
from crawler_plugin.wire.topics import PAGES, topic_specs
from tests.cluster.cluster import Cluster
from tests.stream.kafka.guarded import MECHANISMS, USER, Guarded, guarded_broker
from tests.waiting import wait_for
from worker.config import load_settings
from worker.stream.kafka.connection import client_options, reaching
from worker.stream.kafka.log import KafkaReader
from worker.stream.kafka.topic_admin import create_topics
from worker.stream.log import read_to_end

pytestmark = pytest.mark.cluster


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    with guarded_broker(tmp_path_factory.mktemp("guarded")) as running:
        yield running


def options_of(overrides: list[str]) -> dict[str, Any]:
    options = client_options(load_settings(config=None, overrides=overrides, environ={}).kafka)
    return options | {"bootstrap_timeout_ms": 3000}


@pytest.mark.parametrize("protocol", ["SASL_PLAINTEXT", "SASL_SSL"])
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_wrong_password_is_refused_by_the_name_of_its_user(guarded: Guarded, protocol: str, mechanism: str) -> None:
    right = options_of(guarded.login(protocol, mechanism))
    with reaching(right):
        KafkaConsumer(**right).close()
    wrong = options_of(guarded.login(protocol, mechanism, "open, barley"))
    address = re.escape(guarded.addresses[protocol])
    with (
        pytest.raises(UsageError, match=rf"refused the login of {USER} at .*{address}.*kafka\.sasl_password"),
        reaching(wrong),
    ):
        KafkaConsumer(**wrong)


@pytest.mark.parametrize("client", [KafkaAdminClient, KafkaProducer])
def test_every_kind_of_client_says_so(guarded: Guarded, client: Any) -> None:
    wrong = options_of(guarded.login("SASL_PLAINTEXT", "PLAIN", "open, barley"))
    with pytest.raises(UsageError, match=f"refused the login of {USER}"), reaching(wrong):
        client(**wrong)


@pytest.mark.parametrize("protocol", ["SASL_PLAINTEXT", "SASL_SSL"])
def test_answers_of_many_megabytes_come_whole_in_the_clear_and_over_tls(
    guarded: Guarded, topic_prefix: str, protocol: str
) -> None:
    options = options_of(guarded.login(protocol, "PLAIN"))
    create_topics(options, [spec for spec in topic_specs(prefix=topic_prefix, partitions=1) if spec.topic == PAGES], 1)
    pages = [bytes([number]) * (number * 700_000 + 1) for number in range(8)]
    producer = KafkaProducer(**options, max_request_size=8 << 20)
    for page in pages:
        producer.send(topic_prefix + PAGES, value=page, partition=0).get(timeout=30)
    producer.close(timeout=5)
    reader = KafkaReader(options, topic_prefix + PAGES, 0, 0, 8 << 20)
    assert [record.value for record in read_to_end(reader, len(pages))] == pages


def test_credentials_that_are_taken_away_end_a_worker_that_runs(
    guarded: Guarded, topic_prefix: str, tmp_path: Path
) -> None:
    login = guarded.login("SASL_PLAINTEXT", "SCRAM-SHA-512")[1:]
    address = guarded.addresses["SASL_PLAINTEXT"]
    few = ["topics.partitions=1", "topics.shards=1"]
    with Cluster(address, topic_prefix, tmp_path, [*few, *login]) as cluster:
        worker = cluster.start_worker()
        wait_for(lambda: "worker is running" in worker.said() or not worker.alive, "a worker to run")
        assert worker.alive, worker.said()[-3000:]
        guarded.revoke()
        wait_for(lambda: not worker.alive, "the worker to end", 120)
        said = worker.said()
        assert worker.process.returncode == 2, said[-3000:]
        assert "worker: error: the broker refused the login of" in said  # of the reader or the writer
        assert "Traceback" not in said
