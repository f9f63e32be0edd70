"""How a crawl that must not start ends: one sentence, no traceback, a non-zero exit code, and never a crawl without the
plugin.

Scrapy gives a plugin three moments to refuse:

=======================  =============================================  ===============================================
when                     known at that moment                           how the crawl ends
=======================  =============================================  ===============================================
the process is made      settings of the project and of the command     the process ends: the sentence on standard
(the add-on)             line                                           error, exit code 1 (``EarlyRefusal``)
components are made      the spider's too (``custom_settings``)         the error is raised (``Refusal``); others in
                                                                        this process crawl on, ``scrapy crawl`` exits
                                                                        with 1
the spider is opened     whether the spool is free, and, with           it is closed before its first request, with the
                         ``DEDUP_REQUIRED``, broker, topic and rights   finish reason ``dedup_refused``; as above
=======================  =============================================  ===============================================

At the second moment nothing catches the error: asyncio or Twisted logs it with its whole traceback, which would bury
the sentence. So the sentence is logged here, and those records are kept out of the log. Where a script uses
``CrawlerProcess``, Twisted also writes to standard error, past all logging; the sentence comes before that.

At the third moment an error would leave Scrapy half open: its own components would fail on closing, each with a
traceback. So no error is raised; the spider is opened, and closed in order before the engine makes a request.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.utils.asyncio import call_later
from scrapy.utils.reactor import is_reactor_installed
from twisted.internet.defer import Deferred

from crawler_plugin.stats import REFUSED
from crawler_plugin.wire.errors import Stop, UsageError

_log = logging.getLogger(__name__)


CLOSING_S: Final = 1.0
"""Time for Scrapy to report a spider that another component has closed."""


class Refusal(UsageError):
    """A crawl does not start, and the reason was logged."""


class EarlyRefusal(UsageError, SystemExit):
    """No crawl of this process starts. Code that catches this gets an error; otherwise Python prints the message and
    exits with 1."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.code = message


class _Echoes(logging.Filter):
    """Keeps log records about an uncaught refusal out of the log."""

    def __init__(self) -> None:
        super().__init__()
        self.expected = 0

    def filter(self, record: logging.LogRecord) -> bool:
        if record.exc_info and isinstance(record.exc_info[1], Refusal):
            self.expected -= 1
            return False
        # Twisted's headline, a record of its own before the one with the error.
        return self.expected <= 0 or not str(record.msg).startswith("Unhandled error in Deferred")


_echoes: Final = _Echoes()


@contextmanager
def said_alone(crawler: Crawler) -> Iterator[None]:
    """Log a ``UsageError`` that is raised inside as one line, and end this crawl.

    Raises:
        Refusal: in place of the ``UsageError``.
    """
    try:
        yield
    except UsageError as error:
        _log.critical(str(error), extra={"spider": crawler.spider})
        _echoes.expected += 1
        for name in ("asyncio", "twisted"):
            logging.getLogger(name).addFilter(_echoes)
        # Scrapy 2.14 takes a crawl that has a spider for one that has begun, and exits with 0 after it.
        fail(crawler)
        raise Refusal(str(error)) from None


@contextmanager
def closed_at_once(crawler: Crawler) -> Iterator[None]:
    """For the time while the spider is opened: log a ``Stop`` that is raised inside as one line, and let the crawl make
    no request."""
    try:
        yield
    except Stop as error:
        _log.critical(str(error), extra={"spider": crawler.spider})
        _close_when_started(crawler, REFUSED, lambda: fail(crawler))


@contextmanager
def interruptible(crawler: Crawler) -> Iterator[None]:
    """For the time while the spider is opened: after a Ctrl-C the crawl makes no request, and is closed in order.

    Scrapy stops only running engines, and this one does not run yet: it would end with its event loop, without a
    closing line or stats, or, where there is no Twisted reactor, crawl on.
    """
    has_begun = crawler.crawling
    if not has_begun:  # there is nothing to end
        yield
        return
    closed: Deferred[None] = Deferred()
    has_reactor = is_reactor_installed()
    if has_reactor:
        from twisted.internet import reactor as installed

        reactor: Any = installed  # Twisted's interface is declared without self
        trigger = reactor.addSystemEventTrigger("before", "shutdown", lambda: closed)
    try:
        yield
    finally:
        if not crawler.crawling:
            crawler.signals.connect(lambda: call_later(CLOSING_S, _end, closed), signals.spider_closed, weak=False)
            _close_when_started(crawler, "shutdown", lambda: _end(closed))
        elif has_reactor:
            reactor.removeSystemEventTrigger(trigger)


def _end(closed: Deferred[None]) -> None:
    if not closed.called:
        closed.callback(None)


def _close_when_started(crawler: Crawler, reason: str, then: Callable[[], None]) -> None:
    async def close() -> None:
        assert crawler.engine is not None, "it has just started"
        if crawler.engine.spider is not None:
            await crawler.engine.close_spider_async(reason=reason)
        then()

    crawler.signals.connect(close, signals.engine_started, weak=False)


def fail(crawler: Crawler) -> None:
    """Make Scrapy exit with 1: it does so only after a crawl that has no spider at its end.

    Call this only when no part of the crawl needs the spider any more.
    """
    crawler.spider = None
