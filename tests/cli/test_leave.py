"""``python -m worker leave`` on the real broker: the others do not wait for a worker that has ended for good."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import pytest

from crawler_plugin.wire.errors import CheckFailed
from tests.stream.kafka.under_test import GROUP, KafkaUnderTest, kafka_log
from worker.cli import leave
from worker.compose.topology import cluster
from worker.config import KafkaSettings, Settings, TopicSettings

pytestmark = pytest.mark.cluster


@pytest.fixture
def world(broker: str, topic_prefix: str) -> Iterator[KafkaUnderTest]:
    with KafkaUnderTest.on(broker, topic_prefix) as world:
        yield world


def test_a_worker_that_has_ended_is_put_out_and_one_that_runs_is_said_to_come_again(
    world: KafkaUnderTest, broker: str, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = Settings(
        kafka=KafkaSettings(bootstrap_servers=broker, group=world.prefix + GROUP),
        topics=TopicSettings(prefix=world.prefix),
    )

    def run(*names: str) -> list[str]:
        parser = argparse.ArgumentParser()
        leave.configure(parser)
        assert leave.run(parser.parse_args(names), lambda: settings) == 0
        return capsys.readouterr().out.splitlines()

    stopped, runs = world.member("1", "w1"), world.member("2", "w2")
    world.balance(stopped, runs)
    world.members.remove(stopped)
    kafka_log(stopped).close(4)
    groups = f"{world.prefix}{GROUP}-pages and {world.prefix}{GROUP}-shards"
    assert run("w1") == [f"w1 has left {groups}: the others take over what it owned"]
    world.balance(runs)
    with pytest.raises(CheckFailed, match=rf"no worker 'w1' is in {groups}.*kafka.instance_id: w2: check the name"):
        run("w1")
    left, warned = run("w2")
    assert left.startswith("w2 has left") and "joins again" in warned and "SIGUSR1" in warned
    with cluster(settings) as view:

        def is_back() -> bool:
            runs.poll()
            return view.named() == ["w2"]

        world.until("it has joined again", is_back)
