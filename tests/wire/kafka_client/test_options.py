"""The options of a producer; the errors on wrong options are tested where a crawl reads them."""

from __future__ import annotations

import pytest
from kafka import KafkaProducer

from crawler_plugin.wire.kafka_client.options import KAFKA_OPTIONS, option_problems, producer_connection
from crawler_plugin.wire.kafka_client.token_sources import OAUTH_OPTIONS


def test_the_options_that_are_passed_through_are_kafka_pythons_and_none_that_delivery_rests_on() -> None:
    assert set(KAFKA_OPTIONS) - set(OAUTH_OPTIONS) <= set(KafkaProducer.DEFAULT_CONFIG)
    assert set(OAUTH_OPTIONS) <= set(KAFKA_OPTIONS)
    assert not set(KAFKA_OPTIONS) & {"acks", "enable_idempotence", "retries", "batch_size", "max_request_size"}


def test_types_come_first_since_nothing_else_can_be_said_of_what_has_a_wrong_one() -> None:
    told = {"request_timeout_ms": "soon", "security_protocol": "TLS", "delivery_timeout_ms": 1}
    assert list(option_problems(told)) == ["['request_timeout_ms']: a str, write int"]


@pytest.mark.parametrize("told", [{}, {"client_id": "a"}, {"security_protocol": "SSL", "ssl_check_hostname": False}])
def test_what_is_right_is_handed_to_the_producer_and_files_as_what_was_made_of_them(told: dict[str, object]) -> None:
    assert not list(option_problems(told))
    made = producer_connection(told)
    assert made.keys() <= KafkaProducer.DEFAULT_CONFIG.keys()
    assert ("ssl_context" in made) is ("security_protocol" in told)
    assert "ssl_check_hostname" not in made
