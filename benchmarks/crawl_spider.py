"""A crawl in a process of its own: ``python -m benchmarks.crawl_spider START SETTINGS`` (settings as JSON).

Its last line is ``rate`` with pages a second by the clock, CPU microseconds a page, and the plugin's stats as JSON.
"""

from __future__ import annotations

import gc
import json
import resource
import sys
from collections.abc import Iterator
from typing import Any, Final

import scrapy
from scrapy.crawler import CrawlerProcess
from scrapy.http import Response, TextResponse

SPARES: Final = "SPARES_COLLECTOR"
"""The setting that has the garbage collector pass over everything loaded, as the plugin does."""


class RateSpider(scrapy.Spider):
    """Follows every link, and yields an item from each page."""

    name = "rate"

    def parse(self, response: Response) -> Iterator[Any]:
        assert isinstance(response, TextResponse)
        yield {"url": response.url, "title": response.css("h1::text").get()}
        yield from response.follow_all(css="a")


def main(start: str, settings: str) -> None:
    """Crawl, and print the rate and the CPU time."""
    told = json.loads(settings)
    if told.pop(SPARES, False):
        gc.freeze()
    process = CrawlerProcess(told)
    crawler = process.create_crawler(RateSpider)
    process.crawl(crawler, start_urls=[start])
    process.start()
    assert crawler.stats is not None
    counted = crawler.stats.get_stats()
    used = resource.getrusage(resource.RUSAGE_SELF)
    pages = counted["response_received_count"]
    ours = {name: value for name, value in counted.items() if name.startswith(("dedup/", "item_"))}
    measured = {
        "pages_a_second": pages / counted["elapsed_time_seconds"],
        "cpu_us": 1e6 * (used.ru_utime + used.ru_stime) / pages,
        "stats": ours,
    }
    print("rate " + json.dumps(measured, default=str), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
