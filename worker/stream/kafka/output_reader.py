"""Reads the outputs of workers, as any consumer should: committed records only, each exactly once."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Self, TypeAlias

from kafka import KafkaConsumer, TopicPartition

from crawler_plugin.wire.errors import Unavailable, UnreadableRecord
from crawler_plugin.wire.outcomes import SUM, JobMark, JobSum, Verdict
from crawler_plugin.wire.page_headers import PageMeta, text_headers
from crawler_plugin.wire.topics import DEAD_LETTERS, DEDUPLICATED, JOBS, PAGES, VERDICTS, topic_name
from worker.stream.kafka.connection import Options, reaching
from worker.stream.kafka.errors import speaking

OUTPUTS: Final = (DEDUPLICATED, VERDICTS, DEAD_LETTERS)
PATIENCE_SECONDS: Final = 60.0
"""For how long a partition may bring nothing before its end. Where a dead worker has left a transaction open, readers
wait until the broker aborts it, by default after a minute."""

_WAIT_MS: Final = 200
_FETCH_BYTES: Final = 16 << 20


@dataclass(frozen=True)
class Delivered:
    """A record of ``deduplicated``: the page as it came, and the headers of its verdict (None where it has none)."""

    page: PageMeta
    body: bytes
    verdict: str
    duplicate_of: str | None
    distance: int | None
    reason: str


Output: TypeAlias = Delivered | Verdict | JobMark | JobSum
"""A dead letter is a verdict, too."""
Wanted: TypeAlias = Callable[[Mapping[str, str]], bool]
"""By its headers, whether a record is wanted; others are not even decoded."""


class _GroupLess:
    """The owner of a consumer without a group, which disturbs no other and commits nothing; closed by the end of a
    ``with``."""

    _consumer: Any

    def close(self) -> None:
        self._consumer.close(autocommit=False, timeout_ms=1000)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()


class OutputReader(_GroupLess):
    """Reads the given topics of ``OUTPUTS``, and ``jobs``, from their beginning, or ``from_now`` the records that
    become visible from now on; each partition in its order, and partitions that come later, too.

    Not for several threads at once.

    Raises:
        Unavailable: no broker answers, or a topic is missing.
    """

    def __init__(
        self,
        options: Options,
        prefix: str,
        topics: Sequence[str] = OUTPUTS,
        generation: str = "",
        wanted: Wanted = lambda headers: True,
        *,
        from_now: bool = False,
    ) -> None:
        self._wanted = wanted
        self._topics = {topic_name(prefix, topic, generation): topic for topic in topics}
        with reaching(options):
            self._consumer: Any = KafkaConsumer(
                **options,
                group_id=None,
                enable_auto_commit=False,
                auto_offset_reset="earliest",
                isolation_level="read_committed",
                max_partition_fetch_bytes=_FETCH_BYTES,
                fetch_max_bytes=_FETCH_BYTES,
            )
            self._partitions = self._there()
        missing = self._topics.keys() - {partition.topic for partition in self._partitions}
        if missing:
            self.close()
            raise _missing(missing)
        self._consumer.assign(self._partitions)
        if not from_now:
            self._consumer.seek_to_beginning(*self._partitions)
            return
        for partition, end in self.ends().items():
            self._consumer.seek(partition, end)

    def read(self, wait: float = 0.0) -> list[Output]:
        """The records that have become visible since the last call; waits up to ``wait`` seconds for a first record.

        Raises:
            UnreadableRecord: a record that no worker wrote.
            UsageError: records are compressed in a way whose library is not installed here.
            Stop: the broker refuses.
        """
        self._take_up_new()
        with speaking(" and ".join(self._topics)):
            fetched = self._consumer.poll(timeout_ms=int(wait * 1000))
        found = []
        for record in (record for records in fetched.values() for record in records):
            headers = text_headers(record.headers)
            if self._wanted(headers):
                found.append(_output(self._topics[record.topic], record, headers))
        return found

    def _there(self) -> list[TopicPartition]:
        """All partitions that the client knows of; it looks anew every few seconds."""
        return [
            TopicPartition(name, number)
            for name in self._topics
            for number in sorted(self._consumer.partitions_for_topic(name) or ())
        ]

    def _take_up_new(self) -> None:
        """Also read partitions that were added to the topics in the mean time: all their records came since."""
        if not (new := [partition for partition in self._there() if partition not in self._partitions]):
            return
        places = {partition: self._consumer.position(partition) for partition in self._partitions}
        self._partitions += new
        self._consumer.assign(self._partitions)
        for partition, offset in places.items():
            self._consumer.seek(partition, offset)
        self._consumer.seek_to_beginning(*new)

    @property
    def passed(self) -> int:
        """Its position in all partitions together."""
        return sum(self._consumer.position(partition) for partition in self._partitions)

    def ends(self) -> dict[TopicPartition, int]:
        """Up to where records are visible now: in each partition up to the first transaction that is still open."""
        ends: dict[TopicPartition, int] = self._consumer.end_offsets(self._partitions)
        return ends

    def standing_before(self, ends: dict[TopicPartition, int]) -> list[TopicPartition]:
        """Partitions that have not been read up to these ends."""
        return [partition for partition, end in ends.items() if self._consumer.position(partition) < end]


def read_outputs(
    options: Options,
    prefix: str,
    topics: Sequence[str] = OUTPUTS,
    generation: str = "",
    *,
    wanted: Wanted = lambda headers: True,
) -> Iterator[Output]:
    """All records that are visible at the moment of the call and ``wanted``, from the beginning of these topics.

    Raises:
        Unavailable: no broker answers, a topic is missing, or a partition cannot be read up to its end.
        UnreadableRecord: a record that no worker wrote.
    """
    return follow_outputs(options, prefix, topics, generation, wanted=wanted)


def follow_outputs(
    options: Options,
    prefix: str,
    topics: Sequence[str] = OUTPUTS,
    generation: str = "",
    *,
    wanted: Wanted = lambda headers: True,
    until: Callable[[], bool] = lambda: True,
) -> Iterator[Output]:
    """The same records that are ``wanted``, and then those that become visible ``until`` there is nothing to wait
    for."""
    with OutputReader(options, prefix, topics, generation, wanted) as reader:
        ends = reader.ends()
        heard, passed = time.monotonic(), -1
        while standing := reader.standing_before(ends):
            outputs = reader.read(_WAIT_MS / 1000)
            yield from outputs
            if reader.passed > passed:
                heard, passed = time.monotonic(), reader.passed
            elif time.monotonic() - heard > PATIENCE_SECONDS:
                names = ", ".join(f"{partition.topic}[{partition.partition}]" for partition in standing)
                raise Unavailable(
                    f"{names} gave no record for {PATIENCE_SECONDS:g} s, although more follow: look at the broker, try "
                    "again"
                )
        while not until():
            yield from reader.read(_WAIT_MS / 1000)


class PageCount(_GroupLess):
    """Counts the records of ``pages`` by its offsets: the topic is neither compacted nor written in transactions.

    Raises:
        Unavailable: no broker answers, or the topic is missing.
    """

    def __init__(self, options: Options, prefix: str) -> None:
        name = topic_name(prefix, PAGES)
        with reaching(options):
            self._consumer: Any = KafkaConsumer(**options, group_id=None)
            numbers = self._consumer.partitions_for_topic(name) or ()
        self._partitions = [TopicPartition(name, number) for number in sorted(numbers)]
        if not self._partitions:
            self.close()
            raise _missing([name])

    def now(self) -> int:
        """The number of records at the moment."""
        begin = self._consumer.beginning_offsets(self._partitions)
        end = self._consumer.end_offsets(self._partitions)
        return sum(end[partition] - begin[partition] for partition in self._partitions)


def _missing(names: Iterable[str]) -> Unavailable:
    return Unavailable(f"missing: {', '.join(sorted(names))}; make the topics: python -m worker topics create")


def _output(topic: str, record: Any, headers: dict[str, str]) -> Output:
    try:
        if topic == JOBS:
            return (JobSum if headers.get("kind") == SUM else JobMark).decode(record.value)
        if topic == VERDICTS:
            return Verdict.decode(record.value)
        return _delivered(record, headers) if topic == DEDUPLICATED else Verdict.of_dead_letter(headers)
    except (UnreadableRecord, KeyError, ValueError) as error:
        raise UnreadableRecord(
            f"{record.topic}[{record.partition}] at offset {record.offset} was not written by a worker "
            f"({type(error).__name__}: {error}); find out who else writes there"
        ) from error


def _delivered(record: Any, headers: dict[str, str]) -> Delivered:
    distance = headers.get("dedup-distance")
    return Delivered(
        page=PageMeta.from_headers(record.headers),
        body=record.value or b"",
        verdict=headers["dedup-verdict"],
        duplicate_of=headers.get("dedup-duplicate-of"),
        distance=None if distance is None else int(distance),
        reason=headers["dedup-reason"],
    )
