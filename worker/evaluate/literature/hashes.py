"""Words → hashes of any width, by the hashes of the literature."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Sequence
from typing import Final, Literal, get_args

import xxhash

from worker.fingerprint.hashing import WORD_BITS, hash_words

Algorithm = Literal["xxh3", "bkdr", "blake2b"]
ALGORITHMS: Final[tuple[Algorithm, ...]] = get_args(Algorithm)

MIN_BITS: Final = 8
MAX_BITS: Final = 128
BKDR_SEED: Final = 31


def hashes_of(words: Sequence[str], algorithm: Algorithm, bits: int, key: bytes | None = None) -> list[int]:
    """One hash of ``bits`` bits for each word, the same on every machine and in every process.

    - ``xxh3``: ``worker.fingerprint.hashing.hash_words``, with its key; above 64 bits XXH3 of 128 bits, which has none.
    - ``bkdr``: Kernighan and Ritchie's string hash, ``h = 31 * h + unit`` over UTF-16 units in signed 64 bits (what
      Java's ``String.hashCode`` is in 32), then its absolute value modulo 2^bits. Java has no absolute value for
      -2^63 and leaves it negative; here it is 2^63, so bit 63 at a width of 64 and 0 at any other. At most 64 bits.
    - ``blake2b``: BLAKE2b (RFC 7693) of the UTF-8 bytes with a digest of 8 bytes, above 64 bits of 16, little endian.

    A width below that of the algorithm keeps the low bits.

    Raises:
        ValueError: a width outside 8..128, above 64 for ``bkdr`` or with a key, or a key for another than ``xxh3``.
    """
    if not MIN_BITS <= bits <= MAX_BITS:
        raise ValueError(f"{bits} bits are not a width for hashes; choose {MIN_BITS} to {MAX_BITS}")
    if bits > WORD_BITS and (algorithm == "bkdr" or key is not None):
        named = algorithm if key is None else f"{algorithm} with a key"
        raise ValueError(f"{named} has {WORD_BITS} bits, not {bits}; choose fewer, or xxh3 without a key")
    if key is not None and algorithm != "xxh3":
        raise ValueError(f"{algorithm} takes no key; choose xxh3")
    if algorithm == "xxh3" and bits <= WORD_BITS:
        hashes: list[int] = hash_words(words, key=key).tolist()
    elif algorithm == "xxh3":
        hashes = [xxhash.xxh3_128_intdigest(_utf8(word)) for word in words]
    elif algorithm == "bkdr":
        hashes = [_bkdr(word) for word in words]
    else:
        digests = [hashlib.blake2b(_utf8(word), digest_size=8 if bits <= WORD_BITS else 16) for word in words]
        hashes = [int.from_bytes(digest.digest(), "little") for digest in digests]
    return [hashed & (1 << bits) - 1 for hashed in hashes]


def _utf8(word: str) -> bytes:
    return word.encode("utf-8", "surrogatepass")


def _bkdr(word: str) -> int:
    hashed = 0
    for (unit,) in struct.iter_unpack("<H", word.encode("utf-16-le", "surrogatepass")):
        hashed = (hashed * BKDR_SEED + unit) % (1 << WORD_BITS)
    return hashed if hashed < 1 << WORD_BITS - 1 else (1 << WORD_BITS) - hashed
