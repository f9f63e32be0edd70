"""The folder of a state as a whole: its blocks, and the names of its pages."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path
from typing import Final

from crawler_plugin.wire.errors import Refused, UsageError
from crawler_plugin.wire.files import replaced
from worker.local.state_file import BLOCKS, held
from worker.scan.judge.texts import FILES

_COPIED: Final = (*FILES, BLOCKS)
"""The blocks last: they say how many ids count."""


def is_state(path: Path) -> bool:
    """Whether a ``Deduplicator`` has written to this folder."""
    return (path / BLOCKS).is_file()


class BaseState:
    """The folder, held by this process alone until it is closed; made if it does not exist.

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

    def close(self) -> None:
        """Release the folder."""
        self._lock.close()

    @property
    def digest(self) -> str:
        """The digest of its blocks, in hex; empty if there are none."""
        return _digest(self.folder)

    def replace_by(self, folder: Path, was: str) -> None:
        """Make this a state like that of ``folder``; at every moment it is the old one or the new one. Repeating it
        does no harm.

        ``was`` is the ``digest`` when the copy was made that has grown into ``folder``.

        Raises:
            Refused: another program has written to it since.
        """
        if self.digest not in (was, _digest(folder)):
            raise Refused(
                f"the state {self.folder} is not the one that judging began with: another program has written to it "
                "since. The verdicts are complete; judge once more into another folder to have these pages in the state"
            )
        copy_state(folder, self.folder)


def _digest(folder: Path) -> str:
    if not is_state(folder):
        return ""
    with (folder / BLOCKS).open("rb") as file:
        return hashlib.file_digest(file, "blake2b").hexdigest()


def copy_state(source: Path, target: Path) -> None:
    """Make ``target`` a state like ``source``, which no process writes to."""
    target.mkdir(mode=0o700, parents=True, exist_ok=True)
    for name in _COPIED:
        if (source / name).exists():
            with replaced(target / name) as beside:
                shutil.copy(source / name, beside)
