"""Writes to Kafka: plain appends, and transactions in a thread of their own.

After a record that the broker refused as too large, or after any transaction error, a producer of kafka-python may
never work again. So each kind of send replaces its producer after an error.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Final, Protocol

from kafka import KafkaProducer, TopicPartition, errors
from kafka.record.default_records import DefaultRecordBatchBuilder
from kafka.structs import OffsetAndMetadata

from crawler_plugin.wire.kafka_client.private import cut_off
from crawler_plugin.wire.page_headers import Headers
from crawler_plugin.wire.topics import PAGES, topic_name
from worker.stream.kafka.compression import packing
from worker.stream.kafka.connection import Options
from worker.stream.kafka.failing_sends import Failures
from worker.stream.kafka.private import hand_over, transactions_of, wake
from worker.stream.kafka.record_batches import BATCH_BYTES, TooLarge, batches_of
from worker.stream.log import Committed, Membership, Output, Sent

BLOCK_MS: Final = 2000
"""How long an append may hold up the worker's loop while no broker answers."""
BREATH_SECONDS: Final = 0.0005
"""After each batch of a transaction, which is half a millisecond of work, the thread leaves core and interpreter to the
worker's own thread, whose answers other workers wait for."""
PAUSE_AFTER_ERROR_SECONDS: Final = 0.5
"""Between a failed send and the next try: a broker that is away answers at once, again and again."""
LONG_SECONDS: Final = 5.0
"""An append that takes longer is reported to people: the client repeats sends that may succeed, without a message."""

_log = logging.getLogger(__name__)


@dataclass
class KafkaTicket:
    """The state of an append. ``future`` is kafka-python's; None if the record never reached a producer."""

    future: Any = None
    fails_at: float = 0.0
    topic: str = ""
    begun: float = field(default_factory=time.monotonic)

    @property
    def state(self) -> Sent:
        if self.future is None:
            return Sent.FAILED if time.monotonic() >= self.fails_at else Sent.PENDING
        if not self.future.is_done:
            return Sent.PENDING
        return Sent.DONE if self.future.succeeded() else Sent.FAILED


class Appender:
    """Single records, outside transactions, in the order in which they were given.

    ``failures`` says why they fail, and whether they will fail again.
    """

    def __init__(
        self, options: Options, prefix: str, *, max_bytes: int, delivery_seconds: float, generation: str = ""
    ) -> None:
        self._options = _exact(options, max_bytes, delivery_seconds) | {
            "linger_ms": 0,  # a round of the protocol waits for each of these
            "max_block_ms": BLOCK_MS,
            "bootstrap_timeout_ms": BLOCK_MS,
        }
        self._prefix = prefix
        self._generation = generation
        self._producer: Any = None
        self._last: list[KafkaTicket] = []
        self.written: Counter[str] = Counter()
        """Bytes by topic."""
        self.failures = Failures("appends")

    def prepare(self, topics: Iterable[str]) -> None:
        """Look up where these topics are: otherwise the first append to each would wait a tenth of a second for that.

        Nothing happens where no broker answers.
        """
        with suppress(errors.KafkaError):
            if self._producer is None:
                self._producer = KafkaProducer(**self._options)
            for topic in topics:
                self._producer.partitions_for(topic_name(self._prefix, topic, self._generation))

    def append(
        self, topic: str, partition: int, key: bytes | None, value: bytes | None, headers: Headers
    ) -> KafkaTicket:
        """Send a record. Never raises, blocks for at most ``BLOCK_MS``; the ticket shows if it has failed."""
        self.look()
        name = topic_name(self._prefix, topic, self._generation)
        try:
            if self._producer is None:
                self._producer = KafkaProducer(**self._options)
            future = self._producer.send(name, value=value, key=key, headers=list(headers), partition=partition)
            ticket = KafkaTicket(future, topic=name)
        except Exception as error:  # of many kinds; each means that nothing was sent
            if not isinstance(error, errors.MessageSizeTooLargeError):  # that is the client's own limit, and no harm
                self.close(0)
            self._note(error, name)
            return KafkaTicket(fails_at=time.monotonic() + PAUSE_AFTER_ERROR_SECONDS, topic=name)
        self._last.append(ticket)
        self.written[topic] += DefaultRecordBatchBuilder.estimate_size_in_bytes(key, value, headers)
        return ticket

    def look(self) -> None:
        """Check how the last appends ended; after one that failed the next has a new producer."""
        states = [(ticket, ticket.state) for ticket in self._last]
        self._last = [ticket for ticket, state in states if state is Sent.PENDING]
        if failed := [ticket for ticket, state in states if state is Sent.FAILED]:
            self._note(failed[0].future.exception, failed[0].topic)
            self.close(0)
        elif len(self._last) < len(states):
            self.failures.clear()

    def _note(self, error: Exception, topic: str) -> None:
        if self.failures.add(error, f"a record of topic {topic}"):
            _log.warning("an append failed (%s); it is tried again", self.failures.why)

    def told(self) -> list[str]:
        """A message for people while appends fail, or while one waits long for the broker."""
        waiting = [ticket for ticket in self._last if time.monotonic() - ticket.begun > LONG_SECONDS]
        return self.failures.told() or [
            f"a record of topic {ticket.topic} waits for the broker for {time.monotonic() - ticket.begun:.0f} s"
            for ticket in waiting[:1]
        ]

    def close(self, seconds: float) -> None:
        """Send what is waiting, in this many seconds at most; a later append would have a new producer."""
        self._last = []
        if self._producer is not None:
            let_go(self._producer, seconds)
            self._producer = None


