"""From the settings' ``kafka`` section to a client of kafka-python: the one place where the two meet."""

from __future__ import annotations

import importlib
import logging
import os
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, Protocol

from kafka import errors
from kafka.net.transport import KafkaSSLTransport, KafkaTCPTransport

from worker.errors import Stop, Unavailable, UsageError

BOOTSTRAP_TIMEOUT_MS: Final = 10_000
"""How long a client looks for a broker when it is made: kafka-python's own 30 s is too long to wait."""
RECONNECT_BACKOFF_MAX_MS: Final = 1_000
"""Longest pause between two tries to connect. It doubles up to 30 s by default: a broker that is back goes unseen."""

_SAYS_WHY: Final = ("Bootstrap connection to", "Bootstrap attempt to")

LOGIN_ERRORS: Final = (errors.SaslAuthenticationFailedError, errors.UnsupportedSaslMechanismError)

Options = Mapping[str, Any]
"""Keyword arguments for KafkaConsumer, KafkaProducer and KafkaAdminClient alike."""


class Secret(Protocol):
    """A text that is not shown when printed (pydantic's ``SecretStr``)."""

    def get_secret_value(self) -> str:
        """The text itself."""


class KafkaSettings(Protocol):
    """What a connection needs of the settings' ``kafka`` section."""

    @property
    def bootstrap_servers(self) -> str:
        """``host:port``, several separated by commas."""

    @property
    def client_id(self) -> str:
        """Name in the broker's logs and quotas."""

    @property
    def security_protocol(self) -> str:
        """PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL."""

    @property
    def sasl_mechanism(self) -> str | None:
        """PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512."""

    @property
    def sasl_username(self) -> str | None:
        """User to log in as."""

    @property
    def sasl_password(self) -> Secret | None:
        """Password to log in with."""

    @property
    def ssl_cafile(self) -> str | os.PathLike[str] | None:
        """PEM file of the authorities that may sign the broker's certificate."""

    @property
    def ssl_certfile(self) -> str | os.PathLike[str] | None:
        """PEM file of the client's certificate."""

    @property
    def ssl_keyfile(self) -> str | os.PathLike[str] | None:
        """PEM file of the client's key."""

    @property
    def ssl_password(self) -> Secret | None:
        """Password of the key."""


def _hear_last_words(transport: Any) -> None:
    """Let a transport deliver what came together with the end of its connection, and see the end with its next look.

    kafka-python throws it away. It is how a broker refuses a login: by an answer that says why, and hanging up.
    """
    receive = transport._sock_recv

    def receive_first(self: Any) -> tuple[bytes, Exception | None]:
        data, error = receive(self)
        return data, None if data else error

    transport._sock_recv = receive_first


for _transport in (KafkaTCPTransport, KafkaSSLTransport):
    _hear_last_words(_transport)


def client_options(kafka: KafkaSettings) -> dict[str, Any]:
    """Keyword arguments that every client takes; settings that are None are left to kafka-python's defaults.

    Raises:
        UsageError: the crc32c wheel is not installed, or a TLS file cannot be used.
    """
    require_crc32c()
    options: dict[str, Any] = {
        "bootstrap_servers": [server.strip() for server in kafka.bootstrap_servers.split(",")],
        "client_id": kafka.client_id,
        "bootstrap_timeout_ms": BOOTSTRAP_TIMEOUT_MS,
        "reconnect_backoff_max_ms": RECONNECT_BACKOFF_MAX_MS,
        "security_protocol": kafka.security_protocol,
        "sasl_mechanism": kafka.sasl_mechanism,
        "sasl_plain_username": kafka.sasl_username,
        "sasl_plain_password": _reveal(kafka.sasl_password),
        "ssl_context": _tls(kafka) if kafka.security_protocol.endswith("SSL") else None,
    }
    return {name: value for name, value in options.items() if value is not None}


def require_crc32c() -> None:
    """Refuse kafka-python's checksum in pure Python, with which pages of 20 kB go 38 times slower.

    Raises:
        UsageError: the crc32c wheel is not installed.
    """
    try:
        importlib.import_module("crc32c")
    except ImportError as error:
        raise UsageError(
            "the crc32c wheel is missing, and without it Kafka records are read and written many times slower: "
            "pip install 'kafka-python[crc32c]'"
        ) from error


