"""Words → hashes of the literature, of any width."""

from __future__ import annotations

import hashlib

import pytest
import xxhash
from hypothesis import given
from hypothesis import strategies as st

from worker.evaluate.literature.hashes import ALGORITHMS, Algorithm, hashes_of
from worker.fingerprint.hashing import hash_words

words = st.lists(st.text(max_size=30), max_size=8)
ODD = ["", "a", "飞碟", "Café", "🐟", "x" * 500, "中\0文", "\ud83d"]


def bkdr(word: str, bits: int) -> int:
    """The definition, a unit at a time."""
    units = word.encode("utf-16-le", "surrogatepass")
    hashed = 0
    for place in range(0, len(units), 2):
        hashed = hashed * 31 + int.from_bytes(units[place : place + 2], "little")
        hashed = (hashed + 2**63) % 2**64 - 2**63
    return abs(hashed) % (1 << bits)


def defined(word: str, algorithm: str, bits: int) -> int:
    encoded = word.encode("utf-8", "surrogatepass")
    if algorithm == "bkdr":
        return bkdr(word, bits)
    if algorithm == "blake2b":
        size = 8 if bits <= 64 else 16
        return int.from_bytes(hashlib.blake2b(encoded, digest_size=size).digest(), "little") % (1 << bits)
    wide = xxhash.xxh3_64_intdigest if bits <= 64 else xxhash.xxh3_128_intdigest
    return wide(encoded) % (1 << bits)


@given(words, st.integers(8, 128), st.sampled_from(ALGORITHMS))
def test_each_word_gets_the_hash_of_its_definition(texts: list[str], bits: int, algorithm: Algorithm) -> None:
    if algorithm == "bkdr":
        bits = min(bits, 64)
    assert hashes_of(texts, algorithm, bits) == [defined(text, algorithm, bits) for text in texts]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_odd_words_have_hashes_too(algorithm: Algorithm) -> None:
    assert hashes_of(ODD, algorithm, 64) == [defined(word, algorithm, 64) for word in ODD]


@pytest.mark.parametrize(
    ("algorithm", "bits", "expected"),
    [
        ("xxh3", 64, 0x2D06800538D394C2),  # XXH3 of nothing, from its specification
        ("xxh3", 128, 0x99AA06D3014798D86001C324468D497F),
        ("xxh3", 16, 0x94C2),
        ("bkdr", 64, 0),
    ],
)
def test_the_hash_of_nothing_is_that_of_the_specification(algorithm: Algorithm, bits: int, expected: int) -> None:
    assert hashes_of([""], algorithm, bits) == [expected]


def test_bkdr_is_what_java_calls_hash_code_as_long_as_it_fits_32_bits() -> None:
    assert hashes_of(["a", "ab", "abc", "hello"], "bkdr", 64) == [97, 3105, 96354, 99162322]


def test_bkdr_takes_the_absolute_value_of_a_negative_hash() -> None:
    word = "fingerprinting"
    signed = 0
    for character in word:
        signed = signed * 31 + ord(character)
    assert signed % 2**64 >= 2**63, "the example must wrap to a negative number"
    assert hashes_of([word], "bkdr", 64) == [2**64 - signed % 2**64]


def test_the_one_number_without_an_absolute_value_in_java_is_2_to_the_63() -> None:
    word = _word_with_bkdr(2**63)
    assert bkdr(word, 64) == 2**63
    assert hashes_of([word], "bkdr", 64) == [2**63]
    assert hashes_of([word], "bkdr", 63) == [0]


def _word_with_bkdr(target: int) -> str:
    """A word whose hash is ``target`` before signs: its digits in base 31, most significant first, as characters."""
    digits = []
    while target:
        target, digit = divmod(target, 31)
        digits.append(chr(digit))
    return "".join(reversed(digits))


@pytest.mark.parametrize(
    ("algorithm", "bits", "complaint"),
    [
        ("xxh3", 7, "7 bits are not a width"),
        ("xxh3", 129, "choose 8 to 128"),
        ("bkdr", 65, "bkdr has 64 bits, not 65; choose fewer, or xxh3"),
    ],
)
def test_widths_that_do_not_exist_are_refused(algorithm: Algorithm, bits: int, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        hashes_of(["a"], algorithm, bits)


@pytest.mark.parametrize(("algorithm", "bits"), [("bkdr", 64), ("blake2b", 64), ("xxh3", 65)])
def test_a_key_is_refused_where_there_is_no_use_for_it(algorithm: Algorithm, bits: int) -> None:
    with pytest.raises(ValueError, match="choose"):
        hashes_of(["fish"], algorithm, bits, bytes(16))


def test_with_a_key_a_hash_is_the_workers_to_its_low_bits() -> None:
    (hashed,) = hash_words(["fish"], key=bytes(16)).tolist()
    assert hashes_of(["fish"], "xxh3", 33, bytes(16)) == [hashed % 2**33]
