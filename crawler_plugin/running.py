"""The running crawl: whether it is one at all, its event loop, its end, what the garbage collector may pass over."""

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
"""Has a function called in the event loop's thread, from any thread."""


LOOKS: Final = frozenset(f"scrapy.commands.{name}" for name in ("bench", "check", "fetch", "parse", "shell", "view"))
"""Scrapy's commands, and with them those that extend one, that fetch a page for somebody to look at it."""


def looking_command() -> str | None:
    """Scrapy's command in which this process runs, as ``fetch``, if what it fetches is only looked at; else None.

    No setting says so, and the spider may be one of the project's. But the command stands on the main thread's stack,
    wherever the crawl itself is: of ``shell`` it is in a thread.
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
    """Whether no page of this process is to be published or judged, since ``looking_command`` says so; said once."""
    command = looking_command()
    if command is not None:
        _say_not_published(command)
    return command is not None


@functools.cache
def _say_not_published(command: str) -> None:
    _log.info(
        "scrapy %s publishes and judges no page: the crawl's own fetch of it would be a copy then. Pages are those of "
        "scrapy crawl, scrapy runspider and scripts",
        command,
    )


@functools.cache
def spare_loaded_modules() -> None:
    """Have Python's garbage collector pass over what is loaded by now; once a process, so nothing of a crawl is kept.

    A crawl makes garbage in cycles, and at each full collection every object that is there is looked at: kafka-python's
    fifteen thousand for its message formats, which stay for ever, take longer than all that is done with a page.
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
    """What has a function called in the event loop's thread, asyncio's or Twisted's, from any thread."""
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
    """What comes of the future, which belongs to another thread."""
    done: Deferred[None] = Deferred()
    future.add_done_callback(lambda _: call(lambda: done.callback(None)))
    await maybe_deferred_to_future(done)
    return future.result()
