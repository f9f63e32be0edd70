"""Verdicts as rows and lines, and read back."""

from __future__ import annotations

import json

import pytest

from crawler_plugin.wire.errors import UnreadableRecord
from crawler_plugin.wire.outcomes import Verdict
from tests.wire.test_outcomes import VERDICT
from worker.results.rows import (
    OF_JOB,
    OF_SCAN,
    dead_letter_line,
    job_row,
    line_of,
    pageless_records,
    read_line,
    scan_line,
    scan_row,
)

DEAD = Verdict(file="a.warc", offset=7, id="x", url="http://a.example/", verdict="dead", reason="r", detail="d\n")
COPY = Verdict(
    file="a.warc",
    offset=1 << 40,
    id="x",
    url="http://b.example/",
    verdict="duplicate",
    duplicate_of="http://a.example/",
    duplicate_of_id="页0",
    distance=3,
    similarity=0.5,
    reason="hamming",
    language="zh",
    tokens=9,
    fetched=1_700_000_000_123,
    spider="news",
    fingerprint="0" * 16,
    text_hash="1" * 16,
    sketch="2" * 64,
    bands="3" * 64,
    canonical="http://b.example/c",
    previous="changed",
    changed=0.25,
    suspect=True,
    title_hash="4" * 8,
)


def test_a_row_of_a_scan_has_the_documented_names_in_their_order() -> None:
    assert list(scan_row(DEAD).items()) == [
        ("file", "a.warc"),
        ("offset", 7),
        ("id", "x"),
        ("url", "http://a.example/"),
        ("verdict", "dead"),
        ("duplicate_of", None),
        ("duplicate_of_id", None),
        ("distance", None),
        ("similarity", None),
        ("reason", "r"),
        ("detail", "d\n"),
        ("language", ""),
        ("tokens", 0),
        ("fetched", None),
        ("spider", None),
        ("fingerprint", None),
        ("text_hash", ""),
        ("sketch", ""),
        ("bands", ""),
        ("canonical", None),
        ("previous", None),
        ("changed", None),
        ("suspect", False),
        ("title_hash", ""),
    ]
    assert tuple(scan_row(DEAD)) == OF_SCAN


def test_a_row_of_a_crawl_is_a_verdict_without_what_only_workers_need() -> None:
    assert list(job_row(VERDICT).items()) == [
        ("url", "https://a.example/页"),
        ("verdict", "duplicate"),
        ("duplicate_of", "https://b.example/"),
        ("distance", 2),
        ("similarity", 0.875),
        ("reason", "hamming"),
        ("detail", ""),
        ("language", "zh"),
        ("tokens", 321),
        ("previous", "changed"),
        ("changed", 0.25),
        ("suspect", False),
        ("status", 200),
        ("fetched", 1_700_000_000_000),
        ("spider", "news"),
        ("job", "2026-05"),
        ("url_as_given", "https://A.example/页#top"),
        ("fingerprint", "00ff00ff00ff00ff"),
        ("partition", 7),
        ("offset", 41),
    ]
    assert tuple(job_row(VERDICT)) == OF_JOB


@pytest.mark.parametrize("verdict", [DEAD, COPY])
def test_a_line_of_a_scan_is_read_as_it_was_written(verdict: Verdict) -> None:
    line = scan_line(verdict)
    assert read_line(line) == verdict
    assert line.count(b"\n") == 1


def test_of_dead_letters_those_without_a_page_are_read_and_the_others_have_their_verdicts() -> None:
    assert json.loads(dead_letter_line(DEAD)) == {
        "file": "a.warc",
        "offset": 7,
        "id": "x",
        "url": "http://a.example/",
        "reason": "r",
        "detail": "d\n",
    }
    broken = DEAD.having(url="", id=None)
    lines = [dead_letter_line(DEAD), dead_letter_line(broken, pageless=True), dead_letter_line(broken)]
    assert [json.loads(line)["url"] for line in lines] == ["http://a.example/", None, ""]
    assert list(pageless_records(lines)) == [broken]


@pytest.mark.parametrize(
    "line",
    [b"", b"{}", b"[]", b'{"file": "a"}', b"[" * 100_000, scan_line(DEAD).replace(b"dead", b"odd"), b'{"url":1}'],
)
def test_other_lines_are_refused(line: bytes) -> None:
    with pytest.raises(UnreadableRecord, match="not a verdict"):
        read_line(line)
    with pytest.raises(UnreadableRecord, match="not a dead letter"):
        list(pageless_records([line.replace(b'"reason"', b'"unreason"').replace(b'"url"', b'"earl"')]))


def test_a_line_that_is_not_utf_8_is_refused() -> None:
    with pytest.raises(UnreadableRecord, match="not a verdict"):
        read_line(scan_line(DEAD).replace(b"a.example", b"\xff"))
    with pytest.raises(UnreadableRecord, match="not a dead letter"):
        list(pageless_records([dead_letter_line(DEAD).replace(b"a.example", b"\xff")]))


def test_a_row_of_a_crawl_is_no_line_of_a_scan() -> None:
    with pytest.raises(UnreadableRecord, match="it has no file or no id"):
        read_line(line_of(job_row(VERDICT)))
