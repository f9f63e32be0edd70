"""``python -m worker warmup``: compiles everything into a folder, so that an image's workers need not at each start."""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from crawler_plugin.wire.errors import UsageError
from worker.compose.kernels import PARTS, compile_apart, compile_part

if TYPE_CHECKING:
    from worker.config import Settings

CACHE: Final = "NUMBA_CACHE_DIR"


def configure(parser: argparse.ArgumentParser) -> None:
    """No arguments: the folder is named by the environment, where workers look for it, too."""


def run(arguments: argparse.Namespace, load: Callable[[], Settings]) -> int:
    """Compile, and print what is there now."""
    settings = load()
    folder = _cache_folder(os.environ.get(CACHE))
    before = _compiled(folder)
    begun = time.perf_counter()
    cpu = _compile(settings)
    took = time.perf_counter() - begun
    after = _compiled(folder)
    megabytes = sum(size for size in after.values()) / 1e6
    new = len(after.keys() - before.keys())
    print(
        f"{folder}: {len(after)} compiled functions, {megabytes:.1f} MB, {new} of them new, in {took:.1f} s, for "
        f"{cpu}. Start workers with the same {CACHE}; on another kind of CPU they compile once more, unless "
        "NUMBA_CPU_NAME=generic is set here and there"
    )
    return 0


def _cache_folder(named: str | None) -> Path:
    """The folder, made if need be.

    Raises:
        UsageError: no folder is named, or it cannot be written.
    """
    if not named:
        raise UsageError(f"{CACHE} is not set: set it to the same folder as for the workers, and try again")
    folder = Path(named)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise UsageError(
            f"{CACHE}={named} cannot be written ({error.strerror}): name another folder, or run this as its owner"
        ) from error
    return folder


def _compile(settings: Settings) -> str:
    """Compile everything that workers use, and make the tables that they keep with it; returns the name of the CPU that
    it is for.

    Raises:
        UsageError: numba cannot run here.
    """
    from worker.compiling import cpu_name
    from worker.compose import parts

    compile_apart()
    for part in PARTS:  # from the cache, unless a process has failed: then it fails here, and says why
        compile_part(part)
    recipe = parts.recipe(settings)
    recipe.reader()
    parts.reading(settings, recipe)
    return cpu_name()


def _compiled(folder: Path) -> dict[Path, int]:
    """The files of numba's cache below a folder that hold code, with their sizes."""
    return {file: file.stat().st_size for file in folder.rglob("*.nbc")}
