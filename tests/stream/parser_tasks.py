"""Tasks for the children of a ``ParserPool`` under test: each page's body is the order to carry out."""

from __future__ import annotations

import ctypes
import functools
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

from worker.errors import PageError, UsageError
from worker.messages import PageMeta
from worker.page.extract import extract

Task = Callable[[bytes, PageMeta], object]


def obedient() -> Task:
    """Does as the body says."""
    return _obey


def extracting() -> Task:
    """The length of the page's text."""
    return lambda body, meta: len(extract(body, content_type=meta.content_type).text)


def announcing(folder: str) -> Callable[[], Task]:
    """A factory that leaves a file named like its process."""
    return functools.partial(_announce, folder)


class Staged:
    """A task that obeys in the second of its two stages."""

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
    """A factory that the operator must help."""
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
            while True:
                pass
        case b"sleep":
            time.sleep(float(rest))
        case b"eat":
            return len(bytearray(int(rest)))
        case b"recurse":
            return _obey(body, meta)
        case b"unpicklable":
            return lambda: None
        case b"large":
            return b"x" * int(rest)
        case b"die-once":
            mark = Path(os.fsdecode(rest))
            if not mark.exists():
                mark.touch()
                os._exit(3)
            return "alive"
        case b"catch-signals":
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                os.kill(os.getpid(), number)
            return "alive"
    return order
