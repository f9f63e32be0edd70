"""Shared handling of files: files stay whole whenever a process is killed or the power fails.

*Replace* a file (``replaced``): (1) write the new one next to it, (2) sync it, (3) rename it, (4) sync the folder.
*Append* to a file: (1) ``write_all`` at its end, (2) sync. *Hold* a file (``HeldFile``): (1) open or make it, (2) lock
it, (3) check that its name is still its own; a process removes the file only while it holds it.

========================  ============================================  =============================================
what ends at step         is left by a kill, and by a power cut         is mended by
========================  ============================================  =============================================
replace 1, 2              the old file, and a part of the new one       the next replacement, which takes that away
replace 3                 the old file, and all of the new one          the same
replace 4                 the new file; after a power cut the old one   nothing: each is whole
                          or the new one
append 1                  a part of the record at the end               the next opener: a state cuts it off, a spool
                                                                        passes over it and names it
append 2                  the record; after a power cut a part of it    the same; a state takes zeros for a part, and
                          or zeros                                      refuses other bytes that are not the record's
hold 1, 2                 an empty file                                 the next one that holds it
hold 3, and later         the file; the lock goes with the process      the same
========================  ============================================  =============================================

A full disk ends a step without ending the process: then ``replaced`` leaves the old file alone, and the code that
appends cuts off the part that it has written, or overwrites it the next time.
"""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, Self

OWNER_ONLY: Final = 0o600
"""Pages, their URLs and the evidence on them may be private."""
FOR_ALL: Final = 0o666


@contextmanager
def replaced(target: Path, mode: int = FOR_ALL, writer: str | None = None) -> Generator[Path]:
    """An empty file next to the target to write to, which takes the target's place when all of it is on the disk.

    ``mode`` holds the file's permissions, less the process's mask. Where several processes replace one target at the
    same time, each names itself as ``writer``.

    Raises:
        OSError: there is no room, or no permission to write, or the target is a device or a pipe, which root would
            replace. After this and any other exception inside the block the target is as before.
    """
    if target.exists() and not (target.is_file() or target.is_dir()):
        raise OSError(errno.EINVAL, "it is a device or a pipe", str(target))
    beside = target.with_name(f"{target.name}.tmp" if writer is None else f"{target.name}.{writer}.tmp")
    try:
        beside.unlink(missing_ok=True)
        os.close(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode))
        yield beside
        _sync(beside)
        beside.replace(target)
    except BaseException:
        with suppress(OSError):
            beside.unlink(missing_ok=True)
        raise
    sync_folder(target.parent)


def sync_folder(folder: Path) -> None:
    """Make new and removed names in the folder survive a power cut, where its file system can."""
    with suppress(OSError):
        _sync(folder)


def write_all(file: int, content: bytes, offset: int) -> int:
    """Write all of ``content`` to a file descriptor; returns the offset behind it.

    Raises:
        OSError: only a part of it, or nothing, was written.
    """
    left = memoryview(content)
    while left:
        written = os.pwrite(file, left, offset)
        left, offset = left[written:], offset + written
    return offset


class HeldFile:
    """A file that this process alone holds until it is closed, made where it is not there; its descriptor is ``file``.

    ``waits`` for another process that holds it.

    Raises:
        BlockingIOError: another process holds it.
        OSError: the file cannot be opened or made.
    """

    def __init__(self, path: Path, mode: int = OWNER_ONLY, *, waits: bool = False) -> None:
        self.path: Final = path
        while True:
            self.file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, mode)
            try:
                fcntl.flock(self.file, fcntl.LOCK_EX | (0 if waits else fcntl.LOCK_NB))
                with suppress(FileNotFoundError):  # the last holder may have removed it
                    if os.path.samestat(os.fstat(self.file), path.stat()):
                        sync_folder(path.parent)
                        return
            except BaseException:
                os.close(self.file)
                raise
            os.close(self.file)

    def note(self, holder: str) -> None:
        """Write the holder's name into the file, for ``holder_of``."""
        os.ftruncate(self.file, 0)
        write_all(self.file, holder.encode(), 0)

    def close(self) -> None:
        """Release the file."""
        os.close(self.file)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()


def holder_of(path: Path) -> str:
    """The name that the holder of a file has noted there; empty where it has noted none."""
    with path.open("rb") as held:
        return held.read(200).decode(errors="replace").strip()


def _sync(path: Path) -> None:
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(file)
    finally:
        os.close(file)
