"""Words → hashes: what each feature votes with."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt
import xxhash

Hashes: TypeAlias = npt.NDArray[np.uint64]
"""uint64, shape (n,) for widths up to 64 bits, else (n, 2): the low word, then the high one."""

Algorithm = Literal["xxh3", "blake2b", "bkdr"]
ALGORITHMS: Final[tuple[str, ...]] = get_args(Algorithm)

MIN_BITS: Final = 8
MAX_BITS: Final = 128
WORD_BITS: Final = 64
BKDR_SEED: Final = 31

CONTENT: Final = "tokens, else bytes, else url/1"
"""Name of the rule of ``hash_content``; a part of the scheme, so change it when the rule changes."""
_TOKENS, _BODY, _URL = 0, 1, 2

LONGEST_SIPPED: Final = 128
"""Bytes of the longest word or pair that SipHash is taken of: it is made for short ones."""
_SIPPED_AT_ONCE: Final = 8192
"""Messages: at most a mebibyte of them, padded to the longest."""
_SIP_CONSTANTS: Final = (0x736F6D6570736575, 0x646F72616E646F6D, 0x6C7967656E657261, 0x7465646279746573)


def hash_words(
    words: Sequence[str], *, algorithm: Algorithm = "xxh3", bits: int = WORD_BITS, key: bytes | None = None
) -> Hashes:
    """One hash of ``bits`` bits for each word, the same on every machine and in every process.

    - ``xxh3``: XXH3 of the UTF-8 bytes, 64 bits wide, above that 128.
    - ``blake2b``: BLAKE2b (RFC 7693) of the UTF-8 bytes with a digest of 8 bytes, above 64 bits of 16, little endian.
    - ``bkdr``: Kernighan and Ritchie's string hash, ``h = 31 * h + unit`` over UTF-16 units in signed 64 bits (what
      Java's ``String.hashCode`` is in 32), then its absolute value modulo 2^bits. Java has no absolute value for
      -2^63 and leaves it negative; here it is 2^63, so bit 63 at a width of 64 and 0 at any other. At most 64 bits.

    A width below that of the algorithm keeps the low bits. With a ``key`` of 16 bytes nobody who lacks it can tell any
    of the hashes: ``blake2b`` has one in its definition, and in place of ``xxh3``, whose seed hides nothing, comes
    SipHash-2-4 of the UTF-8 bytes, 64 bits wide at most; of more than ``LONGEST_SIPPED`` bytes BLAKE2b.

    Raises:
        ValueError: a width outside 8..128, above 64 for ``bkdr`` and SipHash, an unknown algorithm, or a key for
            ``bkdr``.
    """
    if not MIN_BITS <= bits <= MAX_BITS:
        raise ValueError(f"{bits} bits are not a width for hashes; choose {MIN_BITS} to {MAX_BITS}")
    if algorithm == "bkdr":
        if key is not None:
            raise ValueError("bkdr takes no key; choose xxh3 or blake2b")
        if bits > WORD_BITS:
            raise ValueError(f"bkdr has {WORD_BITS} bits, {bits} were asked for; choose fewer bits, xxh3 or blake2b")
        return _low_bits(_bkdr(words), bits)
    if algorithm not in _DIGESTS:
        raise ValueError(f"unknown hash {algorithm!r}; choose one of {', '.join(ALGORITHMS)}")
    if key is not None and algorithm == "xxh3":
        if bits > WORD_BITS:
            raise ValueError(
                f"xxh3 with a key has {WORD_BITS} bits, {bits} were asked for; choose fewer bits or blake2b"
            )
        return _low_bits(siphash(_utf8(words), key), bits)
    narrow, wide, byte_order = _DIGESTS[algorithm]
    if key is not None:
        narrow, wide = partial(_blake2b_64, key=key), partial(_blake2b_128, key=key)
    digests = b"".join(map(narrow if bits <= WORD_BITS else wide, _utf8(words)))
    hashes = np.frombuffer(digests, dtype=byte_order + "u8").astype(np.uint64)
    if bits <= WORD_BITS:
        return _low_bits(hashes, bits)
    low_and_high = hashes.reshape(len(words), 2)
    if byte_order == ">":
        low_and_high = np.ascontiguousarray(low_and_high[:, ::-1])
    low_and_high[:, 1] &= _mask(bits - WORD_BITS)
    return low_and_high


def hash_text(text: str) -> int:
    """64 bits of XXH3 of a whole text in UTF-8: equal for equal texts, and for no others but by accident."""
    return hash_bytes(text.encode("utf-8", "surrogatepass"))


def hash_bytes(content: bytes) -> int:
    """64 bits of XXH3."""
    return xxhash.xxh3_64_intdigest(content)


def hash_content(tokens: Hashes, body: bytes, url: str, key: bytes | None = None) -> int:
    """64 bits that pages of the same content have in common, and no others but by accident.

    The content is the text's ``tokens``, by their 64-bit hashes in little endian: punctuation says as little of two
    pages that differ in nothing else as it does in a fingerprint. Where there is no token it is the ``body``, of which
    nothing can be read; and where that is empty it is the ``url``, so that no two empty pages are alike. The three are
    hashed by XXH3 with different seeds: no text has the hash of a body by being spelled like it. With a ``key`` of 16
    bytes it is BLAKE2b, with these as salts, and there is no finding such pages on purpose.
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


