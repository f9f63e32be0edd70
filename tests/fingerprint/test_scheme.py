"""What a verdict depends on, in words and as eight bytes."""

from __future__ import annotations

import hashlib
import pickle

import pytest

from worker.errors import UnreadableRecord
from worker.fingerprint.scheme import ABSENT, Scheme, SchemeDifference, Value, content_hash

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
