"""Everything that a verdict depends on, in words and as eight bytes."""

from __future__ import annotations

import hashlib
import pickle

import pytest

from crawler_plugin.wire.errors import UnreadableRecord
from worker.fingerprint.scheme import ABSENT, Scheme, SchemeDifference, Value, content_hash, in_words
from worker.fingerprint.sketch import slots_for

VALUES: dict[str, Value] = {"extractor": "resiliparse-1", "k": 3, "ttl_ms": None, "hmm": False, "words": "ß飞碟"}
OURS = Scheme.of(VALUES)


def test_equal_settings_have_equal_ids_in_any_order() -> None:
    turned = Scheme.of(dict(reversed(VALUES.items())))
    assert turned.id == OURS.id
    assert len(OURS.id) == 8


@pytest.mark.parametrize(
    ("name", "value"),
    [("k", 2), ("k", 3.0), ("k", "3"), ("hmm", True), ("hmm", None), ("ttl_ms", 0), ("words", "ß飞碟 "), ("new", None)],
)
def test_any_other_value_makes_another_id(name: str, value: Value) -> None:
    theirs = Scheme.of(VALUES | {name: value})
    assert theirs.id != OURS.id
    assert OURS.differences(theirs) == [SchemeDifference(name, VALUES.get(name, ABSENT), value)]


def test_the_id_is_the_same_on_every_machine() -> None:
    canonical = '{"k":3,"words":"飞碟"}'.encode()
    assert Scheme.of({"words": "飞碟", "k": 3}).id == hashlib.blake2b(canonical, digest_size=8).digest()


def test_a_scheme_survives_its_way_through_a_header() -> None:
    decoded = Scheme.decode(OURS.encode())
    assert decoded == OURS
    assert decoded.id == OURS.id
    assert pickle.loads(pickle.dumps(OURS)) == OURS


def test_differences_are_named_in_our_order_and_then_theirs() -> None:
    theirs = Scheme.of({"later": 1, "k": 2, "extractor": "other", "hmm": False, "words": "ß飞碟"})
    assert [row.name for row in OURS.differences(theirs)] == ["extractor", "k", "ttl_ms", "later"]
    assert OURS.differences(OURS) == []
    assert OURS.differences(theirs)[2] == ("ttl_ms", None, ABSENT)


@pytest.mark.parametrize("header", [b"", b"\xff", b"[]", b"3", b'{"k": [3]}', b"{"])
def test_anything_else_is_no_scheme(header: bytes) -> None:
    with pytest.raises(UnreadableRecord, match="not a scheme"):
        Scheme.decode(header)


def test_a_name_has_one_value() -> None:
    with pytest.raises(ValueError, match="once"):
        Scheme((("k", 3), ("k", 3)))


def test_the_hash_of_a_list_of_words_knows_each_word_but_not_their_order() -> None:
    assert content_hash(["飞碟", "fish"]) == content_hash(["fish", "飞碟", "fish"])
    assert len({content_hash(words) for words in ([], [""], ["ab"], ["a", "b"], ["ab", ""], ["\ud83d"])}) == 6


@pytest.mark.parametrize("least", [0.4, 0.55, 0.6, 0.65, 0.8, 0.9, 1.0])
def test_a_threshold_that_differs_is_told_as_it_was_set(least: float) -> None:
    difference = SchemeDifference("near: threshold", slots_for(least), slots_for(0.7))
    assert in_words(difference) == f"near.threshold is {least} here and 0.7 there"


def test_what_is_not_set_on_one_side_is_told_so() -> None:
    assert in_words(SchemeDifference("near.ttl_days", None, 3.0)) == "near.ttl_days is not set here and 3.0 there"
    assert in_words(SchemeDifference("near: threshold", ABSENT, 90)).startswith(
        f"near.threshold is {ABSENT} here and 0.6"
    )


@pytest.mark.parametrize("slots", range(128))
def test_no_two_numbers_of_slots_are_told_as_one_threshold(slots: int) -> None:
    told = [in_words(SchemeDifference("near: threshold", each, 0)) for each in (slots, slots + 1)]
    assert told[0] != told[1]
