"""What makes a kernel of a function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from worker.compiling import Function, compiler_of

_compile: Final = compiler_of("worker", ("verdict/kernels/native", "verdict/kernels/titles", "index/kernels/native"))


def compiled(signature: str, *, inner: bool = False, inline: bool = False) -> Callable[[Function], Function]:
    """A kernel of these types, which Python calls unless it is ``inner`` or ``inline``; these are for other kernels."""
    return _compile(signature, entry=not (inner or inline), inline=inline)
