"""Hands tokens to kafka-python for OAUTHBEARER, and renews them before they expire."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

from kafka.errors import KafkaConnectionError
from kafka.net.sasl.oauth import AbstractTokenProvider

from crawler_plugin.wire.errors import Stop
from crawler_plugin.wire.kafka_client.token_sources import (
    SOURCES,
    TOKEN_FILE,
    Source,
    Token,
    token_extensions,
    token_source,
)

RENEW_AT: Final = 0.8
"""Share of a token's time after which the next token is requested, as in Kafka's own client. A connection logs in again
at 85 to 95 % of the time; with the old token it would have to log in again after a tenth of the time, and then after a
tenth of that."""
ON_THE_WAY_S: Final = 5.0
"""A token that expires within this time, or within a tenth of its own time, is not used: the broker refuses a token
that expires on its way just as it refuses a token of an untrusted issuer, and such a refusal ends a worker."""
RETRY_S: Final = 2.0
"""How long after a failure the source is not asked again: connections made in that time fail at once."""

_log = logging.getLogger(__name__)


class TokenProvider(AbstractTokenProvider):  # type: ignore[misc]
    """One token for all clients of a process, requested when a connection logs in.

    A token that says when it expires is kept for ``RENEW_AT`` of that time, unless it comes from a file, which is read
    at each login; a token without an expiry serves one login. While there is no new token, the old one serves until
    ``ON_THE_WAY_S`` before it expires. The source is asked in the client's network thread, for one client at a time: a
    slow source delays heartbeats, for ``token_sources.TIMEOUT_S`` at most.
    """

    def __init__(self, source: Source, named: str, extensions: Mapping[str, str]) -> None:
        super().__init__()
        self.named = named
        """The setting that names the source."""
        self.failure: Stop | None = None
        """Why the last try to get a token failed; None: it did not."""
        self._source = source
        self._extensions = dict(extensions)
        self._held: Token | None = None
        self._ask_at = float("-inf")
        self._serves_until = float("-inf")
        self._asking = threading.Lock()

    def token(self) -> str:
        """A token that does not expire on its way, for kafka-python to log in with.

        Raises:
            KafkaConnectionError: there is no token; ``failure`` says why. After any other kind of error kafka-python's
                heartbeats stop for good, as it repeats only after errors that it knows.
        """
        with self._asking:
            if time.time() >= self._ask_at:
                self._ask()
            if self._held is None or time.time() >= self._serves_until:
                raise KafkaConnectionError(str(self.failure))
            return self._held.text

    def check(self) -> None:
        """Get a token, unless one is held.

        Raises:
            Unavailable: there is no token now.
            UsageError: there is no token until a setting is corrected.
        """
        with suppress(KafkaConnectionError):
            self.token()
        if self.failure is not None:
            raise self.failure

    def extensions(self) -> dict[str, str]:
        """The extensions that are sent with the token, by name."""
        return dict(self._extensions)

    def told(self) -> str:
        """What the last token says about itself, for a reader."""
        return self._held.told() if self._held else "there was none"

    def _ask(self) -> None:
        try:
            token = self._source()
        except Stop as error:
            if self.failure is None:
                _log.warning("%s. The last token: %s", error, self.told())
            self.failure = error
            self._ask_at = time.time() + RETRY_S
            return
        if self.failure is not None:
            _log.info("there is a token for Kafka again: %s", token.told())
        self.failure = None
        self._held = token
        now = time.time()
        kept_until = token.expires if token.expires is not None and self.named != TOKEN_FILE else now
        self._ask_at = now + RENEW_AT * (kept_until - now)
        expires = float("inf") if token.expires is None else token.expires
        self._serves_until = expires - min(ON_THE_WAY_S, (expires - now) / 10)


def token_provider(given: Mapping[str, Any]) -> TokenProvider:
    """The provider that the settings ``sasl_oauth_…`` describe; it has not asked its source yet.

    Raises:
        OSError: the file of ``sasl_oauth_cafile`` cannot be used.
    """
    named = next(name for name in SOURCES if given.get(name) is not None)
    return TokenProvider(token_source(given), named, token_extensions(given))
