"""Log messages as text and as JSON."""

from __future__ import annotations

import json
import logging

import pytest
from kafka import errors

from worker.observe.log_lines import SILENCE_SECONDS, Seldom, log_to_stderr


def test_json_messages_are_one_object_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    log_to_stderr("info", "json")
    logging.getLogger("worker.some").info("第%d页\n完", 1)
    try:
        raise ValueError("why")
    except ValueError:
        logging.getLogger("worker.other").exception("it broke")
    first, second = map(json.loads, capsys.readouterr().err.splitlines())
    assert (first["level"], first["logger"], first["message"]) == ("info", "worker.some", "第1页\n完")
    assert first["time"].endswith("Z")
    assert "ValueError: why" in second["exception"]


def test_messages_below_the_level_are_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    log_to_stderr("warning", "text")
    logging.getLogger("worker").info("quiet")
    logging.getLogger("worker").warning("loud")
    err = capsys.readouterr().err
    assert "loud" in err
    assert "quiet" not in err


@pytest.mark.parametrize(("level", "is_shown"), [("debug", True), ("info", False)])
def test_the_kafka_client_talks_only_where_everything_is_shown(
    capsys: pytest.CaptureFixture[str], level: str, is_shown: bool
) -> None:
    log_to_stderr(level, "text")  # type: ignore[arg-type]
    logging.getLogger("kafka.conn").info("connecting again")
    assert ("connecting again" in capsys.readouterr().err) is is_shown


def test_the_kafka_client_says_the_same_once_a_minute_whatever_it_is_about() -> None:
    now = 1000.0
    seldom = Seldom(lambda: now)

    def shown(line: int, name: str = "kafka.net.manager") -> bool:
        return seldom.filter(logging.LogRecord(name, logging.ERROR, "manager.py", line, "gone: %s", (now,), None))

    assert [shown(7), shown(7), shown(8), shown(7, "kafka.cluster"), shown(7)] == [True, False, True, True, False]
    now += SILENCE_SECONDS
    assert [shown(7), shown(7), shown(8)] == [True, False, True]


def test_other_messages_are_all_shown(capsys: pytest.CaptureFixture[str]) -> None:
    log_to_stderr("info", "text")
    for _ in range(3):
        logging.getLogger("worker").error("gone")
    assert capsys.readouterr().err.count("gone") == 3


def test_the_kafka_client_shows_no_tracebacks(capsys: pytest.CaptureFixture[str]) -> None:
    log_to_stderr("info", "text")
    try:
        raise ConnectionResetError("by peer")
    except ConnectionResetError:
        logging.getLogger("kafka.net.transport").exception("closing socket")
    err = capsys.readouterr().err
    assert "closing socket" in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("error", "is_shown"),
    [
        (errors.NotCoordinatorError(), False),
        (errors.CoordinatorNotAvailableError(), False),
        (errors.CoordinatorLoadInProgressError(), False),
        (errors.KafkaConnectionError("refused"), True),
        (errors.GroupAuthorizationFailedError("crawl-pages"), True),
        ("Heartbeat session expired", True),
    ],
    ids=repr,
)
def test_a_coordinator_that_is_another_one_is_no_news_and_one_that_is_gone_is(error: object, is_shown: bool) -> None:
    warning = "Marking the coordinator dead (node %s) for group %s: %s."
    place = ("kafka.coordinator.base", logging.WARNING, "base.py", 873)
    record = logging.LogRecord(*place, warning, ("coordinator-1", "crawl-pages", error), None)
    assert Seldom(lambda: 1000.0).filter(record) is is_shown


def test_an_error_about_a_coordinator_is_shown_whatever_it_is() -> None:
    place = ("kafka.coordinator.base", logging.ERROR, "base.py", 1)
    assert Seldom(lambda: 1000.0).filter(logging.LogRecord(*place, "%s", (errors.NotCoordinatorError(),), None))


def test_what_a_message_is_about_are_fields_of_its_object(capsys: pytest.CaptureFixture[str]) -> None:
    log_to_stderr("info", "json")
    logging.getLogger("worker").info("page", extra={"source": "3:17", "shard": 2, "what": {"a set"}})
    (told,) = map(json.loads, capsys.readouterr().err.splitlines())
    assert (told["source"], told["shard"], told["what"]) == ("3:17", 2, "{'a set'}")
    assert told.keys() == {"time", "level", "logger", "message", "source", "shard", "what"}
