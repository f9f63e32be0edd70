"""Rules between settings: values that are right by themselves and wrong together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from crawler_plugin.wire.kafka_client.token_sources import oauth_problems
from worker.config.kafka_settings import KafkaSettings
from worker.config.model import Settings


@dataclass(frozen=True)
class Conflict:
    """Settings that do not go together. ``keys`` are dotted, the one to change first."""

    keys: tuple[str, ...]
    text: str


def conflicts(settings: Settings) -> Iterator[Conflict]:
    """All of them; ``settings`` need not be of one piece, so a caller may leave out the wrong values first."""
    yield from _login(settings.kafka)
    yield from _encryption(settings.kafka)
    kafka = settings.kafka
    if kafka.heartbeat_seconds > kafka.session_timeout_seconds / 3:
        yield Conflict(
            ("kafka.heartbeat_seconds", "kafka.session_timeout_seconds"),
            "more than a third of kafka.session_timeout_seconds; one lost heartbeat would look like a crash",
        )
    if kafka.delivery_timeout_seconds < 2 * kafka.request_timeout_seconds:
        yield Conflict(
            ("kafka.delivery_timeout_seconds", "kafka.request_timeout_seconds"),
            "less than twice kafka.request_timeout_seconds; a request without an answer would not be tried again",
        )
    if settings.commit.seconds >= kafka.transaction_timeout_seconds:
        yield Conflict(
            ("commit.seconds", "kafka.transaction_timeout_seconds"),
            "not below kafka.transaction_timeout_seconds; the broker would abort each transaction before its commit",
        )


def _login(kafka: KafkaSettings) -> Iterator[Conflict]:
    by_sasl = kafka.security_protocol.startswith("SASL_")
    if by_sasl and kafka.sasl_mechanism is None:
        yield Conflict(
            ("kafka.security_protocol", "kafka.sasl_mechanism"),
            f"{kafka.security_protocol} needs kafka.sasl_mechanism; set it too",
        )
    for name, why in oauth_problems(kafka.sasl_mechanism, kafka.model_dump()):
        yield Conflict((f"kafka.{name}", "kafka.sasl_mechanism"), why.replace("sasl_", "kafka.sasl_"))
    if kafka.sasl_mechanism is None:
        return
    if not by_sasl:
        yield Conflict(
            ("kafka.sasl_mechanism", "kafka.security_protocol"),
            f"has no effect with kafka.security_protocol {kafka.security_protocol}; "
            "set that to SASL_SSL or SASL_PLAINTEXT",
        )
    if kafka.sasl_mechanism == "AWS_MSK_IAM" and kafka.security_protocol == "SASL_PLAINTEXT":
        yield Conflict(
            ("kafka.security_protocol", "kafka.sasl_mechanism"), "AWS_MSK_IAM needs kafka.security_protocol SASL_SSL"
        )
    if kafka.sasl_mechanism in ("OAUTHBEARER", "AWS_MSK_IAM"):
        return
    if kafka.sasl_username is None:
        yield Conflict(
            ("kafka.sasl_mechanism", "kafka.sasl_username"),
            f"{kafka.sasl_mechanism} needs kafka.sasl_username; set it too",
        )
    if kafka.sasl_password is None:
        yield Conflict(
            ("kafka.sasl_mechanism", "kafka.sasl_password", "kafka.sasl_password_file"),
            f"{kafka.sasl_mechanism} needs kafka.sasl_password or kafka.sasl_password_file; set one of them",
        )


def _encryption(kafka: KafkaSettings) -> Iterator[Conflict]:
    if not kafka.security_protocol.endswith("SSL"):
        for name in ("ssl_cafile", "ssl_certfile", "ssl_keyfile", "ssl_password"):
            if getattr(kafka, name) is not None:
                yield Conflict(
                    (f"kafka.{name}", "kafka.security_protocol"),
                    f"has no effect with kafka.security_protocol {kafka.security_protocol}; "
                    "set that to SSL or SASL_SSL",
                )
    if kafka.ssl_keyfile is not None and kafka.ssl_certfile is None:
        yield Conflict(
            ("kafka.ssl_keyfile", "kafka.ssl_certfile"), "a key without kafka.ssl_certfile is of no use; set that too"
        )
