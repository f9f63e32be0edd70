"""Makes errors with a next move from the errors of kafka-python in a running worker."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from kafka import errors

from crawler_plugin.wire.errors import Refused, Stop, Unavailable, UsageError

TOO_LARGE: Final = (errors.MessageSizeTooLargeError, errors.RecordListTooLargeError)
REFUSALS: Final = (
    *TOO_LARGE,
    errors.AuthorizationError,
    errors.FencedInstanceIdError,
    errors.InvalidRecordError,
    errors.InvalidRequiredAcksError,
    errors.InvalidTimestampError,
    errors.InvalidTopicError,
    errors.InvalidTransactionTimeoutError,
    errors.PolicyViolationError,
    errors.SaslAuthenticationFailedError,
    errors.SecurityDisabledError,
    errors.UnsupportedCompressionTypeError,
    errors.UnsupportedForMessageFormatError,
    errors.UnsupportedVersionError,
)
"""Answers to a send that stay the same until someone has changed something. A new producer helps after other errors
that kafka-python does not repeat by itself (an unknown producer, an old epoch, an aborted transaction)."""
_MEANINGS: Final[tuple[tuple[type[Exception] | tuple[type[Exception], ...], type[Stop], str], ...]] = (
    (
        errors.OffsetOutOfRangeError,
        Refused,
        "the broker no longer holds the next record to read of {about} ({error}): this worker was away for longer than "
        "the topic's retention, or the topic was made anew. Start it again; if it is refused again, run `python -m "
        "worker repair --accept-gap`",
    ),
    (
        errors.CorruptRecordError,
        Refused,
        "a record of {about} is damaged on the broker's disk ({error}). Restore that partition from another copy, or "
        "give the crawl a new topics.prefix",
    ),
    (
        errors.UnsupportedCodecError,
        UsageError,
        "{about} holds records in a compression that this Python cannot read ({error}): "
        "pip install python-snappy, lz4 or zstandard, whichever is named, and run the same again",
    ),
    (
        TOO_LARGE,
        UsageError,
        "the broker refused {about} as too large ({error}): the topic takes smaller records than before, or than the "
        "setting topics.max_message_bytes says. Raise its max.message.bytes again (`python -m worker topics create "
        "--alter-config`), and start the worker: it goes on with this record, and never leaves it out, since other "
        "verdicts may name it",
    ),
    (
        errors.InvalidTimestampError,
        Refused,
        "the broker refused {about} because of the time that this machine's clock gave it ({error}): the topic keeps "
        "the times that its writers give. Run `python -m worker topics create --alter-config`, which lets the broker "
        "date the records (message.timestamp.type=LogAppendTime), set the clock right, and start the worker again",
    ),
    (
        (errors.InvalidTopicError, errors.InvalidTransactionTimeoutError),
        UsageError,
        "the broker refused {about} ({named}): correct topics.prefix, topics.generation "
        "or kafka.transaction_timeout_seconds, whichever it names",
    ),
    (
        errors.FencedInstanceIdError,
        UsageError,
        "another worker has joined {about} under this kafka.instance_id: give each worker a name of its own, "
        "or leave the setting out",
    ),
    (
        errors.SaslAuthenticationFailedError,
        UsageError,
        "the broker refused the login of the user in kafka.sasl_username, who needs {about} ({error}): check "
        "kafka.sasl_username, kafka.sasl_mechanism and the password, or the user that the token names",
    ),
    (
        errors.AuthorizationError,
        UsageError,
        "the broker refused {about} ({named}): check kafka.sasl_username and the rights of that user",
    ),
    (
        REFUSALS,
        Refused,
        "the broker refused {about} ({named}), and would refuse it again: the topic or the broker is not set up as "
        "this program needs. Run `python -m worker topics check`, look at the broker's log, and start the worker again",
    ),
    (
        errors.KafkaError,
        Unavailable,
        "the broker did not carry out a request about {about} ({named}). Start the worker again; if it ends the same "
        "way, look at the broker's log",
    ),
)
"""Errors of kafka-python, the error that each ends the worker with, and the operator's next move; the first row that
fits holds."""


@contextmanager
def speaking(about: str) -> Iterator[None]:
    """Goes around calls of the client; ``about`` is the topic or group that they are about.

    Raises:
        Stop: for any error of kafka-python that the block did not handle.
    """
    try:
        yield
    except errors.KafkaError as error:
        raise as_stop(error, about) from error


@contextmanager
def while_away() -> Iterator[None]:
    """Ignore the error of a call that failed because a broker is away; ``Watch`` judges how long it may be away."""
    try:
        yield
    except errors.KafkaError as error:
        if not error.retriable:
            raise


def as_stop(error: errors.KafkaError, about: str) -> Stop:
    """The meaning of an error for the worker, and the operator's next move."""
    kind, told = next((kind, told) for fitting, kind, told in _MEANINGS if isinstance(error, fitting))
    return kind(told.format(about=about, error=error, named=f"{type(error).__name__}: {error}"))
