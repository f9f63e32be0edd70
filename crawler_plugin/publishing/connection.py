"""kafka-python as the plugin uses it: options, a check of the topic, the making of a producer, and its complaints.

The plugin imports it only here; the parts that workers need too are in ``crawler_plugin.wire.kafka_client``.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition, errors
from kafka.admin import ConfigResource, ConfigResourceType

from crawler_plugin.wire.errors import Unavailable, UsageError
from crawler_plugin.wire.kafka_client.connection import LOGGER, LOGIN_ERRORS, RECONNECT_BACKOFF_MAX_MS, Complaints
from crawler_plugin.wire.kafka_client.options import DELIVERY_MS, REQUEST_MS
from crawler_plugin.wire.kafka_client.private import AttentiveClient, leave_at_exit, make_admin
from crawler_plugin.wire.kafka_client.tokens import TokenProvider

BATCH_BYTES: Final = 512 * 1024
"""kafka-python sends one batch per partition at a time, so its default of 16 KiB makes one round trip per page."""
BATCH_OVERHEAD: Final = 512
"""Bytes of a batch of one page in addition to the page: 61, some 40 of the record, up to 10 per header. Rounded up."""
BLOCK_MS: Final = 10_000
"""How long connecting or waiting for metadata may take in one go; the thread notices nothing else during that time."""


def producer_options(
    *, bootstrap_servers: tuple[str, ...], max_page_bytes: int, compression: str | None, connection: Mapping[str, Any]
) -> dict[str, Any]:
    """Keyword arguments of ``KafkaProducer`` with which a page is delivered or its failure is reported.

    ``connection`` is the user's part; it cannot change the options that delivery rests on.
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
        "linger_ms": 0,  # pages have gathered before they come here
        "max_request_size": max(1024 * 1024, max_page_bytes + 4096),
        "max_block_ms": BLOCK_MS,
        "bootstrap_timeout_ms": BLOCK_MS,
        "reconnect_backoff_max_ms": RECONNECT_BACKOFF_MAX_MS,
        "allow_auto_create_topics": False,  # a topic that the broker creates by itself has the wrong partitions
        "metrics_enabled": False,
    }


def connect(options: Mapping[str, Any], limit: int | None) -> Any:
    """Make a producer, whose batches have at most ``limit`` bytes where that is known; blocks for seconds.

    Raises:
        Exception: whatever kafka-python raises where no broker is.
    """
    batch = options["batch_size"] if limit is None else max(1, min(options["batch_size"], limit))
    producer = KafkaProducer(**{**options, "batch_size": batch})
    leave_at_exit(producer)
    return producer


_ADMIN_OPTIONS: Final = frozenset(KafkaAdminClient.DEFAULT_CONFIG)
"""Our options that the admin client takes too."""


def look_at(options: Mapping[str, Any], topic: str, heard: Complaints) -> int | None:
    """Check that the topic is there and may be written; returns the largest page it takes, None where we may not ask.

    Blocks for seconds where no broker is. ``quiet`` fills ``heard`` at the same time.

    Raises:
        Unavailable: no broker answers, or it has no such topic.
        UsageError: the broker refuses the login, or its user may not write to the topic.
    """
    heard.forget()
    ours = {name: value for name, value in options.items() if name in _ADMIN_OPTIONS}
    try:
        admin = make_admin(**ours, kafka_client=AttentiveClient)
    except (errors.KafkaTimeoutError, errors.KafkaConnectionError, *LOGIN_ERRORS) as error:
        why = heard.why or f"{type(error).__name__}: {error}"
        provider = options.get("sasl_oauth_token_provider")
        if isinstance(provider, TokenProvider):
            if provider.failure is not None:
                raise provider.failure from error
            why += f"; the token: {provider.told()}"
        if heard.refusal is not None or isinstance(error, LOGIN_ERRORS):
            raise UsageError(
                f"the broker refused the login of {options.get('sasl_plain_username') or 'this client'} ({why}); "
                "correct user, password or token, and mechanism, in DEDUP_KAFKA_OPTIONS"
            ) from error
        raise Unavailable(f"no broker answers: {why}") from error
    try:
        _see_that_it_may_be_written(admin.describe_topics([topic])[0], topic, options)
        return _largest_page(admin, topic)
    finally:
        with suppress(Exception):
            admin.close()


def is_there(options: Mapping[str, Any], topic: str) -> bool:
    """Whether the topic is there and may be written, as far as the broker says; blocks as ``look_at`` does."""
    try:
        look_at(options, topic, Complaints())
    except Exception:
        return False
    return True


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
    except (errors.KafkaError, KeyError, TypeError, ValueError):  # no right to ask: a refusal will tell
        return None


_CONSUMER_OPTIONS: Final = frozenset(KafkaConsumer.DEFAULT_CONFIG)


def follow(options: Mapping[str, Any], topics: Sequence[str], positions: dict[Any, int]) -> Any:
    """Make a consumer of committed records, in no group, that stands at ``positions``.

    Where there are none, each partition gets the place where committed records end now. A partition that was added
    after that is read from its beginning. Blocks for seconds.

    Raises:
        Unavailable: the broker lacks one of the topics, or does not let us read all of them.
        Exception: whatever kafka-python raises where no broker is.
    """
    ours = {name: value for name, value in options.items() if name in _CONSUMER_OPTIONS}
    consumer = KafkaConsumer(
        **ours,
        group_id=None,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        isolation_level="read_committed",
    )
    try:
        partitions = partitions_of(consumer, topics)
        missing = set(topics) - {partition.topic for partition in partitions}
        if missing:
            raise Unavailable(f"topic {', '.join(sorted(missing))} not found, or this client may not read it")
        consumer.assign(partitions)
        begin = consumer.beginning_offsets if positions else consumer.end_offsets
        positions.update(begin([each for each in partitions if each not in positions]))
        for each in partitions:
            consumer.seek(each, positions[each])
    except BaseException:
        consumer.close(autocommit=False, timeout_ms=1000)
        raise
    return consumer


def partitions_of(consumer: Any, topics: Sequence[str]) -> set[TopicPartition]:
    """The partitions that the client knows of; it looks anew every ``metadata_max_age_ms``."""
    return {TopicPartition(topic, n) for topic in topics for n in consumer.partitions_for_topic(topic) or ()}


def is_too_large(error: Exception) -> bool:
    """Whether a page was refused for its size."""
    return isinstance(error, errors.MessageSizeTooLargeError | errors.RecordListTooLargeError)


_quieting: Final = threading.Lock()
_quiet: Final[list[Complaints]] = []


@contextmanager
def quiet(heard: Complaints) -> Iterator[None]:
    """Inside the block ``heard`` gets kafka-python's complaints, and its log lines do not fill the crawl's log.

    While a broker is away it writes ten lines a second, and at the level DEBUG, which is Scrapy's default, it writes
    every page as a whole. Where the user has given the logger ``kafka`` a level, that level stays.
    """
    with _quieting:
        is_ours = bool(_quiet) or LOGGER.level == logging.NOTSET
        if is_ours:
            LOGGER.setLevel(logging.WARNING)
            LOGGER.propagate = False
            LOGGER.addHandler(heard)
            _quiet.append(heard)
    try:
        yield
    finally:
        with _quieting:
            if is_ours:
                LOGGER.removeHandler(heard)
                _quiet.remove(heard)
            if is_ours and not _quiet:
                LOGGER.propagate = True
                LOGGER.setLevel(logging.NOTSET)
