"""The processes that another one has started."""

from __future__ import annotations

import os
from pathlib import Path


def children(pid: int | None = None) -> set[int]:
    """Ids of those that a process, without ``pid`` this one, has started from any of its threads and that still run."""
    tasks = Path(f"/proc/{os.getpid() if pid is None else pid}/task").glob("*/children")
    return {int(child) for task in tasks for child in task.read_text().split()}
