"""The computers that simulated workers run on: a folder for snapshots, and background work that the scheduler runs."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any, Final

from worker.stream.shard.snapshots import SnapshotFolder

MEMORY: Final = Path("/dev/shm")
"""A file system in memory, where it exists: syncing costs nothing there."""


class Machine:
    """A machine outlives the workers on it. Its folder is removed with it."""

    def __init__(self, name: str, generation: str = "") -> None:
        folder = Path(tempfile.mkdtemp(prefix=f"simulated-{name}-", dir=MEMORY if MEMORY.is_dir() else None))
        self._removed = weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        self.folder: Final = folder
        self.snapshots: Final = SnapshotFolder(folder, "simulated.", generation)

    def files(self) -> list[Path]:
        """The files that are there now, always in the same order."""
        return sorted(self.folder.iterdir())


class Background:
    """Does its work in the order in which it came, at each call of ``do``."""

    def __init__(self) -> None:
        self._waiting: deque[tuple[Callable[[], Any], Future[Any]]] = deque()

    def __call__(self, work: Callable[[], Any]) -> Future[Any]:
        future: Future[Any] = Future()
        self._waiting.append((work, future))
        return future

    def do(self, most: int) -> None:
        """Do at most this many pieces of work."""
        while self._waiting and most:
            most -= 1
            work, future = self._waiting.popleft()
            try:
                future.set_result(work())
            except Exception as error:
                future.set_exception(error)
