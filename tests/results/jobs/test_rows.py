"""A verdict, or a dead letter, becomes a row."""

from __future__ import annotations

import pytest
from worker.results.jobs.rows import JobRow

from crawler_plugin.wire.errors import UnreadableRecord
from crawler_plugin.wire.outcomes import Verdict
from worker.stream.kafka.output_reader import DeadLetter

COPY = Verdict(
    url="http://b.example/",
    verdict="duplicate",
    duplicate_of="http://a.example/",
    distance=2,
    reason="hamming",
    fingerprint="0" * 16,
    order=(5, 1),
    source=(3, 17),
    fetched=1_700_000_000_000,
    scheme="0" * 16,
    url_as_given="http://B.example/#top",
    spider="news",
    job="7",
    status=200,
    language="en",
    tokens=300,
)


def test_a_verdict_without_what_only_workers_need() -> None:
    row = JobRow.of(COPY)
    assert row == JobRow(
        url="http://b.example/",
        verdict="duplicate",
        duplicate_of="http://a.example/",
        distance=2,
        reason="hamming",
        fingerprint="0" * 16,
        fetched=1_700_000_000_000,
        url_as_given="http://B.example/#top",
        spider="news",
        job="7",
        status=200,
        language="en",
        tokens=300,
        partition=3,
        offset=17,
    )
    assert JobRow.decode(row.encode()) == row


@pytest.mark.parametrize(
    ("given", "url"), [("http://A.example/#x", "http://a.example/"), ("nowhere", "nowhere"), (None, "")]
)
def test_a_dead_letter_says_why_it_is_one(given: str | None, url: str) -> None:
    row = JobRow.of(DeadLetter(given, "not-text", "a picture", (1, 4), b"\x89PNG", "news", "2026-05"))
    assert (row.url, row.verdict, row.reason, row.detail) == (url, "dead", "not-text", "a picture")
    assert (row.url_as_given, row.spider, row.job, row.partition, row.offset) == (given, "news", "2026-05", 1, 4)


@pytest.mark.parametrize("line", [b"", b"[]", b'{"url":1}', b"[" * 100_000])
def test_anything_else_is_no_row(line: bytes) -> None:
    with pytest.raises(UnreadableRecord):
        JobRow.decode(line)
