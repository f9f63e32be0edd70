"""Capture: the response of every callback becomes a page, whatever the spider makes of it.

Two Scrapy components do it, which the add-on puts in their places with ``DEDUP_CAPTURE = True``. Between them stands
what Scrapy does with a response; each meets what the other cannot:

1. ``CaptureMiddleware``, a spider middleware, hands a response over for sending in the moment before its callback is
   called. ``process_spider_input`` meets the final response of redirects and retries, those out of the HTTP cache and
   those of ``handle_httpstatus_list``; robots.txt and what media pipelines fetch are not on their way to a spider and
   do not pass there; nor do responses that another spider middleware turned away, which go to the errback.
   ``process_spider_output`` would be too late: it is not called where a callback raises, and it is where an errback
   was called in the callback's place.
2. ``BackPressureMiddleware``, a downloader middleware, holds requests back while a page that was captured finds no room
   in the budget of unconfirmed bytes. It can wait without holding up anything else, since Scrapy awaits
   ``process_request``.

``process_spider_input`` itself cannot wait. So pages that find no room are those whose requests were under way when the
budget was spent, at most ``CONCURRENT_REQUESTS``, and they were in memory already. Nothing can hang on itself: what is
waited for in the end are confirmations, which come from the publisher's thread, whatever the crawl waits for.
"""

from __future__ import annotations

from typing import Final, Self
from urllib.parse import urlsplit

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.http import Response, TextResponse

from crawler_plugin import stats
from crawler_plugin.delivery import Delivery
from crawler_plugin.record import Page, Unusable
from crawler_plugin.refusal import said_alone
from crawler_plugin.wanted import Wanted
from worker.errors import UsageError

META_KEY: Final = "dedup"
"""``request.meta["dedup"] = False``: the response to this request is not published, redirected or retried neither."""


def captured_by_addon(crawler: Crawler, delivery: Delivery) -> Wanted:
    """Which responses are published, in a crawl where the add-on has put all components of capture in their places.

    Raises:
        Refusal: it has not.
    """
    from crawler_plugin.addon import Addon  # here, since it imports this

    with said_alone(crawler):
        if delivery.captured is None or crawler.get_addon(Addon) is None:
            raise UsageError(
                "responses are captured by three components, which the add-on puts in their places; write "
                'ADDONS = {"crawler_plugin.Addon": 500} and DEDUP_CAPTURE = True in the Scrapy settings'
            )
        return delivery.captured


class CaptureMiddleware:
    """Publishes what callbacks get. A spider middleware, made by Scrapy for each crawl."""

    def __init__(self, delivery: Delivery, wanted: Wanted) -> None:
        self._delivery = delivery
        self._wanted = wanted

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Called by Scrapy before the first request.

        Raises:
            NotConfigured: the plugin is switched off.
            Refusal: a setting is wrong, or the add-on is missing.
        """
        delivery = Delivery.of(crawler)
        return cls(delivery, captured_by_addon(crawler, delivery))

    def process_spider_input(self, response: Response) -> None:
        """Publish the response, unless it is none of those that are wanted, which is counted."""
        page = self._page(response)
        if page is not None:
            self._delivery.publish_at_once(page)

    def _page(self, response: Response) -> Page | None:
        content_type = response.headers.get("Content-Type")
        reason = self._unwanted(response, content_type)
        if reason is not None:
            self._delivery.count(stats.SKIPPED + reason)
            return None
        try:
            page = self._delivery.origin.response_page(
                url=response.url,
                status=response.status,
                content_type=content_type,
                body=response.body,
                now_ms=self._delivery.now_ms(),
            )
        except Unusable as unusable:
            self._delivery.skip(
                stats.SKIPPED + unusable.reason,
                f"{response.url[:200]}: the response goes to its callback without being published: {unusable}",
            )
            return None
        for name in page.unread:
            self._delivery.skip(
                stats.UNREAD + name, f"{page.url}: its header Content-Type is not ASCII, the page goes without it"
            )
        return page

    def _unwanted(self, response: Response, content_type: bytes | None) -> str | None:
        """Why the response is not published, as the last word of ``dedup/skipped/…``."""
        if response.meta.get(META_KEY) is False:
            return "switched_off"
        if not self._wanted.has_status(response.status):
            return "status"
        is_text = isinstance(response, TextResponse)
        if not (is_text if content_type is None else self._wanted.has_type(content_type.decode("latin-1"))):
            return "content_type"
        if urlsplit(response.url).path == "/robots.txt":  # some spiders read it themselves, for its sitemaps
            return "robots_txt"
        return None


class BackPressureMiddleware:
    """Holds requests back while captured pages wait. A downloader middleware, made by Scrapy for each crawl."""

    def __init__(self, delivery: Delivery) -> None:
        self._delivery = delivery

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Called by Scrapy before the first request.

        Raises:
            NotConfigured: the plugin is switched off.
            Refusal: a setting is wrong, or the add-on is missing.
        """
        delivery = Delivery.of(crawler)
        captured_by_addon(crawler, delivery)
        return cls(delivery)

    async def process_request(self, request: Request) -> None:
        """Wait while captured pages wait; then the request goes on its way."""
        await self._delivery.room()
