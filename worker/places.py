"""Folders for results, here or at a URL that fsspec knows: a file gets its name only when it is whole.

Here a file is renamed when all of it is on the disk (``crawler_plugin.wire.files.replaced``). For a URL it is made on
this machine, in the folder for temporary files, and sent when it is whole: an object of a store appears when it has
arrived; on other file systems it is sent under another name and renamed there.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, Final, cast

from crawler_plugin.wire.errors import Unavailable, UsageError
from crawler_plugin.wire.files import replaced
from worker import DISTRIBUTION

_USERINFO: Final = re.compile(r"//[^/?#@\s]*@")
_URL: Final = re.compile(r"[a-z][a-z0-9+.-]+://", re.IGNORECASE)
_HERE: Final = "file://"
_STORES: Final = frozenset(("s3", "s3a", "gs", "gcs", "az", "abfs", "abfss", "oss", "memory"))
"""Protocols of stores in which an object appears when all of it has arrived."""


def is_url(name: str) -> bool:
    """Whether this names something other than a path here."""
    return bool(_URL.match(name))


def shown(said: str) -> str:
    """A name, or a message about it, without user names and passwords: a URL may have others in it."""
    return _USERINFO.sub("//", said)


def file_system(url: str) -> tuple[Any, str]:
    """A file system of fsspec, and the path in it.

    Raises:
        UsageError: fsspec, or a package that it needs for such a URL, is not installed.
    """
    try:
        from fsspec.core import url_to_fs
    except ImportError as error:
        raise UsageError(
            f"{shown(url)} needs fsspec, which is not installed: pip install '{DISTRIBUTION}[scan]'"
        ) from error
    try:
        system, path = url_to_fs(url)
    except (ImportError, ValueError) as error:
        scheme = url.partition("://")[0]
        raise UsageError(
            f"{shown(f'{url} cannot be opened ({error})')}: install what fsspec needs for {scheme}:// (pip install "
            f"'fsspec[{scheme}]'), or name a path on this machine"
        ) from error
    return system, str(path)


def next_move(*, is_gone: bool) -> str:
    """What to do after a file could not be written; one that ``is_gone`` was removed while it was being written."""
    if is_gone:
        return "another process may be writing there: let it end, or name another place"
    return "make room there, or check that this program can reach and use the place"


class Folder:
    """A folder, which need not exist yet: it comes with the first file that is written. Names of files in it are
    relative, with ``/`` between folders.

    All methods raise ``Unavailable`` if the disk or the network fails, and ``UsageError`` if such a URL cannot be
    opened at all.
    """

    def __init__(self, where: str) -> None:
        self.where: Final = where.removeprefix(_HERE) if where.startswith(_HERE) else where.rstrip("/") or "/"
        self.is_here: Final = not is_url(self.where)

    def __str__(self) -> str:
        return shown(self.where)

    def path(self, name: str) -> str:
        """The path or the URL from which a file can be read."""
        return f"{self.where.rstrip('/')}/{name}"

    @contextmanager
    def replaced(self, name: str) -> Generator[Path]:
        """An empty file on this machine to write to, which takes the place of ``name`` when it is whole.

        If anything is raised inside, the previous file stays. Two processes at once need two names.
        """
        if self.is_here:
            target = Path(self.path(name))
            with self._failing(name, "written", OSError):
                target.parent.mkdir(parents=True, exist_ok=True)
                with replaced(target) as beside:
                    yield beside
            return
        file, beside_name = tempfile.mkstemp(suffix=f"-{PurePosixPath(name).name}"[-100:])
        os.close(file)
        beside = Path(beside_name)
        try:
            with self._failing(name, "written", OSError):
                yield beside
            with self._failing(name, "written"):
                self._send(beside, name)
        finally:
            with suppress(FileNotFoundError):
                beside.unlink()

    def write(self, name: str, content: bytes) -> None:
        """Write a small file, as ``replaced`` makes it."""
        with self.replaced(name) as beside:
            beside.write_bytes(content)

    def open(self, name: str) -> BinaryIO:
        """A file to read, which allows seeking.

        Raises:
            FileNotFoundError: there is no such file.
        """
        with self._failing(name, "read"):
            if self.is_here:
                return Path(self.path(name)).open("rb")
            system, path = self._system(name)
            return cast(BinaryIO, system.open(path, "rb"))

    def read(self, name: str) -> bytes | None:
        """All of a small file; None if there is none."""
        if self.size(name) is None:
            return None
        with self.open(name) as file, self._failing(name, "read"):
            return file.read()

    def size(self, name: str) -> int | None:
        """The size of a file, in bytes; None if there is none."""
        with self._failing(name, "read"), suppress(FileNotFoundError, NotADirectoryError):
            if self.is_here:
                path = Path(self.path(name))
                return path.stat().st_size if path.is_file() else None
            system, path_there = self._system(name)
            system.invalidate_cache()  # other machines write there, too
            about = system.info(path_there)
            return int(about["size"] or 0) if about["type"] == "file" else None
        return None

    def names(self, suffix: str = "") -> list[str]:
        """The names of all files in it and in its folders with this ending, sorted."""
        with self._failing("", "listed"), suppress(FileNotFoundError):
            if self.is_here:
                top = Path(self.where)
                found = (path.relative_to(top).as_posix() for path in top.rglob("*") if path.is_file())
                return sorted(name for name in found if name.endswith(suffix))
            system, top_there = self._system("")
            system.invalidate_cache()
            root = top_there.rstrip("/") + "/"
            return sorted(path.removeprefix(root) for path in system.find(root) if path.endswith(suffix))
        return []

    def remove(self, name: str) -> None:
        """Remove a file, if it exists."""
        with self._failing(name, "removed"), suppress(FileNotFoundError):
            if self.is_here:
                Path(self.path(name)).unlink()
            else:
                system, path = self._system(name)
                system.rm_file(path)

    def _send(self, beside: Path, name: str) -> None:
        system, path = self._system(name)
        protocols = {system.protocol} if isinstance(system.protocol, str) else set(system.protocol)
        if protocols & _STORES:
            system.put_file(str(beside), path)
            return
        system.makedirs(path.rpartition("/")[0], exist_ok=True)
        system.put_file(str(beside), f"{path}.tmp")
        system.mv(f"{path}.tmp", path)

    def _system(self, name: str) -> tuple[Any, str]:
        return file_system(self.path(name))

    @contextmanager
    def _failing(self, name: str, what: str, kind: type[Exception] = Exception) -> Generator[None]:
        """Each file system of fsspec has its own errors. A missing file is no file if it was to be read."""
        try:
            yield
        except (Unavailable, UsageError):
            raise
        except kind as error:
            if isinstance(error, FileNotFoundError | NotADirectoryError) and what != "written":
                raise
            said = error.strerror if isinstance(error, OSError) else None
            why = shown(said or f"{type(error).__name__}: {error}")
            move = next_move(is_gone=self.is_here and isinstance(error, FileNotFoundError))
            raise Unavailable(
                f"{shown(self.path(name))} cannot be {what} ({why}): {move}, then run the same command again"
            ) from error
