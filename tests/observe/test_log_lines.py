"""Log messages as text and as JSON."""

from __future__ import annotations

import inspect
import json
import logging
import os
import socket
import warnings
from types import ModuleType

import kafka.net.connection
import kafka.net.transport
import pytest
from kafka import errors

from worker.observe.log_lines import ABORTS, LOST, SILENCE_SECONDS, TIMED_OUT, Seldom, announce, log_to_stderr


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


class Connection:
    """The parts of kafka-python's connection that its messages name."""

    def __init__(self, node_id: str) -> None:
        self.node_id = node_id


@pytest.mark.parametrize(
    ("node", "told"),
    [
        (
            "coordinator-1",
            "the coordinator of a group has not answered this member for 30 s: it waits for another member",
        ),
        ("1", "broker 1 has not answered for 30 s: it is asked again"),
    ],
)
def test_an_answer_that_does_not_come_is_told_once_and_as_what_it_is(
    capsys: pytest.CaptureFixture[str], node: str, told: str
) -> None:
    """kafka-python logs it in three lines, one of them "Abort"; the test gives each exactly as kafka-python writes
    it."""
    log_to_stderr("info", "json")
    connection, error = Connection(node), errors.RequestTimedOutError("Request timed out after 30000 ms")
    logging.getLogger(kafka.net.connection.__name__).warning(TIMED_OUT, connection, 30000.0)
    logging.getLogger(kafka.net.transport.__name__).error(ABORTS, "a transport", error)
    logging.getLogger(kafka.net.connection.__name__).error(LOST, connection, error)
    (line,) = capsys.readouterr().err.splitlines()
    assert json.loads(line)["message"].startswith(told)


def test_a_connection_that_is_lost_otherwise_is_told_once(capsys: pytest.CaptureFixture[str]) -> None:
    log_to_stderr("info", "text")
    error = errors.KafkaConnectionError("reset by peer")
    logging.getLogger(kafka.net.transport.__name__).error(ABORTS, "a transport", error)
    logging.getLogger(kafka.net.connection.__name__).error(LOST, Connection("1"), error)
    (line,) = capsys.readouterr().err.splitlines()
    assert "Connection lost: " in line and "reset by peer" in line


@pytest.mark.parametrize(
    ("said", "module"),
    [(TIMED_OUT, kafka.net.connection), (LOST, kafka.net.connection), (ABORTS, kafka.net.transport)],
    ids=["timed out", "lost", "abort"],
)
def test_the_kafka_client_says_so_in_these_words(said: str, module: ModuleType) -> None:
    assert repr(said) in inspect.getsource(module)


def test_what_a_message_is_about_are_fields_of_its_object(capsys: pytest.CaptureFixture[str]) -> None:
    log_to_stderr("info", "json")
    logging.getLogger("worker").info("page", extra={"source": "3:17", "shard": 2, "what": {"a set"}})
    (told,) = map(json.loads, capsys.readouterr().err.splitlines())
    assert (told["source"], told["shard"], told["what"]) == ("3:17", 2, "{'a set'}")
    assert told.keys() == {"time", "level", "worker", "logger", "message", "source", "shard", "what"}


@pytest.mark.parametrize(
    ("given", "named"),
    [("machine-2", "machine-2"), (None, f"{socket.gethostname()}:{os.getpid()}")],
    ids=["its own name", "machine and process"],
)
def test_each_object_names_who_says_it(capsys: pytest.CaptureFixture[str], given: str | None, named: str) -> None:
    log_to_stderr("info", "json", given)
    logging.getLogger("worker").info("here")
    assert json.loads(capsys.readouterr().err)["worker"] == named


def test_what_programs_wait_for_is_a_line_in_text_and_a_message_where_all_are_json(
    capsys: pytest.CaptureFixture[str],
) -> None:
    log_to_stderr("info", "text")
    announce("worker is running")
    assert capsys.readouterr() == ("worker is running\n", "")
    log_to_stderr("info", "json")
    announce("worker is running")
    out, err = capsys.readouterr()
    assert (out, json.loads(err)["message"]) == ("", "worker is running")


def test_warnings_of_python_are_objects_too(capsys: pytest.CaptureFixture[str]) -> None:
    logging.captureWarnings(False)  # pytest has put back their receiver since another test
    log_to_stderr("info", "json")
    warnings.warn("soon gone", DeprecationWarning, stacklevel=1)
    logging.captureWarnings(False)
    told = json.loads(capsys.readouterr().err)
    assert (told["level"], told["logger"]) == ("warning", "py.warnings")
    assert "soon gone" in told["message"]
