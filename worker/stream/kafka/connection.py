"""Makes options for kafka-python's clients from the ``kafka`` section of the settings, and checks whether they
connect."""

from __future__ import annotations

import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from kafka import errors

from crawler_plugin.wire.errors import Unavailable, UsageError
from crawler_plugin.wire.kafka_client.connection import (
    BOOTSTRAP_TIMEOUT_MS,
    LOGIN_ERRORS,
    RECONNECT_BACKOFF_MAX_MS,
    complaints,
    require_crc32c,
)
from crawler_plugin.wire.kafka_client.msk import require_aws_credentials
from crawler_plugin.wire.kafka_client.private import AttentiveClient, login_failures
from crawler_plugin.wire.kafka_client.tls import tls_context
from crawler_plugin.wire.kafka_client.token_sources import OAUTH_OPTIONS
from crawler_plugin.wire.kafka_client.tokens import TokenProvider, token_provider

if TYPE_CHECKING:
    from worker.config import KafkaSettings

METADATA_MAX_AGE_MS: Final = 5_000
"""How long a client believes that a leader leads. kafka-python 3.0.12 goes on asking a broker that no longer leads a
partition where it ends, again and again, until it looks for leaders by the clock: by default after five minutes, longer
than a worker's patience. It notices a broker that was killed, which hangs up, but none that was frozen or gave up the
lead."""

Options = Mapping[str, Any]
"""Keyword arguments for KafkaConsumer, KafkaProducer and KafkaAdminClient alike."""


def client_options(kafka: KafkaSettings) -> dict[str, Any]:
    """Keyword arguments that every client takes; for settings that are None kafka-python's defaults hold.

    With OAUTHBEARER it asks for a token first, since kafka-python would go on asking without an error message.

    Raises:
        UsageError: the crc32c wheel is not installed, or a TLS file cannot be used; or no token is given, or there are
            no AWS credentials.
        Unavailable: no token can be had now.
    """
    require_crc32c()
    if kafka.sasl_mechanism == "AWS_MSK_IAM":
        require_aws_credentials()
    options: dict[str, Any] = {
        "bootstrap_servers": [server.strip() for server in kafka.bootstrap_servers.split(",")],
        "client_id": kafka.client_id,
        "kafka_client": AttentiveClient,
        "request_timeout_ms": int(kafka.request_timeout_seconds * 1000),
        "metadata_max_age_ms": METADATA_MAX_AGE_MS,
        "bootstrap_timeout_ms": BOOTSTRAP_TIMEOUT_MS,
        "reconnect_backoff_max_ms": RECONNECT_BACKOFF_MAX_MS,
        "security_protocol": kafka.security_protocol,
        "sasl_mechanism": kafka.sasl_mechanism,
        "sasl_plain_username": kafka.sasl_username,
        "sasl_plain_password": _reveal(kafka.sasl_password),
        "sasl_oauth_token_provider": _tokens(kafka) if kafka.sasl_mechanism == "OAUTHBEARER" else None,
        "ssl_context": _tls(kafka) if kafka.security_protocol.endswith("SSL") else None,
    }
    return {name: value for name, value in options.items() if value is not None}


@contextmanager
def reaching(options: Options) -> Iterator[None]:
    """Goes around the making and first use of a client: kafka-python's errors become errors with a next move.

    Raises:
        Unavailable: no broker answers, or no token for it can be had.
        UsageError: the broker refuses the user's login, or what the block does.
    """
    with complaints() as heard:
        try:
            yield
        except (errors.KafkaTimeoutError, errors.KafkaConnectionError, errors.NodeNotReadyError) as error:
            if heard.refusal is not None:
                raise login_refused(options, heard.refusal) from error
            provider = options.get("sasl_oauth_token_provider")
            if provider is not None and provider.failure is not None:
                raise provider.failure from error
            why = heard.why or f"{type(error).__name__}: {error}"
            raise Unavailable(
                f"no Kafka broker answers at kafka.bootstrap_servers={','.join(options['bootstrap_servers'])} ({why}). "
                "Correct that setting, or start a broker on this machine: python -m worker broker"
            ) from error
        except errors.AuthorizationError as error:
            raise UsageError(
                f"the broker refused it ({type(error).__name__}: {error}): "
                "check kafka.sasl_username and the rights of that user"
            ) from error
        except LOGIN_ERRORS as error:
            raise login_refused(options, error) from error


def login_refused(options: Options, error: Exception) -> UsageError:
    """The error with a next move for one of ``LOGIN_ERRORS``."""
    servers = ",".join(options["bootstrap_servers"])
    if isinstance(error, errors.UnsupportedSaslMechanismError):
        return UsageError(
            f"the broker at kafka.bootstrap_servers={servers} does not offer "
            f"kafka.sasl_mechanism={options.get('sasl_mechanism')} ({error}): set one that it names"
        )
    if (provider := options.get("sasl_oauth_token_provider")) is not None:
        return UsageError(
            f"the broker at kafka.bootstrap_servers={servers} refused the token of kafka.{provider.named} ({error}; "
            f"the token: {provider.told()}): check that the broker trusts its issuer, and accepts this audience and "
            "scope"
        )
    if options.get("sasl_mechanism") == "AWS_MSK_IAM":
        return UsageError(
            f"the broker at kafka.bootstrap_servers={servers} refused the AWS credentials ({error}): check that they "
            "are those of a role that may kafka-cluster:Connect to this cluster, and that the region is the cluster's"
        )
    return UsageError(
        f"the broker refused the login of {options.get('sasl_plain_username')} at kafka.bootstrap_servers={servers} "
        f"({error}): check kafka.sasl_username, kafka.sasl_mechanism and the password in kafka.sasl_password or "
        "kafka.sasl_password_file"
    )


def check_login(options: Options, client: Any) -> None:
    """Check whether a broker has refused a running client: the client then asks it nothing more, and may not say so.

    Raises:
        UsageError: it has refused it.
    """
    for error in login_failures(client):
        if isinstance(error, LOGIN_ERRORS):
            raise login_refused(options, error) from error


def _reveal(secret: Any) -> str | None:
    return None if secret is None else secret.get_secret_value()


def _tokens(kafka: KafkaSettings) -> TokenProvider:
    given = {name: getattr(kafka, name) for name in OAUTH_OPTIONS}
    given["sasl_oauth_client_secret"] = _reveal(kafka.sasl_oauth_client_secret)
    try:
        provider = token_provider(given)
    except OSError as error:
        raise UsageError(f"cannot use kafka.sasl_oauth_cafile ({error}): name a PEM file of authorities") from error
    provider.check()
    return provider


def _tls(kafka: KafkaSettings) -> ssl.SSLContext:
    try:
        return tls_context(
            cafile=kafka.ssl_cafile,
            certfile=kafka.ssl_certfile,
            keyfile=kafka.ssl_keyfile,
            password=_reveal(kafka.ssl_password),
        )
    except OSError as error:
        raise UsageError(
            f"cannot use the TLS files ({error}): "
            "check kafka.ssl_cafile, kafka.ssl_certfile, kafka.ssl_keyfile and the key's password"
        ) from error
