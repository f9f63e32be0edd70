"""What a worker has on its own machine besides the log: a thread for what takes long, a folder, an amount of memory."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, TypeVar

from worker.stream.shard.memory_limit import MemoryLimit
from worker.stream.shard.snapshots import SnapshotFolder
from worker.verdict.suspects import Templates

Result = TypeVar("Result")

Background = Callable[[Callable[[], Any]], "Future[Any]"]
"""Does work that takes long, elsewhere or at once; the result is in the future."""


def at_once(work: Callable[[], Result]) -> Future[Result]:
    """The background of a worker that has none: done when it returns."""
    done: Future[Result] = Future()
    try:
        done.set_result(work())
    except Exception as error:
        done.set_exception(error)
    return done


@dataclass(frozen=True)
class WorkerResources:
    """Without anything given: work is done at once, nothing is kept on disk, memory has no limit."""

    background: Background = at_once
    snapshots: SnapshotFolder | None = None
    memory_limit: MemoryLimit = field(default_factory=MemoryLimit)
    templates: Templates = field(default_factory=Templates)
