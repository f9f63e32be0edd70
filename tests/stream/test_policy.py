"""The replay point in the metadata of a consumed offset, and the size limits of written records."""

from __future__ import annotations

import pytest

from crawler_plugin.wire.errors import Refused
from crawler_plugin.wire.messages import Claim, Hit, encode
from tests.columns import answer_of, batch_of
from tests.stream.script import policy
from worker.fingerprint.near import SimHashNear
from worker.fingerprint.scoped import ScopedNear
from worker.stream.policy import CLAIM_BYTES, MAX_URL_BYTES, NOTHING, Note, ReplayPoint, within


def test_metadata_is_pinned_since_it_outlives_the_program() -> None:
    assert ReplayPoint(7, 42).to_metadata() == "1 7 42"
    assert Note(ReplayPoint(7, 42)).to_metadata() == "1 7 42"
    assert Note(ReplayPoint(7, 42), 9).to_metadata() == "1 7 42 @9"
    assert Note(ReplayPoint(7, 42), NOTHING).to_metadata() == "1 7 42 counted"
    assert Note(ReplayPoint(7, 42), successor="b").to_metadata() == "1 7 42 >b"


@pytest.mark.parametrize(
    "note",
    [
        Note(ReplayPoint(0, 0)),
        Note(ReplayPoint(1, 2), 3),
        Note(ReplayPoint(1, 2), NOTHING),
        Note(ReplayPoint(1, 2), successor=""),
        Note(ReplayPoint(1, 2), 3, "b"),
        Note(ReplayPoint(1, 2), NOTHING, "b"),
        Note(ReplayPoint(1, 2), successor="2026.b-c_d"),
    ],
)
def test_a_note_comes_back_from_its_metadata(note: Note) -> None:
    assert Note.from_metadata(note.to_metadata(), "here") == note


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "1",
        "1 7",
        "1 7 42 9",
        "1 7 42 @",
        "1 7 42 @x",
        "1 7 42 count",
        "2 7 42",
        "7 42",
        "1 -7 42",
        "1 7 x",
        "1 7.0 42",
    ],
)
def test_metadata_of_another_program_is_refused_and_the_setting_named(text: str) -> None:
    with pytest.raises(Refused, match=r"partition 3 of pages carries .*`python -m worker repair`"):
        Note.from_metadata(text, "partition 3 of pages")


def test_a_message_does_not_repeat_metadata_of_any_length() -> None:
    with pytest.raises(Refused) as refused:
        Note.from_metadata("x" * 4096, "partition 3 of pages")
    assert len(str(refused.value)) < 400


def test_policies_are_equal_by_all_but_the_predicate_which_the_scheme_names() -> None:
    assert policy(near=ScopedNear(SimHashNear(1))) == policy(near=ScopedNear(SimHashNear(2)))
    assert policy(ttl=1) != policy(ttl=2)


@pytest.mark.parametrize("most", [64 * 1024, 1 << 20, 8 << 20, 64 << 20])
def test_no_record_of_ours_is_larger_than_the_broker_takes_even_with_the_longest_urls(most: int) -> None:
    limits = within(most, 4096)
    url = "http://long.example/" + "%" * (MAX_URL_BYTES - 20)
    claims = [
        Claim(partition=2**31 - 1, offset=2**62, clock=2**62, url=url, fingerprint=2**64 - 1, text_hash=2**64 - 1,
              tokens=2**31, language="cyrillic", sketch=b"s" * 32, bands=b"b" * 32)
        for _ in range(limits["claims_a_batch"])
    ]  # fmt: skip
    assert len(encode(batch_of(claims, b"8" * 8, b"8" * 8))) <= most
    hits = tuple(
        Hit(place=place, order=(2**62, 2**31), url=url, distance=3, reason="exact-text") for place in range(len(claims))
    )
    answer = answer_of(hits, scheme=b"8" * 8, writer=b"8" * 8, batch=2**62, shard=7)
    assert len(encode(answer)) <= most
    before = limits["flush_entries"] * CLAIM_BYTES + limits["flush_bytes"]
    assert before + len(claims) * (MAX_URL_BYTES + CLAIM_BYTES) <= most
