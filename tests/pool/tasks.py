"""Tasks for the children of a ``ProcessPool`` under test: each page's body is a command to carry out."""

from __future__ import annotations

import ctypes
import functools
import os
import pickle
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from crawler_plugin.wire.errors import PageError, UsageError
from crawler_plugin.wire.page_headers import PageMeta
from worker.pool.frames import OUTCOME, FrameKind

Task = Callable[[bytes, PageMeta], object]
RESULT: Any = int | bytes | PageMeta | None
"""The result of these tasks."""


def obedient() -> Task:
    """Does as the body says."""
    return _obey


def extracting() -> Task:
    """The length of the page's text."""
    from worker.page.extract import extract  # takes seconds: the other tasks do not need it

    return lambda body, meta: len(extract(body, content_type=meta.content_type).text)


def announcing(folder: str) -> Callable[[], Task]:
    """A factory that leaves a file named like its process."""
    return functools.partial(_announce, folder)


class Staged:
    """A task that carries out the command in the second of its two stages."""

    def __init__(self) -> None:
        self.begin: Callable[[str], None] = lambda stage: None

    def __call__(self, body: bytes, meta: PageMeta) -> object:
        """Does as the body says."""
        self.begin("reading")
        begun = time.perf_counter()
        while time.perf_counter() == begun:
            pass  # so that even a coarse clock sees this stage
        self.begin("obeying")
        return _obey(body, meta)


def refusing() -> Task:
    """A factory that fails with an error for the operator."""
    raise UsageError("segment.engine is wrong; set it to auto")


def broken() -> Task:
    """A factory with a defect."""
    raise KeyError("a defect")


def dying() -> Task:
    """A factory that ends its process."""
    os._exit(7)


def _announce(folder: str) -> Task:
    Path(folder, str(os.getpid())).touch()
    return _obey


def _obey(body: bytes, meta: PageMeta) -> object:
    order, _, rest = body.partition(b" ")
    match order:
        case b"length":
            return len(rest)
        case b"meta":
            return meta
        case b"pid":
            return os.getpid()
        case b"refuse":
            raise PageError("not-text", "it is a picture")
        case b"raise":
            raise ValueError("so it goes \udcff")
        case b"panic":
            raise BaseException("as from Rust")
        case b"exit":
            sys.exit(3)
        case b"die":
            os._exit(3)
        case b"segfault":
            ctypes.string_at(0)
        case b"abort":
            os.kill(os.getpid(), signal.SIGABRT)
        case b"loop":
            _loop()
        case b"sleep":
            time.sleep(float(rest))
        case b"eat":
            return len(bytearray(int(rest)))
        case b"recurse":
            return _obey(body, meta)
        case b"code":
            return lambda: None
        case b"environment":
            return "\n".join(os.environ).encode()
        case b"open":
            opened = [str(link.readlink()) for link in Path("/proc/self/fd").iterdir() if link.is_symlink()]
            return "\n".join(opened).encode()
        case b"stop-once":
            return _once(rest, lambda: os.kill(os.getpid(), signal.SIGSTOP))
        case b"sleep-once":
            return _once(rest, lambda: time.sleep(1000))
        case b"loop-once":
            return _once(rest, _loop)
        case b"write":
            os.write(_outcomes_pipe(), bytes.fromhex(rest.decode()))
        case b"write-for-ever":
            while True:
                os.write(_outcomes_pipe(), OUTCOME.pack(FrameKind.SPENT, 0, 1) + b"\x80")
        case b"forge":
            # As a page that has taken over its parser would send: objects that run code where they are unpickled.
            payload = pickle.dumps(_Forged(os.fsdecode(rest)))
            os.write(_outcomes_pipe(), OUTCOME.pack(FrameKind.RESULT, 1, len(payload)) + payload)
        case b"large":
            return b"x" * int(rest)
        case b"die-once":
            return _once(rest, lambda: os._exit(3))
        case b"catch-signals":
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                os.kill(os.getpid(), number)
            return b"alive"
    return order


def _loop() -> None:
    while True:
        pass


def _once(mark: bytes, action: Callable[[], object]) -> bytes:
    """Do the action, unless the mark says that it was done before."""
    file = Path(os.fsdecode(mark))
    if not file.exists():
        file.write_text(str(os.getpid()))
        action()
    return b"alive"


def _outcomes_pipe() -> int:
    """The pipe's number, from the arguments of ``python -c``."""
    return int(sys.argv[2])


class _Forged:
    def __init__(self, file: str) -> None:
        self.file = file

    def __reduce__(self) -> tuple[Any, ...]:
        return open, (self.file, "w")
