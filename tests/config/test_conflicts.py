"""Values that are valid each by itself but wrong together."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.config.giving import loaded, refusal, written


@pytest.mark.parametrize(
    ("overrides", "told"),
    [
        (["kafka.heartbeat_seconds=11"], ["kafka.heartbeat_seconds", "third"]),
        (["commit.seconds=60"], ["commit.seconds", "kafka.transaction_timeout_seconds"]),
        (
            ["kafka.request_timeout_seconds=15.1"],
            ["kafka.delivery_timeout_seconds", "less than twice kafka.request_timeout_seconds"],
        ),
        (["kafka.security_protocol=SASL_SSL"], ["kafka.security_protocol", "kafka.sasl_mechanism"]),
        (
            ["kafka.security_protocol=SASL_SSL", "kafka.sasl_mechanism=PLAIN"],
            ["needs kafka.sasl_username", "needs kafka.sasl_password or kafka.sasl_password_file"],
        ),
        (["kafka.sasl_mechanism=PLAIN"], ["has no effect with kafka.security_protocol PLAINTEXT"]),
        (["kafka.ssl_password=x"], ["kafka.ssl_password", "no effect", "SSL or SASL_SSL"]),
    ],
)
def test_values_that_do_not_go_together_are_refused(overrides: list[str], told: list[str]) -> None:
    message = refusal(overrides=overrides)
    for part in told:
        assert part in message


def test_a_key_of_a_certificate_needs_the_certificate(tmp_path: Path) -> None:
    key = written(tmp_path, "key")
    message = refusal(overrides=["kafka.security_protocol=SSL", f"kafka.ssl_keyfile={key}"])
    assert "kafka.ssl_certfile" in message


def test_the_largest_heartbeat_request_and_commit_time_are_accepted() -> None:
    largest = ["kafka.heartbeat_seconds=10", "kafka.request_timeout_seconds=15", "commit.seconds=19.9"]
    settings = loaded(overrides=largest).settings
    assert settings.kafka.heartbeat_seconds == 10


def test_a_conflict_with_a_value_that_is_wrong_itself_is_not_told() -> None:
    message = refusal(overrides=["kafka.heartbeat_seconds=11", "kafka.session_timeout_seconds=x"])
    assert "one thing is wrong" in message
