"""A worker's resources on its own machine, apart from the log: a thread for long work, a folder, an amount of
memory."""

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
"""Runs a long piece of work, in another thread or at once; the result is in the future."""


def at_once(work: Callable[[], Result]) -> Future[Result]:
    """The background of a worker that has none: the work is done when it returns."""
    done: Future[Result] = Future()
    try:
        done.set_result(work())
    except Exception as error:
        done.set_exception(error)
    return done


@dataclass(frozen=True)
class WorkerResources:
    """Without arguments: work is done at once, nothing is kept on disk, memory has no limit."""

    background: Background = at_once
    snapshots: SnapshotFolder | None = None
    memory_limit: MemoryLimit = field(default_factory=MemoryLimit)
    templates: Templates = field(default_factory=Templates)
