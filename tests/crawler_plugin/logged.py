"""A crawl's log that a test can look at."""

from __future__ import annotations

import logging

import pytest
from scrapy import Spider
from scrapy.crawler import Crawler
from scrapy.utils.test import get_crawler

from crawler_plugin import stats
from crawler_plugin.crawl_log import CrawlLog

NAMES = {*stats.STATS, "finish_reason"}


class Logged:
    """A crawl's log, with what was said in it."""

    def __init__(self, caplog: pytest.LogCaptureFixture) -> None:
        caplog.set_level(logging.INFO, logger="crawler_plugin")
        self._caplog = caplog
        self.crawler: Crawler = get_crawler(Spider)
        self.crawler.spider = Spider("shop")
        self.log = CrawlLog(self.crawler)

    @property
    def stats(self) -> dict[str, object]:
        assert self.crawler.stats is not None
        return {name: value for name, value in self.crawler.stats.get_stats().items() if name in NAMES}

    @property
    def lines(self) -> list[tuple[int, str]]:
        assert all(vars(record)["spider"] is self.crawler.spider for record in self._caplog.records)
        return [(record.levelno, record.getMessage()) for record in self._caplog.records]
