"""SipHash-2-4 of many short slices of a text, in compiled steps: replaces ``xxh3`` if there is a key."""

from __future__ import annotations

from typing import Any

import numpy as np

from worker.fingerprint.kernels.native import Array, lean
from worker.fingerprint.kernels.xxh3 import A_CHARACTER, A_WORD, load64

ROOM = 8
"""Bytes that must be readable after the last slice of a text."""


@lean("uint64(uint64, int64)", inline=True)
def _rotated(value: Any, by: int) -> Any:
    return value << np.uint64(by) | value >> np.uint64(64 - by)


@lean("UniTuple(uint64, 4)(uint64, uint64, uint64, uint64)", inline=True)
def _round(a: Any, b: Any, c: Any, d: Any) -> tuple[Any, Any, Any, Any]:
    a += b
    c += d
    b = _rotated(b, 13) ^ a
    d = _rotated(d, 16) ^ c
    a = _rotated(a, 32)
    c += b
    a += d
    b = _rotated(b, 17) ^ c
    d = _rotated(d, 21) ^ a
    return a, b, _rotated(c, 32), d


@lean("UniTuple(uint64, 4)(uint64, uint64, uint64, uint64, uint64)", inline=True)
def _taken_in(a: Any, b: Any, c: Any, d: Any, block: Any) -> tuple[Any, Any, Any, Any]:
    """The state after eight more bytes."""
    d ^= block
    a, b, c, d = _round(a, b, c, d)
    a, b, c, d = _round(a, b, c, d)
    return a ^ block, b, c, d


@lean("uint64(uint64, uint64, uint64, uint64)", inline=True)
def _finished(a: Any, b: Any, c: Any, d: Any) -> Any:
    c ^= np.uint64(0xFF)
    a, b, c, d = _round(a, b, c, d)
    a, b, c, d = _round(a, b, c, d)
    a, b, c, d = _round(a, b, c, d)
    a, b, c, d = _round(a, b, c, d)
    return a ^ b ^ c ^ d


@lean("UniTuple(uint64, 4)(uint64[::1])", inline=True)
def _begun(key: Array) -> tuple[Any, Any, Any, Any]:
    return (
        key[0] ^ np.uint64(0x736F6D6570736575),
        key[1] ^ np.uint64(0x646F72616E646F6D),
        key[0] ^ np.uint64(0x6C7967656E657261),
        key[1] ^ np.uint64(0x7465646279746573),
    )


@lean("uint64(uint8[::1], int64, int64, uint64[::1])", inline=True)
def _siphash(text: Array, begin: int, end: int, key: Array) -> Any:
    a, b, c, d = _begun(key)
    last = begin + ((end - begin) & ~7)
    for at in range(begin, last, 8):
        a, b, c, d = _taken_in(a, b, c, d, load64(text, at))
    rest = (np.uint64(1) << np.uint64(8 * (end - last))) - np.uint64(1)
    block = load64(text, last) & rest | np.uint64(end - begin) << np.uint64(56)
    a, b, c, d = _taken_in(a, b, c, d, block)
    return _finished(a, b, c, d)


@lean("uint64(int64, uint64[::1])", inline=True)
def _siphash_of_character(code: int, key: Array) -> Any:
    """``_siphash`` of a character that takes three bytes in UTF-8."""
    a, b, c, d = _begun(key)
    block = (
        np.uint64(0xE0 | code >> 12)
        | np.uint64(0x80 | code >> 6 & 0x3F) << np.uint64(8)
        | np.uint64(0x80 | code & 0x3F) << np.uint64(16)
        | np.uint64(3) << np.uint64(56)
    )
    a, b, c, d = _taken_in(a, b, c, d, block)
    return _finished(a, b, c, d)


@lean("int64(uint8[::1], int32[::1], int32[::1], int64, uint64[::1], int64, uint64[::1], int32[::1])", entry=True)
def hash_slices(
    text: Array, starts: Array, ends: Array, count: int, key: Array, longest: int, hashes: Array, too_long: Array
) -> int:
    """The SipHash of text[starts[i]:ends[i]] for the first ``count`` slices; ``key`` (2,) is little endian.

    Returns how many are longer than ``longest``; their numbers go to ``too_long``, and they get no hash. After the last
    slice the text must have ``ROOM``.
    """
    long = 0
    for number in range(count):
        if ends[number] - starts[number] > longest:
            too_long[long] = number
            long += 1
        else:
            hashes[number] = _siphash(text, starts[number], ends[number], key)
    return long


@lean(
    "int64(uint8[::1], int32[::1], int32[::1], int64, uint64[::1], int64, uint8[::1], int32[::1], int32[::1],"
    " uint64[::1], int32[::1])",
    entry=True,
)
def hash_units(
    text: Array,
    starts: Array,
    ends: Array,
    count: int,
    key: Array,
    longest: int,
    words: Array,
    word_starts: Array,
    word_ends: Array,
    hashes: Array,
    too_long: Array,
) -> int:
    """As ``hash_slices``, where ``ends`` may say ``A_WORD`` or ``A_CHARACTER`` in place of an end.

    ``starts`` then is the number of the word, which is a slice of ``words``, or the character's code point.
    """
    long = 0
    for number in range(count):
        start, end = starts[number], ends[number]
        if end == A_CHARACTER:
            hashes[number] = _siphash_of_character(start, key)
        elif end == A_WORD:
            if word_ends[start] - word_starts[start] > longest:
                too_long[long] = number
                long += 1
            else:
                hashes[number] = _siphash(words, word_starts[start], word_ends[start], key)
        elif end - start > longest:
            too_long[long] = number
            long += 1
        else:
            hashes[number] = _siphash(text, start, end, key)
    return long
