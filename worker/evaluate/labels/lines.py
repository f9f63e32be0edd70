"""Lines of a file that may be compressed, and everything that is wrong with them, reported at once."""

from __future__ import annotations

import bz2
import gzip
import importlib
import io
import lzma
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, BinaryIO, Final, cast

from crawler_plugin.wire.errors import UsageError

SHOWN: Final = 20
"""Problems of one file that are listed; for further ones only the number is given."""


class Problems:
    """The errors in the lines of one file, collected to be reported together."""

    def __init__(self, path: Path) -> None:
        self.path: Final = path
        self._found: list[str] = []

    def add(self, line: int, problem: str) -> None:
        """``problem`` ends with the reader's next move."""
        self._found.append(f"line {line}: {problem}")

    def raise_if_any(self) -> None:
        """Raises ``UsageError`` with the first ``SHOWN`` problems, one per line."""
        if not self._found:
            return
        if len(self._found) == 1:
            raise UsageError(f"{self.path}, {self._found[0]}")
        more = len(self._found) - SHOWN
        listed = self._found[:SHOWN] + [f"and {more} more; correct these first"] * (more > 0)
        raise UsageError(f"{self.path}: {len(self._found)} problems\n  " + "\n  ".join(listed))


def lines(path: Path) -> Iterator[tuple[int, str]]:
    """Number (from 1) and text of each line that is not blank.

    The file is plain UTF-8, or that compressed with xz, gzip, zstd or bzip2, as its first bytes say; its name says
    nothing.

    Raises:
        UsageError: the file cannot be read, is damaged, or is text in another encoding.
    """
    number = 0
    try:
        with path.open("rb") as file, _decompressed(path, file) as plain:
            for number, line in enumerate(plain, start=1):
                text = line.decode("utf-8-sig" if number == 1 else "utf-8").strip()
                if text:
                    yield number, text
    except UnicodeDecodeError as error:
        raise UsageError(
            f"{path}, line {number}: not UTF-8 at its byte {error.start}; "
            "give plain UTF-8, or such a file compressed with xz, gzip or zstd"
        ) from error
    except _DAMAGE as error:
        raise UsageError(
            f"{path}: its compression breaks off or is damaged after line {number} ({error}); copy the file once more"
        ) from error
    except OSError as error:
        raise UsageError(f"{path} cannot be read ({error.strerror or error}); name another file") from error


def _decompressed(path: Path, file: BinaryIO) -> BinaryIO:
    magic = file.read(_LONGEST_MAGIC)
    file.seek(0)
    for beginning, opener in _OPENERS.items():
        if magic.startswith(beginning):
            return _buffered(opener(file))
    if magic.startswith(_ZSTD_MAGIC):
        if _zstd is None:
            raise UsageError(f"{path} is compressed with zstd: pip install backports.zstd, or decompress it")
        return _buffered(_zstd.ZstdFile(file))
    return file


def _buffered(file: Any) -> BinaryIO:
    """Without this, lines of a decompressing file are read one byte after the other."""
    return cast(BinaryIO, io.BufferedReader(file))


def _zstd_of_python() -> ModuleType | None:
    """Python's own module from 3.14 on, before that the package of the same interface; None without it."""
    for name in ("compression.zstd", "backports.zstd"):
        try:
            return importlib.import_module(name)
        except ImportError:
            continue
    return None


_zstd: Final[Any] = _zstd_of_python()
_ZSTD_MAGIC: Final = b"\x28\xb5\x2f\xfd"
_LONGEST_MAGIC: Final = 6
_OPENERS: Final[dict[bytes, Callable[[BinaryIO], Any]]] = {
    b"\xfd7zXZ\0": lzma.LZMAFile,
    b"\x1f\x8b": lambda file: gzip.GzipFile(fileobj=file),
    b"BZh": bz2.BZ2File,
}
_DAMAGE: Final[tuple[type[Exception], ...]] = (
    EOFError,
    lzma.LZMAError,
    zlib.error,
    gzip.BadGzipFile,
    *((_zstd.ZstdError,) if _zstd else ()),
)
