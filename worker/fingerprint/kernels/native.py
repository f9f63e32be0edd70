"""Turns functions into kernels. ``KERNELS`` are the files that hold kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from worker.compiling import Function, compiler_of

KERNELS: Final = ("spelling", "cutting", "xxh3", "siphash", "voting", "sketching")
GOLDEN64 = np.uint64(0x9E3779B97F4A7C15)
Array = Any

kernel: Final = compiler_of("worker.fingerprint.kernels", ("native", *KERNELS))


def lean(signature: str, *, entry: bool = False, inline: bool = False) -> Callable[[Function], Function]:
    """The same for functions that make no arrays: numba counts no references in them, which locks memory each time."""
    return kernel(signature, entry=entry, inline=inline, _nrt=False)
