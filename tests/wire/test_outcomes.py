"""Results for other programs: written and read back; anything else is refused."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler_plugin.wire.errors import UnreadableRecord
from crawler_plugin.wire.outcomes import SOFT_404, JobMark, JobSum, SurvivorFinding, Verdict, dead_letter_headers
from crawler_plugin.wire.page_headers import PageMeta, text_headers

VERDICT = Verdict(
    url="https://a.example/页",
    verdict="duplicate",
    duplicate_of="https://b.example/",
    distance=2,
    reason="hamming",
    fingerprint="00ff00ff00ff00ff",
    similarity=0.875,
    order=(12, 3),
    source=(7, 41),
    fetched=1_700_000_000_000,
    scheme="0123456789abcdef",
    url_as_given="https://A.example/页#top",
    spider="news",
    job="2026-05",
    status=200,
    language="zh",
    tokens=321,
    previous="changed",
    changed=0.25,
)


def test_a_verdict_is_json_with_the_documented_names() -> None:
    assert json.loads(VERDICT.encode()) == {
        "url": "https://a.example/页",
        "verdict": "duplicate",
        "duplicate_of": "https://b.example/",
        "distance": 2,
        "similarity": 0.875,
        "reason": "hamming",
        "fingerprint": "00ff00ff00ff00ff",
        "order": [12, 3],
        "source": [7, 41],
        "fetched": 1_700_000_000_000,
        "scheme": "0123456789abcdef",
        "url_as_given": "https://A.example/页#top",
        "spider": "news",
        "job": "2026-05",
        "status": 200,
        "language": "zh",
        "tokens": 321,
        "previous": "changed",
        "changed": 0.25,
        "suspect": False,
    }
    assert Verdict.decode(VERDICT.encode()) == VERDICT


def test_programs_that_were_written_before_find_the_verdict_under_its_first_name() -> None:
    assert VERDICT.kind == VERDICT.verdict == "duplicate"


def test_a_verdict_s_headers_leave_out_what_is_null() -> None:
    unique = msgspec.structs.replace(VERDICT, verdict="unique", duplicate_of=None, distance=None, reason="first")
    assert text_headers(unique.to_headers()) == {"dedup-verdict": "unique", "dedup-reason": "first"}
    assert text_headers(VERDICT.to_headers()) == {
        "dedup-verdict": "duplicate",
        "dedup-duplicate-of": "https://b.example/",
        "dedup-distance": "2",
        "dedup-reason": "hamming",
    }


def test_whose_page_it_is_stands_in_headers_too_under_the_names_that_it_has_on_pages() -> None:
    assert text_headers(VERDICT.crawl_headers()) == {
        "url": "https://A.example/页#top",
        "spider": "news",
        "job": "2026-05",
    }
    read = PageMeta.from_headers(VERDICT.crawl_headers())
    assert (read.url, read.spider, read.job) == (VERDICT.url_as_given, VERDICT.spider, VERDICT.job)
    unsaid = msgspec.structs.replace(VERDICT, url_as_given=None, spider=None, job=None)
    assert unsaid.crawl_headers() == []


def test_a_mark_a_sum_and_a_finding_read_back_are_the_same() -> None:
    mark = JobMark(job="2026-05", spider="news", run="1f", pages=None)
    assert JobMark.decode(mark.encode()) == mark
    assert text_headers(mark.to_headers()) == {"spider": "news", "job": "2026-05"}
    counts = {"pages": {"dead": 2}, "body_bytes": {"dead": 9}, "reasons": {"dead: no-body": 2}}
    part = JobSum(job="2026-05", spider="news", generation="", part="1f", **counts)
    assert JobSum.decode(part.encode()) == part
    assert text_headers(part.to_headers()) == {"spider": "news", "job": "2026-05", "kind": "sum"}
    assert part.key != mark.key
    finding = SurvivorFinding(kind=SOFT_404, url="https://a.example/", order=(12, 3), copies=20, places=9)
    assert SurvivorFinding.decode(finding.encode()) == finding
    assert finding.to_headers() == [("kind", b"soft-404")]


@given(st.binary(max_size=50))
def test_anything_else_is_refused(value: bytes) -> None:
    for kind in (Verdict, JobMark, JobSum, SurvivorFinding):
        with pytest.raises(UnreadableRecord):
            kind.decode(value)


def test_what_no_reader_can_follow_to_its_depth_is_refused() -> None:
    with pytest.raises(UnreadableRecord, match="recursion"):
        Verdict.decode(VERDICT.encode()[:-1] + b',"more":' + b"[" * 100_000)


@pytest.mark.parametrize(
    ("field", "value"), [("verdict", "maybe"), ("order", [1]), ("distance", "2"), ("url", None), ("reason", None)]
)
def test_a_verdict_of_other_values_is_refused(field: str, value: object) -> None:
    changed = {**json.loads(VERDICT.encode()), field: value}
    with pytest.raises(UnreadableRecord):
        Verdict.decode(json.dumps(changed).encode())


@pytest.mark.parametrize("name", ["order", "source"])
def test_a_verdict_that_does_not_say_where_its_page_is_is_refused(name: str) -> None:
    told = {field: value for field, value in json.loads(VERDICT.encode()).items() if field != name}
    with pytest.raises(UnreadableRecord, match="no order or no source"):
        Verdict.decode(json.dumps(told).encode())


def test_a_dead_letter_says_why_and_where_its_page_is() -> None:
    headers = text_headers(dead_letter_headers("timeout", "10 s of parsing", (3, 17)))
    assert headers == {"dedup-reason": "timeout", "dedup-detail": "10 s of parsing", "dedup-source": "3:17"}


@pytest.mark.parametrize(
    ("given", "kept", "url"),
    [
        ("http://A.example/#x", "http://A.example/#x", "http://a.example/"),
        ("http://me:secret@a.example/", "http://a.example/", "http://a.example/"),
        ("nowhere", "nowhere", "nowhere"),
        (None, None, ""),
    ],
)
def test_a_dead_letter_is_a_verdict_too(given: str | None, kept: str | None, url: str) -> None:
    said = {"spider": "news", "job": "2026-05"} | ({} if given is None else {"url": given})
    letter = Verdict.of_dead_letter(said | text_headers(dead_letter_headers("not-text", "a picture", (1, 4))))
    assert letter == Verdict(
        url=url,
        verdict="dead",
        reason="not-text",
        detail="a picture",
        source=(1, 4),
        url_as_given=kept,
        spider="news",
        job="2026-05",
    )
