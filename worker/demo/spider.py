"""The demo's crawl: a spider that follows every link, with the plugin added to its project by one setting.

``python -m worker.demo.spider START_URL BOOTSTRAP_SERVERS TOPIC_PREFIX JOB STATS_FILE`` crawls and writes Scrapy's
stats.
"""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, Final

import scrapy
from scrapy.crawler import CrawlerProcess
from scrapy.http import Request, Response, TextResponse

PROJECT: Final[dict[str, Any]] = {
    "ADDONS": {"crawler_plugin.Addon": 500},
    "DOWNLOAD_DELAY": 0,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 8,
    "ROBOTSTXT_OBEY": False,
    "HTTPPROXY_ENABLED": False,  # the site is on this machine
    "TELNETCONSOLE_ENABLED": False,
    "LOG_LEVEL": "INFO",
}
COME_BACK_LATER: Final = -100
"""Priority of a second visit: after all pages that were not seen yet."""


class EveryPage(scrapy.Spider):
    """Follows all links from ``start_urls``, and comes back once to front pages, whose addresses end in a slash."""

    name = "demo"

    async def start(self) -> AsyncIterator[Any]:
        """Requests for the first pages, which count as seen: Scrapy's own ones do not."""
        for url in self.start_urls:
            yield Request(url)

    def parse(self, response: Response, **kwargs: Any) -> Iterator[Any]:
        """An item for the page, requests for its links."""
        yield {
            "url": response.url,
            "status": response.status,
            "content_type": response.headers.get("Content-Type"),
            "encoding": response.encoding if isinstance(response, TextResponse) else None,
            "body": response.body,
        }
        if not isinstance(response, TextResponse):
            return
        if response.url.endswith("/") and "again" not in response.meta:
            yield Request(response.url, dont_filter=True, priority=COME_BACK_LATER, meta={"again": True})
        yield from response.follow_all(css="a")


def main(arguments: list[str]) -> int:
    """0 if the crawl went through its end; its stats are in the file then."""
    start, servers, prefix, job, stats_file = arguments
    told = {"DEDUP_BOOTSTRAP_SERVERS": servers, "DEDUP_TOPIC_PREFIX": prefix, "DEDUP_JOB": job}
    process = CrawlerProcess(PROJECT | told)
    crawler = process.create_crawler(EveryPage)
    process.crawl(crawler, start_urls=[start])
    process.start()
    stats = crawler.stats.get_stats() if crawler.stats else {}
    Path(stats_file).write_text(json.dumps(stats, default=str), encoding="utf-8")
    return 0 if stats.get("finish_reason") == "finished" else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
