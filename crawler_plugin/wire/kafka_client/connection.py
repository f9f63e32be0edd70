"""The common parts of every connection to Kafka: checksums, and the reason why a broker does not answer."""

from __future__ import annotations

import importlib
import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from kafka import errors

from crawler_plugin.wire.errors import UsageError

BOOTSTRAP_TIMEOUT_MS: Final = 10_000
"""How long a client looks for a broker when it is made: kafka-python's own 30 s is too long to wait."""
RECONNECT_BACKOFF_MAX_MS: Final = 1_000
"""Longest pause between two tries to connect. By default it doubles up to 30 s, and a broker that is back goes
unseen."""

LOGIN_ERRORS: Final = (errors.SaslAuthenticationFailedError, errors.UnsupportedSaslMechanismError)
LOGGER: Final = logging.getLogger("kafka")
"""All of kafka-python's loggers are below this one."""

_BOOTSTRAP: Final = "Bootstrap connection to"
_CONSEQUENCE: Final = "Bootstrap failed"
_AROUND: Final = re.compile(r"^<[^<>]*>: | \(backoff [^()]*\)$")


def require_crc32c() -> None:
    """Refuse kafka-python's checksum in pure Python, with which pages of 20 kB are sent 38 times slower.

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


class Complaints(logging.Handler):
    """Keeps kafka-python's last complaint, since its exceptions do not say why a broker was not reached.

    A refused login is kept, whatever comes after it: the broker answers the next tries by hanging up.
    """

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.why: str | None = None
        self.refusal: Exception | None = None

    def emit(self, record: logging.LogRecord) -> None:
        """Take in one record: an error, or a warning that no broker was reached."""
        message = _AROUND.sub("", record.getMessage())
        if record.levelno < logging.ERROR and not message.startswith(_BOOTSTRAP):
            return
        if self.refusal is not None or message.startswith(_CONSEQUENCE):
            return
        self.why = message
        given = record.args if isinstance(record.args, tuple) else ()
        self.refusal = next((part for part in given if isinstance(part, LOGIN_ERRORS)), None)

    def forget(self) -> None:
        """Begin anew."""
        self.why = self.refusal = None


@contextmanager
def complaints() -> Iterator[Complaints]:
    """kafka-python's complaints inside the block."""
    heard = Complaints()
    LOGGER.addHandler(heard)
    try:
        yield heard
    finally:
        LOGGER.removeHandler(heard)
