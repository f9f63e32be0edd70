"""Words → hashes."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
import xxhash
from hypothesis import given
from hypothesis import strategies as st

from worker.fingerprint.hashing import LONGEST_SIPPED, hash_bytes, hash_slices, hash_text, hash_words

ODD = ["", "a", "飞碟", "Café", "🐟", "x" * 500, "中\0文", "\ud83d"]


@given(st.lists(st.text(max_size=30) | st.sampled_from(ODD), max_size=8))
def test_each_word_gets_its_xxh3(words: list[str]) -> None:
    expected = [xxhash.xxh3_64_intdigest(word.encode("utf-8", "surrogatepass")) for word in words]
    assert hash_words(words).tolist() == expected


@given(words=st.lists(st.binary(max_size=140), max_size=6))
def test_each_slice_of_a_text_is_hashed_as_if_it_stood_alone(words: list[bytes]) -> None:
    ends = np.cumsum(np.array([*map(len, words)], np.int64))
    begins = ends - np.array([*map(len, words)], np.int64)
    assert hash_slices(b"".join(words), begins, ends).tolist() == [hash_bytes(word) for word in words]


def test_a_whole_text_is_hashed_as_one_word() -> None:
    text = "飞碟 and fish"
    assert [hash_text(text)] == hash_words([text]).tolist()
    assert hash_text("\ud83d") != hash_text("")


KEY = bytes(range(16))


@pytest.mark.parametrize(
    ("message", "expected"),
    [("", 0x726FDB47DD0E0E31), ("".join(map(chr, range(15))), 0xA129CA6149BE45E5), ("abc", 0x5DBCFA53AA2007A5)],
    ids=["no bytes", "the example of the paper's appendix A", "abc, by openssl mac SIPHASH"],
)
def test_with_a_key_it_is_the_siphash_of_its_authors(message: str, expected: int) -> None:
    assert hash_words([message], key=KEY).tolist() == [expected]


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


@given(st.lists(st.text(max_size=LONGEST_SIPPED // 4), max_size=12), st.binary(min_size=16, max_size=16))
def test_many_words_side_by_side_are_hashed_like_each_by_itself(words: list[str], key: bytes) -> None:
    expected = [siphash_by_definition(word.encode("utf-8", "surrogatepass"), key) for word in words]
    assert hash_words(words, key=key).tolist() == expected


def test_of_a_long_word_with_a_key_it_is_blake2b() -> None:
    longest, longer = "a" * LONGEST_SIPPED, "a" * (LONGEST_SIPPED + 1)
    digest = hashlib.blake2b(longer.encode(), digest_size=8, key=KEY).digest()
    assert hash_words([longer, longest], key=KEY).tolist() == [
        int.from_bytes(digest, "little"),
        siphash_by_definition(longest.encode(), KEY),
    ]
