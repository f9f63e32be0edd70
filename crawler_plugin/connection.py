"""kafka-python as the plugin uses it: options, a look at the topic, a producer's making and end, what it complains of.

The only place of the plugin that knows it.
"""

from __future__ import annotations

import importlib
import logging
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, Final

from kafka import KafkaAdminClient, KafkaProducer, codec, errors
from kafka.admin import ConfigResource, ConfigResourceType
from kafka.net.compat import KafkaNetClient

from worker.errors import Unavailable, UsageError

BATCH_BYTES: Final = 512 * 1024
"""kafka-python sends one batch a partition at a time, so its default of 16 KiB makes one round trip a page."""
BATCH_OVERHEAD: Final = 512
"""What a batch of one page has besides the page: 61 bytes, some 40 of the record, up to 10 a header. Rounded up."""
BLOCK_MS: Final = 10_000
"""How long connecting or waiting for metadata may take in one go; nothing else is noticed meanwhile."""
DELIVERY_MS: Final = 120_000
"""After so long without an answer kafka-python gives a page back as failed."""
REQUEST_MS: Final = 30_000
LINGER_MS: Final = 10
CLOSE_S: Final = 5.0

_CODECS: Final[Mapping[str, Callable[[], bool]]] = {
    "gzip": codec.has_gzip,
    "snappy": codec.has_snappy,
    "lz4": codec.has_lz4,
    "zstd": codec.has_zstd,
}


def codec_is_installed(name: str) -> bool:
    """Whether kafka-python can compress with it here."""
    return bool(_CODECS[name]())


def require_crc32c() -> None:
    """Refuse kafka-python's checksum in pure Python, with which pages of 20 kB go 38 times slower.

    Raises:
        UsageError: the crc32c wheel is not installed.
    """
    try:
        importlib.import_module("crc32c")
    except ImportError as error:
        raise UsageError(
            "the crc32c wheel is missing, and without it Kafka records are written many times slower: "
            "pip install 'kafka-python[crc32c]'"
        ) from error


def producer_options(
    *, bootstrap_servers: tuple[str, ...], max_page_bytes: int, compression: str | None, connection: Mapping[str, Any]
) -> dict[str, Any]:
    """Keyword arguments of ``KafkaProducer`` with which a page is delivered or its failure is told.

    ``connection`` is the user's part; it cannot change what delivery rests on.
    """
    return {
        "client_id": "crawl-dedup-scrapy",
        "delivery_timeout_ms": DELIVERY_MS,
        "request_timeout_ms": REQUEST_MS,
        **connection,
        "bootstrap_servers": list(bootstrap_servers),
        "acks": "all",
        "enable_idempotence": True,
        "compression_type": compression,
        "batch_size": min(BATCH_BYTES, max_page_bytes),  # a batch must fit where the largest page does
        "linger_ms": LINGER_MS,
        "max_request_size": max(1024 * 1024, max_page_bytes + 4096),
        "max_block_ms": BLOCK_MS,
        "bootstrap_timeout_ms": BLOCK_MS,
        "reconnect_backoff_max_ms": 1_000,  # it doubles up to 30 s by default: a broker that is back goes unseen
        "allow_auto_create_topics": False,  # a topic that the broker makes by itself has the wrong partitions
        "metrics_enabled": False,
    }


def connect(options: Mapping[str, Any], limit: int | None) -> Any:
    """A producer, whose batches have at most ``limit`` bytes where that is known; blocks for seconds.

    Raises:
        Exception: whatever kafka-python raises where no broker is.
    """
    batch = options["batch_size"] if limit is None else max(1, min(options["batch_size"], limit))
    return KafkaProducer(**{**options, "batch_size": batch})


