"""The options for a producer's connection to Kafka, under kafka-python's names, and the problems with them."""

from __future__ import annotations

import difflib
import os
import ssl
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from kafka import codec

from crawler_plugin.wire.errors import UsageError
from crawler_plugin.wire.kafka_client.msk import require_aws_credentials
from crawler_plugin.wire.kafka_client.tls import tls_context
from crawler_plugin.wire.kafka_client.token_sources import OAUTH_OPTIONS, oauth_problems
from crawler_plugin.wire.kafka_client.tokens import token_provider

DELIVERY_MS: Final = 120_000
"""After this time without an answer kafka-python returns a record as failed."""
REQUEST_MS: Final = 30_000

TLS_OPTIONS: Final[Mapping[str, type | tuple[type, ...]]] = {
    "ssl_check_hostname": bool,
    "ssl_cafile": (str, os.PathLike),
    "ssl_certfile": (str, os.PathLike),
    "ssl_keyfile": (str, os.PathLike),
    "ssl_password": str,
    "ssl_ciphers": str,
}
"""The options that a TLS context is made of."""
KAFKA_OPTIONS: Final[Mapping[str, type | tuple[type, ...]]] = {
    "client_id": str,
    "security_protocol": str,
    "sasl_mechanism": str,
    "sasl_plain_username": str,
    "sasl_plain_password": str,
    "sasl_kerberos_name": str,
    "sasl_kerberos_service_name": str,
    "sasl_kerberos_domain_name": str,
    "sasl_oauth_token_provider": object,
    "sasl_oauth_token_file": (str, os.PathLike),
    "sasl_oauth_token_command": str,
    "sasl_oauth_token_url": str,
    "sasl_oauth_client_id": str,
    "sasl_oauth_client_secret": str,
    "sasl_oauth_scope": str,
    "sasl_oauth_cafile": (str, os.PathLike),
    "sasl_oauth_extensions": str,
    "ssl_context": ssl.SSLContext,
    **TLS_OPTIONS,
    "proxy_url": str,
    "client_dns_lookup": str,
    "request_timeout_ms": int,
    "delivery_timeout_ms": int,
    "connections_max_idle_ms": int,
    "metadata_max_age_ms": int,
}
"""The allowed options with their types. Options that delivery rests on (acks, idempotence, retries, sizes) are not
allowed."""

_PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_PASSWORD_MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
_MECHANISMS: Final = (*_PASSWORD_MECHANISMS, "GSSAPI", "OAUTHBEARER", "AWS_MSK_IAM")
_CODECS: Final[Mapping[str, Callable[[], bool]]] = {
    "gzip": codec.has_gzip,
    "snappy": codec.has_snappy,
    "lz4": codec.has_lz4,
    "zstd": codec.has_zstd,
}


def codec_is_installed(name: str) -> bool:
    """Whether kafka-python can compress with this codec here."""
    return bool(_CODECS[name]())


def option_problems(options: Mapping[str, Any]) -> Iterator[str]:
    """All problems with these options, each to be read behind the name of the setting that holds them.

    Types are checked first, since a value of a wrong type cannot be checked further.
    """
    wrong = [*_type_problems(options)]
    yield from wrong or (*_security_problems(options), *_timeout_problems(options))


def producer_connection(options: Mapping[str, Any]) -> dict[str, Any]:
    """These options, with which ``option_problems`` has found no problem, as ``KafkaProducer`` takes them.

    Raises:
        UsageError: a TLS file cannot be used; the message is to be read behind the name of the setting that holds the
            options.
    """
    made: dict[str, Any] = {}
    if "ssl_context" not in options and _is_tls(options):
        given = {name.removeprefix("ssl_"): value for name, value in options.items() if name in TLS_OPTIONS}
        try:
            made["ssl_context"] = tls_context(**given)
        except OSError as error:
            raise UsageError(
                f": cannot use the TLS files ({error}), "
                "check ssl_cafile, ssl_certfile, ssl_keyfile, ssl_password and ssl_ciphers"
            ) from error
    if options.get("sasl_mechanism") == "OAUTHBEARER" and "sasl_oauth_token_provider" not in options:
        try:
            made["sasl_oauth_token_provider"] = token_provider(options)
        except OSError as error:
            raise UsageError(f"['sasl_oauth_cafile']: cannot be used ({error}), name a PEM file") from error
    return {key: value for key, value in options.items() if key not in (*TLS_OPTIONS, *OAUTH_OPTIONS)} | made


def _type_problems(options: Mapping[str, Any]) -> Iterator[str]:
    for key, value in options.items():
        kind = KAFKA_OPTIONS.get(key)
        if kind is None:
            close = difflib.get_close_matches(str(key), KAFKA_OPTIONS, n=1)
            meant = f"did you mean {close[0]}?" if close else f"it takes {', '.join(KAFKA_OPTIONS)}"
            yield f"[{key!r}]: not an option that can be passed through, {meant}"
        elif not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            kinds = kind if isinstance(kind, tuple) else (kind,)
            yield f"[{key!r}]: a {type(value).__name__}, write {' or '.join(each.__name__ for each in kinds)}"


def _security_problems(options: Mapping[str, Any]) -> Iterator[str]:
    protocol = options.get("security_protocol", "PLAINTEXT")
    if protocol not in _PROTOCOLS:
        yield f"['security_protocol']={protocol!r}: write one of {', '.join(_PROTOCOLS)}"
        return
    by_sasl = protocol.startswith("SASL")
    without_use = [key for key in options if key.startswith("ssl_") and not _is_tls(options)]
    without_use += [key for key in options if key.startswith("sasl_") and not by_sasl]
    if without_use:
        yield (
            f": {', '.join(without_use)} have no effect with security_protocol {protocol}; "
            "write 'SASL_SSL', 'SASL_PLAINTEXT' or 'SSL' there, or leave them out"
        )
    if not by_sasl:
        return
    mechanism = options.get("sasl_mechanism")
    if mechanism not in _MECHANISMS:
        yield f"['sasl_mechanism']={mechanism!r}: write one of {', '.join(_MECHANISMS)}"
    missing = {"sasl_plain_username", "sasl_plain_password"} - set(options)
    if mechanism in _PASSWORD_MECHANISMS and missing:
        yield f": {mechanism} needs {', '.join(sorted(missing))} too"
    if "sasl_oauth_token_provider" not in options:
        yield from (f"[{key!r}]: {why}" for key, why in oauth_problems(mechanism, options))
    if mechanism == "AWS_MSK_IAM":
        if protocol != "SASL_SSL":
            yield ": AWS_MSK_IAM needs security_protocol SASL_SSL"
        try:
            require_aws_credentials()
        except UsageError as error:
            yield f": {error}"


def _timeout_problems(options: Mapping[str, Any]) -> Iterator[str]:
    for key, value in options.items():
        if key.endswith("_ms") and value <= 0:
            yield f"[{key!r}]={value}: write milliseconds, above 0"
    delivery = options.get("delivery_timeout_ms", DELIVERY_MS)
    request = options.get("request_timeout_ms", REQUEST_MS)
    if delivery < request:
        yield (
            f": delivery_timeout_ms={delivery} leaves no time for a second try after "
            f"request_timeout_ms={request}; write at least twice that"
        )


def _is_tls(options: Mapping[str, Any]) -> bool:
    return str(options.get("security_protocol", "")).endswith("SSL")
