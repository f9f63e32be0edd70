"""What runs in a child of ``ParserPool``: one page after the other, in a process that may be killed at any moment.

Both pipes carry frames of native structs. Down: one pickled ``Errand`` behind its length, then for each page
``PAGE`` (number, bytes of metadata, bytes of body), the metadata as MessagePack, the body as it is. Up: ``OUTCOME``
(kind, number of the page, bytes of payload) and the payload; every now and then ``SPENT``, which belongs to no page.
Parent and child are the same program on the same machine, so pickle is safe between them.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import pickle
import resource
import signal
import struct
import sys
from collections.abc import Callable
from enum import IntEnum
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple, Protocol, runtime_checkable

import msgspec

from worker.errors import PageError, Stop
from worker.messages import PageMeta
from worker.stream.stopwatch import PIPES, Stopwatch

LENGTH: Final = struct.Struct("=Q")
PAGE: Final = struct.Struct("=QIQ")
OUTCOME: Final = struct.Struct("=BQQ")

_PR_SET_PDEATHSIG: Final = 1
_READ_AHEAD: Final = 256 * 1024


class Kind(IntEnum):
    """What an ``OUTCOME`` says."""

    READY = 0
    """The task was made; pages can be timed from now on."""
    RESULT = 1
    """The page's result, pickled."""
    PAGE_ERROR = 2
    """(reason, detail) as MessagePack."""
    OUT_OF_MEMORY = 3
    """The page needed more memory than allowed; the process ends."""
    CANNOT_START = 4
    """The task could not be made: a pickled ``Stop``; the process ends."""
    SPENT = 5
    """CPU seconds by stage since the last of these, as MessagePack."""


class Errand(NamedTuple):
    """What a child is started for. ``memory_bytes`` is what a page may take on top of what the task itself takes."""

    task_factory: Callable[[], Callable[[bytes, PageMeta], Any]]
    memory_bytes: int


@runtime_checkable
class Staged(Protocol):
    """A task that calls ``begin`` with the name of each stage that it comes to; the process that runs it keeps time."""

    begin: Callable[[str], None]


def serve(pages_fd: int, outcomes_fd: int, parent: int) -> None:
    """Run the errand that comes down the first pipe until that pipe ends."""
    watch = Stopwatch()
    _leave_dying_to(parent)
    with os.fdopen(pages_fd, "rb", buffering=_READ_AHEAD) as pages:
        (length,) = LENGTH.unpack(_exactly(pages, LENGTH.size))
        errand_bytes = _exactly(pages, length)
        try:
            errand: Errand = pickle.loads(errand_bytes)
            task = errand.task_factory()
        except Exception as error:
            _send(outcomes_fd, Kind.CANNOT_START, 0, pickle.dumps(_as_stop(error)))
            return
        del errand_bytes
        _keep_time(task, watch)
        gc.freeze()  # dictionaries and tables are never garbage
        _limit_memory(errand.memory_bytes)
        watch.begin(PIPES)
        _send(outcomes_fd, Kind.READY, 0, b"")
        with contextlib.suppress(EOFError):
            while True:
                if watch.due:
                    _send(outcomes_fd, Kind.SPENT, 0, msgspec.msgpack.encode(watch.report()))
                number, meta_length, body_length = PAGE.unpack(_exactly(pages, PAGE.size))
                meta_bytes = _exactly(pages, meta_length)
                kind, payload = _run(task, pages, meta_bytes, body_length)
                watch.end_page()
                _send(outcomes_fd, kind, number, payload)
                if kind is Kind.OUT_OF_MEMORY:
                    return  # what is left of the heap may be too fragmented for the next page


def _run(task: Callable[[bytes, PageMeta], Any], pages: BinaryIO, meta: bytes, body_length: int) -> tuple[Kind, bytes]:
    try:
        body = _exactly(pages, body_length)
        result = task(body, msgspec.msgpack.decode(meta, type=PageMeta))
        return Kind.RESULT, pickle.dumps(result, protocol=5)
    except PageError as error:
        reason, detail = error.reason, error.detail
    except EOFError:
        raise
    except MemoryError:
        return Kind.OUT_OF_MEMORY, b""
    except BaseException as error:  # a panic in Rust, SystemExit
        reason, detail = "parser-raised", f"{type(error).__name__}: {error}"
    return Kind.PAGE_ERROR, msgspec.msgpack.encode((reason, detail[:500].encode(errors="replace").decode()))


def _keep_time(task: object, watch: Stopwatch) -> None:
    if isinstance(task, Staged):
        task.begin = watch.begin


def _exactly(stream: BinaryIO, length: int) -> bytes:
    read = stream.read(length)
    if len(read) < length:
        raise EOFError
    return read


def _send(fd: int, kind: Kind, number: int, payload: bytes) -> None:
    frame = memoryview(OUTCOME.pack(kind, number, len(payload)) + payload)
    while frame:
        frame = frame[os.write(fd, frame) :]


def _leave_dying_to(parent: int) -> None:
    """Live as long as the parent: it alone decides, not whoever presses Ctrl-C or stops the service."""
    for ignored in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(ignored, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a page that crashes the parser must not fill the disk
    if sys.platform == "linux":
        # Elsewhere the child ends when it next reads from the parent's closed pipe.
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)  # it died before the line above


def _limit_memory(allowed: int) -> None:
    """Private writable memory (RLIMIT_DATA) from now on; where /proc does not tell what is in use, all of it counts."""
    statm = Path("/proc/self/statm")
    in_use = int(statm.read_text().split()[5]) * resource.getpagesize() if statm.exists() else 0
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (in_use + allowed, hard))


def _as_stop(error: Exception) -> Stop:
    if isinstance(error, Stop):
        return error
    return Stop(
        f"a parser process cannot start: {type(error).__name__}: {error}. The same happens in "
        "`python -m worker compare A B`, which shows where"
    )
