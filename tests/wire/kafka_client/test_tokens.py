"""One token for all clients of a process, renewed in time."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest
from kafka import errors

from crawler_plugin.wire.errors import Unavailable
from crawler_plugin.wire.kafka_client import tokens
from crawler_plugin.wire.kafka_client.token_sources import TOKEN_COMMAND, TOKEN_FILE, Token
from crawler_plugin.wire.kafka_client.tokens import RETRY_S, TokenProvider, token_provider

AWAY: Final = Unavailable("the issuer is away; wait")


class Played:
    """A source with given tokens, and a clock that the test moves."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.asked = 0
        self.give: Callable[[], Token] = lambda: self.lasting(100)

    def time(self) -> float:
        return self.now

    def lasting(self, seconds: float | None) -> Token:
        return Token(f"token-{self.asked}", None if seconds is None else self.now + seconds)

    def __call__(self) -> Token:
        self.asked += 1
        return self.give()

    def fail(self) -> Token:
        raise AWAY


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> Played:
    one = Played()
    monkeypatch.setattr(tokens, "time", one)
    return one


def test_a_token_is_kept_for_four_fifths_of_its_time(played: Played) -> None:
    provider = TokenProvider(played, TOKEN_COMMAND, {"a": "b"})
    assert [provider.token(), provider.token()] == ["token-1", "token-1"]
    played.now += 79
    assert provider.token() == "token-1"
    played.now += 2
    assert provider.token() == "token-2"
    assert provider.extensions() == {"a": "b"}


def test_a_token_of_unknown_time_serves_one_login(played: Played) -> None:
    played.give = lambda: played.lasting(None)
    provider = TokenProvider(played, TOKEN_COMMAND, {})
    assert [provider.token(), provider.token()] == ["token-1", "token-2"]


def test_a_file_is_read_at_each_login(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("first")
    provider = token_provider({TOKEN_FILE: file})
    assert provider.token() == "first"
    file.write_text("second")
    assert provider.token() == "second"


def test_the_old_token_serves_until_shortly_before_it_expires_while_there_is_no_new_one(
    played: Played, caplog: pytest.LogCaptureFixture
) -> None:
    provider = TokenProvider(played, TOKEN_COMMAND, {})
    provider.token()
    played.give = played.fail
    played.now += 81
    with caplog.at_level(logging.INFO):
        assert provider.token() == "token-1"
        assert provider.failure is AWAY
        played.now += 13
        assert provider.token() == "token-1"
        played.now += 2  # the token would expire on its way
        with pytest.raises(errors.KafkaConnectionError, match="the issuer is away") as raised:
            provider.token()
        assert raised.value.retriable
        asked = played.asked
        with pytest.raises(errors.KafkaConnectionError):  # the source is not asked again so soon
            provider.token()
        with pytest.raises(Unavailable, match="the issuer is away"):
            provider.check()
        assert played.asked == asked
        played.give = lambda: played.lasting(100)
        played.now += RETRY_S
        assert provider.token() == f"token-{asked + 1}"
    provider.check()
    assert [record.message.partition(".")[0] for record in caplog.records] == [
        "the issuer is away; wait",
        "there is a token for Kafka again: expires at 1970-01-01 00:19:58 UTC",
    ]
