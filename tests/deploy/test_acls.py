"""The rights of deploy/kafka/acls.sh are enough for each program, on a real broker that refuses everything else."""

from __future__ import annotations

import argparse
import shlex
import subprocess
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, Final

import pytest
from kafka import KafkaAdminClient, KafkaConsumer
from kafka.admin import ACL, ACLOperation, ACLPermissionType, ACLResourcePatternType, ResourcePattern, ResourceType

from crawler_plugin.wire.errors import UsageError
from crawler_plugin.wire.topics import group_names, topic_specs
from tests.cluster.cluster import Cluster
from tests.deploy.watched import SMALL, pages
from worker.broker import server
from worker.broker.configuration import HOST, server_properties
from worker.broker.ports import free_port
from worker.broker.server import LocalBroker
from worker.cli import switch
from worker.compose.topology import cluster, specs
from worker.config import load_settings
from worker.stream.kafka.connection import client_options
from worker.stream.kafka.publish import publish_pages
from worker.stream.kafka.topic_admin import compare_topics, create_topics

pytestmark = pytest.mark.cluster

SCRIPT: Final = Path(__file__).resolve().parents[2] / "deploy" / "kafka" / "acls.sh"
LOGIN_MODULE: Final = "org.apache.kafka.common.security.plain.PlainLoginModule"
PARTS: Final = ("dedup-worker", "dedup-crawler", "dedup-reader", "dedup-operator")
PREFIX: Final = "crawl."


def commands(generation: str = "") -> list[list[str]]:
    """The words of each command that the script would run."""
    environment = {"PREFIX": PREFIX, "GROUP": PREFIX.rstrip("."), "PATH": "/usr/bin:/bin"}
    if generation:
        environment["GENERATION"] = generation
    shown = subprocess.run([SCRIPT], env=environment, capture_output=True, text=True, check=True)
    return [shlex.split(line) for line in shown.stdout.splitlines()]


def as_acls(command: list[str]) -> Iterator[ACL]:
    """The rights that Kafka's own command would request."""
    options: dict[str, list[str]] = {}
    for name, value in zip(command[4::2], command[5::2], strict=True):
        options.setdefault(name, []).append(value)
    kind = next(kind for kind in ("topic", "group", "transactional-id") if f"--{kind}" in options)
    pattern = ResourcePattern(
        ResourceType[kind.upper().replace("-", "_")],
        options[f"--{kind}"][0],
        ACLResourcePatternType[options["--resource-pattern-type"][0].upper()],
    )
    for operation in options["--operation"]:
        words = "".join(f"_{letter}" if letter.isupper() else letter for letter in operation).upper().lstrip("_")
        yield ACL(options["--allow-principal"][0], "*", ACLOperation[words], ACLPermissionType.ALLOW, pattern)


@pytest.mark.parametrize("generation", ["", "b"])
def test_every_topic_is_in_the_list(generation: str) -> None:
    named = {word for command in commands(generation) for word in command if word.startswith(PREFIX) and word != PREFIX}
    assert named == {spec.name for spec in topic_specs(prefix=PREFIX, generation=generation, replicas=2)}


@pytest.mark.parametrize("generation", ["", "b"])
def test_every_group_is_in_the_list(generation: str) -> None:
    groups = {command[command.index("--group") + 1] for command in commands(generation) if "--group" in command}
    assert groups == {"dedup-readers", *group_names(PREFIX.rstrip("."), generation)}


@pytest.fixture
def guarded_broker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, str]]:
    """Two addresses: one for clients that log in and have no rights by themselves, one for the client that grants the
    rights."""
    inside = free_port()

    def guarded(port: int, controller_port: int) -> dict[str, str]:
        properties = server_properties(port, controller_port)
        users = " ".join(f'user_{name}="{name}"' for name in PARTS)
        return properties | {
            "listeners": f"{properties['listeners']},CLIENT://{HOST}:{inside}",
            "advertised.listeners": f"{properties['advertised.listeners']},CLIENT://{HOST}:{inside}",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,CLIENT:SASL_PLAINTEXT",
            "sasl.enabled.mechanisms": "PLAIN",
            "listener.name.client.plain.sasl.jaas.config": f"{LOGIN_MODULE} required {users};",
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:ANONYMOUS",
        }

    monkeypatch.setattr(server, "server_properties", guarded)
    with LocalBroker(data_dir=tmp_path / "broker") as running:
        yield f"{HOST}:{inside}", running.bootstrap_servers


