"""The item pipeline: sends each item's page to Kafka and passes the item on unchanged."""

from __future__ import annotations

import logging
from typing import Any

from crawler_plugin import stats
from crawler_plugin.component import Component
from crawler_plugin.record import PageRecord, Unusable


class Pipeline(Component):
    """Opens and closes the delivery, also where pages do not come in items."""

    async def open_spider(self) -> None:
        """Begin to connect; the crawl does not wait for it, unless ``DEDUP_REQUIRED`` says so."""
        await self._delivery.open()

    async def process_item(self, item: Any) -> Any:
        """Publish the item's page, if it has one, and return the item; waits while the budget is spent.

        Where responses are captured, the item's page was published already: the item passes on without a look.
        """
        if self._delivery.captured is not None:
            self._delivery.log.count(stats.SKIPPED + "captured")
            return item
        page = self._page(item)
        if page is not None:
            await self._delivery.publish(page)
        return item

    async def close_spider(self) -> None:
        """Wait for what is unconfirmed, for at most ``DEDUP_FLUSH_TIMEOUT``; count and name what stays so."""
        await self._delivery.close()

    def _page(self, item: Any) -> PageRecord | None:
        """The record to send, or None where the item has none, which is counted."""
        origin = self._delivery.origin
        try:
            page = origin.page(item, self._delivery.now_ms())
        except Unusable as unusable:
            name = stats.SKIPPED + unusable.reason
            if unusable.reason == "switched_off":
                self._delivery.log.count(name)
            else:
                self._delivery.log.skip(
                    name,
                    f"an item passes on without being published: {unusable}. "
                    "If what is missing is in another field, name that in DEDUP_FIELDS",
                    level=logging.INFO if unusable.reason in ("no_body", "no_item") else logging.WARNING,
                )
            return None
        for name in page.unread:
            self._delivery.log.skip(
                stats.UNREAD + name,
                f"{page.url}: the value of field {origin.fields[name]!r} cannot be used as {name}, the page "
                f"goes without it. Correct the value, or name another field (or None) for {name!r} in DEDUP_FIELDS",
            )
        return page
