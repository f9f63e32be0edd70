"""Transactions over a broker that goes away and comes back: each ends, and the next one works."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path
from typing import Final

import pytest

from crawler_plugin.wire.topics import VERDICTS, topic_specs
from worker.broker.server import LocalBroker
from worker.config import KafkaSettings
from worker.stream.kafka.connection import client_options
from worker.stream.kafka.log import KafkaLog
from worker.stream.kafka.topic_admin import create_topics
from worker.stream.log import Committed, NotYet, Output, Sent, Ticket

pytestmark = pytest.mark.cluster

DEADLINE_SECONDS: Final = 60.0


def ended(log: KafkaLog, ticket: Ticket) -> Sent:
    """Wait for the outcome of a transaction; the worker polls at the same time."""
    deadline = time.monotonic() + DEADLINE_SECONDS
    while ticket.state is Sent.PENDING:
        assert time.monotonic() < deadline, "the transaction has neither succeeded nor failed"
        log.pages().poll()
        time.sleep(0.05)
    return ticket.state


def committed(log: KafkaLog) -> Committed | None:
    """The consumed offset; the worker asks again until the broker answers."""
    deadline = time.monotonic() + DEADLINE_SECONDS
    while time.monotonic() < deadline:
        with suppress(NotYet):
            return log.pages().committed(0)
        log.pages().poll()
    raise AssertionError("the broker did not say")


def test_a_transaction_that_met_no_broker_ends_and_the_next_one_works(tmp_path: Path) -> None:
    with LocalBroker(data_dir=tmp_path / "broker", announce=print) as broker:
        options = client_options(KafkaSettings(bootstrap_servers=broker.bootstrap_servers))
        create_topics(options, topic_specs(prefix="t.", partitions=1), 1)
        log = KafkaLog(options, prefix="t.", group="t", writer="w", session_seconds=30, transaction_seconds=4)

        def transact(offset: int) -> Sent:
            while log.pages().membership().evicted:
                log.pages().poll()
            written = [Output(VERDICTS, 0, b"key", b"value", ())]
            return ended(log, log.transact(written, {0: Committed(offset, "")}, log.pages().membership()))

        assert transact(1) is Sent.DONE
        membership = log.pages().membership()
        broker.kill()
        meets_nobody = log.transact([Output(VERDICTS, 0, b"key", b"lost", ())], {0: Committed(2, "")}, membership)
        broker.start()  # takes seconds, during which the client tries to connect and is refused
        ended(log, meets_nobody)
        while transact(3) is not Sent.DONE:
            log.pages().poll()
        assert committed(log) == Committed(3, "")
        log.close(10)
