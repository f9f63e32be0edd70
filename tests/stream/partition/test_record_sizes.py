"""The size of a page's outputs is known before the page is claimed: never too small, hardly too large."""

from __future__ import annotations

import pytest
from kafka.record.memory_records import MemoryRecordsBuilder
from msgspec.structs import replace

from crawler_plugin.wire.outcomes import Verdict, dead_letter_headers
from crawler_plugin.wire.page_headers import Headers, PageMeta
from worker.stream.partition.record_sizes import (
    LEAST_BYTES,
    MAX_DETAIL,
    in_short,
    largest_output,
    record_bytes,
    reference,
)
from worker.stream.policy import MAX_URL_BYTES

LONGEST = "http://a/" + "u" * (MAX_URL_BYTES - 9)
VERDICT = Verdict(
    url=LONGEST,
    verdict="duplicate",
    duplicate_of=LONGEST,
    distance=64,
    reason="exact-bytes",
    fingerprint="f" * 16,
    order=(2**62, 10**6),
    source=(10**6, 2**62),
    fetched=2**62,
    scheme="f" * 16,
)
RECORDS: dict[str, tuple[bytes | None, bytes | None, Headers]] = {
    "nothing": (None, None, ()),
    "a page": (b"http://a/", b"<p>text</p>", [("url", b"http://a/"), ("status", b"200")]),
    "a large value": (b"k", b"x" * (8 << 20), [("url", b"http://a/")]),
    "large headers": (b"k", b"x", [("h", b"x" * (2 << 20)), ("n" * 100_000, b"")]),
    "many small headers": (None, b"x", [("h", b"x")] * 10_000),
    "a name in Chinese": (None, b"x", [("名字" * 100, b"x")]),
    "a header without a value": (None, b"x", [("h", None)]),  # type: ignore[list-item]
    **{f"{length} bytes": (b"k", b"x" * length, ()) for length in (63, 64, 8191, 8192, 1048575, 1048576)},
}


def on_the_broker(key: bytes | None, value: bytes | None, headers: Headers) -> int:
    """Bytes of a batch with this one record, as kafka-python writes it."""
    builder = MemoryRecordsBuilder(magic=2, compression_type=0, batch_size=64 << 20)
    builder.append(timestamp=1_700_000_000_000, key=key, value=value, headers=list(headers))
    builder.close()
    return len(builder.buffer())


@pytest.mark.parametrize("kind", RECORDS)
def test_a_record_is_measured_with_key_headers_and_framing(kind: str) -> None:
    key, value, headers = RECORDS[kind]
    written = [(name, content or b"") for name, content in headers]
    assert 0 <= record_bytes(key, value, headers) - on_the_broker(key, value, written) <= 20


@pytest.mark.parametrize("kind", RECORDS)
def test_whatever_becomes_of_a_page_its_output_takes_no_more_than_was_measured(kind: str) -> None:
    key, value, headers = RECORDS[kind]
    page = [(name, content or b"") for name, content in headers]
    letter = dead_letter_headers("parser-timeout", "\U0001f600" * MAX_DETAIL, (10**6, 2**62))
    for ours in (VERDICT.to_headers(), letter):
        assert on_the_broker(key, value, [*page, *ours]) <= largest_output(key, value, headers)


def test_a_page_that_passes_on_with_its_key_and_url_in_our_spelling_takes_no_more_than_was_measured() -> None:
    given, headers = b"https:@h", [("url", b"https:@h")]
    passed = on_the_broker(LONGEST.encode(), None, [("url", b"https://h"), *VERDICT.to_headers()])
    assert passed <= largest_output(given, None, headers)


@pytest.mark.parametrize("character", ["u", "\x01", '"', "é", "字"])
def test_a_verdict_fits_into_any_topic_that_may_be_set_whatever_its_urls(character: str) -> None:
    url = character * (MAX_URL_BYTES // len(character.encode()))
    said = PageMeta(url=url, spider=character * 1024, job=character * 1024)
    kept = PageMeta.from_headers(in_short([*said.to_headers(), ("job", b"j" * 1024), ("spider", b"\x01" * 1024)]))
    verdict = replace(
        VERDICT, url=url, duplicate_of=url, url_as_given=kept.url, spider=kept.spider, job=kept.job, status=2**62
    )
    assert verdict.spider
    assert record_bytes(url.encode(), verdict.encode(), verdict.crawl_headers()) < LEAST_BYTES


def test_a_page_that_is_too_large_keeps_what_the_crawler_said_of_it_in_short() -> None:
    meta = PageMeta(url="http://a/", status=200, content_type="text/html", spider="s", job="j" * 5000)
    foreign = [("theirs", b"x" * (2 << 20)), ("url", b"overwritten")]
    key, headers = reference(b"http://a/", [*foreign, *meta.to_headers()])
    assert key == b"http://a/"
    assert PageMeta.from_headers(headers) == PageMeta(url="http://a/", status=200, content_type="text/html", spider="s")


@pytest.mark.parametrize(("key", "url"), [(b"k" * (9 << 20), b"\xff" * 10**6), (None, "字".encode() * 10**6)])
def test_it_fits_however_large_its_key_and_its_url_are(key: bytes | None, url: bytes) -> None:
    kept_key, kept = reference(key, [(name, url) for name in PageMeta.__struct_fields__])
    letter = dead_letter_headers("oversize", "d" * MAX_DETAIL, (10**6, 2**62))
    assert on_the_broker(kept_key, None, [*kept, *letter]) < LEAST_BYTES
    assert [name for name, _ in kept] == ["url"]
    kept[0][1].decode()


def test_headers_that_are_no_header_of_ours_are_not_kept() -> None:
    assert reference(None, [("dedup-verdict", b"unique"), ("x", b"y")]) == (None, [])
