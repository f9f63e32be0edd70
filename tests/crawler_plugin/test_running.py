"""The running crawl: other threads call functions in its event loop, and it says when it is about to end."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading

from crawler_plugin.running import Call, event_loop
from tests.crawler_plugin.crawling import ROOT


def test_what_another_thread_calls_runs_in_the_thread_of_the_event_loop() -> None:
    async def crawl() -> tuple[int, int]:
        called: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        call = event_loop()
        threading.Thread(target=lambda: call(lambda: called.set_result(threading.get_ident()))).start()
        return await called, threading.get_ident()

    there, loop = asyncio.run(crawl())
    assert there == loop


def test_a_call_to_a_loop_that_is_closed_is_not_made_and_does_no_harm() -> None:
    async def crawl() -> Call:
        return event_loop()

    made: list[None] = []
    asyncio.run(crawl())(lambda: made.append(None))
    assert made == []


SPARED = """
import gc
from scrapy.settings import Settings
from crawler_plugin import Addon
assert gc.get_freeze_count() == 0, "by the import alone"
Addon.update_pre_crawler_settings(Settings({"DEDUP_ENABLED": False}))
assert gc.get_freeze_count() == 0, "switched off"
Addon.update_pre_crawler_settings(Settings())
once = gc.get_freeze_count()
crawl = [[] for _ in range(10_000)]
Addon.update_pre_crawler_settings(Settings())
print(once, gc.get_freeze_count())
"""


def test_the_collector_passes_over_what_was_loaded_before_the_first_crawl_and_over_nothing_of_later_ones() -> None:
    said = subprocess.run(
        [sys.executable, "-c", SPARED], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60
    )
    once, twice = map(int, said.stdout.split())
    assert once > 10_000
    assert twice <= once


CRAWL = """
import json
import scrapy
from scrapy import signals
from scrapy.crawler import AsyncCrawlerProcess
from scrapy.exceptions import CloseSpider
from crawler_plugin.running import is_closing

seen = []

class Shop(scrapy.Spider):
    name = "shop"
    start_urls = ["data:,page"]

    @classmethod
    def from_crawler(cls, crawler):
        spider = super().from_crawler(crawler)
        crawler.signals.connect(spider.look, signals.spider_closed)
        return spider

    def look(self, spider):
        seen.append(is_closing(self.crawler))

    def parse(self, response):
        seen.append(is_closing(self.crawler))
        raise CloseSpider("enough")

process = AsyncCrawlerProcess({"TELNETCONSOLE_ENABLED": False, "LOG_ENABLED": False})
process.crawl(Shop)
process.start()
print(json.dumps(seen))
"""


def test_a_crawl_is_closing_from_the_moment_on_when_it_is_asked_to_end() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", CRAWL], cwd=ROOT, capture_output=True, text=True, timeout=120, check=True
    )
    assert json.loads(ended.stdout) == [False, True], ended.stderr
