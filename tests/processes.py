"""The child processes of a process."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path


def children(pid: int | None = None, command: bytes = b"") -> set[int]:
    """Ids of the live processes that a process, by default this one, has started from any of its threads.

    Only processes with ``command`` in their command line count: libraries also start programs, such as ``uname``. A
    process counts once it runs its own program: if it were stopped before that, it would block its parent (vfork).
    """
    own = os.getpid() if pid is None else pid
    tasks = Path(f"/proc/{own}/task").glob("*/children")
    started = {int(child) for task in tasks for child in task.read_text().split()}
    commands = {child: _command(child) for child in started}
    return {
        child for child, found in commands.items() if found not in {None, _command(own)} and command in (found or b"")
    }


def _command(pid: int) -> bytes | None:
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return None
