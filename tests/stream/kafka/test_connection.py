"""From settings to a client, and from a client's errors to ours."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from kafka import KafkaConsumer, KafkaProducer
from kafka.admin import KafkaAdminClient
from pydantic import SecretStr

from crawler_plugin.wire.errors import Unavailable, UsageError
from worker.broker.ports import free_port
from worker.config import KafkaSettings
from worker.stream.kafka.connection import client_options, reaching


def test_servers_are_split_at_commas_and_trimmed() -> None:
    options = client_options(KafkaSettings(bootstrap_servers=" a:1, b:2"))
    assert options["bootstrap_servers"] == ["a:1", "b:2"]


def test_what_is_not_set_is_left_to_the_client() -> None:
    options = client_options(KafkaSettings())
    assert not {name for name in options if name.startswith(("sasl_", "ssl_"))}
    assert options["security_protocol"] == "PLAINTEXT"


LOGIN: Final[dict[str, Any]] = {
    "sasl_mechanism": "PLAIN",
    "sasl_username": "crawler",
    "sasl_password": SecretStr("open sesame"),
}


def test_a_login_is_handed_over_in_the_clear() -> None:
    options = client_options(KafkaSettings(security_protocol="SASL_PLAINTEXT", **LOGIN))
    assert options["sasl_plain_username"] == "crawler"
    assert options["sasl_plain_password"] == "open sesame"
    assert "ssl_context" not in options


def test_every_client_gives_a_request_the_time_that_the_settings_say() -> None:
    assert client_options(KafkaSettings(request_timeout_seconds=2.5))["request_timeout_ms"] == 2500


@pytest.mark.parametrize("client", [KafkaAdminClient, KafkaConsumer, KafkaProducer])
def test_every_client_knows_every_option(client: type) -> None:
    options = client_options(KafkaSettings(security_protocol="SASL_SSL", **LOGIN))
    assert set(options) <= set(client.DEFAULT_CONFIG)  # type: ignore[attr-defined]


def test_tls_checks_the_brokers_name_and_certificate() -> None:
    context = client_options(KafkaSettings(security_protocol="SSL"))["ssl_context"]
    assert context.check_hostname
    assert context.verify_mode == ssl.CERT_REQUIRED


@pytest.mark.parametrize("setting", ["ssl_cafile", "ssl_certfile"])
def test_a_file_that_is_no_certificate_is_a_mistake_in_the_settings(tmp_path: Path, setting: str) -> None:
    pem = tmp_path / "some.pem"
    pem.write_text("no certificate")
    given: dict[str, Any] = {setting: pem}
    with pytest.raises(UsageError, match=rf"kafka\.{setting}"):
        client_options(KafkaSettings(security_protocol="SSL", **given))


def test_a_certificate_of_ones_own_is_shown_and_its_authority_trusted(tmp_path: Path) -> None:
    pem = self_signed(tmp_path / "own.pem", password=b"key of the key")
    own: dict[str, Any] = {"ssl_cafile": pem, "ssl_certfile": pem}
    options = client_options(KafkaSettings(security_protocol="SSL", ssl_password=SecretStr("key of the key"), **own))
    assert len(options["ssl_context"].get_ca_certs()) == 1
    for wrong in (SecretStr("another"), None):
        with pytest.raises(UsageError, match="the key's password"):
            client_options(KafkaSettings(security_protocol="SSL", ssl_password=wrong, **own))


def self_signed(path: Path, *, password: bytes) -> Path:
    """A certificate and its encrypted key in one PEM file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now)
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    secret = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.BestAvailableEncryption(password),
    )
    path.write_bytes(certificate.public_bytes(serialization.Encoding.PEM) + secret)
    return path


def test_a_broker_that_is_away_is_named_with_the_reason_and_the_next_move() -> None:
    options = client_options(KafkaSettings(bootstrap_servers=f"127.0.0.1:{free_port()}"))
    options["bootstrap_timeout_ms"] = 300
    with (
        pytest.raises(Unavailable, match=r"kafka\.bootstrap_servers=127.*ECONNREFUSED.*python -m worker broker"),
        reaching(options),
    ):
        KafkaAdminClient(**options)


def test_other_errors_pass_as_they_are() -> None:
    with pytest.raises(FileNotFoundError), reaching(client_options(KafkaSettings())):
        Path("/nowhere/at/all").read_text()
