"""Words → hashes."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
import xxhash
from hypothesis import given
from hypothesis import strategies as st

from worker.fingerprint.hashing import ALGORITHMS, LONGEST_SIPPED, Algorithm, hash_text, hash_words, siphash
from worker.fingerprint.simhash import as_ints

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
    hashes = hash_words(texts, algorithm=algorithm, bits=bits)
    assert hashes.dtype == np.uint64
    assert hashes.shape == ((len(texts),) if bits <= 64 else (len(texts), 2))
    assert as_ints(hashes) == [defined(text, algorithm, bits) for text in texts]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_odd_words_have_hashes_too(algorithm: Algorithm) -> None:
    assert as_ints(hash_words(ODD, algorithm=algorithm)) == [defined(word, algorithm, 64) for word in ODD]


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
    assert as_ints(hash_words([""], algorithm=algorithm, bits=bits)) == [expected]


def test_bkdr_is_what_java_calls_hash_code_as_long_as_it_fits_32_bits() -> None:
    assert as_ints(hash_words(["a", "ab", "abc", "hello"], algorithm="bkdr")) == [97, 3105, 96354, 99162322]


def test_bkdr_takes_the_absolute_value_of_a_negative_hash() -> None:
    word = "fingerprinting"
    signed = 0
    for character in word:
        signed = signed * 31 + ord(character)
    assert signed % 2**64 >= 2**63, "the example must wrap to a negative number"
    assert as_ints(hash_words([word], algorithm="bkdr")) == [2**64 - signed % 2**64]


def test_the_one_number_without_an_absolute_value_in_java_is_2_to_the_63() -> None:
    word = _word_with_bkdr(2**63)
    assert bkdr(word, 64) == 2**63
    assert as_ints(hash_words([word], algorithm="bkdr")) == [2**63]
    assert as_ints(hash_words([word], algorithm="bkdr", bits=63)) == [0]


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
        ("bkdr", 65, "choose fewer bits, xxh3 or blake2b"),
        ("md5", 64, "choose one of xxh3, blake2b, bkdr"),
    ],
)
def test_widths_and_names_that_do_not_exist_are_refused(algorithm: Algorithm, bits: int, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        hash_words(["a"], algorithm=algorithm, bits=bits)


def test_a_whole_text_is_hashed_as_one_word() -> None:
    text = "飞碟 and fish"
    assert [hash_text(text)] == as_ints(hash_words([text]))
    assert hash_text("\ud83d") != hash_text("")


KEY = bytes(range(16))


@pytest.mark.parametrize(
    ("message", "expected"),
    [(b"", 0x726FDB47DD0E0E31), (bytes(range(15)), 0xA129CA6149BE45E5), (b"abc", 0x5DBCFA53AA2007A5)],
    ids=["no bytes", "the example of the paper's appendix A", "abc, by openssl mac SIPHASH"],
)
def test_siphash_is_that_of_its_authors(message: bytes, expected: int) -> None:
    assert siphash([message], KEY).tolist() == [expected]


def siphash_by_definition(message: bytes, key: bytes) -> int:
    """Aumasson and Bernstein, section 2, in whole numbers."""
    mask = 2**64 - 1
    k = [int.from_bytes(key[:8], "little"), int.from_bytes(key[8:], "little")]
    v = [k[0] ^ 0x736F6D6570736575, k[1] ^ 0x646F72616E646F6D, k[0] ^ 0x6C7967656E657261, k[1] ^ 0x7465646279746573]

    def rotated(value: int, by: int) -> int:
        return (value << by | value >> 64 - by) & mask

    def rounds(count: int) -> None:
        for _ in range(count):
            v[0] = v[0] + v[1] & mask
            v[1] = rotated(v[1], 13) ^ v[0]
            v[0] = rotated(v[0], 32)
            v[2] = v[2] + v[3] & mask
            v[3] = rotated(v[3], 16) ^ v[2]
            v[0] = v[0] + v[3] & mask
            v[3] = rotated(v[3], 21) ^ v[0]
            v[2] = v[2] + v[1] & mask
            v[1] = rotated(v[1], 17) ^ v[2]
            v[2] = rotated(v[2], 32)

    padded = message + bytes(7 - len(message) % 8) + bytes([len(message) % 256])
    for begin in range(0, len(padded), 8):
        block = int.from_bytes(padded[begin : begin + 8], "little")
        v[3] ^= block
        rounds(2)
        v[0] ^= block
    v[2] ^= 0xFF
    rounds(4)
    return v[0] ^ v[1] ^ v[2] ^ v[3]


@given(st.lists(st.binary(max_size=LONGEST_SIPPED), max_size=12), st.binary(min_size=16, max_size=16))
def test_many_messages_side_by_side_are_hashed_like_each_by_itself(messages: list[bytes], key: bytes) -> None:
    assert siphash(messages, key).tolist() == [siphash_by_definition(message, key) for message in messages]


def test_of_a_long_word_with_a_key_it_is_blake2b() -> None:
    longest, longer = "a" * LONGEST_SIPPED, "a" * (LONGEST_SIPPED + 1)
    digest = hashlib.blake2b(longer.encode(), digest_size=8, key=KEY).digest()
    assert as_ints(hash_words([longer, longest], key=KEY)) == [
        int.from_bytes(digest, "little"),
        siphash_by_definition(longest.encode(), KEY),
    ]


def test_more_words_than_are_hashed_at_once_keep_their_places() -> None:
    words = [str(number) for number in range(10_000)]
    hashes = as_ints(hash_words(words, key=KEY))
    for place in (0, 8191, 8192, 9999):
        assert hashes[place] == siphash_by_definition(words[place].encode(), KEY)


@pytest.mark.parametrize(("bits", "size"), [(64, 8), (128, 16)])
def test_blake2b_takes_the_key_that_it_has_in_its_definition(bits: int, size: int) -> None:
    digest = hashlib.blake2b(b"fish", digest_size=size, key=KEY).digest()
    assert as_ints(hash_words(["fish"], algorithm="blake2b", bits=bits, key=KEY)) == [int.from_bytes(digest, "little")]


@pytest.mark.parametrize(("algorithm", "bits"), [("bkdr", 64), ("xxh3", 65)])
def test_a_key_is_refused_where_there_is_no_use_for_it(algorithm: Algorithm, bits: int) -> None:
    with pytest.raises(ValueError, match="choose"):
        hash_words(["fish"], algorithm=algorithm, bits=bits, key=KEY)
