"""Functions on bytes and integers, compiled by numba; where it cannot run, the same functions as plain Python.

So they are written in what both take for the same: integers below 2**63, and no ``uint64``.
"""

from __future__ import annotations

import hashlib
import logging
import pkgutil
from collections.abc import Callable, Iterable
from typing import Any, Final, TypeVar, cast

_SOURCES: Final = ("compiled", "vocabulary", "markup", "content")
"""Files that compiled functions stand in, or take constants from."""

_log = logging.getLogger(__name__)
Function = TypeVar("Function", bound=Callable[..., Any])
_uncached = False

try:
    import numba
except Exception as error:  # whatever keeps numba from running (no wheel, no LLVM) costs speed only
    _log.warning("numba cannot run here (%s): pages are taken apart by Python, many times slower; install numba", error)
    COMPILED = False
else:
    COMPILED = not numba.config.DISABLE_JIT


def digest_of(package: str, sources: Iterable[str]) -> str:
    """Of the sources of all functions that call one another: it has to be part of their names in numba's cache.

    numba looks at the time stamp of a function's own file only, and would take a function from its cache although one
    that it calls, in another file, has changed since.
    """
    digest = hashlib.blake2b(digest_size=6)
    for name in sources:
        digest.update(pkgutil.get_data(package, f"{name}.py") or b"")
    return digest.hexdigest()


_DIGEST: Final = digest_of("worker.page", _SOURCES)


def compiled(signature: str) -> Callable[[Function], Function]:
    """Compile for these types, or take it from numba's cache; it releases the GIL.

    Where numba finds no folder for its cache that it may write to, see ``cached``.
    """

    def compile_it(function: Function) -> Function:
        if not COMPILED:
            return function
        function.__qualname__ = f"{function.__name__}_{_DIGEST}"  # the name of its file in the cache
        return cached(function, signature)

    return compile_it


def cached(function: Function, signature: Any, **options: bool) -> Function:
    """The function compiled for these types, or taken from numba's cache; it releases the GIL.

    Where numba finds no folder for its cache that it may write to, all are compiled at each start, with one warning.
    """
    global _uncached
    if not _uncached:
        try:
            return cast(Function, numba.njit(signature, cache=True, nogil=True, **options)(function))
        except RuntimeError as error:
            if "cannot cache function" not in str(error):
                raise
            _uncached = True
            _log.warning(
                "numba has no folder for its cache: all of it is compiled at each start of a worker and of each of its "
                "parsers, which takes many seconds; set NUMBA_CACHE_DIR to one that can be written to"
            )
    return cast(Function, numba.njit(signature, nogil=True, **options)(function))
