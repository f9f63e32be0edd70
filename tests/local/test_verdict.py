"""What callers are told of a decision."""

from __future__ import annotations

from msgspec.structs import replace

from crawler_plugin.wire.messages import Claim, Hit
from worker.local import Verdict
from worker.verdict.decide import Decision

CLAIM = Claim(
    partition=0,
    offset=3,
    clock=0,
    url="http://b.example/",
    fingerprint=0xAB,
    text_hash=0xCD,
    tokens=9,
    language="latin",
    sketch=b"s" * 32,
    bands=b"b" * 32,
)
ORIGINAL = Hit(place=0, order=(1, 1), url="http://a.example/", distance=2, reason="hamming", agreement=80)


def test_the_url_of_a_page_that_has_no_canonical_one_shows_no_password() -> None:
    dead = Decision((3, 0), replace(CLAIM, url="", dead="bad-url: …"), "dead", "bad-url: …")
    assert Verdict.of(dead, "https://user:secret@a.example:x/").url == "a.example:x/"


def test_a_duplicate_names_its_original_and_how_near_it_is() -> None:
    verdict = Verdict.of(Decision((3, 0), CLAIM, "duplicate", "hamming", ORIGINAL), "HTTP://b.example")
    assert verdict == Verdict(
        url="http://b.example/",
        kind="duplicate",
        reason="hamming",
        duplicate_of="http://a.example/",
        distance=2,
        similarity=0.5,
        fingerprint="00000000000000ab",
        language="latin",
        tokens=9,
        text_hash="00000000000000cd",
        sketch=b"s" * 32,
        bands=b"b" * 32,
        number=3,
        duplicate_of_number=2,
    )


def test_a_unique_page_is_near_to_none() -> None:
    verdict = Verdict.of(Decision((3, 0), CLAIM, "unique", "first"), "")
    assert (verdict.kind, verdict.duplicate_of, verdict.distance, verdict.similarity) == ("unique", None, None, None)


def test_a_dead_page_has_its_reason_and_the_detail_apart_and_the_url_that_was_given() -> None:
    claim = Claim(partition=0, offset=3, clock=0, url="", dead="bad-url: not an absolute URL: 'x'")
    verdict = Verdict.of(Decision((3, 0), claim, "dead", claim.dead or ""), "x")
    assert verdict == Verdict(url="x", kind="dead", reason="bad-url", detail="not an absolute URL: 'x'", number=3)


def test_a_number_that_stands_for_a_url_is_no_title() -> None:
    def told(title: int) -> str:
        return Verdict.of(Decision((3, 0), replace(CLAIM, title=title), "unique", "first"), "").title_hash

    assert [told(title) for title in (0, 0xAB, 0xAC)] == ["", "", "000000ac"]
