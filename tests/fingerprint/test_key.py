"""The secret, the key made from it, and its absence from all output."""

from __future__ import annotations

import pickle
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from crawler_plugin.wire.page_headers import PageMeta
from tests.fingerprint.definition.sketch import bands, bands_by_definition, sketch, sketch_by_definition
from worker.fingerprint.fingerprinter import Fingerprinter, Recipe
from worker.fingerprint.hashing import hash_content, hash_words
from worker.fingerprint.key import LEAST_BYTES, Key
from worker.fingerprint.sketch import PUBLIC, numbering_of

SECRET = b"the secret of this crawl"
KEY = Key.of(SECRET)
OTHER = Key.of(SECRET + b"!")
KEYED = Recipe(sketched=True, key=KEY)
TEXT = "Tropical fish include fish found in tropical environments around the world. 美国雇员称内部有飞碟。"
URL = "https://example.org/"


def test_a_secret_has_at_least_sixteen_bytes() -> None:
    Key.of(bytes(LEAST_BYTES))
    with pytest.raises(ValueError, match="15 bytes, at least 16"):
        Key.of(bytes(LEAST_BYTES - 1))


def test_what_a_secret_comes_to_stays_what_it_is() -> None:
    """Pinned: an index on disk holds such values. A change here needs another name of the rule."""
    assert KEY.name == "71a9e4bbef12d4cb"
    made = Fingerprinter(KEYED).of_text(TEXT, URL)
    assert made.fingerprint is not None
    assert (f"{made.fingerprint:016x}", f"{made.text_hash:016x}") == ("ea896b09890ad1fb", "d7be1c63f0174e19")
    assert (made.sketch[:8].hex(), made.bands[:8].hex()) == ("eda87c91b582fa92", "a30f56fd54a12771")


def test_each_use_has_a_part_of_its_own_and_another_secret_has_others() -> None:
    parts = [
        part for key in (KEY, OTHER) for part in (key.features, key.tokens, key.numberings, key.content, key.scopes)
    ]
    assert len({*parts, bytes.fromhex(KEY.name), KEY.root[:16], KEY.root[16:]}) == 13
    assert {len(part) for part in parts} == {16}
    assert KEY.name != OTHER.name


def test_nothing_that_shows_a_recipe_shows_the_secret() -> None:
    hidden = [SECRET, KEY.root, KEY.features, KEY.tokens, KEY.numberings, KEY.content, KEY.scopes]
    for shown in (repr(KEY), str(KEY), repr(KEYED), f"{KEYED}"):
        assert not any(secret.hex() in shown or repr(secret)[2:-1] in shown for secret in hidden)
    assert "key" not in repr(KEYED)


def test_a_parser_child_comes_to_the_same_by_what_is_sent_to_it() -> None:
    child = Fingerprinter(pickle.loads(pickle.dumps(KEYED)))
    assert child.of_text(TEXT, URL) == Fingerprinter(KEYED).of_text(TEXT, URL)


@pytest.mark.parametrize("other", [None, OTHER], ids=["no key", "another key"])
def test_with_another_key_nothing_of_a_page_stays_the_same(other: Key | None) -> None:
    ours, theirs = (Fingerprinter(replace(KEYED, key=key)).of_text(TEXT, URL) for key in (KEY, other))
    assert ours.fingerprint != theirs.fingerprint
    assert ours.text_hash != theirs.text_hash
    assert ours.sketch != theirs.sketch
    assert not set(np.frombuffer(ours.bands, "<u4").tolist()) & set(np.frombuffer(theirs.bands, "<u4").tolist())
    assert (ours.tokens, ours.language, ours.reason) == (theirs.tokens, theirs.language, theirs.reason)


def test_pages_without_a_word_and_without_a_byte_depend_on_the_key_too() -> None:
    for body in (b"<div id=root></div>", b""):
        hashes = {
            Fingerprinter(replace(KEYED, key=key)).of_page(body, PageMeta(url=URL)).text_hash
            for key in (None, KEY, OTHER)
        }
        assert len(hashes) == 3


def test_no_hash_of_a_text_is_that_of_the_bytes_that_it_is_spelled_like_with_a_key_either() -> None:
    tokens, none = hash_words(["fish", "water"], key=KEY.tokens), hash_words([], key=KEY.tokens)
    found = {
        hash_content(tokens, b"", "", KEY.content),
        hash_content(none, tokens.astype("<u8").tobytes(), "", KEY.content),
        hash_content(none, b"https://a/", "", KEY.content),
        hash_content(none, b"", "https://a/", KEY.content),
    }
    assert len(found) == 4


def test_a_page_is_near_to_its_copies_with_a_key_as_without() -> None:
    fingerprinter = Fingerprinter(KEYED)
    assert fingerprinter.of_text(TEXT, URL) == fingerprinter.of_text(TEXT.upper().replace(". ", " - "), URL)


def test_a_numbering_by_a_key_is_one_and_no_multiplier_is_even() -> None:
    ours, theirs = numbering_of(KEY), numbering_of(OTHER)
    assert numbering_of(None) is PUBLIC
    for a, b in pairwise((PUBLIC, ours, theirs)):
        assert a.boundary != b.boundary
        assert not set(a.slots.tolist()) & set(b.slots.tolist())
        assert not set(a.bands.tolist()) & set(b.bands.tolist())
    assert (ours.slots.shape, ours.bands.shape) == ((128,), (24,))
    assert np.all(ours.slots & 1 == 1) and np.all(ours.bands & 1 == 1)


@pytest.mark.parametrize("count", [0, 1, 14, 15, 22, 23, 40, 60, 150])
def test_sketches_by_a_key_are_their_definition(count: int) -> None:
    tokens = hash_words([f"word{number}" for number in range(count)], key=KEY.tokens)
    numbering = numbering_of(KEY)
    assert sketch(tokens, numbering) == sketch_by_definition(tokens.tolist(), numbering)
    assert bands(tokens, numbering) == bands_by_definition(tokens.tolist(), numbering)
