"""Handles pages that find no room in the budget, as ``DEDUP_ON_FULL`` and ``DEDUP_GIVE_UP_SECONDS`` say.

The pages wait, or go to the spool, or the crawl is closed. Used in the event loop's thread alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from scrapy.crawler import Crawler
from scrapy.utils.asyncio import call_later
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future

from crawler_plugin import stats
from crawler_plugin.config.settings import PluginSettings
from crawler_plugin.crawl_log import CrawlLog
from crawler_plugin.publishing.budget import Budget
from crawler_plugin.publishing.publishing_log import PublishingLog
from crawler_plugin.record import PageRecord
from crawler_plugin.running import is_closing
from crawler_plugin.spool.file import Appended
from crawler_plugin.spool.spool_log import say_stored
from crawler_plugin.spool.storage import Storage

CLOSING_LOOK_S: Final = 0.5
"""How often to check whether a crawl that waits for the budget is closing."""


class FullBuffer:
    """The waiting pages of one crawl. ``silence`` says for how many seconds Kafka has confirmed no page."""

    def __init__(
        self, crawler: Crawler, settings: PluginSettings, log: CrawlLog, storage: Storage, silence: Callable[[], float]
    ) -> None:
        self._crawler = crawler
        self._settings = settings
        self._log = log
        self._storage = storage
        self._silence = silence
        self._is_asked_to_close = False
        self.budget = Budget(settings.buffer_bytes)

    async def find_room(self, page: PageRecord, cost: int) -> bool:
        """Wait for room in the budget, take it and return True; or write the page to the spool and return False."""
        began = time.monotonic()
        try:
            while not await self._store_instead(page):
                if self._settings.on_full == "fail" or self._has_given_up:
                    self._close_crawl()
                turn = self.budget.wait(cost)
                self._look_after_those_who_wait()
                if await maybe_deferred_to_future(turn):
                    return True
            return False
        finally:
            self._log.count(stats.WAITED_PAGES)
            self._log.count(stats.WAITED_SECONDS, time.monotonic() - began)

    async def _store_instead(self, page: PageRecord) -> bool:
        on_full = self._settings.on_full
        if on_full == "fail" or (on_full == "block" and not self._has_given_up) or self._storage.spool is None:
            return False
        trouble = await self._storage.store(page)
        say_stored(self._log, Appended(0 if trouble else 1, trouble))
        return trouble is None

    @property
    def _has_given_up(self) -> bool:
        return self._silence() >= self._settings.give_up_seconds

    def _close_crawl(self) -> None:
        engine = self._crawler.engine
        if self._is_asked_to_close or is_closing(self._crawler) or engine is None:
            return
        self._is_asked_to_close = True
        PublishingLog(self._log, self._settings).full()
        deferred_from_coro(engine.close_spider_async(reason=stats.FULL))

    def _look_after_those_who_wait(self) -> None:
        """Scrapy closes a spider only when no item is on its way, and gives no earlier signal: so the crawl is
        polled."""
        if not self.budget.is_waited_for:
            return
        if is_closing(self._crawler):
            self.budget.lift()
        elif self._has_given_up and not self._is_asked_to_close:
            self.budget.send_away()
        else:
            call_later(CLOSING_LOOK_S, self._look_after_those_who_wait)
