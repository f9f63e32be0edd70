"""What makes compiled functions, *kernels*, of Python's; it is the home of numba, with the kernels themselves.

Under ``NUMBA_DISABLE_JIT=1`` kernels are plain Python, which fuzzers can look into. Those of ``worker.page`` run so,
too, as they are written in what both take for the same: integers below 2**63, and no ``uint64``.
"""

from __future__ import annotations

import hashlib
import logging
import pkgutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final, Protocol, TypeVar, cast

from crawler_plugin.wire.errors import UsageError

try:
    import numba
    from llvmlite import binding
    from numba.core import event
except Exception as error:  # whatever keeps numba from running: no wheel, no LLVM
    raise UsageError(
        f"numba cannot run here ({type(error).__name__}: {error}), and nothing works on pages or on the index without "
        "it: install it for this Python and this kind of CPU (pip install numba)"
    ) from error

COMPILED: Final = not numba.config.DISABLE_JIT
"""False: kernels are plain Python."""
_COMPILES: Final = "numba:compile"
"""What numba tells of a function that it does not find in its cache."""

_log = logging.getLogger(__name__)
_uncached = False

Function = TypeVar("Function", bound=Callable[..., Any])


class Compiler(Protocol):
    """Makes kernels of the functions of one package."""

    def __call__(self, signature: Any, *, inline: bool = False, **options: bool) -> Callable[[Function], Function]:
        """Compile for these types, or take it from numba's cache; the kernel releases the GIL. ``inline``: it becomes
        part of each that calls it. ``options`` are numba's."""


def compiler_of(package: str, sources: Iterable[str]) -> Compiler:
    """What makes kernels of functions that stand in these files of a package, or take constants from them.

    Where numba finds no folder for its cache that it may write to, all are compiled at each start, with one warning.
    """
    digest = digest_of(package, sources)

    def compiled(signature: Any, *, inline: bool = False, **options: bool) -> Callable[[Function], Function]:
        def compile_it(function: Function) -> Function:
            function.__qualname__ = f"{function.__name__}_{digest}"  # the name of its file in the cache
            return _cached(function, signature, nogil=True, forceinline=inline, **options)

        return compile_it

    return compiled


def digest_of(package: str, sources: Iterable[str]) -> str:
    """Of the sources of all functions that call one another: it has to be part of their names in numba's cache.

    numba looks at the time stamp of a function's own file only, and would take a function from its cache although one
    that it calls, in another file, has changed since.
    """
    digest = hashlib.blake2b(pkgutil.get_data("worker", "compiling.py") or b"", digest_size=6)
    for name in sources:
        digest.update(pkgutil.get_data(package, f"{name}.py") or b"")
    return digest.hexdigest()


def must_compile() -> None:
    """For what cannot run as plain Python.

    Raises:
        UsageError: numba's compilation is switched off.
    """
    if not COMPILED:
        raise UsageError(
            "NUMBA_DISABLE_JIT is set: fingerprints and the index need what it switches off; take it out of the "
            "environment"
        )


def cpu_name() -> str:
    """The kind of CPU that kernels are compiled for."""
    return str(numba.config.CPU_NAME or binding.get_host_cpu_name())


@contextmanager
def each_compilation(begins: Callable[[], None], ends: Callable[[], None]) -> Iterator[None]:
    """While this lasts, both are called for each function that numba does not find in its cache."""

    class Listener(event.Listener):  # type: ignore[misc]
        def on_start(self, _: Any) -> None:
            begins()

        def on_end(self, _: Any) -> None:
            ends()

    with event.install_listener(_COMPILES, Listener()):
        yield


def _cached(function: Function, signature: Any, **options: bool) -> Function:
    global _uncached
    if not _uncached:
        try:
            return cast(Function, numba.njit(signature, cache=True, **options)(function))
        except RuntimeError as error:
            if "cannot cache function" not in str(error):
                raise
            _uncached = True
            _log.warning(
                "numba has no folder for its cache: all of it is compiled at each start of a worker and of each of its "
                "parsers, which takes many seconds; set NUMBA_CACHE_DIR to one that can be written to"
            )
    return cast(Function, numba.njit(signature, **options)(function))
