"""Readers of the outputs, on the real broker: they see committed records, each once, and never those of an abort."""

from __future__ import annotations

from collections.abc import Sequence

import kafka.codec
import pytest
from kafka import KafkaProducer

from crawler_plugin.wire.errors import Unavailable, UnreadableRecord, UsageError
from crawler_plugin.wire.outcomes import Verdict, dead_letter_headers
from crawler_plugin.wire.page_headers import PageMeta, text_headers
from crawler_plugin.wire.topics import DEAD_LETTERS, DEDUPLICATED, VERDICTS, topic_specs
from tests.cluster.cluster import grow
from worker.config import KafkaSettings
from worker.stream.kafka.connection import client_options
from worker.stream.kafka.output_reader import Delivered, Output, OutputReader, PageCount, read_outputs
from worker.stream.kafka.publish import publish_pages
from worker.stream.kafka.topic_admin import create_topics

pytestmark = pytest.mark.cluster

Written = tuple[str, bytes | None, Sequence[tuple[str, bytes]]]


@pytest.fixture
def options(broker: str, topic_prefix: str) -> dict[str, object]:
    made = client_options(KafkaSettings(bootstrap_servers=broker))
    create_topics(made, topic_specs(prefix=topic_prefix, partitions=2, shards=1), 1)
    return made


def verdict(number: int, original: str | None = None) -> Verdict:
    return Verdict(
        url=f"https://host.example/{number}",
        verdict="unique" if original is None else "duplicate",
        duplicate_of=original,
        distance=None if original is None else 2,
        reason="first" if original is None else "hamming",
        fingerprint="0123456789abcdef",
        order=(0, number),
        source=(0, number),
        fetched=None,
        scheme="00" * 8,
    )


def committed(record: Verdict) -> list[Written]:
    headers = [*PageMeta(url=record.url).to_headers(), *record.to_headers()]
    return [(VERDICTS, record.encode(), []), (DEDUPLICATED, b"body", headers)]


def delivered(record: Verdict) -> Delivered:
    page = PageMeta(url=record.url)
    return Delivered(page, b"body", record.verdict, record.duplicate_of, record.distance, record.reason)


def transact(
    options: dict[str, object], prefix: str, written: Sequence[Written], *, commit: bool, first: int = 0
) -> None:
    """Write each record to another partition, from ``first`` on."""
    producer = KafkaProducer(**options, transactional_id=f"{prefix}writer", acks="all")
    try:
        producer.init_transactions()
        producer.begin_transaction()
        for place, (topic, value, headers) in enumerate(written):
            producer.send(prefix + topic, value=value, headers=list(headers), partition=first + place % 2)
        producer.flush(timeout=30)
        producer.commit_transaction() if commit else producer.abort_transaction()
    finally:
        producer.close(timeout=10)


def as_set(outputs: Sequence[Output]) -> set[str]:
    assert len(set(map(repr, outputs))) == len(outputs)
    return set(map(repr, outputs))


