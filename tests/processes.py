"""The processes that another one has started."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path


def children(pid: int | None = None, command: bytes = b"") -> set[int]:
    """Ids of those that a process, without ``pid`` this one, has started from any of its threads and that still run.

    Those whose command line has ``command`` in it: libraries start programs, too, as ``uname``. One is counted from
    when it runs its own program: one that is stopped before that holds up its parent (vfork).
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
