"""Crawls that need broker, topic and the right to write, and the message where one of them is missing."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path
from random import randbytes
from typing import Any

import pytest
from kafka import KafkaAdminClient
from kafka.admin import ACL, ACLOperation, ACLPermissionType, ACLResourcePatternType, ResourcePattern, ResourceType

from tests.crawler_plugin.crawling import (
    Crawl,
    Ended,
    Site,
    crawl,
    make_topic,
    numbered,
    records,
    serve,
    to_kafka,
    to_nobody,
)
from worker.broker import server
from worker.broker.configuration import HOST, server_properties
from worker.broker.ports import free_port
from worker.broker.server import LocalBroker

pytestmark = pytest.mark.cluster

PREFIX = "guarded."
TOPIC = f"{PREFIX}pages"
REQUIRED = {"DEDUP_REQUIRED": True, "LOG_LEVEL": "ERROR"}
PATIENT_ENOUGH = {"BLOCK_MS": 5_000}
"""Within this time a running broker answers a login, even on a busy machine."""


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """A broker's two addresses: one for clients that log in, one for clients that may do everything. ``writer`` may
    write to the topic."""
    inside = free_port()

    def with_logins(port: int, controller_port: int) -> dict[str, str]:
        properties = server_properties(port, controller_port)
        return properties | {
            "listeners": f"{properties['listeners']},CLIENT://{HOST}:{inside}",
            "advertised.listeners": f"{properties['advertised.listeners']},CLIENT://{HOST}:{inside}",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,CLIENT:SASL_PLAINTEXT",
            "sasl.enabled.mechanisms": "PLAIN",
            "listener.name.client.plain.sasl.jaas.config": (
                "org.apache.kafka.common.security.plain.PlainLoginModule required "
                'user_writer="right" user_reader="right";'
            ),
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:ANONYMOUS",
        }

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(server, "server_properties", with_logins)
        with LocalBroker(data_dir=tmp_path_factory.mktemp("guarded") / "data", announce=print) as running:
            make_topic(running.bootstrap_servers, PREFIX, max_message_bytes=20_000)
            admin = KafkaAdminClient(bootstrap_servers=running.bootstrap_servers)
            topic = ResourcePattern(ResourceType.TOPIC, TOPIC, ACLResourcePatternType.LITERAL)
            rights = {"User:writer": [ACLOperation.WRITE, ACLOperation.DESCRIBE], "User:reader": [ACLOperation.READ]}
            admin.create_acls(
                [
                    ACL(who, "*", operation, ACLPermissionType.ALLOW, topic)
                    for who, operations in rights.items()
                    for operation in operations
                ]
            )
            admin.close()
            yield f"{HOST}:{inside}", running.bootstrap_servers


def logged_in(broker: str, user: str, password: str = "right") -> dict[str, Any]:
    options = {
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "PLAIN",
        "sasl_plain_username": user,
        "sasl_plain_password": password,
    }
    return to_kafka(broker, PREFIX) | {"DEDUP_KAFKA_OPTIONS": options}


def refused(tmp_path: Path, settings: dict[str, Any]) -> Ended:
    """Run a crawl that does not begin, and says so in one line."""
    with serve(Site(numbered(3))) as site:
        ended = crawl(tmp_path, site, **settings, **REQUIRED)
    assert site.asked == []
    assert (ended.returncode, ended.stats["finish_reason"]) == (1, "dedup_refused")
    (line,) = ended.log.splitlines()
    assert "the crawl does not start, as DEDUP_REQUIRED says: " in line
    assert not (tmp_path / "pages.spool").exists()
    return ended


def test_without_a_broker_a_crawl_that_requires_it_does_not_start(tmp_path: Path) -> None:
    ended = refused(tmp_path, to_nobody(PREFIX))
    assert "the crawl does not start, as DEDUP_REQUIRED says: no broker answers: " in ended.log
    assert "ECONNREFUSED" in ended.log


def test_without_the_topic_a_crawl_that_requires_it_does_not_start(
    broker: str, topic_prefix: str, tmp_path: Path
) -> None:
    ended = refused(tmp_path, to_kafka(broker, topic_prefix))
    assert f"the crawl does not start, as DEDUP_REQUIRED says: topic {topic_prefix}pages not found" in ended.log


@pytest.mark.parametrize("user", ["reader", "writer"])
def test_a_wrong_password_is_called_a_refused_login(guarded: tuple[str, str], tmp_path: Path, user: str) -> None:
    ended = refused(tmp_path, logged_in(guarded[0], user, "wrong") | PATIENT_ENOUGH)
    assert f"the broker refused the login of {user} (" in ended.log
    assert "correct user, password or token, and mechanism, in DEDUP_KAFKA_OPTIONS" in ended.log


def test_a_crawl_that_requires_nothing_says_of_a_wrong_password_the_same(
    guarded: tuple[str, str], tmp_path: Path
) -> None:
    with serve(Site(numbered(3))) as site:
        waiting = Crawl(tmp_path, "site", site.url("/"), logged_in(guarded[0], "writer", "wrong") | PATIENT_ENOUGH)
        waiting.wait_for_log("Kafka takes no pages")
        waiting.send_signal(signal.SIGINT)  # no need to wait for the end
        waiting.wait_for_log("Received SIGINT|Spider closed")
        waiting.send_signal(signal.SIGINT)
        ended = waiting.end()
    assert "Kafka takes no pages (topic guarded.pages at " in ended.log
    assert "the broker refused the login of writer (" in ended.log
    assert "3 pages that Kafka had not confirmed went to" in ended.log


def test_without_the_right_to_write_a_crawl_that_requires_it_does_not_start(
    guarded: tuple[str, str], tmp_path: Path
) -> None:
    ended = refused(tmp_path, logged_in(guarded[0], "reader"))
    assert "reader may not write to guarded.pages; give it the rights Write, Describe and DescribeConfigs" in ended.log


def test_the_right_to_write_is_enough_and_without_that_to_read_the_limit_a_refusal_tells_it(
    guarded: tuple[str, str], tmp_path: Path
) -> None:
    site = Site(numbered(20) | {f"/large/{number}": randbytes(30_000 + number) for number in range(5)})
    with serve(site):
        ended = crawl(tmp_path, site, **logged_in(guarded[0], "writer"), **REQUIRED)
    small = {site.url(path) for path in site.pages if "large" not in path}
    assert {record.meta.url for record in records(guarded[1], PREFIX)} == small
    assert (ended.dedup["confirmed"], ended.dedup["rejected/oversize_at_broker"]) == (20, 5)
    assert 1 <= ended.dedup["send_errors"] <= 5
    assert ended.stats["finish_reason"] == "finished"
