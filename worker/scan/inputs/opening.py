"""Opens the files that an input names: a file here, or a URL that fsspec knows."""

from __future__ import annotations

import glob
import os
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from stat import S_ISREG
from typing import BinaryIO, Final, NamedTuple, cast

from crawler_plugin.wire.errors import Unavailable, UsageError
from worker import DISTRIBUTION
from worker.places import file_system, is_url, shown

_GLOB: Final = re.compile(r"[*?\[]")
_PRINTED: Final = re.compile(rb"\\x([89a-f][0-9a-f])")


def is_pattern(name: str) -> bool:
    """Whether this may stand for several files."""
    return bool(_GLOB.search(name))


def printable(name: str) -> str:
    """A name that can be printed: bytes in it that are not UTF-8 are shown as such."""
    return os.fsencode(name).decode(errors="backslashreplace")


def unprinted(name: str) -> str:
    """The path of a file here from its printed name; a name that no file here has stays as it is."""
    if is_url(name) or "\\x" not in name or Path(name).exists():
        return name
    found = os.fsdecode(_PRINTED.sub(lambda byte: bytes([int(byte[1], 16)]), name.encode()))
    return found if Path(found).exists() else name


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file that can be opened again and again.

    ``where`` is its path, or its URL, ``below`` where a copy of it belongs in a folder of copies. ``size`` is in bytes,
    None if it is not known.
    """

    where: str
    below: str
    size: int | None

    @property
    def name(self) -> str:
        """The name by which it was found, as it can be printed; a URL without user names and passwords."""
        return printable(shown(self.where) if is_url(self.where) else self.where)

    def open(self) -> Reading:
        """The file from its first byte on.

        Raises:
            UsageError: it is gone, or may not be read.
        """
        return Reading(self.name, _opened(self.where))


class Reading:
    """A file that is read from its first byte on. ``position`` is the number of bytes read."""

    def __init__(self, name: str, stream: BinaryIO) -> None:
        self.position = 0
        self._name: Final = name
        self.stream: Final = stream

    def read(self, size: int) -> bytes:
        """The next bytes, fewer than asked for only at the end.

        Raises:
            Unavailable: the disk, or the network, fails.
            DamagedFile: it lies in another file, whose content does not match its own description.
        """
        try:
            content = self.stream.read(size)
        except (Unavailable, UsageError):
            raise
        except Exception as error:  # each file system of fsspec has its own exceptions
            raise failing(self._name, error) from error
        self.position += len(content)
        return content

    def close(self) -> None:
        """Close the file."""
        self.stream.close()


def failing(name: str, error: Exception) -> Unavailable:
    """The error for a file that was opened and cannot be read to its end."""
    return Unavailable(
        f"{name} cannot be read further ({type(error).__name__}: {error}): check the disk or the network, then run the "
        "same command again"
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
        system, path = file_system(name)
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
        system, path = file_system(name)
        return bool(system.isdir(path))
    except UsageError:
        raise
    except Exception as error:
        raise _not_there(name, error) from error


class FoundFiles(NamedTuple):
    """``passed_over`` counts the skipped content of a folder: ``hidden`` files and folders, each ``link``, each
    ``broken-link``, and everything ``special``: pipes, sockets, devices."""

    files: list[StoredFile]
    passed_over: Counter[str]


def files_within(folder: str, without: Path | None = None, *, follow_links: bool = False) -> FoundFiles:
    """All files of a folder and the folders in it, in the order of their paths; a folder ``without`` is left out.

    Links are skipped, since they may lead anywhere; with ``follow_links`` only links to a folder that was read already
    are skipped.

    Raises:
        UsageError: it cannot be read.
    """
    try:
        found = _elsewhere(folder) if is_url(folder) else _here(folder, without, follow_links)
    except UsageError:
        raise
    except Exception as error:
        raise _not_there(folder, error) from error
    return found._replace(files=sorted(found.files, key=lambda file: file.below.split("/")))


def _here(folder: str, without: Path | None, follow_links: bool) -> FoundFiles:
    """Files have the path by way of the folder as it is named."""
    top = Path(folder)
    base = top.resolve().name or "root"
    found = FoundFiles([], Counter())
    waiting, links = [top], list[Path]()
    read = {top.resolve()}
    while waiting or links:
        # Targets of links come last, in order: of two ways to a folder, the one without a link counts.
        if not waiting and links[0].resolve() in read:
            found.passed_over["link"] += 1
            del links[0]
            continue
        here = waiting.pop() if waiting else links.pop(0)
        read.add(here.resolve())
        for path in sorted(here.iterdir()):
            if why := _why_passed_over(path, follow_links):
                found.passed_over[why] += 1
            elif path.is_file():
                relative = path.relative_to(top).as_posix()
                where = os.path.join(folder, relative)  # noqa: PTH118
                found.files.append(StoredFile(where, f"{base}/{relative}", path.stat().st_size))
            elif without is None or not path.samefile(without):
                (links if path.is_symlink() else waiting).append(path)
    return found


def _why_passed_over(path: Path, follow_links: bool) -> str:
    """The word for the reason; empty for a file or folder that is read."""
    if path.name.startswith("."):
        return "hidden"
    if path.is_symlink() and not path.exists():
        return "broken-link"
    if path.is_symlink() and not follow_links:
        return "link"
    return "" if path.is_file() or path.is_dir() else "special"


def _elsewhere(folder: str) -> FoundFiles:
    system, root = file_system(folder)
    base = PurePosixPath(root).name or "root"
    found = FoundFiles([], Counter())
    for path, about in system.find(root, detail=True).items():
        relative = path.removeprefix(root.rstrip("/")).lstrip("/")
        if any(part.startswith(".") for part in relative.split("/")):
            found.passed_over["hidden"] += 1
        else:
            where = str(system.unstrip_protocol(path))
            found.files.append(StoredFile(where, f"{base}/{relative}", about.get("size")))
    return found


def matching(
    pattern: str, without: Path | None = None, *, follow_links: bool = False
) -> tuple[list[str], Counter[str]]:
    """Names of files and folders that a glob stands for, sorted, and the skipped content as in ``files_within``; ``**``
    stands for any number of folders. A folder ``without`` and its content are left out.

    Raises:
        UsageError: a file system cannot be asked.
    """
    if not is_url(pattern):
        if Path(pattern).exists():  # brackets may be a part of a name
            return [pattern], Counter()
        fixed = len(_fixed(pattern).parts)
        left_out = without and without.resolve()
        names: list[str] = []
        passed_over: dict[Path, str] = {}
        for name in sorted(glob.glob(pattern, recursive=True)):  # noqa: PTH207
            found = Path(name)
            if left_out and found.resolve().is_relative_to(left_out):
                continue
            ways = [found, *found.parents][: len(found.parts) - fixed]
            for way in reversed(ways):
                if why := _why_passed_over(way, follow_links):
                    passed_over[way] = why
                    break
            else:
                names.append(name)
        return names, Counter(passed_over.values())
    if pattern.startswith(("http://", "https://")):
        return [pattern], Counter()  # there, something that looks like a pattern is a query
    try:
        system, path = file_system(pattern)
        return sorted(system.unstrip_protocol(one) for one in system.glob(path)), Counter()
    except UsageError:
        raise
    except Exception as error:
        raise _not_there(pattern, error) from error


def _fixed(pattern: str) -> Path:
    """The folder in which the names that a pattern stands for begin to differ."""
    parts = Path(pattern).parts
    return Path(*parts[: next(at for at, part in enumerate(parts) if is_pattern(part))])


def _opened(name: str) -> BinaryIO:
    try:
        if not is_url(name):
            return Path(name).open("rb")
        system, path = file_system(name)
        return cast(BinaryIO, system.open(path, "rb"))
    except UsageError:
        raise
    except Exception as error:
        raise _not_there(name, error) from error


def _not_there(name: str, error: Exception) -> UsageError:
    why = error.strerror if isinstance(error, OSError) and error.strerror else f"{type(error).__name__}: {error}"
    return UsageError(
        f"{shown(name)} cannot be read ({shown(why)}): name a file, a folder, a glob or a URL that can be read"
    )


class NotInstalled(UsageError):
    """A package is missing that the scan needs only for this input."""


class DamagedFile(UsageError):
    """A file has a known form, but nothing can be read from it."""


def needs(package: str, what: str) -> NotInstalled:
    """The error for a missing package of the extra ``scan``."""
    return NotInstalled(f"{what} needs {package}, which is not installed: pip install '{DISTRIBUTION}[scan]'")
