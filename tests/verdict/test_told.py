"""The reports on a decision."""

from __future__ import annotations

from msgspec.structs import replace

from crawler_plugin.wire.messages import Claim, Hit
from crawler_plugin.wire.outcomes import Verdict
from worker.verdict.decide import Decision
from worker.verdict.told import told

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
ORIGINAL = Hit(place=0, order=(1, 1), url="http://a.example/", distance=2, reason="hamming", agreement=81)


def test_a_duplicate_names_its_original_and_how_near_it_is_to_four_places() -> None:
    assert told(Decision((3, 0), CLAIM, "duplicate", "hamming", ORIGINAL)) == Verdict(
        url="http://b.example/",
        verdict="duplicate",
        reason="hamming",
        duplicate_of="http://a.example/",
        distance=2,
        similarity=0.5104,
        fingerprint="00000000000000ab",
        order=(3, 0),
        language="latin",
        tokens=9,
        text_hash="00000000000000cd",
        sketch="73" * 32,
        bands="62" * 32,
    )


def test_a_unique_page_is_near_to_none() -> None:
    verdict = told(Decision((3, 0), CLAIM, "unique", "first"))
    assert (verdict.verdict, verdict.duplicate_of, verdict.distance, verdict.similarity) == ("unique", None, None, None)


def test_a_dead_page_has_its_reason_and_the_detail_apart() -> None:
    claim = Claim(partition=0, offset=3, clock=0, url="", dead="bad-url: not an absolute URL: 'x'")
    verdict = told(Decision((3, 0), claim, "dead", claim.dead or ""))
    expected = Verdict(url="", verdict="dead", reason="bad-url", detail="not an absolute URL: 'x'", order=(3, 0))
    assert verdict == expected


def test_a_number_that_stands_for_a_url_is_no_title() -> None:
    def title_hash(title: int) -> str:
        return told(Decision((3, 0), replace(CLAIM, title=title), "unique", "first")).title_hash

    assert [title_hash(title) for title in (0, 0xAB, 0xAC)] == ["", "", "000000ac"]
