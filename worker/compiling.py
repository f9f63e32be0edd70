"""Compiles Python functions to *kernels*; numba is used only here and in the kernels themselves.

Under ``NUMBA_DISABLE_JIT=1`` kernels are plain Python, which fuzzers can look into. The kernels of ``worker.page`` run
in that way, too, as they are written in code that means the same to both: integers below 2**63, and no ``uint64``.
"""

from __future__ import annotations

import hashlib
import logging
import pkgutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar, cast

from crawler_plugin.wire.errors import UsageError

try:
    import numba
    from llvmlite import binding
    from numba.core import event, sigutils
    from numba.core.caching import FunctionCache
    from numba.core.codegen import CodeLibrary, JITCodeLibrary
    from numba.core.compiler import Compiler, Flags, compile_extra
    from numba.core.compiler_lock import global_compiler_lock
    from numba.core.registry import CPUDispatcher
    from numba.core.runtime import rtsys
    from numba.core.typing import make_concrete_template
except FileNotFoundError as error:  # numba asks for the current folder
    raise UsageError(
        f"numba misses a file or folder ({error}), as when the current folder was removed: change to a folder that "
        "exists, or install numba anew"
    ) from error
except Exception as error:  # anything that keeps numba from running: no wheel, no LLVM
    raise UsageError(
        f"numba cannot run here ({type(error).__name__}: {error}), and nothing works on pages or on the index without "
        "it: install it for this Python and this kind of CPU (pip install numba)"
    ) from error

COMPILED: Final = not numba.config.DISABLE_JIT
"""False: kernels are plain Python."""
_COMPILES: Final = "numba:compile"
"""numba's message about a function that it does not find in its cache."""

_log = logging.getLogger(__name__)
_uncached = False
_entries: Final[list[_Kernel]] = []

Function = TypeVar("Function", bound=Callable[..., Any])


class KernelCompiler(Protocol):
    """Makes kernels of the functions of one package."""

    def __call__(
        self, signature: str, *, entry: bool = False, inline: bool = False, **options: bool
    ) -> Callable[[Function], Function]:
        """A kernel of these types, which releases the GIL. ``entry``: Python calls it, so ``load_entries`` makes it
        ready. ``inline``: it becomes part of the kernels that call it. ``options`` are numba's."""


def compiler_of(package: str, sources: Iterable[str]) -> KernelCompiler:
    """A compiler for functions in these files of a package, or for functions that take constants from these files."""
    digest = digest_of(package, sources)

    def compiled(
        signature: str, *, entry: bool = False, inline: bool = False, **options: bool
    ) -> Callable[[Function], Function]:
        def kernel(function: Function) -> Function:
            if not COMPILED:
                return function
            function.__qualname__ = f"{function.__name__}_{digest}"  # the name of its file in the cache
            made = _Kernel(function, signature, {"forceinline": inline, **options})
            if entry:
                _entries.append(made)
            return cast(Function, made)

        return kernel

    return compiled


def load_entries(*packages: str) -> None:
    """Make the entries of these packages ready, as far as their modules are imported.

    They are taken from numba's cache, or compiled. If numba finds no writable folder for its cache, it compiles at each
    start, with one warning.
    """
    for kernel in _entries_of(packages):
        kernel.load()


def are_cached(*packages: str) -> bool:
    """Whether ``load_entries`` would compile nothing that another process could later find in the cache."""
    return all(kernel.is_cached() for kernel in _entries_of(packages))


def _entries_of(packages: tuple[str, ...]) -> list[_Kernel]:
    inside = tuple(f"{package}." for package in packages)
    return [kernel for kernel in _entries if kernel.__module__.startswith(inside)]


def entry_point(kernel: Any) -> Callable[..., Any]:
    """A kernel without the choice among signatures, which takes a third of a short call: it has one signature, and the
    arguments must be of its types."""
    return cast(Callable[..., Any], kernel.load() if COMPILED else kernel)


class _Translation(JITCodeLibrary):  # type: ignore[misc]
    """LLVM's code for a kernel; it is optimised and compiled to machine code where it is linked into others, not
    alone."""

    def finalize(self) -> None:
        """Finalise without a link to the functions that it calls."""
        self._finalize_dynamic_globals()
        self._finalized = True


class _MachineCode(JITCodeLibrary):  # type: ignore[misc]
    """The code that Python calls, with all the translations that it calls in it, each linked once."""

    def finalize(self) -> None:
        """Link, optimise, emit."""
        self._linking_libraries = [*reversed(_callees_first(self, {}))][1:]
        super().finalize()


def _callees_first(library: CodeLibrary, seen: dict[CodeLibrary, None]) -> dict[CodeLibrary, None]:
    """LLVM drops functions that nothing calls yet, so callers have to be linked before the functions that they call."""
    if isinstance(library, _Translation | _MachineCode):
        for called in library._linking_libraries:
            if called not in seen:
                _callees_first(called, seen)
    seen[library] = None
    return seen


