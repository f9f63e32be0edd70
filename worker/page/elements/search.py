"""Finds a byte in a page with the C library's ``memchr``, which looks at 32 bytes and more at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, cast

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from worker.compiling import COMPILED


def _memchr(
    typing_context: Any, body: Any, character: Any, place: Any, end: Any
) -> tuple[Any, Callable[..., ir.Value]]:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> ir.Value:
        body, character, place, end = arguments
        byte, number = ir.IntType(8), ir.IntType(64)
        begin = builder.gep(context.make_array(signature.args[0])(context, builder, value=body).data, [place])
        kind = ir.FunctionType(byte.as_pointer(), [byte.as_pointer(), ir.IntType(32), number])
        search = builder.module.globals.get("memchr") or ir.Function(builder.module, kind, "memchr")
        length = builder.sub(end, place)
        found = builder.call(search, [begin, builder.trunc(character, ir.IntType(32)), length])
        distance = builder.sub(builder.ptrtoint(found, number), builder.ptrtoint(begin, number))
        is_there = builder.icmp_unsigned("!=", found, ir.Constant(byte.as_pointer(), None))
        return builder.select(is_there, builder.add(place, distance), end)

    return types.int64(body, types.int64, types.int64, types.int64), generate


def _plainly(body: bytearray, character: int, place: int, end: int) -> int:
    found = body.find(character, place, end)
    return end if found < 0 else found


place_of: Final = cast(Callable[[Any, int, int, int], int], intrinsic(_memchr) if COMPILED else _plainly)
"""The first place from ``place`` on, but before ``end``, that holds a byte of this value; otherwise ``end``."""
