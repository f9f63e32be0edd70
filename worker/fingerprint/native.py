"""What makes a kernel of a function. ``KERNELS`` are the files that kernels stand in.

Code points go through these in turn, each of which tests hold to what it is equal to: ``spelling.spell`` (to
``worker.page.normalise``), ``cutting.cut`` (``worker.page.segment``), ``xxh3`` (XXH3) or with a key ``siphash``
(``hashing.siphash``), ``voting.vote`` (``worker.page.weigh`` and ``simhash``), ``sketching.sketch_tokens``
(``sketch``). All arrays are the caller's; nothing is kept between calls.

Importing raises ``ImportError`` where numba cannot run.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numba
import numpy as np

from worker.page.compiled import Function, cached, digest_of

if numba.config.DISABLE_JIT:
    raise ImportError("numba's compilation is switched off by NUMBA_DISABLE_JIT")

KERNELS: Final = ("spelling", "cutting", "xxh3", "siphash", "voting", "sketching")
GOLDEN64 = np.uint64(0x9E3779B97F4A7C15)
Array = Any
_DIGEST: Final = digest_of("worker.fingerprint", ("native", *KERNELS))


def kernel(signature: Any, *, inline: bool = False) -> Callable[[Function], Function]:
    """Compile for these types, or take it from numba's cache; it releases the GIL. ``inline``: into all that call it.

    Where numba finds no folder for its cache that it may write to, see ``cached``.
    """

    def compile_it(function: Function) -> Function:
        function.__qualname__ = f"{function.__name__}_{_DIGEST}"  # the name of its file in the cache
        return cached(function, signature, forceinline=inline)

    return compile_it