class _Pipeline(Compiler):  # type: ignore[misc]
    def __init__(self, typingctx: Any, targetctx: Any, library: CodeLibrary | None, *rest: Any) -> None:
        if library is None:
            library = _MachineCode(targetctx.codegen(), "kernel")
            library.enable_object_caching()
        super().__init__(typingctx, targetctx, library, *rest)


class _Cache(FunctionCache):  # type: ignore[misc]
    """numba's cache, from which a function comes without the modules that are needed to compile one."""

    def load_overload(self, sig: str, target_context: Any) -> Any:
        """As numba's own, which first installs all rules of types and LLVM's code, of 230 modules: half of a process's
        memory."""
        rtsys.initialize(target_context)
        return self._load_overload(sig, target_context)


class _Kernel(CPUDispatcher):  # type: ignore[misc]
    """A function that is compiled for one signature when it is first needed: for Python or for another kernel.

    Most kernels are called by kernels only. numba would make each of them ready to run alone, which takes twice the
    time, and load each from its cache at each start. Here a kernel is only translated for the kernels that call it; the
    kernel that Python calls becomes machine code, with all that it calls in it.
    """

    def __init__(self, function: Callable[..., Any], signature: str, options: dict[str, bool]) -> None:
        always = {"nopython": True, "boundscheck": None, "nogil": True, "no_cfunc_wrapper": True}
        super().__init__(function, targetoptions=always | options, pipeline_class=_Pipeline)
        self._signature = signature
        self._translated: Any = None

    def load(self) -> Any:
        """Compile it for Python, or load it from numba's cache; returns the function to call."""
        with global_compiler_lock:
            if self._can_compile:
                self._find_cache()
                self.compile(self._signature)
                self.disable_compile()
            (only,) = self.overloads.values()
            return only.entry_point

    def is_cached(self) -> bool:
        """Whether numba's cache has it, or there is none."""
        with global_compiler_lock:
            if not self._find_cache():
                return True
            key = self._cache._index_key(self._signature, self.targetctx.codegen())
            return key in self._cache._cache_file._load_index()

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Called by numba when it meets a call of the kernel in another one."""
        signature = [self._translation().signature]
        called, args = self._compiler.fold_argument_types(args, kws)
        return make_concrete_template(self.__name__, key=self.__name__, signatures=signature), called, args, {}

    def get_overload(self, sig: Any) -> Any:
        """Called by numba when it translates that call."""
        return self._translation().entry_point

    def _compile_for_args(self, *args: Any, **kws: Any) -> Any:
        """Called by numba when Python calls the kernel and no signature is compiled; returns the function to call
        instead."""
        self.load()
        return self

    def _translation(self) -> Any:
        with global_compiler_lock:
            if self._translated is None:
                with event.trigger_event(_COMPILES):
                    self._translated = self._translate()
            return self._translated

    def _translate(self) -> Any:
        target = self.targetctx
        flags = Flags()
        self.targetdescr.options.parse_as_flags(flags, self.targetoptions)
        flags.no_compile = flags.no_cpython_wrapper = True
        arguments, result = sigutils.normalize_signature(self._signature)
        library = _Translation(target.codegen(), self.__qualname__)
        translated = compile_extra(
            self.typingctx, target, self.py_func, arguments, result, flags, locals={}, library=library
        )._replace(entry_point=object())
        target.insert_user_function(translated.entry_point, translated.fndesc, [library])
        return translated

    def _find_cache(self) -> bool:
        global _uncached
        if _uncached:
            return False
        try:
            self._cache = _Cache(self.py_func)
            return True
        except RuntimeError as error:
            if "cannot cache function" not in str(error):
                raise
            _uncached = True
            _log.warning(
                "numba has no folder for its cache, so each worker and each of its parsers compiles everything at its "
                "start, which takes many seconds; set NUMBA_CACHE_DIR to a folder that can be written to"
            )
            return False


def cache_folder() -> Path | None:
    """The folder for what is kept of this module; numba has one for each folder of sources. None if it has none."""
    try:
        return Path(_Cache(cache_folder).cache_path)
    except RuntimeError:
        return None


def digest_of(package: str, sources: Iterable[str]) -> str:
    """A digest of the sources of all functions that call one another: it must be part of their names in numba's cache.

    numba looks only at the time stamp of a function's own file, and would load a function from its cache although a
    function that it calls, in another file, has changed since.
    """
    digest = hashlib.blake2b(pkgutil.get_data("worker", "compiling.py") or b"", digest_size=6)
    for name in sources:
        digest.update(pkgutil.get_data(package, f"{name}.py") or b"")
    return digest.hexdigest()


def must_compile() -> None:
    """For code that cannot run as plain Python.

    Raises:
        UsageError: numba's compilation is switched off.
    """
    if not COMPILED:
        raise UsageError(
            "NUMBA_DISABLE_JIT is set: fingerprints and the index need the compiler that it switches off; take it out "
            "of the environment"
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