def let_go(producer: Any, seconds: float) -> None:
    """Close a producer, in this many seconds at most, and drop what is not delivered by then."""
    try:
        if seconds:
            producer.flush(timeout=seconds)
    except errors.KafkaError as error:
        _log.warning("records that were still to be sent are given up (%s): the next owner sends them", error)
    finally:
        cut_off(producer)


@dataclass
class TransactionTicket:
    """The state of a transaction; the thread that makes the transaction sets the state once."""

    state: Sent = Sent.PENDING


@dataclass(frozen=True)
class Job:
    """A transaction to be made."""

    outputs: Sequence[Output]
    offsets: Mapping[int, Committed]
    membership: Membership
    ticket: TransactionTicket = field(default_factory=TransactionTicket)


class Proving(Protocol):
    """The part of ``worker.stream.kafka.group.membership.KafkaPages`` that is needed."""

    def is_current(self, membership: Membership) -> bool:
        """Whether the worker is still in the group under the same id."""

    def proof(self, membership: Membership, partitions: Collection[int], seconds: float) -> Any:
        """The proof for the broker that these partitions were owned all the time since then."""


class Transactor(threading.Thread):
    """Makes transactions one after the other, so that the 17 to 250 ms that each takes do not hold up the worker.

    After an error the producer is replaced by a new one of the same transactional id *before* the ticket fails: that
    ends everything that the old producer left open, so that the consumed offsets, which the worker asks for next,
    cannot change any more.

    kafka-python's own calls wait without end, and it forgets a request of a transaction for which it found no
    connection. So this class waits for its answers itself, for as long as the broker lets a transaction be open.

    A worker with a name of its own that was evicted, because it had been paused, comes back under another id. The
    broker's answer to a send under the old id is the same as to a send of a namesake: that it is fenced.
    """

    def __init__(
        self,
        options: Options,
        prefix: str,
        group: str,
        *,
        transactional_id: str,
        max_bytes: int,
        timeout_seconds: float,
        pages: Proving,
        compression: str,
        generation: str = "",
    ) -> None:
        super().__init__(name="transactions", daemon=True)
        self._members = pages
        self._options = _exact(options, max_bytes, timeout_seconds) | {
            "transactional_id": transactional_id,
            "transaction_timeout_ms": int(timeout_seconds * 1000),
            "linger_ms": 5,
            "max_block_ms": int(timeout_seconds * 1000),
            "compression_type": None if compression == "none" else compression,  # of batches that the client splits
        }
        self._packing = packing(compression)
        self._timeout_seconds = timeout_seconds
        self._max_bytes = max_bytes
        self._prefix = prefix
        self._generation = generation
        self._pages = prefix + PAGES
        self._jobs: queue.Queue[Job | None] = queue.Queue()
        self._stopping = threading.Event()
        self._producer: Any = None
        self._group = group
        self.written: Counter[str] = Counter()
        """Bytes by topic, in compressed form if they are compressed."""
        self.failures = Failures("transactions")

    def submit(self, job: Job) -> TransactionTicket:
        self._jobs.put(job)
        return job.ticket

    def close(self, seconds: float) -> None:
        """Finish what is queued, in this many seconds at most."""
        self._jobs.put(None)
        self.join(seconds)
        self._stopping.set()

    def run(self) -> None:
        while (job := self._jobs.get()) is not None:
            refused: list[tuple[Output, Exception]] = []
            try:
                self._transact(job, refused)
            except Exception as error:  # of many kinds; the outcome is unknown after each
                self._note(job, refused[0] if refused else None, error)
                self._replace_producer()
                job.ticket.state = Sent.FAILED
            else:
                self.failures.clear()
                job.ticket.state = Sent.DONE
        self._drop_producer(timeout=2)

    def _note(self, job: Job, refused: tuple[Output, Exception] | None, error: Exception) -> None:
        """Log why a transaction failed, and at which record; the same reason is not logged twice in a row.

        The first record that failed is the cause: after it the client fails all others with the same error.
        """
        about = f"group {self._group}" if isinstance(error, errors.FencedInstanceIdError) else "a transaction"
        if refused is not None:
            output, error = refused
        if isinstance(error, errors.FencedInstanceIdError) and not self._members.is_current(job.membership):
            about, error = "a transaction", errors.CommitFailedError("this worker has joined its group anew since then")
        elif refused is not None:
            about = f"a record of topic {self._topic(output.topic)}"
            if output.source is not None:
                about = f"the record of page {output.source[0]}:{output.source[1]} (partition:offset in {self._pages}) "
                about += f"for topic {self._topic(output.topic)}"
        if self.failures.add(error, about):
            _log.warning("a transaction of %d records failed (%s); it is tried again", len(job.outputs), error)

    def _topic(self, topic: str) -> str:
        return topic_name(self._prefix, topic, self._generation)

    def _transact(self, job: Job, refused: list[tuple[Output, Exception]]) -> None:
        """Make a transaction, or raise the reason for its failure; ``refused`` gets the records that failed, the first
        one first."""
        if self._producer is None:
            self._producer = self._new_producer()
        deadline = time.monotonic() + self._timeout_seconds
        manager = transactions_of(self._producer)
        self._producer.begin_transaction()
        self._send(job.outputs, refused)
        offsets = {
            TopicPartition(self._pages, partition): OffsetAndMetadata(committed.offset, committed.metadata, -1)
            for partition, committed in job.offsets.items()
        }
        proof = self._members.proof(job.membership, job.offsets, deadline - time.monotonic())
        self._wait(manager.send_offsets_to_transaction(offsets, proof), deadline)
        self._wait(manager.begin_commit(), deadline)

    def _send(self, outputs: Sequence[Output], refused: list[tuple[Output, Exception]]) -> None:
        batches = []
        try:
            for batch in batches_of(outputs, int(time.time() * 1000), self._max_bytes, self._packing):
                batches.append(replace(batch, topic=self._topic(batch.topic)))
                self.written[batch.topic] += len(batch.data)
                time.sleep(BREATH_SECONDS)
        except TooLarge as large:
            error = errors.MessageSizeTooLargeError(
                f"{large.size} bytes are more than the {self._max_bytes} of a request"
            )
            refused.append((large.output, error))
            raise error from large
        for name in {batch.topic for batch in batches}:
            self._producer.partitions_for(name)
        hand_over(self._producer, batches, lambda output, error: refused.append((output, error)))

    def _wait(self, result: Any, deadline: float) -> None:
        wake(self._producer)
        if not result.wait(timeout_ms=max(0.0, deadline - time.monotonic()) * 1000):
            raise errors.KafkaTimeoutError(f"no answer within {self._timeout_seconds:g} s")

    def _new_producer(self) -> Any:
        producer = KafkaProducer(**self._options)
        try:
            producer.init_transactions()
        except BaseException:
            let_go(producer, 0)
            raise
        return producer

    def _replace_producer(self) -> None:
        self._drop_producer(timeout=0)
        while not self._stopping.is_set():
            try:
                self._producer = self._new_producer()
            except Exception as error:
                if self.failures.add(error, "a new producer for transactions"):
                    _log.warning("no new producer for transactions (%s); it is tried again", self.failures.why)
                if self.failures.refusal is not None:
                    return  # the worker ends
                self._stopping.wait(PAUSE_AFTER_ERROR_SECONDS)
            else:
                return

    def _drop_producer(self, timeout: float) -> None:
        if self._producer is not None:
            let_go(self._producer, timeout)
            self._producer = None


def _exact(options: Options, max_bytes: int, seconds: float) -> dict[str, Any]:
    """The options with which a producer writes each record once, or says within this many seconds that it could not."""
    return dict(options) | {
        "acks": "all",
        "enable_idempotence": True,
        "metrics_enabled": False,  # the client's own are not read, and are kept for each request
        "batch_size": BATCH_BYTES,
        "max_request_size": max_bytes,
        "request_timeout_ms": request_ms(options, seconds),
        "delivery_timeout_ms": int(seconds * 1000),
    }


def request_ms(options: Options, seconds: float) -> int:
    """How long a request may take if a second try must fit into this many seconds."""
    return int(min(options.get("request_timeout_ms", float("inf")), seconds * 500))
