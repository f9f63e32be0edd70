"""The program of a child of ``ProcessPool``: one page after the other, in a process that may be killed at any moment.

``worker.pool.frames`` defines the content of its two pipes. A page that takes the process over finds no more in it than
the task needs: its environment has none of the settings, and no connection of the worker is open in it. It is no
sandbox all the same: the process has the rights of the worker's user, and can read all that the user can.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import pickle
import resource
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple, Protocol, runtime_checkable

import msgspec

from crawler_plugin.wire.errors import PageError, Stop
from crawler_plugin.wire.page_headers import PageMeta
from worker.pool.frames import DETAIL_CHARACTERS, LENGTH, OUTCOME, PAGE, Complaint, FrameKind, Hindrance, pack
from worker.pool.stopwatch import PIPES, Stopwatch

_PR_SET_PDEATHSIG: Final = 1
_READ_AHEAD: Final = 256 * 1024
_METAS: Final = msgspec.msgpack.Decoder(PageMeta)


class TaskSpec(NamedTuple):
    """The task of a child. ``memory_bytes`` is the memory that a page may take in addition to that of the task itself,
    ``result_bytes`` the most that its result may have."""

    task_factory: Callable[[], Callable[[bytes, PageMeta], Any]]
    memory_bytes: int
    result_bytes: int


@runtime_checkable
class Staged(Protocol):
    """A task that calls ``begin`` with the name of each of its stages; the process that runs it measures their time."""

    begin: Callable[[str], None]


def serve(pages_fd: int, outcomes_fd: int, parent: int) -> None:
    """Run the spec that comes down the first pipe until that pipe ends."""
    watch = Stopwatch()
    _leave_dying_to(parent)
    with os.fdopen(pages_fd, "rb", buffering=_READ_AHEAD) as pages:
        (length,) = LENGTH.unpack(_exactly(pages, LENGTH.size))
        spec_bytes = _exactly(pages, length)
        try:
            spec: TaskSpec = pickle.loads(spec_bytes)
            task = spec.task_factory()
        except Exception as error:
            _send(outcomes_fd, FrameKind.CANNOT_START, 0, pack(_hindrance(error)))
            return
        del spec_bytes
        _keep_time(task, watch)
        gc.freeze()  # dictionaries and tables are never garbage
        _give_back_freed_memory()
        _limit_memory(spec.memory_bytes)
        watch.begin(PIPES)
        _send(outcomes_fd, FrameKind.READY, 0, b"")
        with contextlib.suppress(EOFError):
            while True:
                if watch.due:
                    _send(outcomes_fd, FrameKind.SPENT, 0, pack(watch.report()))
                number, meta_length, body_length = PAGE.unpack(_exactly(pages, PAGE.size))
                meta_bytes = _exactly(pages, meta_length)
                kind, payload = _run(task, pages, meta_bytes, body_length, spec.result_bytes)
                watch.end_page()
                _send(outcomes_fd, kind, number, payload)
                if kind is FrameKind.OUT_OF_MEMORY:
                    return  # the rest of the heap may be too fragmented for the next page


def _run(
    task: Callable[[bytes, PageMeta], Any], pages: BinaryIO, meta: bytes, body_length: int, most: int
) -> tuple[FrameKind, bytes]:
    try:
        body = _exactly(pages, body_length)
        payload = pack(task(body, _METAS.decode(meta)))
        if len(payload) <= most:
            return FrameKind.RESULT, payload
        reason, detail = "parser-raised", f"its result has {len(payload)} bytes, at most {most} are passed on"
    except PageError as error:
        reason, detail = error.reason, error.detail
    except EOFError:
        raise
    except MemoryError:
        return FrameKind.OUT_OF_MEMORY, b""
    except BaseException as error:  # a panic in Rust, SystemExit
        reason, detail = "parser-raised", f"{type(error).__name__}: {error}"
    return FrameKind.PAGE_ERROR, pack(Complaint(reason, _plain(detail, DETAIL_CHARACTERS)))


def _keep_time(task: object, watch: Stopwatch) -> None:
    if isinstance(task, Staged):
        task.begin = watch.begin


def _exactly(stream: BinaryIO, length: int) -> bytes:
    read = stream.read(length)
    if len(read) < length:
        raise EOFError
    return read


def _send(fd: int, kind: FrameKind, number: int, payload: bytes) -> None:
    frame = memoryview(OUTCOME.pack(kind, number, len(payload)) + payload)
    while frame:
        frame = frame[os.write(fd, frame) :]


def _leave_dying_to(parent: int) -> None:
    """Live as long as the parent does, even where Ctrl-C or the end of a service reaches both."""
    for ignored in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(ignored, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a page that crashes the parser must not fill the disk
    if sys.platform == "linux":
        # Elsewhere the child ends when it next reads from the parent's closed pipe.
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)  # it died before the line above


def _give_back_freed_memory() -> None:
    """Free the memory that making the task took and that it does not keep, 10 MB of a process; glibc itself keeps
    it."""
    with contextlib.suppress(AttributeError, OSError):  # another C library
        ctypes.CDLL(None).malloc_trim(0)


def _limit_memory(allowed: int) -> None:
    """Limit private writable memory (RLIMIT_DATA) to this much more than is in use, as far as /proc shows that."""
    statm = Path("/proc/self/statm")
    in_use = int(statm.read_text().split()[5]) * resource.getpagesize() if statm.exists() else 0
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (in_use + allowed, hard))


def _hindrance(error: Exception) -> Hindrance:
    if isinstance(error, Stop):
        name, message = type(error).__name__, str(error)
    else:
        name = Stop.__name__
        message = (
            f"a parser process cannot start: {type(error).__name__}: {error}. The same happens in "
            "`python -m worker compare A B`, which shows where"
        )
    return Hindrance(name, _plain(message, 4000))


def _plain(text: str, most: int) -> str:
    """The text cut to this many characters; characters that cannot be written as UTF-8 are replaced."""
    return text[:most].encode(errors="replace").decode()