def test_committed_records_of_all_three_topics_are_read_and_aborted_ones_are_not(
    options: dict[str, object], topic_prefix: str
) -> None:
    first, copy, aborted = verdict(1), verdict(2, "https://host.example/1"), verdict(3)
    crawl_headers = [("url", b"https://host.example/4"), ("spider", b"news"), ("job", b"2026-05")]
    letter_headers = [*crawl_headers, *dead_letter_headers("not-text", "a picture", (1, 7))]
    letter = Verdict.of_dead_letter(text_headers(letter_headers))
    transact(options, topic_prefix, committed(first), commit=True)
    transact(options, topic_prefix, committed(aborted), commit=False)
    transact(options, topic_prefix, [*committed(copy), (DEAD_LETTERS, b"\x89PNG", letter_headers)], commit=True)
    transact(options, topic_prefix, committed(aborted), commit=False)

    expected = as_set([first, copy, delivered(first), delivered(copy), letter])
    assert as_set(list(read_outputs(options, topic_prefix))) == expected
    assert as_set(list(read_outputs(options, topic_prefix, [DEAD_LETTERS]))) == as_set([letter])


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
def test_outputs_are_read_in_each_codec_and_who_lacks_one_is_told_what_to_install(
    options: dict[str, object], topic_prefix: str, codec: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = verdict(1).having(reason="hamming" * 100)
    transact({**options, "compression_type": codec}, topic_prefix, [(VERDICTS, given.encode(), [])], commit=True)
    assert list(read_outputs(options, topic_prefix, [VERDICTS])) == [given]
    monkeypatch.setattr(kafka.codec, f"has_{codec}", lambda: False)
    with pytest.raises(UsageError, match=rf"{topic_prefix}verdicts holds records .*{codec}.*: pip install"):
        list(read_outputs(options, topic_prefix, [VERDICTS]))


def test_a_reader_goes_on_with_what_is_committed_after_it_began(options: dict[str, object], topic_prefix: str) -> None:
    with OutputReader(options, topic_prefix, [VERDICTS]) as reader:
        assert reader.read(0.5) == []
        for number in range(3):
            transact(options, topic_prefix, committed(verdict(number)), commit=True)
            found: list[Output] = []
            while not found:  # a commit returns before its markers are in the partitions and make it visible
                found += reader.read(0.5)
            ends = reader.ends()
            while reader.standing_before(ends):
                found += reader.read(0.5)
            assert found == [verdict(number)]


def test_a_reader_goes_on_with_partitions_that_come_after_it_began(
    options: dict[str, object], topic_prefix: str
) -> None:
    with OutputReader(options | {"metadata_max_age_ms": 200}, topic_prefix, [VERDICTS]) as reader:
        transact(options, topic_prefix, committed(verdict(0))[:1], commit=True)
        found: list[Output] = []
        while not found:
            found += reader.read(0.5)
        grow(options, topic_prefix + VERDICTS, 3)
        transact(options, topic_prefix, [(VERDICTS, verdict(1).encode(), [])], commit=True, first=2)
        while len(found) < 2:
            found += reader.read(0.2)
        assert found == [verdict(0), verdict(1)]


def test_empty_topics_yield_nothing_and_missing_ones_say_how_to_make_them(
    options: dict[str, object], topic_prefix: str
) -> None:
    assert list(read_outputs(options, topic_prefix)) == []
    with pytest.raises(Unavailable, match=r"elsewhere\.verdicts.*topics create"):
        list(read_outputs(options, f"{topic_prefix}elsewhere."))
    with pytest.raises(Unavailable, match=r"elsewhere\.pages.*topics create"):
        PageCount(options, f"{topic_prefix}elsewhere.")


@pytest.mark.parametrize(
    ("topic", "headers"),
    [
        (VERDICTS, []),
        (DEDUPLICATED, [("url", b"https://host.example/1")]),
        (DEDUPLICATED, [("dedup-verdict", b"unique"), ("dedup-reason", b"first")]),
        (DEAD_LETTERS, [("dedup-reason", b"crash"), ("dedup-detail", b""), ("dedup-source", b"nowhere")]),
    ],
)
def test_a_record_that_no_worker_wrote_is_named(
    options: dict[str, object], topic_prefix: str, topic: str, headers: list[tuple[str, bytes]]
) -> None:
    transact(options, topic_prefix, [(topic, b"foreign", headers)], commit=True)
    with pytest.raises(UnreadableRecord, match=rf"{topic_prefix}{topic}\[0\] at offset 0"):
        list(read_outputs(options, topic_prefix))


def test_pages_are_counted_as_they_come(options: dict[str, object], topic_prefix: str) -> None:
    with PageCount(options, topic_prefix) as pages:
        assert pages.now() == 0
        publish_pages(options, topic_prefix, [(PageMeta(url=f"https://host.example/{n}"), b"") for n in range(5)])
        assert pages.now() == 5
