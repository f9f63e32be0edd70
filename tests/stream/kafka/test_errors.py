"""The meaning of kafka-python's errors for a worker: who must act, and the next step."""

from __future__ import annotations

import inspect
from contextlib import nullcontext
from typing import Any, Final

import pytest
from kafka import errors

from crawler_plugin.wire.errors import Refused, Stop, Unavailable, UsageError
from worker.stream.kafka.errors import REFUSALS, as_stop, speaking, while_away

ABOUT = "topic dedup.index"
ALL: Final[list[Any]] = [
    kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, errors.KafkaError)
]


@pytest.mark.parametrize(
    ("error", "kind", "move"),
    [
        (errors.OffsetOutOfRangeError("7"), Refused, "repair --accept-gap"),
        (errors.CorruptRecordError("crc"), Refused, "from another copy"),
        (errors.UnsupportedCodecError("zstd"), UsageError, "pip install"),
        (errors.SaslAuthenticationFailedError("no"), UsageError, "kafka.sasl_mechanism and the password"),
        (errors.GroupAuthorizationFailedError("no"), UsageError, "the rights of that user"),
        (errors.FencedInstanceIdError("fenced"), UsageError, "give each worker a name of its own"),
        (errors.UnsupportedVersionError("old"), Refused, "topics check"),
        (errors.NotLeaderForPartitionError("moved"), Unavailable, "Start the worker again"),
        (errors.KafkaTimeoutError("slow"), Unavailable, "Start the worker again"),
    ],
)
def test_an_error_names_what_it_is_about_and_what_to_do(error: errors.KafkaError, kind: type[Stop], move: str) -> None:
    stop = as_stop(error, ABOUT)
    assert type(stop) is kind
    assert ABOUT in str(stop)
    assert move in str(stop)


def test_no_refusal_asks_to_try_again_as_it_is_and_nothing_that_may_pass_is_one() -> None:
    for error in ALL:
        asks_again = isinstance(as_stop(error("why"), ABOUT), Unavailable)
        assert not (issubclass(error, REFUSALS) and (asks_again or error.retriable)), error


def test_around_calls_of_the_client_its_errors_become_stops_and_others_stay() -> None:
    with pytest.raises(Unavailable, match=ABOUT) as raised, speaking(ABOUT):
        raise errors.KafkaTimeoutError("slow")
    assert isinstance(raised.value.__cause__, errors.KafkaTimeoutError)
    with pytest.raises(ZeroDivisionError), speaking(ABOUT):
        raise ZeroDivisionError


def test_while_a_broker_is_away_only_what_may_pass_is_passed_over() -> None:
    for error in ALL:
        with nullcontext() if error.retriable else pytest.raises(error), while_away():
            raise error("why")
