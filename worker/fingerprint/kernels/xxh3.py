"""XXH3 of many short slices of a text, in compiled steps (xxHash, doc/xxhash_spec.md)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, cast

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from worker.fingerprint.kernels.native import Array, lean

LONGEST: Final = 128
"""Bytes of the longest token or pair that ``hash_slices`` hashes itself."""
A_WORD: Final = -1
A_CHARACTER: Final = -2
"""In place of a unit's end: the unit is equal to a word, or a single character of three bytes in UTF-8."""


def _loads(bits: int) -> Callable[[Any, Any], Any]:
    """An intrinsic: the little-endian number at a place in an array of bytes, in one instruction."""

    def load(typing_context: Any, array: Any, place: Any) -> tuple[Any, Callable[..., ir.Value]]:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> ir.Value:
            data = context.make_array(signature.args[0])(context, builder, value=arguments[0]).data
            address = builder.bitcast(builder.gep(data, [arguments[1]]), ir.IntType(bits).as_pointer())
            return (
                builder.zext(builder.load(address, align=1), ir.IntType(64))
                if bits < 64
                else builder.load(address, align=1)
            )

        return types.uint64(array, place), generate

    return cast(Callable[[Any, Any], Any], intrinsic(load))


def _product(typing_context: Any, a: Any, b: Any) -> tuple[Any, Callable[..., ir.Value]]:
    """The 128 bits of a product, upper and lower half combined by exclusive or."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> ir.Value:
        wide = ir.IntType(128)
        product = builder.mul(*(builder.zext(argument, wide) for argument in arguments))
        upper = builder.trunc(builder.lshr(product, ir.Constant(wide, 64)), ir.IntType(64))
        return builder.xor(builder.trunc(product, ir.IntType(64)), upper)

    return types.uint64(types.uint64, types.uint64), generate


def _swap(typing_context: Any, value: Any) -> tuple[Any, Callable[..., ir.Value]]:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> ir.Value:
        return builder.bswap(arguments[0])

    return types.uint64(types.uint64), generate


_load32 = _loads(32)
load64 = _loads(64)
_folded_product: Final[Callable[[Any, Any], Any]] = intrinsic(_product)
_swapped: Final[Callable[[Any], Any]] = intrinsic(_swap)

# The words of XXH3's default secret that short inputs use (xxHash, doc/xxhash_spec.md).
SECRET: Final = np.frombuffer(
    bytearray.fromhex(
        "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671fcb79e64eccc0e578825ad07dccff7221b8084674f743248e"
        "e03590e6813a264c3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8a8fa763fe39c343ff9dcbbc7c70b4f1d8a"
        "51e04bcdb45931c89f7ec9d9787364"
    ),
    np.uint8,
)


@lean("uint64(uint64)", inline=True)
def _avalanche(value: Any) -> Any:
    value ^= value >> np.uint64(37)
    value *= np.uint64(0x165667919E3779F9)
    return value ^ (value >> np.uint64(32))


@lean("uint64(uint8[::1], int64, uint8[::1], int64)", inline=True)
def _mix16(text: Array, at: int, secret: Array, key: int) -> Any:
    return _folded_product(load64(text, at) ^ load64(secret, key), load64(text, at + 8) ^ load64(secret, key + 8))


@lean("uint64(uint64, uint8[::1])", inline=True)
def _of_at_most_three(combined: Any, secret: Array) -> Any:
    """The hash of one to three bytes, which stand in ``combined`` with their number."""
    value = combined ^ (_load32(secret, 0) ^ _load32(secret, 4))
    value ^= value >> np.uint64(33)
    value *= np.uint64(0xC2B2AE3D27D4EB4F)
    value ^= value >> np.uint64(29)
    value *= np.uint64(0x165667B19E3779F9)
    return value ^ (value >> np.uint64(32))


@lean("uint64(uint8[::1], int64, int64, uint8[::1])")
def _xxh3(text: Array, begin: int, length: int, secret: Array) -> Any:
    """XXH3, 64 bits wide, of at most ``LONGEST`` bytes and at least one."""
    size = np.uint64(length)
    if length <= 3:
        combined = (
            np.uint64(text[begin]) << np.uint64(16)
            | np.uint64(text[begin + (length >> 1)]) << np.uint64(24)
            | np.uint64(text[begin + length - 1])
            | size << np.uint64(8)
        )
        return _of_at_most_three(combined, secret)
    if length <= 8:
        value = _load32(text, begin + length - 4) + (_load32(text, begin) << np.uint64(32))
        value ^= load64(secret, 8) ^ load64(secret, 16)
        value ^= (value << np.uint64(49) | value >> np.uint64(15)) ^ (value << np.uint64(24) | value >> np.uint64(40))
        value *= np.uint64(0x9FB21C651E98DF25)
        value ^= (value >> np.uint64(35)) + size
        value *= np.uint64(0x9FB21C651E98DF25)
        return value ^ (value >> np.uint64(28))
    if length <= 16:
        low = load64(text, begin) ^ (load64(secret, 24) ^ load64(secret, 32))
        high = load64(text, begin + length - 8) ^ (load64(secret, 40) ^ load64(secret, 48))
        return _avalanche(size + _swapped(low) + high + _folded_product(low, high))
    value = size * np.uint64(0x9E3779B185EBCA87)
    for step in range((length - 1) // 32, -1, -1):
        value += _mix16(text, begin + 16 * step, secret, 32 * step)
        value += _mix16(text, begin + length - 16 * (step + 1), secret, 32 * step + 16)
    return _avalanche(value)


@lean("int64(uint8[::1], int32[::1], int32[::1], int64, uint8[::1], uint64[::1])", entry=True)
def hash_slices(text: Array, starts: Array, ends: Array, count: int, secret: Array, hashes: Array) -> int:
    """The XXH3 of text[starts[i]:ends[i]] for the first ``count`` slices.

    Returns how many are longer than ``LONGEST``; these get no hash.
    """
    long = 0
    for number in range(count):
        length = ends[number] - starts[number]
        if length > LONGEST:
            long += 1
        else:
            hashes[number] = _xxh3(text, starts[number], length, secret)
    return long


@lean("uint64(int64, uint8[::1])", inline=True)
def _xxh3_of_character(code: int, secret: Array) -> Any:
    """``_xxh3`` of a character that takes three bytes in UTF-8."""
    combined = (
        np.uint64(0xE0 | code >> 12) << np.uint64(16)
        | np.uint64(0x80 | code >> 6 & 0x3F) << np.uint64(24)
        | np.uint64(0x80 | code & 0x3F)
        | np.uint64(3 << 8)
    )
    return _of_at_most_three(combined, secret)


@lean("int64(uint8[::1], int32[::1], int32[::1], int64, uint8[::1], uint64[::1], uint64[::1])", entry=True)
def hash_units(text: Array, starts: Array, ends: Array, count: int, secret: Array, words: Array, hashes: Array) -> int:
    """As ``hash_slices``, where ``ends`` may say ``A_WORD`` or ``A_CHARACTER`` in place of an end.

    ``starts`` then is the number of the word, whose hash ``words`` has, or the character's code point.
    """
    long = 0
    for number in range(count):
        end = ends[number]
        if end == A_CHARACTER:
            hashes[number] = _xxh3_of_character(starts[number], secret)
        elif end == A_WORD:
            hashes[number] = words[starts[number]]
        elif end - starts[number] > LONGEST:
            long += 1
        else:
            hashes[number] = _xxh3(text, starts[number], end - starts[number], secret)
    return long
