"""Words → hashes: the votes of each feature, and the numbers that stand for a text, a body or a URL."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import xxhash

from worker.fingerprint.kernels import siphash, xxh3

Hashes: TypeAlias = npt.NDArray[np.uint64]
"""uint64, shape (n,)."""

WORD_BITS: Final = 64

CONTENT: Final = "tokens, else bytes, else url/1"
"""Name of the rule of ``hash_content``; a part of the scheme, so change it when the rule changes."""
_TOKENS, _BODY, _URL = 0, 1, 2

LONGEST_SIPPED: Final = 128
"""Bytes of the longest word or pair that is hashed by SipHash, which is made for short ones."""


def hash_words(words: Sequence[str], *, key: bytes | None = None) -> Hashes:
    """One hash of 64 bits for each word, the same on every machine and in every process.

    XXH3 of the UTF-8 bytes. With a ``key`` of 16 bytes no one without it can compute a hash: SipHash-2-4 (Aumasson and
    Bernstein: SipHash: a fast short-input PRF, INDOCRYPT 2012, section 2) replaces XXH3, whose seed hides nothing, and
    BLAKE2b hashes words of more than ``LONGEST_SIPPED`` bytes.
    """
    # Half of a surrogate pair, torn out of an emoji by a careless script on the page, is no reason to lose the page.
    spelled = [word.encode("utf-8", "surrogatepass") for word in words]
    if key is not None:
        return _sipped(spelled, key)
    return np.fromiter(map(xxhash.xxh3_64_intdigest, spelled), np.uint64, len(spelled))


def hash_word(word: str, *, key: bytes | None = None) -> int:
    """The hash of one word."""
    spelled = word.encode("utf-8", "surrogatepass")
    return xxhash.xxh3_64_intdigest(spelled) if key is None else int(_sipped([spelled], key)[0])


def hash_text(text: str) -> int:
    """64 bits of XXH3 of a whole text in UTF-8: equal for equal texts, and for others only by accident."""
    return hash_bytes(text.encode("utf-8", "surrogatepass"))


def hash_bytes(content: bytes) -> int:
    """64 bits of XXH3."""
    return xxhash.xxh3_64_intdigest(content)


def hash_slices(content: bytes, begins: npt.NDArray[np.int64], ends: npt.NDArray[np.int64]) -> Hashes:
    """``hash_bytes`` of content[begins[i]:ends[i]] for each of n slices, of less than 2 GiB: uint64 (n,)."""
    hashes, lengths = np.empty(len(begins), np.uint64), ends - begins
    text = np.frombuffer(bytearray(content), np.uint8)
    xxh3.hash_slices(text, begins.astype(np.int32), ends.astype(np.int32), len(begins), xxh3.SECRET, hashes)
    for number in np.flatnonzero((lengths > xxh3.LONGEST) | (lengths == 0)).tolist():
        hashes[number] = hash_bytes(content[begins[number] : ends[number]])
    return hashes


def hash_content(tokens: Hashes, body: bytes, url: str, key: bytes | None = None) -> int:
    """64 bits that pages of the same content have in common, and others only by accident.

    The content is the text's ``tokens``, by their 64-bit hashes in little endian: as in a fingerprint, punctuation
    alone does not make two pages different. Without tokens it is the ``body``, of which nothing can be read; and if
    that is empty it is the ``url``, so that no two empty pages are alike. The three are hashed by XXH3 with different
    seeds: no text has the hash of a body by being spelled like it. With a ``key`` of 16 bytes the hash is BLAKE2b, with
    these as salts, and no one can find such pages on purpose.
    """
    if tokens.size:
        kind, content = _TOKENS, tokens.astype("<u8", copy=False).tobytes()
    elif body:
        kind, content = _BODY, body
    else:
        kind, content = _URL, url.encode("utf-8", "surrogatepass")
    if key is None:
        return xxhash.xxh3_64_intdigest(content, seed=kind)
    digest = hashlib.blake2b(content, digest_size=8, key=key, salt=kind.to_bytes(8, "little")).digest()
    return int.from_bytes(digest, "little")


def hash_long(message: bytes, key: bytes) -> int:
    """The hash that replaces the SipHash of more than ``LONGEST_SIPPED`` bytes."""
    return int.from_bytes(hashlib.blake2b(message, digest_size=8, key=key).digest(), "little")


def _sipped(messages: Sequence[bytes], key: bytes) -> Hashes:
    lengths = np.fromiter(map(len, messages), np.int32, len(messages))
    ends = np.cumsum(lengths, dtype=np.int32)
    text = np.frombuffer(b"".join(messages) + bytes(siphash.ROOM), np.uint8).copy()
    hashes, too_long = np.empty(len(messages), np.uint64), np.empty(len(messages), np.int32)
    halves = np.frombuffer(key, "<u8").astype(np.uint64)
    long = siphash.hash_slices(text, ends - lengths, ends, len(messages), halves, LONGEST_SIPPED, hashes, too_long)
    for number in too_long[:long].tolist():
        hashes[number] = hash_long(messages[number], key)
    return hashes
