"""A permanent failure ends the worker and names who must act; a passing failure is retried and logged."""

from __future__ import annotations

import math

import pytest
from kafka import errors

from crawler_plugin.wire.errors import Refused, Stop, Unavailable, UsageError
from worker.stream.kafka.failing_sends import LEAST_FAILURES, Failures

HERE = "a record of topic dedup.index"


def failures(*found: Exception) -> Failures:
    made = Failures("appends")
    for error in found:
        made.add(error, HERE)
    return made


@pytest.mark.parametrize(
    ("error", "kind", "named"),
    [
        (errors.InvalidTimestampError("too far"), Refused, "--alter-config"),
        (errors.InvalidRecordError("no key"), Refused, "topics check"),
        (errors.PolicyViolationError("no"), Refused, "topics check"),
        (errors.UnsupportedForMessageFormatError("old"), Refused, "topics check"),
        (errors.MessageSizeTooLargeError("large"), UsageError, r"topics\.max_message_bytes"),
        (errors.RecordListTooLargeError("large"), UsageError, r"max\.message\.bytes"),
        (errors.TopicAuthorizationFailedError("no"), UsageError, "rights of that user"),
        (errors.TransactionalIdAuthorizationFailedError("no"), UsageError, "rights of that user"),
        (errors.ClusterAuthorizationFailedError("no"), UsageError, "rights of that user"),
        (errors.InvalidTopicError("name"), UsageError, r"topics\.prefix"),
        (errors.InvalidTransactionTimeoutError("long"), UsageError, r"kafka\.transaction_timeout_seconds"),
        (errors.FencedInstanceIdError("fenced"), UsageError, r"kafka\.instance_id"),
    ],
)
def test_what_the_broker_will_refuse_again_ends_the_worker_at_once(
    error: errors.KafkaError, kind: type[Stop], named: str
) -> None:
    with pytest.raises(kind, match=rf"{HERE}[^$]*{named}"):
        failures(error).check(math.inf)


@pytest.mark.parametrize(
    "error",
    [
        errors.KafkaTimeoutError("slow"),
        errors.NotEnoughReplicasError("few"),
        errors.UnknownTopicOrPartitionError("made anew"),
        errors.UnknownProducerIdError("new broker"),
        errors.OutOfOrderSequenceNumberError("gap"),
        errors.ProducerFencedError("epoch"),
        errors.TransactionAbortedError("aborted"),
        TypeError("of the client"),
    ],
)
def test_what_may_pass_is_repeated_and_told_until_patience_is_over(error: Exception) -> None:
    some = failures(*[error] * (LEAST_FAILURES - 1))
    some.check(-1)
    (line,) = some.told()
    assert line.startswith(f"appends keep failing, {LEAST_FAILURES - 1} in 0 s ({HERE}: {type(error).__name__}")
    some.add(error, HERE)
    some.check(60)
    with pytest.raises(Unavailable, match=f"the last {LEAST_FAILURES} appends failed, the last one with {HERE}"):
        some.check(-1)


def test_one_that_comes_through_begins_the_count_anew() -> None:
    some = failures(*[errors.NotEnoughReplicasError("few")] * LEAST_FAILURES)
    some.clear()
    assert some.told() == []
    some.check(-1)


def test_only_another_reason_is_news() -> None:
    some = Failures("appends")
    few, slow = errors.NotEnoughReplicasError("few"), errors.KafkaTimeoutError("slow")
    assert [some.add(error, HERE) for error in (few, few, slow, few)] == [True, False, True, True]
