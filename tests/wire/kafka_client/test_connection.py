"""The common parts of every connection, for workers and plugin alike."""

from __future__ import annotations

import logging
import sys

import pytest
from kafka import KafkaAdminClient, errors

from crawler_plugin.wire.errors import UsageError
from crawler_plugin.wire.kafka_client.connection import LOGGER, Complaints, complaints, require_crc32c
from worker.broker.ports import free_port


def test_crc32c_is_installed_here() -> None:
    require_crc32c()


def test_without_the_crc32c_wheel_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "crc32c", None)
    with pytest.raises(UsageError, match=r"pip install 'kafka-python\[crc32c\]'"):
        require_crc32c()


def say(heard: Complaints, level: int, message: str, *given: object) -> None:
    heard.handle(logging.LogRecord("kafka.net.manager", level, __file__, 1, message, given, None))


def test_the_last_error_is_kept_without_what_stands_around_it() -> None:
    assert Complaints().why is None
    heard = Complaints()
    say(heard, logging.ERROR, "%s: Connection lost: %s", "<Connection node=1>", "gone")
    assert heard.why == "Connection lost: gone"
    say(heard, logging.WARNING, "Bootstrap connection to %s failed: %s (backoff %.2f secs)", "b-0", "ECONNREFUSED", 0.5)
    assert heard.why == "Bootstrap connection to b-0 failed: ECONNREFUSED"
    heard.forget()
    assert heard.why is None


def test_warnings_of_other_things_and_consequences_are_passed_over() -> None:
    heard = Complaints()
    say(heard, logging.ERROR, "Connection failed: %s", "ECONNREFUSED")
    say(heard, logging.WARNING, "throttled by broker (%d ms)", 7)
    say(heard, logging.ERROR, "Bootstrap failed: %s", "timeout")
    assert heard.why == "Connection failed: ECONNREFUSED"


def test_a_login_that_was_refused_is_kept_whatever_comes_after_it() -> None:
    heard = Complaints()
    refusal = errors.SaslAuthenticationFailedError("wrong password")
    say(heard, logging.ERROR, "Connection failed: %s", refusal)
    say(heard, logging.ERROR, "Connection lost: %s", "the broker hung up")
    assert heard.refusal is refusal
    assert heard.why is not None
    assert "wrong password" in heard.why
    heard.forget()
    assert heard.refusal is None
    assert heard.why is None


def test_kafka_python_says_in_its_log_why_a_broker_was_not_reached_and_only_inside_the_block_is_it_heard() -> None:
    before = list(LOGGER.handlers)
    nowhere = {"bootstrap_servers": [f"127.0.0.1:{free_port()}"], "bootstrap_timeout_ms": 300}
    with complaints() as heard, pytest.raises(errors.KafkaError):
        KafkaAdminClient(**nowhere)
    assert heard.why is not None
    assert "ECONNREFUSED" in heard.why
    assert heard.refusal is None
    assert LOGGER.handlers == before
