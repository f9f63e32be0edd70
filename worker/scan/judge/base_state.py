"""A state that a scan begins with, and that it may leave its pages in: ``--state`` and ``--against``.

The scan works on a copy in its own folder. So what it begins with is as it was until the scan has ended, however often
that is interrupted.
"""

from __future__ import annotations

import hashlib
import shutil
from contextlib import nullcontext
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from crawler_plugin.wire.errors import Refused, UsageError
from crawler_plugin.wire.files import replaced
from worker.local.state_file import BLOCKS, held
from worker.scan.judge.ids import FILES

_COPIED: Final = (*FILES, BLOCKS)
"""The blocks last: they say how many ids count."""


def is_state(path: Path) -> bool:
    """Whether a ``Deduplicator`` has written to this folder."""
    return (path / BLOCKS).is_file()


class BaseState:
    """The folder, held by this process alone while it is entered; made where it is not there.

    Raises:
        UsageError: the folder cannot be made or read.
        Refused: another process holds it.
    """

    def __init__(self, folder: Path) -> None:
        self.folder: Final = folder
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._lock = held(folder)
        except OSError as error:
            raise UsageError(
                f"the state {folder} cannot be opened ({error.strerror}): name a folder that this program may write to"
            ) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._lock.close()

    @property
    def digest(self) -> str:
        """Of its blocks, in hex; empty where there are none."""
        return _digest(self.folder)

    def replace_by(self, folder: Path, was: str) -> None:
        """Make this a state like that of ``folder``; at every moment it is the old one or the new one. Once more does
        no harm.

        ``was`` is what ``digest`` was when the copy was made that has grown into ``folder``.

        Raises:
            Refused: somebody has written to it since.
        """
        if self.digest not in (was, _digest(folder)):
            raise Refused(
                f"the state {self.folder} is not the one that this scan began with: another program has written to it "
                "since. The verdicts are complete; scan once more into another folder to have these pages in the state"
            )
        copy_state(folder, self.folder)


def copy_of_state(folder: Path, target: Path, held: BaseState | None = None) -> None:
    """Make ``target`` a state like that in ``folder``, which nobody writes to meanwhile; ``held`` if this process does.

    Raises:
        UsageError, Refused: as ``BaseState``.
    """
    with BaseState(folder) if held is None else nullcontext():
        copy_state(folder, target)


def _digest(folder: Path) -> str:
    if not is_state(folder):
        return ""
    with (folder / BLOCKS).open("rb") as file:
        return hashlib.file_digest(file, "blake2b").hexdigest()


def copy_state(source: Path, target: Path) -> None:
    """Make ``target`` a state like ``source``, which nobody writes to."""
    target.mkdir(mode=0o700, parents=True, exist_ok=True)
    for name in _COPIED:
        if (source / name).exists():
            with replaced(target / name) as beside:
                shutil.copy(source / name, beside)
