"""Reads the topics as an independent program would: with another client (librdkafka), under read_committed."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable
from typing import Any, TypeAlias

from confluent_kafka import OFFSET_BEGINNING, Consumer, IsolationLevel, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined]  # public, but not re-exported

from crawler_plugin.wire.errors import Refused, UnreadableRecord
from crawler_plugin.wire.forgetting import Forget
from crawler_plugin.wire.messages import Batch, decode_claims
from crawler_plugin.wire.outcomes import JobSum, Verdict
from crawler_plugin.wire.topics import DEAD_LETTERS, DEDUPLICATED, FINGERPRINTS, JOBS, PAGES, VERDICTS, topic_name
from tests.guarantees import Traces
from tests.oracle import Near
from worker.fingerprint.near import AccurateNear
from worker.fingerprint.scoped import ScopedNear
from worker.stream.log import Record

READ_SECONDS = 60.0
DEFAULT_NEAR = ScopedNear(AccurateNear(3))

Ends: TypeAlias = dict[tuple[str, int], int]
"""Offsets by topic and partition."""


def read(bootstrap: str, topic: str, *, headers: bool = True) -> list[Record]:
    """Every committed record of a topic, by partition and offset, from its beginning to its current end.

    Leave headers out where foreign headers may be: a name that is not UTF-8 kills librdkafka's Python side.
    """
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "outside",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "receive.message.max.bytes": 10**9,  # as much as a batch may unpack to
        }
    )
    try:
        partitions = consumer.list_topics(topic, timeout=READ_SECONDS).topics[topic].partitions
        consumer.assign([TopicPartition(topic, number, OFFSET_BEGINNING) for number in partitions])
        found: list[Record] = []
        reading = set(partitions)
        while reading:
            message = consumer.poll(READ_SECONDS)
            assert message is not None, f"{topic} gave nothing for {READ_SECONDS} s, ends of {reading} were not reached"
            if error := message.error():
                assert error.code() == KafkaError._PARTITION_EOF, error
                reading.discard(message.partition())
                continue
            partition, offset = message.partition(), message.offset()
            assert partition is not None
            assert offset is not None
            named: Any = message.headers() if headers else None
            found.append(
                Record(
                    partition,
                    offset,
                    message.key(),
                    message.value(),
                    named or (),
                    message.timestamp()[1],
                )
            )
        return sorted(found, key=lambda record: (record.partition, record.offset))
    finally:
        consumer.close()


def traces(
    bootstrap: str,
    prefix: str,
    *,
    near: Near = DEFAULT_NEAR,
    ttl: int | None = None,
    output: str = "tag",
    generation: str = "",
) -> Traces:
    """Everything that a crawl and its workers left on the topics; the scheme is that of the log's first batch."""

    def everything(topic: str, *, headers: bool = True) -> list[Record]:
        return read(bootstrap, topic_name(prefix, topic, generation), headers=headers)

    log = [(r.offset, batch) for r in everything(FINGERPRINTS, headers=False) if (batch := batch_of(r)) is not None]
    copies = [] if output == "verdicts" else everything(DEDUPLICATED)
    dead = [dict(record.headers)["dedup-source"].decode() for record in everything(DEAD_LETTERS)]
    return Traces(
        log=log,
        pages={(record.partition, record.offset) for record in everything(PAGES, headers=False)},
        verdicts=[Verdict.decode(record.value or b"") for record in everything(VERDICTS)],
        dead=[(int(source.split(":")[0]), int(source.split(":")[1])) for source in dead],
        passed=Counter((record.partition, record.key) for record in copies),
        scheme=log[0][1].scheme if log else b"",
        near=near,
        ttl=ttl,
        output=output,
    )


def check_sums(bootstrap: str, prefix: str) -> None:
    """Check that the workers' sums of jobs equal the pages that readers see."""
    parts = {record.key: JobSum.decode(record.value) for record in read(bootstrap, prefix + JOBS)}
    told: Counter[tuple[str, str]] = Counter()
    for part in parts.values():
        told.update({(part.job, outcome): count for outcome, count in part.pages.items()})
    seen: Counter[tuple[str, str]] = Counter()
    for topic in (VERDICTS, DEAD_LETTERS):
        for record in read(bootstrap, prefix + topic):
            if job := dict(record.headers).get("job"):
                outcome = Verdict.decode(record.value).verdict if topic == VERDICTS else "dead"
                seen[job.decode(), outcome] += 1
    assert told == seen


def batch_of(record: Record) -> Batch | Forget | None:
    """The content of a record of ``fingerprints``; None for a foreign record, which a test has put there."""
    try:
        return decode_claims(record.value)
    except (UnreadableRecord, Refused):
        return None


def committed_ends(bootstrap: str, topics: Iterable[str]) -> Ends:
    """The end of each partition for readers of committed records: the place where a transaction is open."""
    return _ends(bootstrap, topics, IsolationLevel.READ_COMMITTED)


def last_ends(bootstrap: str, topics: Iterable[str]) -> Ends:
    """The end of each partition, whatever transaction is open in it."""
    return _ends(bootstrap, topics, IsolationLevel.READ_UNCOMMITTED)


def _ends(bootstrap: str, topics: Iterable[str], isolation: IsolationLevel) -> Ends:
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 4})  # without its notices when it is let go
    known = admin.list_topics(timeout=READ_SECONDS).topics
    places = [TopicPartition(topic, number) for topic in topics for number in known[topic].partitions]
    latest = OffsetSpec.latest()  # type: ignore[no-untyped-call]  # their annotations leave it out
    deadline = time.monotonic() + READ_SECONDS
    while True:
        asked = admin.list_offsets(
            dict.fromkeys(places, latest), isolation_level=isolation, request_timeout=READ_SECONDS
        )
        try:
            return {(place.topic, place.partition): answer.result().offset for place, answer in asked.items()}
        except KafkaException:  # a new partition may have no leader yet that all brokers know
            if time.monotonic() > deadline:
                raise
        time.sleep(0.1)
