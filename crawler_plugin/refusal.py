"""How a crawl that must not start ends: one sentence, no traceback, a non-zero exit code, and never a crawl without us.

Scrapy gives a plugin three moments to refuse:

=======================  =============================================  ===============================================
when                     what is known then                             how the crawl ends
=======================  =============================================  ===============================================
the process is made      settings of the project and of the command     the process ends: the sentence on standard
(the add-on)             line                                           error, exit code 1 (``EarlyRefusal``)
components are made      those of the spider too (``custom_settings``)  the error is raised (``Refusal``); others in
                                                                        this process crawl on, ``scrapy crawl`` exits
                                                                        with 1
the spider is opened     whether the spool is free, and, with           it is closed before its first request, with the
                         ``DEDUP_REQUIRED``, broker, topic and rights   finish reason ``dedup_refused``; as above
=======================  =============================================  ===============================================

In the second nobody takes the error: asyncio or Twisted logs it with the whole way that it went, which would bury the
sentence. So the sentence is logged here, and those records are kept out of the log. Where a script uses
``CrawlerProcess``, Twisted writes to standard error too, past all logging; the sentence comes before that.

In the third an error would leave Scrapy half open: its own components fail when they are closed, each with a traceback.
So none is raised; the spider is opened, and closed in order before the engine asks for anything.
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
"""After a spider that another component has closed, for Scrapy to say so."""


class Refusal(UsageError):
    """A crawl does not start, and it was logged why."""


class EarlyRefusal(UsageError, SystemExit):
    """No crawl of this process starts: an error to who catches it; else Python prints the message and exits with 1."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.code = message


class _Echoes(logging.Filter):
    """Keeps out of the log what is said of a refusal that nobody took."""

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
    """A ``UsageError`` raised inside is logged as one line, and ends this crawl.

    Raises:
        Refusal: in its place.
    """
    try:
        yield
    except UsageError as error:
        _log.critical(str(error), extra={"spider": crawler.spider})
        _echoes.expected += 1
        for name in ("asyncio", "twisted"):
            logging.getLogger(name).addFilter(_echoes)
        # Scrapy 2.14 takes a crawl that has a spider for one that was begun, and exits with 0 after it.
        fail(crawler)
        raise Refusal(str(error)) from None


@contextmanager
def closed_at_once(crawler: Crawler) -> Iterator[None]:
    """While the spider is opened: a ``Stop`` raised inside is logged as one line, and the crawl makes no request."""
    try:
        yield
    except Stop as error:
        _log.critical(str(error), extra={"spider": crawler.spider})
        _close_when_started(crawler, REFUSED, lambda: fail(crawler))


@contextmanager
def interruptible(crawler: Crawler) -> Iterator[None]:
    """While the spider is opened: after a Ctrl-C the crawl makes no request, and is closed in order.

    Scrapy stops engines that run, and this one does not yet: it would end with its event loop, without a closing line
    or stats, or, where there is no Twisted reactor, crawl on.
    """
    has_begun = crawler.crawling
    if not has_begun:  # there is nothing to be ended
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
    """Have Scrapy exit with 1: it does so after a crawl that has no spider at its end, and has no other way to be told.

    Nothing of the crawl may need the spider any more.
    """
    crawler.spider = None
