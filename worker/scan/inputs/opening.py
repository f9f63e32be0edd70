"""Opens what an input names: a file here, or a URL that fsspec knows."""

from __future__ import annotations

import glob
import os
import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from stat import S_ISREG
from typing import Any, BinaryIO, Final, cast

from worker import DISTRIBUTION
from worker.errors import Unavailable, UsageError

_USERINFO: Final = re.compile(r"//[^/?#@\s]*@")
_URL: Final = re.compile(r"[a-z][a-z0-9+.-]+://", re.IGNORECASE)
_GLOB: Final = re.compile(r"[*?\[]")


def is_url(name: str) -> bool:
    """Whether this names something that is not a path here."""
    return bool(_URL.match(name))


def is_pattern(name: str) -> bool:
    """Whether this may stand for several files."""
    return bool(_GLOB.search(name))


def printable(name: str) -> str:
    """A name that can be written down: bytes in it that are no UTF-8 are shown as such."""
    return os.fsencode(name).decode(errors="backslashreplace")


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file that can be opened again and again.

    ``where`` is its path, or its URL, ``below`` where a copy of it belongs in a folder of copies. ``size`` is in bytes,
    None where nobody knows.
    """

    where: str
    below: str
    size: int | None

    @property
    def name(self) -> str:
        """By which it was found, as it can be printed; a URL without user names and passwords."""
        return printable(_shown(self.where) if is_url(self.where) else self.where)

    def open(self) -> Reading:
        """From its first byte on.

        Raises:
            UsageError: it is not there any more, or may not be read.
        """
        return Reading(self.name, _opened(self.where))


class Reading:
    """A file that is read from its first byte on. ``position`` says how many bytes were."""

    def __init__(self, name: str, stream: BinaryIO) -> None:
        self.position = 0
        self._name: Final = name
        self.stream: Final = stream

    def read(self, size: int) -> bytes:
        """The next bytes, fewer than asked for only at the end.

        Raises:
            Unavailable: the disk, or the network, fails.
            DamagedFile: it lies in another file, which does not hold it as it says.
        """
        try:
            content = self.stream.read(size)
        except (Unavailable, UsageError):
            raise
        except Exception as error:  # what a file system of fsspec raises is its own affair
            raise failing(self._name, error) from error
        self.position += len(content)
        return content

    def close(self) -> None:
        """Let go of the file."""
        self.stream.close()


def failing(name: str, error: Exception) -> Unavailable:
    """What to raise when a file that was opened cannot be read on."""
    return Unavailable(
        f"{name} cannot be read on ({type(error).__name__}: {error}): see that the disk or the network is well, then "
        "run the same command again"
    )


def stored(name: str) -> StoredFile:
    """A single file, as named.

    Raises:
        UsageError: there is none of this name.
    """
    below = PurePosixPath(name).name
    if not is_url(name):
        try:
            about = Path(name).stat()
        except OSError as error:
            raise _not_there(name, error) from error
        if not S_ISREG(about.st_mode):
            raise UsageError(f"{name} is a pipe or a device, which cannot be read twice: pipe it in, and name it -")
        return StoredFile(name, below, about.st_size)
    try:
        system, path = _file_system(name)
        return StoredFile(name, below, system.info(path).get("size"))
    except UsageError:
        raise
    except Exception as error:
        raise _not_there(name, error) from error


def is_folder(name: str) -> bool:
    """Whether this is a folder, here or elsewhere.

    Raises:
        UsageError: it is a URL that cannot be asked.
    """
    if not is_url(name):
        return Path(name).is_dir()
    try:
        system, path = _file_system(name)
        return bool(system.isdir(path))
    except UsageError:
        raise
    except Exception as error:
        raise _not_there(name, error) from error


def files_within(folder: str, without: Path | None = None) -> list[StoredFile]:
    """All files of a folder and the folders in it, in the order of their paths; hidden ones are left out, and so is a
    folder ``without``.

    Raises:
        UsageError: it cannot be read.
    """
    try:
        base, found = _elsewhere(folder) if is_url(folder) else _here(folder, without)
    except UsageError:
        raise
    except Exception as error:
        raise _not_there(folder, error) from error
    return [
        StoredFile(where, f"{base}/{relative}", size)
        for relative, where, size in sorted(found, key=lambda one: one[0].split("/"))
        if not any(part.startswith(".") for part in relative.split("/"))
    ]


def _here(folder: str, without: Path | None) -> tuple[str, list[tuple[str, str, int | None]]]:
    """The folder's own name; and of each file within the path from there on, the path by way of the folder as it is
    named, and the size."""
    found: list[tuple[str, str, int | None]] = []
    top = Path(folder)
    waiting = [top]
    while waiting:
        for path in waiting.pop().iterdir():
            if path.is_dir():
                is_left_out = path.is_symlink() or (without is not None and path.samefile(without))
                waiting += [] if is_left_out else [path]  # a link may lead in a circle
            elif path.is_file():
                relative = path.relative_to(top).as_posix()
                found.append((relative, os.path.join(folder, relative), path.stat().st_size))  # noqa: PTH118
    return top.resolve().name or "root", found


def _elsewhere(folder: str) -> tuple[str, list[tuple[str, str, int | None]]]:
    system, root = _file_system(folder)
    found = [
        (path.removeprefix(root.rstrip("/")).lstrip("/"), str(system.unstrip_protocol(path)), about.get("size"))
        for path, about in system.find(root, detail=True).items()
    ]
    return PurePosixPath(root).name or "root", found


def matching(pattern: str, without: Path | None = None) -> list[str]:
    """Names of files and folders that a glob stands for, sorted; ``**`` stands for any number of folders. A folder
    ``without`` and what is in it are left out.

    Raises:
        UsageError: a file system cannot be asked.
    """
    if not is_url(pattern):
        if Path(pattern).exists():  # brackets may be a part of a name
            return [pattern]
        found = sorted(glob.glob(pattern, recursive=True))  # noqa: PTH207
        if without is None:
            return found
        left_out = without.resolve()
        return [name for name in found if not Path(name).resolve().is_relative_to(left_out)]
    if pattern.startswith(("http://", "https://")):
        return [pattern]  # what looks like a pattern is a query there
    try:
        system, path = _file_system(pattern)
        return sorted(system.unstrip_protocol(one) for one in system.glob(path))
    except UsageError:
        raise
    except Exception as error:
        raise _not_there(pattern, error) from error


def _opened(name: str) -> BinaryIO:
    try:
        if not is_url(name):
            return Path(name).open("rb")
        system, path = _file_system(name)
        return cast(BinaryIO, system.open(path, "rb"))
    except UsageError:
        raise
    except Exception as error:
        raise _not_there(name, error) from error


def _file_system(url: str) -> tuple[Any, str]:
    """A file system of fsspec, and the path in it."""
    try:
        from fsspec.core import url_to_fs
    except ImportError as error:
        raise needs("fsspec", f"reading {_shown(url)}") from error
    try:
        system, path = url_to_fs(url)
    except (ImportError, ValueError) as error:
        scheme = url.partition("://")[0]
        raise UsageError(
            f"{_shown(f'{url} cannot be read ({error})')}: install what fsspec needs for {scheme}:// (pip install "
            f"'fsspec[{scheme}]'), or download the file and name it"
        ) from error
    return system, str(path)


def _shown(said: str) -> str:
    """A name, or what is said of it, without user names and passwords: a URL may have others in it."""
    return _USERINFO.sub("//", said)


def _not_there(name: str, error: Exception) -> UsageError:
    why = error.strerror if isinstance(error, OSError) and error.strerror else f"{type(error).__name__}: {error}"
    return UsageError(
        f"{_shown(name)} cannot be read ({_shown(why)}): name a file, a folder, a glob or a URL that can be read"
    )


class NotInstalled(UsageError):
    """A package is missing that the scan could do without, were it not for this input."""


class DamagedFile(UsageError):
    """Nothing can be read out of a file that is of a form that is known."""


def needs(package: str, what: str) -> NotInstalled:
    """What to raise where a package of the extra ``scan`` is missing."""
    return NotInstalled(f"{what} needs {package}, which is not installed: pip install '{DISTRIBUTION}[scan]'")
