"""The processes that another one has started."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path


def children(pid: int | None = None) -> set[int]:
    """Ids of those that a process, without ``pid`` this one, has started from any of its threads and that still run.

    One is counted from when it runs its own program: one that is stopped before that holds up its parent (vfork).
    """
    own = os.getpid() if pid is None else pid
    tasks = Path(f"/proc/{own}/task").glob("*/children")
    started = {int(child) for task in tasks for child in task.read_text().split()}
    return {child for child in started if _command(child) not in {None, _command(own)}}


def _command(pid: int) -> bytes | None:
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return None
