"""A real broker that requires a login: PLAIN and SCRAM, in the clear and over TLS."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest
from kafka import KafkaAdminClient
from kafka.admin import UserScramCredentialDeletion, UserScramCredentialUpsertion

from tests.wire.kafka_client.certificates import certificate
from worker.broker import server
from worker.broker.configuration import HOST, server_properties
from worker.broker.ports import free_port
from worker.broker.server import LocalBroker

USER: Final = "crawler"
PASSWORD: Final = "open sesame"
SCRAM: Final = ("SCRAM-SHA-256", "SCRAM-SHA-512")
MECHANISMS: Final = ("PLAIN", *SCRAM)
PLAIN_MODULE: Final = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM_MODULE: Final = "org.apache.kafka.common.security.scram.ScramLoginModule"


class Guarded(NamedTuple):
    """Its addresses: one for clients without a login, and those for clients that log in, by
    ``kafka.security_protocol``."""

    admin: str
    addresses: dict[str, str]
    authority: Path

    def login(self, protocol: str, mechanism: str, password: str = PASSWORD) -> list[str]:
        """Settings of a client that logs in."""
        settings = [
            f"kafka.bootstrap_servers={self.addresses[protocol]}",
            f"kafka.security_protocol={protocol}",
            f"kafka.sasl_mechanism={mechanism}",
            f"kafka.sasl_username={USER}",
            f"kafka.sasl_password={password}",
        ]
        return [*settings, f"kafka.ssl_cafile={self.authority}"] if protocol == "SASL_SSL" else settings

    def revoke(self) -> None:
        """Take the SCRAM credentials away."""
        alter(self.admin, [UserScramCredentialDeletion(USER, name) for name in SCRAM])


def alter(bootstrap: str, alterations: list[Any]) -> None:
    """Make the alterations one after the other: a request may name a user only once."""
    admin = KafkaAdminClient(bootstrap_servers=bootstrap)
    try:
        for alteration in alterations:
            assert admin.alter_user_scram_credentials([alteration]) == {USER: None}
    finally:
        admin.close()


@contextmanager
def guarded_broker(folder: Path) -> Iterator[Guarded]:
    """The broker runs inside the block."""
    ports = {"SASL_PLAINTEXT": free_port(), "SASL_SSL": free_port()}
    pem = certificate(folder / "broker.pem")

    def guarded(port: int, controller_port: int) -> dict[str, str]:
        properties = server_properties(port, controller_port)
        listeners = [f"{protocol}://{HOST}:{number}" for protocol, number in ports.items()]
        logins = {
            f"listener.name.{protocol.lower()}.{mechanism.lower()}.sasl.jaas.config": (
                f'{PLAIN_MODULE} required user_{USER}="{PASSWORD}";'
                if mechanism == "PLAIN"
                else f"{SCRAM_MODULE} required;"
            )
            for protocol in ports
            for mechanism in MECHANISMS
        }
        return (
            properties
            | logins
            | {
                "listeners": ",".join([properties["listeners"], *listeners]),
                "advertised.listeners": ",".join([properties["advertised.listeners"], *listeners]),
                "listener.security.protocol.map": (
                    "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT,SASL_SSL:SASL_SSL"
                ),
                "sasl.enabled.mechanisms": ",".join(MECHANISMS),
                "ssl.keystore.type": "PEM",
                "ssl.keystore.location": str(pem),
                # A client that is logged in must log in again after this time; revoked credentials end then.
                "connections.max.reauth.ms": "5000",
            }
        )

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(server, "server_properties", guarded)
        with LocalBroker(data_dir=folder / "data") as running:
            alter(
                running.bootstrap_servers,
                [UserScramCredentialUpsertion(USER, name, password=PASSWORD) for name in SCRAM],
            )
            addresses = {protocol: f"{HOST}:{port}" for protocol, port in ports.items()}
            yield Guarded(running.bootstrap_servers, addresses, pem)
