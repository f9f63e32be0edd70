"""``python -m worker topics create|check`` against the real broker."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest
from kafka import KafkaProducer

from crawler_plugin.wire.errors import CheckFailed, UsageError
from crawler_plugin.wire.topics import topic_specs
from worker.cli import topics
from worker.config import KafkaSettings, Settings, TopicSettings
from worker.stream.kafka.connection import client_options
from worker.stream.kafka.topic_admin import create_topics

pytestmark = pytest.mark.cluster

Run = Callable[..., int]


@pytest.fixture
def run(broker: str, topic_prefix: str) -> Run:
    """Run the command with this test's prefix and the given settings of the topics."""

    def run(*arguments: str, **changed: Any) -> int:
        parser = argparse.ArgumentParser()
        topics.configure(parser)
        settings = Settings(
            kafka=KafkaSettings(bootstrap_servers=broker), topics=TopicSettings(prefix=topic_prefix, **changed)
        )
        return topics.run(parser.parse_args(arguments), lambda: settings)

    return run


def rows(capsys: pytest.CaptureFixture[str]) -> dict[str, list[str]]:
    """The printed table: topic to the cells after it."""
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["topic", "partitions", "cleanup", "state"]
    return {line.split()[0]: line.split(maxsplit=3)[1:] for line in lines[1:]}


def test_create_makes_all_and_check_agrees(run: Run, topic_prefix: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("create") == 0
    assert rows(capsys) == {
        f"{topic_prefix}pages": ["8", "delete", "created"],
        f"{topic_prefix}fingerprints": ["1", "delete", "created"],
        f"{topic_prefix}answers": ["1", "delete", "created"],
        f"{topic_prefix}index": ["8", "compact", "created"],
        f"{topic_prefix}deduplicated": ["8", "delete", "created"],
        f"{topic_prefix}verdicts": ["8", "delete", "created"],
        f"{topic_prefix}dead-letters": ["8", "delete", "created"],
        f"{topic_prefix}jobs": ["1", "compact", "created"],
        f"{topic_prefix}findings": ["1", "delete", "created"],
    }
    assert run("check") == 0
    assert {cells[2] for cells in rows(capsys).values()} == {"as wanted"}
    assert run("create") == 0
    assert {cells[2] for cells in rows(capsys).values()} == {"as wanted"}


def test_check_makes_nothing_and_says_how_to(run: Run, topic_prefix: str, capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        with pytest.raises(CheckFailed, match=rf"{topic_prefix}pages: missing[^$]*python -m worker topics create"):
            run("check")
        assert {cells[2] for cells in rows(capsys).values()} == {"missing"}


def test_create_names_a_setting_that_differs_and_alters_it_only_on_demand(
    run: Run, topic_prefix: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run("create", retention_days=7)
    capsys.readouterr()
    with pytest.raises(
        CheckFailed, match=rf"{topic_prefix}pages: retention.ms should be 86400000, is 604800000[^$]*--alter-config"
    ):
        run("create", retention_days=1)
    assert rows(capsys)[f"{topic_prefix}pages"][2] == "differs: retention.ms"
    assert run("create", "--alter-config", retention_days=1) == 0
    table = rows(capsys)
    assert table[f"{topic_prefix}pages"][2] == "altered"
    assert table[f"{topic_prefix}index"][2] == "as wanted"
    assert run("check", retention_days=1) == 0


def test_partitions_of_pages_and_outputs_are_made_on_demand_and_those_of_the_index_are_not(
    run: Run, topic_prefix: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run("create", partitions=2, shards=3)
    with pytest.raises(CheckFailed, match=rf"{topic_prefix}pages: partitions should be 4, is 2[^$]*--alter-config"):
        run("create", partitions=4, shards=3)
    capsys.readouterr()
    with pytest.raises(CheckFailed) as failed:
        run("create", "--alter-config", partitions=4, shards=5)
    table = rows(capsys)
    assert [table[topic_prefix + topic][2] for topic in ("pages", "verdicts")] == ["altered"] * 2
    said = str(failed.value)
    assert "--alter-config" not in said
    assert f"{topic_prefix}index: partitions should be 5, is 3" in said
    assert "set topics.shards to 3" in said
    assert "`python -m worker --set topics.shards=3 index copy --to NAME --shards 5`" in said


def test_a_setting_that_leaves_partitions_of_pages_out_is_told_with_what_becomes_of_their_pages(
    run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    run("create", partitions=3, shards=2)
    capsys.readouterr()
    with pytest.raises(
        CheckFailed, match=r"Pages of partitions 2 to 2 wait, and are lost when [^$]*: set topics.partitions to 3"
    ):
        run("check", partitions=2, shards=2)
    states = {topic: cells[2] for topic, cells in rows(capsys).items() if cells[2] != "as wanted"}
    assert list(states.values()) == ["differs: more partitions"]


def test_a_log_of_two_partitions_has_no_setting_that_would_make_it_right_and_an_index_that_can_be_copied(
    run: Run, broker: str, topic_prefix: str
) -> None:
    specs = topic_specs(prefix=topic_prefix)
    log = next(spec for spec in specs if spec.topic == "fingerprints")
    create_topics(
        client_options(KafkaSettings(bootstrap_servers=broker)),
        [type(log)(log.topic, log.name, 2, log.config)],
        1,
    )
    with pytest.raises(CheckFailed, match=f"{log.name} must have one partition.*`python -m worker index copy"):
        run("create")


def test_check_does_not_alter(run: Run) -> None:
    with pytest.raises(UsageError, match="topics create --alter-config"):
        run("check", "--alter-config")


class TestPages:
    def test_records_that_are_not_as_pages_must_be_are_told_by_partition_offset_and_header(
        self, run: Run, broker: str, topic_prefix: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert run("create", partitions=2) == 0
        with pytest.raises(CheckFailed, match=r"no record: send some pages"):
            run("check", "--sample", "10", partitions=2)
        good = [("url", b"https://a.example/"), ("status", b"200")]
        with closing(KafkaProducer(bootstrap_servers=broker)) as producer:

            def send(partition: int, headers: list[tuple[str, bytes]], value: bytes | None = b"<p>A page</p>") -> None:
                producer.send(f"{topic_prefix}pages", value, key=b"key", headers=headers, partition=partition).get(30)

            send(0, [("url", b"no URL")])
            send(0, good)
            send(1, good)
            assert run("check", "--sample", "2", partitions=2) == 0
            assert "2 records of" in capsys.readouterr().out
            send(1, [*good[:1], ("status", b"200 OK"), ("Content-Type", b"text/html")])
            send(1, good, None)
        with pytest.raises(CheckFailed) as failed:
            run("check", "--sample", "100", partitions=2)
        told = str(failed.value)
        assert "3 of them are not as pages must be" in told
        assert "partition 0, offset 0, header 'url': not a page but a dead letter (bad-url: " in told
        assert "partition 1, offset 1, header 'status': left out, b'200 OK' cannot be read; send digits" in told
        assert "partition 1, offset 1, header 'Content-Type': workers do not read it; call it content_type" in told
        assert "partition 1, offset 2, value: not a page but a dead letter (no-body" in told
        assert "5 records of" in capsys.readouterr().out

    @pytest.mark.parametrize("arguments", [("create", "--sample", "3"), ("check", "--sample", "0")])
    def test_a_sample_is_checked_and_of_one_record_or_more(self, run: Run, arguments: tuple[str, ...]) -> None:
        with pytest.raises(UsageError, match="--sample"):
            run(*arguments)
