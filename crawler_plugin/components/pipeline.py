"""The item pipeline: hands each item's page over, and gives the item its verdict where one comes back to the crawl."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, Final

from scrapy.exceptions import DropItem

from crawler_plugin import stats
from crawler_plugin.components.component import Component
from crawler_plugin.components.dropped_items import DroppedItems
from crawler_plugin.record import PageRecord, Unusable
from crawler_plugin.refusal import closed_at_once, interruptible
from crawler_plugin.waiting_items import LATE, SPOOLED, TOO_LARGE, Told
from crawler_plugin.wire.errors import Refused

_MISSING: Final[Mapping[str, str]] = {
    LATE: "it was not there after DEDUP_AWAIT={:g} seconds: see that workers run and keep up (dedup_lag_seconds), and "
    "set DEDUP_AWAIT some seconds longer than their commit.seconds",
    SPOOLED: "the page is in the spool, and is judged once the spool is sent",
    TOO_LARGE: "the page is larger than the topic takes",
}
"""Why an item passes without a verdict."""


class Pipeline(Component):
    """Opens and closes the delivery, even where pages do not come in items."""

    _dropped: DroppedItems | None = None

    async def open_spider(self) -> None:
        """Begin to connect to Kafka, or open the state."""
        if self._delivery.learning is not None:
            self._delivery.learning.open()
        with interruptible(self._delivery.crawler):
            await self._delivery.open()
        with closed_at_once(self._delivery.crawler):
            self._dropped = self._opened()
        self._delivery.show()

    async def process_item(self, item: Any) -> Any:
        """Hand the item's page over, if the item has one, and return the item; waits while there is no room.

        Where verdicts come back to the crawl, this waits for the page's verdict and gives it to the item. Where
        responses are captured, the item's page was handed over already, and the item's own fields are not read.

        Raises:
            DropItem: items with this verdict are dropped.
        """
        settings = self._delivery.settings
        if settings.captured is not None:
            self._delivery.log.count(stats.SKIPPED + "captured")
            coming = self._delivery.items.verdict_of(item)
        else:
            page = self._page(item)
            coming = None if page is None else await self._delivery.hand_over(page)
        if coming is not None:
            # The callback has waited already.
            told = coming.told if settings.awaits_responses else await coming.wait(settings.longest_wait)
            if told is None and coming.missing is not None:
                self._delivery.log.skip(
                    stats.WITHOUT_VERDICT + coming.missing,
                    f"a {type(item).__name__} passes without the verdict on its page: "
                    + _MISSING[coming.missing].format(settings.patience),
                )
            self._tell(item, told)
        return item

    async def close_spider(self) -> None:
        """Wait for the pages that Kafka has not confirmed, or write the state."""
        try:
            await self._delivery.close()
        finally:
            self._delivery.hide()
        if self._dropped is not None:
            self._dropped.close()
        if self._delivery.learning is not None:
            self._delivery.learning.close()

    def _opened(self) -> DroppedItems | None:
        """The file of dropped items, if there is to be one.

        Raises:
            Refused: the file cannot be opened.
        """
        if self._delivery.settings.dropped is None:
            return None
        path = self._delivery.named(self._delivery.settings.dropped)
        try:
            return DroppedItems(path)
        except OSError as error:
            raise Refused(
                f"DEDUP_DROPPED: {path} cannot be written to ({error.strerror or error}), so dropped items would be "
                "lost; name a file in a folder that exists"
            ) from error

    def _tell(self, item: Any, told: Told | None) -> None:
        field = self._delivery.origin.fields.get("dedup")
        settings = self._delivery.settings
        to_drop = told is not None and told["verdict"] in settings.drop and not told["suspect"]
        if told is not None and to_drop and (settings.is_dry_run or self._is_kept(item, field, told)):
            why = f"near-duplicate of {told['duplicate_of']} ({told['reason']})"
            if not settings.is_dry_run:
                self._delivery.log.count(stats.DROPPED + told["reason"])
                raise DropItem(why, log_level="DEBUG")
            self._delivery.log.count(stats.WOULD_DROP + told["reason"])
            self._delivery.log.say(logging.DEBUG, f"DEDUP_DRY_RUN: would drop a {type(item).__name__}, {why}")
        if field is None:
            return
        from itemadapter import ItemAdapter  # here, as in crawler_plugin.record

        try:
            ItemAdapter(item)[field] = told
        except Exception:  # an item's own code may raise anything
            self._delivery.log.skip(
                stats.UNTOLD,
                f"a {type(item).__name__} takes no verdict: declare the field {field!r} in it, or name another one, or "
                "None, for 'dedup' in DEDUP_FIELDS",
            )

    def _is_kept(self, item: Any, field: str | None, told: Told) -> bool:
        """Whether the item may be dropped: true once it is in the file of dropped items, or where there is no such
        file."""
        if self._dropped is None:
            return True
        try:
            self._dropped.write(item, field, told)
        except Exception as error:  # the item's values may raise anything, and a disk may be full
            self._delivery.log.skip(
                stats.UNDROPPED,
                f"a {type(item).__name__} passes though it is to be dropped, as it cannot be written to DEDUP_DROPPED "
                f"({error}): make room there, or keep values out of items that JSON cannot hold",
            )
            return False
        return True

    def _page(self, item: Any) -> PageRecord | None:
        """The record to send, or None where the item has no page, which is counted."""
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
                    f"an item passes on without being published: {unusable}. If another field has the missing value, "
                    "name that field in DEDUP_FIELDS",
                    level=logging.INFO if unusable.reason in ("no_body", "no_item") else logging.WARNING,
                )
            return None
        for name in page.unread:
            self._delivery.log.skip(
                stats.UNREAD + name,
                f"{page.url}: the value of field {origin.fields[name]!r} cannot be used as {name}, and is left out. "
                f"Correct the value, or name another field (or None) for {name!r} in DEDUP_FIELDS",
            )
        if page.is_markup:
            text, body = origin.fields["text"], origin.fields.get("body")
            other = "a field that DEDUP_FIELDS names for 'body'" if body is None else repr(body)
            self._delivery.log.skip(
                stats.MARKUP,
                f"{page.url}: its field {text!r} looks like markup: its tags and menus are compared with other pages, "
                f"too. Yield it as {other}, from which the text is extracted, or write DEDUP_FIELDS = {{'body': "
                f"{text!r}, 'text': None}}",
            )
        return page