class _LastWords(KafkaNetClient):  # type: ignore[misc]
    """Hears what a broker says right before it hangs up: that is how it refuses a login.

    kafka-python throws away what it has read if the end of the connection is read with it.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        build = self._manager._build_transport

        async def build_attentive(*arguments: Any, **named: Any) -> Any:
            transport = await build(*arguments, **named)
            receive = transport._sock_recv

            def receive_first() -> tuple[bytes, Exception | None]:
                received, error = receive()
                return (received, None) if received else (received, error)  # the end is read again

            transport._sock_recv = receive_first
            return transport

        self._manager._build_transport = build_attentive


_LOGIN_ERRORS: Final = (errors.SaslAuthenticationFailedError, errors.UnsupportedSaslMechanismError)
_ADMIN_OPTIONS: Final = frozenset(KafkaAdminClient.DEFAULT_CONFIG)
"""The options of ours that it takes, too."""


def look_at(options: Mapping[str, Any], topic: str, heard: list[str]) -> int | None:
    """See that the topic is there and may be written; the largest page it takes, None where we may not ask.

    Blocks for seconds where no broker is. ``heard`` holds what ``complaints`` collects meanwhile.

    Raises:
        Unavailable: no broker answers, or it has no such topic.
        UsageError: the broker refuses the login, or its user may not write to the topic.
    """
    heard.clear()
    admin = KafkaAdminClient.__new__(KafkaAdminClient)  # apart from its start, which leaves a thread where it fails
    try:
        ours = {name: value for name, value in options.items() if name in _ADMIN_OPTIONS}
        admin.__init__(**ours, kafka_client=_LastWords)
    except (errors.KafkaTimeoutError, errors.KafkaConnectionError, *_LOGIN_ERRORS) as error:
        admin._net.stop()
        why = heard[-1] if heard else f"{type(error).__name__}: {error}"
        if _is_about_a_login(why):
            raise UsageError(
                f"the broker refused the login of {options.get('sasl_plain_username') or 'this client'} ({why}); "
                "correct user, password and mechanism in DEDUP_KAFKA_OPTIONS"
            ) from error
        raise Unavailable(f"no broker answers: {why}") from error
    try:
        _see_that_it_may_be_written(admin.describe_topics([topic])[0], topic, options)
        return _largest_page(admin, topic)
    finally:
        with suppress(Exception):
            admin.close()


def _is_about_a_login(said: str) -> bool:
    return any(refusal.__name__ in said for refusal in _LOGIN_ERRORS)


def _see_that_it_may_be_written(described: Mapping[str, Any], topic: str, options: Mapping[str, Any]) -> None:
    error = errors.for_code(described["error_code"])
    if error is errors.UnknownTopicOrPartitionError:
        raise Unavailable(f"topic {topic} not found")
    allowed = described.get("authorized_operations")
    if error is errors.TopicAuthorizationFailedError or (allowed is not None and allowed and "WRITE" not in allowed):
        raise UsageError(
            f"{options.get('sasl_plain_username') or 'this client'} may not write to {topic}; "
            "give it the rights Write, Describe and DescribeConfigs on that topic (deploy/kafka/acls.sh)"
        )


def _largest_page(admin: Any, topic: str) -> int | None:
    asked = ConfigResource(ConfigResourceType.TOPIC, topic, ["max.message.bytes"])
    try:
        found = admin.describe_configs([asked], config_filter="all")["topic"][topic]
        return int(found["max.message.bytes"]["value"]) - BATCH_OVERHEAD
    except (errors.KafkaError, KeyError, TypeError, ValueError):  # no right to ask: a refusal will say it
        return None


def is_too_large(error: Exception) -> bool:
    """Whether a page was refused for its size."""
    return isinstance(error, errors.MessageSizeTooLargeError | errors.RecordListTooLargeError)


def let_go(producer: Any, *, in_order: bool) -> None:
    """Close, and cut off what is not delivered.

    ``close`` flushes first, and where that times out it raises before it gets to stop the network thread, which then
    runs for ever, and sends the pages late. So that thread is told to stop by itself; kafka-python has no public way.
    """
    if not in_order:
        producer._sender.force_close()
    with suppress(Exception):
        producer.close(timeout=CLOSE_S)


_LOGGER: Final = logging.getLogger("kafka")
_listening: Final = threading.Lock()
_listeners: Final[list[list[str]]] = []


class _Listener(logging.Handler):
    """Keeps the last error of kafka-python's network layer: its exceptions do not say why a broker was not reached."""

    def emit(self, record: logging.LogRecord) -> None:
        message = re.sub(r"^<[^>]*>: | \(backoff .*\)$", "", record.getMessage())
        if record.levelno >= logging.ERROR and not message.startswith("Bootstrap failed"):
            for heard in _listeners:
                if not any(map(_is_about_a_login, heard)):  # what comes after that are only consequences
                    heard[:] = [message]


_listener: Final = _Listener()


@contextmanager
def complaints(heard: list[str]) -> Iterator[None]:
    """Meanwhile ``heard`` holds kafka-python's last complaint, and what it logs does not fill the crawl's log.

    While a broker is away it writes ten lines a second, and at the level DEBUG, which is Scrapy's default, it writes
    every page as a whole. Where the user has given the logger ``kafka`` a level, it is left as it is.
    """
    with _listening:
        is_ours = bool(_listeners) or _LOGGER.level == logging.NOTSET
        if is_ours:
            _LOGGER.setLevel(logging.WARNING)
            _LOGGER.propagate = False
            _LOGGER.addHandler(_listener)
            _listeners.append(heard)
    try:
        yield
    finally:
        with _listening:
            _listeners[:] = [listener for listener in _listeners if listener is not heard]
            if is_ours and not _listeners:
                _LOGGER.removeHandler(_listener)
                _LOGGER.propagate = True
                _LOGGER.setLevel(logging.NOTSET)
