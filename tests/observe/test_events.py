"""The worker's log: a line per event with its subject, and lines per page only at the most detailed level."""

from __future__ import annotations

import json
import logging

import pytest

from crawler_plugin.wire.outcomes import SurvivorFinding
from tests.stream.script import COMMIT, FLUSH, Page, Stage
from worker.observe.events import EventLog
from worker.observe.log_lines import JsonLines
from worker.stream.states import PartitionState, ShardState

PAGES = (Page("http://a/", 0b000), Page("http://b/", 0b001), Page("http://dead/", "dead"))


def as_json(record: logging.LogRecord) -> dict[str, object]:
    made: dict[str, object] = json.loads(JsonLines("w1").format(record))
    return made


@pytest.mark.parametrize(
    ("method", "arguments", "fields"),
    [
        ("shard_state", (3, ShardState.ANSWERING), {"event": "shard", "shard": 3, "state": "answering"}),
        ("partition_state", (2, PartitionState.LOST), {"event": "partition", "partition": 2, "state": "lost"}),
        ("restored", (3, 100, 4, 0), {"event": "restored", "shard": 3, "entries": 100, "blocks": 4, "damaged": 0}),
        ("commit_failed", (48,), {"event": "commit-failed", "pages": 48}),
        ("unreadable", ("index", 17, "torn"), {"event": "unreadable", "topic": "index", "offset": 17}),
        ("foreign_scheme", (5, b"\x01\x02"), {"event": "foreign-scheme", "offset": 5, "scheme": "0102"}),
    ],
)
def test_an_event_is_one_line_with_what_it_is_about(
    method: str, arguments: tuple[object, ...], fields: dict[str, object], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "worker"):
        getattr(EventLog(), method)(*arguments)
    (record,) = caplog.records
    told = as_json(record)
    assert fields.items() <= told.items()
    assert told.keys() - fields.keys() == {"time", "level", "worker", "logger", "message"}


def test_a_restore_that_left_blocks_out_warns(caplog: pytest.LogCaptureFixture) -> None:
    EventLog().restored(3, 100, 4, 2)
    assert [as_json(record)["damaged"] for record in caplog.records if record.levelname == "WARNING"] == [2]


def test_a_partition_that_is_not_claimed_warns_with_the_next_move(caplog: pytest.LogCaptureFixture) -> None:
    EventLog().partition_state(8, PartitionState.UNCLAIMED)
    (warning,) = [record for record in caplog.records if record.levelname == "WARNING"]
    assert as_json(warning)["partition"] == 8
    assert "partition 8 of pages lies beyond topics.partitions" in warning.getMessage()
    assert "`python -m worker topics check`" in warning.getMessage()


@pytest.mark.parametrize(("level", "lines"), [(logging.INFO, 0), (logging.DEBUG, len(PAGES))])
def test_pages_are_told_only_where_everything_is(level: int, lines: int, caplog: pytest.LogCaptureFixture) -> None:
    stage = Stage(shards=1, partitions=1).play(*PAGES, COMMIT, FLUSH)
    log = EventLog()
    with caplog.at_level(level, "worker"):
        for method in ("claimed", "answered", "decided", "committed", "flushed"):
            for told in stage.observer.told.get(method, ()):
                getattr(log, method)(*told)
    assert [as_json(record)["source"] for record in caplog.records] == ["0:0", "0:1", "0:2"][:lines]


def test_a_suspect_warns_with_both_urls(caplog: pytest.LogCaptureFixture) -> None:
    EventLog().suspect(SurvivorFinding(kind="suspect", url="http://a/1", order=(1, 2), copies=20, page="http://a/2"))
    (record,) = caplog.records
    told = as_json(record)
    assert (record.levelname, told["url"], told["page"], told["pages"]) == ("WARNING", "http://a/1", "http://a/2", 20)
    assert "http://a/1" in record.getMessage() and "http://a/2" in record.getMessage()
