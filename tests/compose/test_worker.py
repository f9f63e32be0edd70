"""``python -m worker``: where each setting goes, which signals it obeys, and which faults stop it before it begins."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest
from kafka import KafkaConsumer, KafkaProducer

from worker.compose.machine import index_memory, memory_limit
from worker.compose.topology import specs
from worker.compose.worker import kafka_log, rhythm, this_machine
from worker.config import Settings, load_settings
from worker.stream.kafka.connection import client_options
from worker.stream.kafka.topic_admin import create_topics

MIB: Final = 1 << 20
ROOT: Final = Path(__file__).resolve().parents[2]


def settings(*overrides: str) -> Settings:
    return load_settings(config=None, overrides=overrides, environ={})


# settings


@pytest.mark.parametrize("given", ["auto", "0", "700"])
def test_the_index_may_take_what_is_set_or_what_the_machine_has_for_it(
    given: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    set_so = settings(f"index.memory_mb={given}", "page.processes=1")
    expected = index_memory(set_so, memory_limit())
    with this_machine(set_so) as local:
        assert local.memory_limit.limit == expected.mib * MIB
    (line,) = [line for line in caplog.messages if line.startswith("the index may take")]
    assert expected.account in line
    assert str(expected.mib or "any number of") in line


def test_the_rhythm_is_in_the_settings_seconds() -> None:
    given = rhythm(settings("commit.seconds=2.5", "commit.pages=11", "index.flush_seconds=7", "shutdown.seconds=3"))
    assert (given.commit_seconds, given.commit_pages, given.flush_seconds, given.drain_seconds) == (2.5, 11, 7, 3)


@pytest.mark.cluster
def test_every_client_of_a_worker_keeps_the_times_of_the_settings(
    broker: str, topic_prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[KafkaConsumer | KafkaProducer] = []

    def noting(kind: type) -> None:
        make = kind.__init__  # type: ignore[misc]

        def noted(client: object, *arguments: object, **options: object) -> None:
            made.append(client)
            make(client, *arguments, **options)

        monkeypatch.setattr(kind, "__init__", noted)

    noting(KafkaConsumer)
    noting(KafkaProducer)
    given = settings(
        f"kafka.bootstrap_servers={broker}",
        f"topics.prefix={topic_prefix}",
        "kafka.request_timeout_seconds=3",
        "kafka.delivery_timeout_seconds=7",
        "kafka.transaction_timeout_seconds=12",
    )
    options = client_options(given.kafka)
    create_topics(options, specs(given), 1)
    log = kafka_log(given, options, b"writer")
    try:
        log.prepare()
        (appending,) = (client for client in made if isinstance(client, KafkaProducer))
        assert appending.config["delivery_timeout_ms"] == 7_000
        assert len(made) > 1
        assert {client.config["request_timeout_ms"] for client in made} == {3_000}
    finally:
        log.close(10)
