"""Functions on bytes and integers, compiled by numba; where it cannot run, the same functions as plain Python.

So they are written in what both take for the same: integers below 2**63, and no ``uint64``.
"""

from __future__ import annotations

import hashlib
import logging
import pkgutil
from collections.abc import Callable
from typing import Any, Final, TypeVar, cast

_SOURCES: Final = ("compiled", "vocabulary", "markup", "content")
"""Files that compiled functions stand in, or take constants from."""

_log = logging.getLogger(__name__)
_Function = TypeVar("_Function", bound=Callable[..., Any])
_uncached = False

try:
    import numba
except Exception as error:  # whatever keeps numba from running (no wheel, no LLVM) costs speed only
    _log.warning("numba cannot run here (%s): pages are taken apart by Python, many times slower; install numba", error)
    COMPILED = False
else:
    COMPILED = not numba.config.DISABLE_JIT


def _digest() -> str:
    """Of all sources: numba looks only at the time stamp of a function's own file, not at what it calls elsewhere."""
    digest = hashlib.blake2b(digest_size=6)
    for name in _SOURCES:
        digest.update(pkgutil.get_data("worker.page", f"{name}.py") or b"")
    return digest.hexdigest()


_DIGEST: Final = _digest()


def compiled(signature: str) -> Callable[[_Function], _Function]:
    """Compile for these types, or take it from numba's cache; it releases the GIL.

    Where numba finds no folder for its cache that it may write to, see ``cached``.
    """

    def compile_it(function: _Function) -> _Function:
        if not COMPILED:
            return function
        function.__qualname__ = f"{function.__name__}_{_DIGEST}"  # the name of its file in the cache
        return cached(function, signature)

    return compile_it


def cached(function: _Function, signature: Any, **options: bool) -> _Function:
    """The function compiled for these types, or taken from numba's cache; it releases the GIL.

    Where numba finds no folder for its cache that it may write to, all are compiled at each start, with one warning.
    """
    global _uncached
    if not _uncached:
        try:
            return cast(_Function, numba.njit(signature, cache=True, nogil=True, **options)(function))
        except RuntimeError as error:
            if "cannot cache function" not in str(error):
                raise
            _uncached = True
            _log.warning(
                "numba has no folder for its cache: all of it is compiled at each start of a worker and of each of its "
                "parsers, which takes many seconds; set NUMBA_CACHE_DIR to one that can be written to"
            )
    return cast(_Function, numba.njit(signature, nogil=True, **options)(function))
