"""Arrays that take a tenth of a second to make, kept next to numba's compiled code for the processes to come."""

from __future__ import annotations

import hashlib
import os
import pkgutil
import sys
import unicodedata
import zipfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from importlib.resources import files
from typing import Final

import numpy as np
import numpy.typing as npt

from crawler_plugin.wire.files import replaced
from worker.compiling import cache_folder

Arrays = Mapping[str, npt.NDArray[np.generic]]

_UNICODE: Final = f"{sys.version_info[:2]} {unicodedata.unidata_version}"


def version_of(package: str, *more: str | bytes) -> str:
    """Stands for all files of a package, for this Python and its Unicode tables, and for ``more``: names of modules,
    whose sources count, and contents."""
    digest = hashlib.blake2b(_UNICODE.encode(), digest_size=8)
    for file in sorted(files(package).iterdir(), key=lambda file: file.name):
        if file.is_file():
            digest.update(file.name.encode() + b"\n" + file.read_bytes())
    for each in more:
        digest.update(_source(each) if isinstance(each, str) else each)
    return digest.hexdigest()


def kept(name: str, version: str, make: Callable[[], Arrays]) -> Arrays:
    """The arrays that ``make`` returns, from a file if an earlier process has left one.

    ``version`` stands for all that they depend on. They are made anew if the file is damaged, or cannot be read; if it
    cannot be written, the next process makes them, too. The folder is trusted as numba's cache is, with whose code in
    it every process runs.
    """
    folder = cache_folder()
    if folder is None:
        return make()
    file = folder / f"{name}-{version}.npz"
    with suppress(OSError, ValueError, EOFError, zipfile.BadZipFile), np.load(file, allow_pickle=False) as found:
        return {each: found[each] for each in found.files}
    arrays = make()
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        with replaced(file, writer=str(os.getpid())) as beside, beside.open("wb") as out:
            np.savez(out, allow_pickle=False, **arrays)
    return arrays


def _source(module: str) -> bytes:
    package, _, name = module.rpartition(".")
    return pkgutil.get_data(package, f"{name}.py") or b""