def login(user: str) -> list[str]:
    return [
        "kafka.security_protocol=SASL_PLAINTEXT",
        "kafka.sasl_mechanism=PLAIN",
        f"kafka.sasl_username={user}",
        f"kafka.sasl_password={user}",
    ]


def options_of(bootstrap: str, user: str) -> Mapping[str, Any]:
    overrides = [f"kafka.bootstrap_servers={bootstrap}", *login(user)]
    return client_options(load_settings(config=None, overrides=overrides, environ={}).kafka)


def allow(of_admin: str, generation: str = "") -> None:
    """Grant the rights, as the script does."""
    admin = KafkaAdminClient(bootstrap_servers=of_admin)
    admin.create_acls([acl for command in commands(generation) for acl in as_acls(command)])
    admin.close()


def read(bootstrap: str, topic: str, count: int) -> None:
    """Read this many records, as a reader that commits its offsets."""
    reader = KafkaConsumer(
        f"{PREFIX}{topic}",
        **options_of(bootstrap, "dedup-reader"),
        group_id="dedup-readers",
        isolation_level="read_committed",
        auto_offset_reset="earliest",
        consumer_timeout_ms=60_000,
    )
    seen = sum(1 for _ in islice(reader, count))
    reader.commit()
    reader.close()
    assert seen == count, topic


def test_each_part_can_do_its_work_and_no_more(guarded_broker: tuple[str, str], tmp_path: Path) -> None:
    bootstrap, of_admin = guarded_broker
    allow(of_admin)
    worker = Cluster(bootstrap, PREFIX, tmp_path, (*SMALL, *login("dedup-worker")))
    create_topics(options_of(bootstrap, "dedup-operator"), specs(worker.settings), 1)
    worker.start_worker("kafka.instance_id=w")
    sent = publish_pages(options_of(bootstrap, "dedup-crawler"), PREFIX, pages(0))
    for topic, count in (("deduplicated", sent - 1), ("verdicts", sent - 1), ("dead-letters", 1)):
        read(bootstrap, topic, count)  # one of the pages is not text

    beside = ("topics.generation=b", "output.mode=count", *SMALL, *login("dedup-worker"))
    new = Cluster(bootstrap, PREFIX, tmp_path, beside, started=100)
    create_topics(options_of(bootstrap, "dedup-operator"), specs(new.settings), 1)
    with pytest.raises(UsageError, match="uthoriz"):
        compare_topics(new.options, specs(new.settings))
    allow(of_admin, "b")
    new.start_worker("kafka.instance_id=w")
    read(bootstrap, "verdicts.b", sent - 1)
    assert new.stop() == [0], new.workers[0].said()
    assert worker.stop() == [0], worker.workers[0].said()
    with cluster(new.settings) as view:
        assert view.named() == ["w"], "its place is kept"
    assert switch.run(argparse.Namespace(old="", diff=None), lambda: new.settings) == 0
    new.start_worker("output.mode=tag")
    more = publish_pages(options_of(bootstrap, "dedup-crawler"), PREFIX, pages(1))
    for topic, count in (("deduplicated.b", more - 1), ("dead-letters.b", 1)):
        read(bootstrap, topic, count)
    assert new.stop() == [0], new.workers[1].said()
    for process in (*worker.workers, *new.workers):
        assert "uthoriz" not in process.said()

    for part in ("dedup-crawler", "dedup-reader"):
        with pytest.raises(UsageError, match="uthoriz"):
            compare_topics(options_of(bootstrap, part), specs(worker.settings))
    elsewhere = topic_specs(prefix="other.")
    with pytest.raises(UsageError, match="uthoriz"):
        create_topics(options_of(bootstrap, "dedup-operator"), elsewhere, 1)