@contextmanager
def reaching(options: Options) -> Iterator[None]:
    """Around the making and first use of a client: what kafka-python raises becomes an error with a next move.

    Raises:
        Unavailable: no broker answers.
        UsageError: the broker does not let the user in, or he may not do what the block does.
    """
    with _listening() as heard:
        try:
            yield
        except (errors.KafkaTimeoutError, errors.KafkaConnectionError, errors.NodeNotReadyError) as error:
            raise _unreachable(options, heard, error) from error
        except errors.AuthorizationError as error:
            raise UsageError(
                f"the broker refused it ({type(error).__name__}: {error}): "
                "check kafka.sasl_username and the rights of that user"
            ) from error
        except LOGIN_ERRORS as error:
            raise login_refused(options, error) from error


def login_refused(options: Options, error: Exception) -> UsageError:
    """What to say of an error of ``LOGIN_ERRORS``."""
    servers = ",".join(options["bootstrap_servers"])
    if isinstance(error, errors.UnsupportedSaslMechanismError):
        return UsageError(
            f"the broker at kafka.bootstrap_servers={servers} does not offer "
            f"kafka.sasl_mechanism={options.get('sasl_mechanism')} ({error}): set one that it names"
        )
    return UsageError(
        f"the broker refused the login of {options.get('sasl_plain_username')} at kafka.bootstrap_servers={servers} "
        f"({error}): check kafka.sasl_username, kafka.sasl_mechanism and the password in kafka.sasl_password or "
        "kafka.sasl_password_file"
    )


def check_login(options: Options, client: Any) -> None:
    """See whether a client was refused while it ran: it asks that broker nothing more, and mostly does not say so.

    Raises:
        UsageError: it was.
    """
    for error in list(client._manager._auth_failures.values()):
        if isinstance(error, LOGIN_ERRORS):
            raise login_refused(options, error) from error


def _unreachable(options: Options, heard: Heard, error: Exception) -> Stop:
    if heard.refusal is not None:
        return login_refused(options, heard.refusal)
    servers = ",".join(options["bootstrap_servers"])
    why = heard.why or f"{type(error).__name__}: {error}"
    return Unavailable(
        f"no Kafka broker answers at kafka.bootstrap_servers={servers} ({why}). "
        "Correct that setting, or start a broker on this machine: python -m worker broker"
    )


class Heard(logging.Handler):
    """What kafka-python's network layer warns of: its exceptions do not say why a broker was not reached.

    A login that was refused is kept: the broker answers the next tries by hanging up.
    """

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.why = ""
        self.refusal: Exception | None = None

    def emit(self, record: logging.LogRecord) -> None:
        """Take in one warning."""
        message = record.getMessage()
        if message.startswith(_SAYS_WHY):
            self.why = message.partition(" (backoff")[0]
            for part in record.args or ():
                if isinstance(part, LOGIN_ERRORS):
                    self.refusal = part


@contextmanager
def _listening() -> Iterator[Heard]:
    logger = logging.getLogger("kafka.net.manager")
    heard = Heard()
    logger.addHandler(heard)
    try:
        yield heard
    finally:
        logger.removeHandler(heard)


def _reveal(secret: Secret | None) -> str | None:
    return None if secret is None else secret.get_secret_value()


def _tls(kafka: KafkaSettings) -> ssl.SSLContext:
    """Made here and not by kafka-python, which reads the files anew at each connection and hides what is wrong."""
    try:
        context = ssl.create_default_context(cafile=kafka.ssl_cafile)
        if kafka.ssl_certfile is not None:
            # Without a password at hand OpenSSL would ask for one on the terminal, where nobody sits.
            password = _reveal(kafka.ssl_password) or ""
            context.load_cert_chain(kafka.ssl_certfile, kafka.ssl_keyfile, password)
    except OSError as error:  # ssl.SSLError is one
        raise UsageError(
            f"cannot use the TLS files ({error}): "
            "check kafka.ssl_cafile, kafka.ssl_certfile, kafka.ssl_keyfile and the key's password"
        ) from error
    return context
