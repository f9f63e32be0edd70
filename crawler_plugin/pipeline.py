"""The item pipeline: sends each item's page to Kafka and passes the item on unchanged."""

from __future__ import annotations

from typing import Any, Self

from scrapy.crawler import Crawler

from crawler_plugin.delivery import Delivery


class Pipeline:
    """Made by Scrapy for each crawl."""

    def __init__(self, delivery: Delivery) -> None:
        self._delivery = delivery

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Called by Scrapy before the first request.

        Raises:
            UsageError: a setting is wrong. ``NotConfigured`` would only switch the plugin off, and lose every page.
        """
        return cls(Delivery.of(crawler))

    async def open_spider(self) -> None:
        """Begin to connect; the crawl does not wait for it."""
        await self._delivery.open()

    async def process_item(self, item: Any) -> Any:
        """Publish the item's page, if it has one, and return the item; waits while the budget is spent."""
        page = self._delivery.page(lambda origin, now_ms: origin.page(item, now_ms))
        if page is not None:
            await self._delivery.publish(page)
        return item

    async def close_spider(self) -> None:
        """Wait for what is unconfirmed, for at most ``DEDUP_FLUSH_TIMEOUT``; count and name what stays so."""
        await self._delivery.close()
