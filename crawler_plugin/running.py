"""The running crawl: whether it is one at all, its event loop, its end, and the objects that the garbage collector may
skip."""

from __future__ import annotations

import asyncio
import functools
import gc
import logging
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import Final, TypeAlias, TypeVar

from scrapy.commands import ScrapyCommand
from scrapy.crawler import Crawler
from scrapy.utils.asyncio import is_asyncio_available
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred

_log = logging.getLogger(__name__)
Result = TypeVar("Result")
Call: TypeAlias = Callable[[Callable[[], None]], None]
"""Calls a function in the event loop's thread, from any thread."""


LOOKS: Final = frozenset(f"scrapy.commands.{name}" for name in ("bench", "check", "fetch", "parse", "shell", "view"))
"""Scrapy's commands, and commands that extend one of them, that fetch a page only to look at it."""


def looking_command() -> str | None:
    """The Scrapy command in which this process runs, such as ``fetch``, if its pages are only looked at; else None.

    No setting says so, and the spider may be one of the project's. But the command is on the main thread's stack,
    wherever the crawl itself runs: with ``shell`` the crawl runs in another thread.
    """
    frame = sys._current_frames().get(threading.main_thread().ident or 0)
    while frame is not None:
        for value in frame.f_locals.values():
            if isinstance(value, ScrapyCommand):
                kinds = {kind.__module__ for kind in type(value).__mro__}
                return type(value).__module__.rpartition(".")[2] if kinds & LOOKS else None
        frame = frame.f_back
    return None


def only_looks() -> bool:
    """Whether no page of this process is to be published or judged, because ``looking_command`` says so; logged
    once."""
    command = looking_command()
    if command is not None:
        _say_not_published(command)
    return command is not None


@functools.cache
def _say_not_published(command: str) -> None:
    _log.info(
        "scrapy %s publishes and judges no page: the crawl's own fetch of it would then be a copy. Only scrapy crawl, "
        "scrapy runspider and scripts publish pages",
        command,
    )


@functools.cache
def spare_loaded_modules() -> None:
    """Let Python's garbage collector skip everything that is loaded by now; once per process, so that nothing of a
    crawl is kept.

    A crawl makes garbage in cycles, and each full collection looks at every object: kafka-python's fifteen thousand
    objects for its message formats, which stay for ever, take longer than all work on a page.
    """
    gc.freeze()


def is_closing(crawler: Crawler) -> bool:
    """Whether the spider is being closed, by a signal, ``CloseSpider`` or an extension.

    Only the engine's slot knows the latter two, and it has no public name.
    """
    engine = crawler.engine
    slot = getattr(engine, "_slot", None)
    return engine is None or not engine.running or getattr(slot, "closing", None) is not None


def event_loop() -> Call:
    """A callable that runs a function in the event loop's thread, asyncio's or Twisted's, from any thread."""
    call: Callable[[Callable[[], None]], object]
    if is_asyncio_available():
        call = asyncio.get_running_loop().call_soon_threadsafe
    else:
        from twisted.internet import reactor

        call = reactor.callFromThread

    def call_there(function: Callable[[], None]) -> None:
        with suppress(RuntimeError):  # the loop is closed: a crawl that was stopped by force
            call(function)

    return call_there


async def outcome(future: Future[Result], call: Call) -> Result:
    """Wait for the result of a future that belongs to another thread."""
    done: Deferred[None] = Deferred()
    future.add_done_callback(lambda _: call(lambda: done.callback(None)))
    await maybe_deferred_to_future(done)
    return future.result()
