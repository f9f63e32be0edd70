"""What is the same of every connection, for workers and plugin alike."""

from __future__ import annotations

import logging
import ssl
import sys
from pathlib import Path
from typing import Any

import pytest
from kafka import KafkaAdminClient, errors

from worker.broker.ports import free_port
from worker.errors import UsageError
from worker.kafka_client.connection import LOGGER, Complaints, complaints, require_crc32c, tls_context


def test_crc32c_is_installed_here() -> None:
    require_crc32c()


def test_without_the_crc32c_wheel_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "crc32c", None)
    with pytest.raises(UsageError, match=r"pip install 'kafka-python\[crc32c\]'"):
        require_crc32c()


def test_a_context_checks_name_and_certificate_unless_it_is_told_not_to_check_the_name() -> None:
    context = tls_context()
    assert context.check_hostname
    assert context.verify_mode == ssl.CERT_REQUIRED
    careless = tls_context(check_hostname=False)
    assert not careless.check_hostname
    assert careless.verify_mode == ssl.CERT_REQUIRED


def test_a_context_takes_the_ciphers_that_it_is_told() -> None:
    told = {cipher["name"] for cipher in tls_context(ciphers="ECDHE-RSA-AES128-GCM-SHA256").get_ciphers()}
    assert "ECDHE-RSA-AES128-GCM-SHA256" in told
    assert "ECDHE-RSA-AES256-GCM-SHA384" not in told
    with pytest.raises(OSError, match=r"(?i)cipher"):
        tls_context(ciphers="nonsense")


@pytest.mark.parametrize("name", ["cafile", "certfile"])
def test_a_file_that_is_no_certificate_is_an_error_of_the_system(tmp_path: Path, name: str) -> None:
    (tmp_path / "page.html").write_text("<html>", encoding="utf-8")
    page: dict[str, Any] = {name: tmp_path / "page.html"}
    nothing: dict[str, Any] = {name: tmp_path / "nothing.pem"}
    with pytest.raises(OSError):
        tls_context(**page)
    with pytest.raises(FileNotFoundError):
        tls_context(**nothing)


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
