"""kafka-python as the plugin uses it: its options, the check of the topic, its silence."""

from __future__ import annotations

import logging
import threading
from typing import Any

import pytest
from kafka import KafkaProducer, errors

from crawler_plugin.publishing.connection import (
    BATCH_OVERHEAD,
    connect,
    is_too_large,
    look_at,
    producer_options,
    quiet,
)
from crawler_plugin.wire.errors import Unavailable
from crawler_plugin.wire.kafka_client.connection import LOGGER, Complaints
from crawler_plugin.wire.kafka_client.options import KAFKA_OPTIONS, codec_is_installed
from crawler_plugin.wire.kafka_client.private import cut_off
from crawler_plugin.wire.kafka_client.token_sources import OAUTH_OPTIONS
from tests.crawler_plugin.crawling import make_topic
from worker.broker.ports import free_port


def options(*servers: str, **connection: Any) -> dict[str, Any]:
    return producer_options(bootstrap_servers=servers, max_page_bytes=10_000, compression=None, connection=connection)


def test_what_is_passed_through_is_known_to_the_client_and_leaves_delivery_alone() -> None:
    passed_through = set(KAFKA_OPTIONS) - set(OAUTH_OPTIONS)  # a token provider is made from these before
    connection: dict[str, Any] = dict.fromkeys(passed_through, "the user's")
    made = options("a:1", **connection)
    assert set(made) <= set(KafkaProducer.DEFAULT_CONFIG)
    assert (made["acks"], made["enable_idempotence"]) == ("all", True)
    assert made["batch_size"] <= 10_000
    assert made["max_request_size"] >= 10_000
    assert made["client_id"] == "the user's"


def test_a_request_and_a_delivery_take_what_the_user_says_and_else_a_delivery_has_time_for_more_than_one() -> None:
    told = options("a:1", request_timeout_ms=1_000, delivery_timeout_ms=5_000)
    assert (told["request_timeout_ms"], told["delivery_timeout_ms"]) == (1_000, 5_000)
    assert options("a:1")["delivery_timeout_ms"] >= 2 * options("a:1")["request_timeout_ms"]


def test_gzip_is_always_installed() -> None:
    assert codec_is_installed("gzip")


def test_a_page_that_was_refused_for_its_size_is_told_from_other_failures() -> None:
    assert is_too_large(errors.MessageSizeTooLargeError())
    assert is_too_large(errors.RecordListTooLargeError())
    assert not is_too_large(errors.KafkaTimeoutError())


@pytest.mark.cluster
def test_a_look_at_the_topic_tells_the_largest_page_and_leaves_no_thread(broker: str, topic_prefix: str) -> None:
    before = set(threading.enumerate())
    make_topic(broker, topic_prefix, max_message_bytes=20_000)
    assert look_at(options(broker), f"{topic_prefix}pages", Complaints()) == 20_000 - BATCH_OVERHEAD
    assert set(threading.enumerate()) <= before


@pytest.mark.cluster
def test_a_topic_that_is_not_there_is_not_made_by_looking_at_it(broker: str, topic_prefix: str) -> None:
    for _ in range(2):
        with pytest.raises(Unavailable, match=f"topic {topic_prefix}pages not found"):
            look_at(options(broker), f"{topic_prefix}pages", Complaints())


def test_where_no_broker_is_the_look_says_why() -> None:
    nowhere = options(f"127.0.0.1:{free_port()}") | {"bootstrap_timeout_ms": 300}
    heard = Complaints()
    with quiet(heard), pytest.raises(Unavailable, match=r"no broker answers: .*ECONNREFUSED"):
        look_at(nowhere, "pages", heard)


@pytest.mark.cluster
def test_a_producer_takes_no_larger_batches_than_the_topic(broker: str) -> None:
    for limit, batch in ((None, 10_000), (5_000, 5_000), (50_000, 10_000)):
        producer = connect(options(broker), limit)
        assert isinstance(producer, KafkaProducer)
        assert producer.config["batch_size"] == batch
        cut_off(producer)


def test_kafka_python_is_silent_only_while_somebody_listens_and_the_last_who_leaves_gives_it_its_voice_back() -> None:
    before = (LOGGER.level, LOGGER.propagate, list(LOGGER.handlers))
    assert before[:2] == (logging.NOTSET, True)
    first, second = Complaints(), Complaints()
    with quiet(first):
        with quiet(second):
            logging.getLogger("kafka.net.manager").error("no way")
            assert not LOGGER.propagate
        logging.getLogger("kafka.net.manager").error("still no way")
        assert not LOGGER.propagate, "the other one listens still"
    assert (LOGGER.level, LOGGER.propagate, LOGGER.handlers) == before
    assert (first.why, second.why) == ("still no way", "no way")


def test_where_the_user_gave_kafka_python_a_level_it_is_left_as_it_is() -> None:
    before = list(LOGGER.handlers)
    LOGGER.setLevel(logging.ERROR)
    try:
        with quiet(Complaints()):
            assert (LOGGER.level, LOGGER.propagate, LOGGER.handlers) == (logging.ERROR, True, before)
        assert LOGGER.level == logging.ERROR
    finally:
        LOGGER.setLevel(logging.NOTSET)
