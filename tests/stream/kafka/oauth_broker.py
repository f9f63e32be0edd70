"""A real broker that requires OAUTHBEARER tokens; Kafka's own validator checks them with the public key of our
issuer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from tests.wire.kafka_client.issuer import AUDIENCE, CLIENT, NAME, SCOPE, SECRET, Issuer, issuer
from worker.broker import server
from worker.broker.configuration import HOST, java_options, server_properties
from worker.broker.ports import free_port
from worker.broker.server import LocalBroker

PACKAGE: Final = "org.apache.kafka.common.security.oauthbearer"
REAUTHENTICATE_MS: Final = 60_000
"""Longer than the lifetime of the tests' tokens: a connection lasts as long as its token, or logs in again before."""


class ByToken(NamedTuple):
    """Its addresses: one for clients without a login, and one for clients with a token of this issuer."""

    admin: str
    address: str
    issuer: Issuer

    def login(self, **given: Any) -> list[str]:
        """Settings of a client that logs in."""
        settings = {
            "bootstrap_servers": self.address,
            "security_protocol": "SASL_PLAINTEXT",
            "sasl_mechanism": "OAUTHBEARER",
            **given,
        }
        return [f"kafka.{name}={value}" for name, value in settings.items()]

    def credentials(self) -> dict[str, Any]:
        """Client credentials at the issuer."""
        return {
            "sasl_oauth_token_url": self.issuer.url,
            "sasl_oauth_client_id": CLIENT,
            "sasl_oauth_client_secret": SECRET,
            "sasl_oauth_scope": SCOPE,
            "sasl_oauth_cafile": self.issuer.authority,
        }


@contextmanager
def oauth_broker(folder: Path) -> Iterator[ByToken]:
    """The broker and the issuer run inside the block."""
    port = free_port()
    with issuer(folder) as running, pytest.MonkeyPatch.context() as patched:
        keys = running.write_keys(folder / "keys.json").as_uri()

        def guarded(own: int, controller_port: int) -> dict[str, str]:
            properties = server_properties(own, controller_port)
            mechanism = "listener.name.client.oauthbearer"
            return properties | {
                "listeners": f"{properties['listeners']},CLIENT://{HOST}:{port}",
                "advertised.listeners": f"{properties['advertised.listeners']},CLIENT://{HOST}:{port}",
                "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,CLIENT:SASL_PLAINTEXT",
                "sasl.enabled.mechanisms": "OAUTHBEARER",
                f"{mechanism}.sasl.jaas.config": f"{PACKAGE}.OAuthBearerLoginModule required;",
                f"{mechanism}.sasl.server.callback.handler.class": f"{PACKAGE}.OAuthBearerValidatorCallbackHandler",
                f"{mechanism}.connections.max.reauth.ms": str(REAUTHENTICATE_MS),
                "sasl.oauthbearer.jwks.endpoint.url": keys,
                "sasl.oauthbearer.expected.audience": AUDIENCE,
                "sasl.oauthbearer.expected.issuer": NAME,
                # Otherwise a token is accepted for another half minute.
                "sasl.oauthbearer.clock.skew.seconds": "0",
            }

        def allowing(heap_mb: int) -> list[str]:
            return [*java_options(heap_mb), f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={keys}"]

        patched.setattr(server, "server_properties", guarded)
        patched.setattr(server, "java_options", allowing)
        with LocalBroker(data_dir=folder / "data") as broker:
            yield ByToken(broker.bootstrap_servers, f"{HOST}:{port}", running)
