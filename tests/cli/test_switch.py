"""``python -m worker switch`` against the real broker: which generation writes the outputs from which offset on."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import pytest
from kafka import KafkaProducer

from crawler_plugin.wire.errors import Refused, UsageError
from crawler_plugin.wire.outcomes import Verdict, dead_letter_headers
from crawler_plugin.wire.topics import DEAD_LETTERS, VERDICTS, topic_name
from tests.waiting import wait_for
from worker.cli import switch
from worker.compose.topology import cluster, specs
from worker.config import KafkaSettings, Settings, TopicSettings
from worker.stream.kafka.connection import client_options
from worker.stream.kafka.topic_admin import create_topics
from worker.stream.log import Committed
from worker.stream.policy import NOTHING, Note, ReplayPoint

pytestmark = pytest.mark.cluster

NOTE = Note(ReplayPoint(0, 0))


@pytest.fixture
def generations(broker: str, topic_prefix: str) -> tuple[Settings, Settings]:
    """The settings of an old and of a new generation whose topics are there, with two partitions of pages."""
    old, new = (
        Settings(
            kafka=KafkaSettings(bootstrap_servers=broker),
            topics=TopicSettings(prefix=topic_prefix, generation=name, partitions=2, shards=1),
        )
        for name in ("old", "new")
    )
    create_topics(client_options(old.kafka), specs(old), 1)
    create_topics(client_options(new.kafka), specs(new), 1)
    return old, new


def run(settings: Settings, *more: str) -> int:
    parser = argparse.ArgumentParser()
    switch.configure(parser)
    return switch.run(parser.parse_args(["--from", "old", *more]), lambda: settings)


def commit(settings: Settings, *offsets: int, note: Note) -> None:
    """Commit offsets as stopped workers have left them; a new broker takes no commit until it knows the coordinator."""
    left = {number: Committed(offset, note.to_metadata()) for number, offset in enumerate(offsets)}

    def taken() -> bool:
        with cluster(settings) as here:
            try:
                here.commit(left)
            except Refused:
                return False
        return True

    wait_for(taken, "the broker to take consumed offsets", seconds=60)


def notes(settings: Settings) -> list[tuple[int, Note]]:
    with cluster(settings) as here:
        found = [here.committed(number) for number in (0, 1)]
    return [(each.offset, Note.from_metadata(each.metadata, "test")) for each in found if each is not None]


def writing_from(offset: int) -> Note:
    return NOTE._replace(written_from=offset)


def test_the_outputs_pass_where_the_old_generation_ended_and_again_nothing_changes(
    generations: tuple[Settings, Settings], capsys: pytest.CaptureFixture[str]
) -> None:
    old, new = generations
    commit(old, 7, 4, note=NOTE)
    commit(new, 5, 4, note=writing_from(NOTHING))
    for _ in range(2):
        assert run(new) == 0
        told = capsys.readouterr().out.splitlines()
        assert told[0] == "partition 0 of pages: from offset 7 on; 2 pages before it are still to be counted"
        assert told[1] == "partition 1 of pages: from offset 4 on; 0 pages before it are still to be counted"
        assert "topics.generation='new' writes from there on" in told[2]
        assert notes(old) == [(7, NOTE._replace(successor="new")), (4, NOTE._replace(successor="new"))]
        assert notes(new) == [(5, writing_from(7)), (4, writing_from(4))]


def test_a_generation_that_has_consumed_nothing_is_refused_and_nothing_changes(
    generations: tuple[Settings, Settings],
) -> None:
    old, new = generations
    commit(old, 7, 4, note=NOTE)
    with pytest.raises(Refused, match=r"topics\.generation='new' has no consumed offset for partition 0"):
        run(new)
    assert notes(old) == [(7, NOTE), (4, NOTE)]


def test_what_would_change_is_told_and_nothing_is_changed(
    generations: tuple[Settings, Settings], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old, new = generations
    unique = Verdict(url="http://a.example/1", verdict="unique", reason="first", order=(1, 0), source=(0, 1))
    copy = unique.having(url="http://a.example/2", order=(2, 0), source=(1, 5))
    near = copy.having(verdict="duplicate", duplicate_of=unique.url, reason="sketch", similarity=0.6)
    letter = dead_letter_headers("timeout", "5 s", (0, 2))
    producer = KafkaProducer(**client_options(old.kafka))
    for settings, second in ((old, copy), (new, near)):
        for verdict in (unique, second):
            producer.send(topic_name(settings.topics.prefix, VERDICTS, settings.topics.generation), verdict.encode())
        name = topic_name(settings.topics.prefix, DEAD_LETTERS, settings.topics.generation)
        producer.send(name, b"", headers=[("url", b"http://a.example/3"), *letter])
    producer.close()
    file = tmp_path / "changes.jsonl"
    assert run(new, "--diff", str(file)) == 0
    told = capsys.readouterr().out
    assert told.startswith("3 pages were judged by both; 1 of them differently\n")
    assert "http://a.example/2: now duplicate of http://a.example/1 (sketch)" in told
    (row,) = map(json.loads, file.read_bytes().splitlines())
    assert (row["url"], row["source"], row["was"]["verdict"], row["now"]["similarity"]) == (
        copy.url,
        [1, 5],
        "unique",
        0.6,
    )
    with pytest.raises(UsageError, match="compare two"):
        run(old, "--diff", str(file))