def siphash(messages: Sequence[bytes], key: bytes) -> Hashes:
    """SipHash-2-4 of each message, 64 bits wide, all side by side; of a longer one than ``LONGEST_SIPPED`` BLAKE2b.

    Aumasson and Bernstein: SipHash: a fast short-input PRF, INDOCRYPT 2012, section 2; ``key`` has 16 bytes.
    """
    hashes = np.empty(len(messages), np.uint64)
    short = [number for number, message in enumerate(messages) if len(message) <= LONGEST_SIPPED]
    for begin in range(0, len(short), _SIPPED_AT_ONCE):
        some = short[begin : begin + _SIPPED_AT_ONCE]
        hashes[some] = _sipped([messages[number] for number in some], key)
    for number, message in enumerate(messages):
        if len(message) > LONGEST_SIPPED:
            hashes[number] = hash_long(message, key)
    return hashes


def hash_long(message: bytes, key: bytes) -> int:
    """What ``siphash`` makes of a long message."""
    return int.from_bytes(_blake2b_64(message, key=key), "little")


def _sipped(messages: Sequence[bytes], key: bytes) -> Hashes:
    lengths = np.fromiter(map(len, messages), np.uint64, len(messages))
    blocks = (lengths >> np.uint64(3)).astype(np.intp)  # whole ones; behind them comes the last, which has the length
    width = int(blocks.max(initial=0)) + 1
    rows = np.frombuffer(b"".join(message.ljust(8 * width, b"\0") for message in messages), "<u8")
    rows = rows.astype(np.uint64).reshape(len(messages), width)
    rows[np.arange(len(messages)), blocks] |= lengths << np.uint64(56)
    longest_first = np.argsort(-blocks, kind="stable")
    rows, blocks = rows[longest_first], blocks[longest_first]
    state = np.empty((4, len(messages)), np.uint64)
    halves = np.frombuffer(key, "<u8").astype(np.uint64)
    for row, constant in enumerate(_SIP_CONSTANTS):
        state[row] = halves[row & 1] ^ np.uint64(constant)
    for column in range(width):
        has_it = state[:, : np.searchsorted(-blocks, -column, side="right")]
        taken = rows[: has_it.shape[1], column]
        has_it[3] ^= taken
        _sip_rounds(has_it, 2)
        has_it[0] ^= taken
    state[2] ^= np.uint64(0xFF)
    _sip_rounds(state, 4)
    hashes = np.empty(len(messages), np.uint64)
    hashes[longest_first] = np.bitwise_xor.reduce(state, axis=0)
    return hashes


def _sip_rounds(state: Hashes, count: int) -> None:
    a, b, c, d = state
    for _ in range(count):
        a += b
        b[:] = _rotated(b, 13) ^ a
        a[:] = _rotated(a, 32)
        c += d
        d[:] = _rotated(d, 16) ^ c
        a += d
        d[:] = _rotated(d, 21) ^ a
        c += b
        b[:] = _rotated(b, 17) ^ c
        c[:] = _rotated(c, 32)


def _rotated(values: Hashes, by: int) -> Hashes:
    return values << np.uint64(by) | values >> np.uint64(WORD_BITS - by)


def _utf8(words: Sequence[str]) -> Sequence[bytes]:
    try:
        return list(map(str.encode, words))
    except UnicodeEncodeError:
        # Half of a surrogate pair, torn out of an emoji by a careless script on the page, is no reason to lose it.
        return [word.encode("utf-8", "surrogatepass") for word in words]


def _blake2b_64(word: bytes, key: bytes = b"") -> bytes:
    return hashlib.blake2b(word, digest_size=8, key=key).digest()


def _blake2b_128(word: bytes, key: bytes = b"") -> bytes:
    return hashlib.blake2b(word, digest_size=16, key=key).digest()


_DIGESTS: Final[dict[str, tuple[Callable[[bytes], bytes], Callable[[bytes], bytes], str]]] = {
    "xxh3": (xxhash.xxh3_64_digest, xxhash.xxh3_128_digest, ">"),
    "blake2b": (_blake2b_64, _blake2b_128, "<"),
}
"""For each algorithm: digest of 8 bytes, digest of 16 bytes, and the byte order in which a digest is a number."""


def _bkdr(words: Sequence[str]) -> Hashes:
    """Absolute values of the signed hashes, as uint64; all words in a few array operations."""
    encoded = [word.encode("utf-16-le", "surrogatepass") for word in words]
    lengths = np.fromiter(map(len, encoded), dtype=np.int64, count=len(words)) // 2
    hashes = np.zeros(len(words), dtype=np.uint64)
    if not lengths.any():
        return hashes
    units = np.frombuffer(b"".join(encoded), dtype="<u2").astype(np.uint64)
    ends = np.cumsum(lengths)
    # A unit counts times 31 to the number of units behind it in its word. uint64 wraps as two's complement does.
    behind = np.repeat(ends, lengths) - 1 - np.arange(units.size)
    powers = np.full(int(lengths.max()), BKDR_SEED, dtype=np.uint64)
    powers[0] = 1
    terms = units * np.cumprod(powers, dtype=np.uint64)[behind]
    filled = lengths > 0
    hashes[filled] = np.add.reduceat(terms, (ends - lengths)[filled])
    negative = hashes >> np.uint64(WORD_BITS - 1) == 1
    hashes[negative] = ~hashes[negative] + np.uint64(1)
    return hashes


def _low_bits(hashes: Hashes, bits: int) -> Hashes:
    return hashes if bits == WORD_BITS else hashes & _mask(bits)


def _mask(bits: int) -> np.uint64:
    return np.uint64((1 << bits) - 1)
