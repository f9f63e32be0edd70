"""The section ``kafka``: the needs of each way to log in, and refused settings."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.config.giving import loaded, refusal, written

SASL = "kafka.security_protocol=SASL_SSL"
BY_TOKEN = [SASL, "kafka.sasl_mechanism=OAUTHBEARER"]
BY_URL = [
    "kafka.sasl_oauth_token_url=https://issuer.test/token",
    "kafka.sasl_oauth_client_id=crawler",
    "kafka.sasl_oauth_client_secret=open sesame",
]


def test_tokens_come_from_a_file_a_command_or_an_endpoint(tmp_path: Path) -> None:
    file = written(tmp_path, "token")
    for source in ([f"kafka.sasl_oauth_token_file={file}"], ["kafka.sasl_oauth_token_command=print-token -x"], BY_URL):
        assert loaded(overrides=[*BY_TOKEN, *source]).settings.kafka.sasl_mechanism == "OAUTHBEARER"


def test_the_clients_password_may_stand_in_a_file(tmp_path: Path) -> None:
    secret = written(tmp_path, "open sesame\n")
    given = loaded(overrides=[*BY_TOKEN, *BY_URL[:2], f"kafka.sasl_oauth_client_secret_file={secret}"])
    found = given.settings.kafka.sasl_oauth_client_secret
    assert found is not None and found.get_secret_value() == "open sesame"
    assert "open sesame" not in repr(given.settings)


@pytest.mark.parametrize(
    ("overrides", "told"),
    [
        (BY_TOKEN, "kafka.sasl_mechanism .*exactly one of them"),
        ([*BY_TOKEN, *BY_URL[:1]], "kafka.sasl_oauth_token_url .*needs kafka.sasl_oauth_client_id; set it too"),
        ([*BY_TOKEN, *BY_URL, "kafka.sasl_oauth_token_command=x"], "takes its tokens from one of kafka.sasl_oauth"),
        ([*BY_TOKEN, "kafka.sasl_oauth_token_command='"], "kafka.sasl_oauth_token_command .*a quote is not closed"),
        ([*BY_TOKEN, *BY_URL, "kafka.sasl_oauth_extensions=a"], "kafka.sasl_oauth_extensions .*allowed: text such as"),
        ([*BY_TOKEN, "kafka.sasl_oauth_token_url=http://issuer.test/"], "such as https://issuer"),
        (BY_URL, "kafka.sasl_oauth_token_url .*no effect without kafka.sasl_mechanism OAUTHBEARER"),
        (["kafka.sasl_mechanism=OAUTHBEARER", *BY_URL], "no effect with kafka.security_protocol PLAINTEXT"),
        (
            ["kafka.security_protocol=SASL_PLAINTEXT", "kafka.sasl_mechanism=AWS_MSK_IAM"],
            "AWS_MSK_IAM needs kafka.security_protocol SASL_SSL",
        ),
    ],
)
def test_what_does_not_go_together_is_refused(overrides: list[str], told: str) -> None:
    message = refusal(overrides=overrides)
    assert any(re.search(told, line) for line in message.splitlines()), message
    assert "open sesame" not in message


def test_iam_takes_no_user_and_no_password() -> None:
    assert loaded(overrides=[SASL, "kafka.sasl_mechanism=AWS_MSK_IAM"]).settings.kafka.sasl_username is None
