"""Capture: the response of every callback becomes a page, whatever the spider makes of it.

Scrapy components do this; the add-on puts them in their places with ``DEDUP_CAPTURE = True``. Scrapy's own handling of
a response lies between them, so each sees what the others cannot:

1. ``CaptureMiddleware``, a spider middleware, hands a response over for sending just before its callback is called.
   ``process_spider_input`` gets the final response of redirects and retries, responses from the HTTP cache and
   responses of ``handle_httpstatus_list``. It does not get robots.txt and the files of media pipelines, which do not go
   to a spider, nor responses that another spider middleware turned away, which go to the errback.
   ``process_spider_output`` would be too late: it is not called where a callback raises, but it is called where an
   errback ran in the callback's place.
2. ``BackPressureMiddleware``, a downloader middleware, holds requests back while a captured page finds no room in the
   budget of unconfirmed bytes. It can wait without delaying anything else, since Scrapy awaits ``process_request``.

3. ``FoundItemsMiddleware``, a spider middleware, remembers which items a callback yields, so that they can get the
   verdict on the response. It is active where verdicts come back to the crawl.

With ``DEDUP_AWAIT_RESPONSES`` there is one more, ``crawler_plugin.components.awaited_responses``.

``process_spider_input`` itself cannot wait. So the pages that find no room are those whose requests were under way when
the budget was spent, at most ``CONCURRENT_REQUESTS``, and they were in memory already. There is no deadlock: everything
waits for confirmations in the end, which come from the publisher's thread, whatever the crawl waits for.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator
from typing import Any, Final
from urllib.parse import urlsplit

from scrapy import Request
from scrapy.http import Response, TextResponse

from crawler_plugin import stats
from crawler_plugin.components.component import Component
from crawler_plugin.delivery import Delivery
from crawler_plugin.record import PageRecord, Unusable
from crawler_plugin.waiting_items import DedupVerdict
from crawler_plugin.wire.media_types import essence
from crawler_plugin.wire.urls import without_userinfo

META_KEY: Final = "dedup"
"""``request.meta["dedup"] = False``: the response to this request is not published, also after redirects or retries."""


PLAYWRIGHT: Final = "playwright"
"""The flag that scrapy-playwright puts on responses that a browser has rendered. Scrapy's HTTP cache keeps no flags,
and gives rendered responses to requests that have this word in their ``meta``."""


class CaptureMiddleware(Component):
    """Publishes the responses that callbacks get. A spider middleware."""

    is_of_capture = True

    def __init__(self, delivery: Delivery) -> None:
        super().__init__(delivery)
        self._met: set[bool] = set()

    def process_spider_input(self, response: Response) -> None:
        """Publish the response if it is wanted; otherwise count it."""
        assert response.request is not None, "it is on its way to a spider"
        self._capture(response, response.request)

    async def judged(self, response: Response, request: Request) -> DedupVerdict:
        """Publish the response now and wait for its verdict; the response need not have its request yet."""
        self._capture(response, request)
        return await self._delivery.known_of(response)

    def _capture(self, response: Response, request: Request) -> None:
        if self._delivery.items.is_captured(response):
            return
        page = self._page(response, request)
        if page is not None:
            coming = self._delivery.hand_over_at_once(page)
            if coming is not None:
                self._delivery.items.captured(response, coming)

    def _page(self, response: Response, request: Request) -> PageRecord | None:
        content_type = response.headers.get("Content-Type")
        reason = self._unwanted(response, request, content_type)
        if reason is not None:
            self._delivery.log.count(stats.SKIPPED + reason)
            return None
        try:
            page = self._delivery.origin.response_page(
                url=response.url,
                status=response.status,
                content_type=content_type,
                body=response.body,
                now_ms=self._delivery.now_ms(),
                rendered=(rendered := is_rendered(response, request)),
                said=request.meta,
            )
        except Unusable as unusable:
            self._delivery.log.skip(
                stats.SKIPPED + unusable.reason,
                f"{without_userinfo(response.url)[:200]}: the response goes to its callback without being published: "
                f"{unusable}",
            )
            return None
        self._note(rendered, page.url)
        for name in page.unread:
            why = _UNREAD.get(name, f"its {name} cannot be used")
            self._delivery.log.skip(stats.UNREAD + name, f"{page.url}: {why}, so it is left out")
        return page

    def _note(self, rendered: bool, url: str) -> None:
        """Warn once when a crawl has both rendered pages and others."""
        if len(self._met) == 1 and rendered not in self._met:
            was, were = ("was", "were not") if rendered else ("was not", "were")
            self._delivery.log.say(
                logging.WARNING,
                f"{url} {was} rendered by scrapy-playwright, and pages before it {were}: a page that is fetched both "
                "ways has two texts, and may be no copy of itself. Render all pages of a site or none, or keep one "
                'kind out by meta={"dedup": False}',
            )
        self._met.add(rendered)

    def _unwanted(self, response: Response, request: Request, content_type: bytes | None) -> str | None:
        """Why the response is not published, as the last word of ``dedup/skipped/…``."""
        wanted = self._delivery.settings.captured
        assert wanted is not None, "responses are captured"
        if request.meta.get(META_KEY) is False:
            return "switched_off"
        if not wanted.has_status(response.status):
            return "status"
        said = (content_type or b"").decode("latin-1")
        if not (wanted.has_type(said) if essence(said) else isinstance(response, TextResponse)):
            return "content_type"
        if urlsplit(response.url).path == "/robots.txt":  # some spiders read it themselves, for its sitemaps
            return "robots_txt"
        return None


_UNREAD: Final = {
    "content_type": "its header Content-Type is not ASCII",
    "dedup_scope": "its scope, meta['dedup_scope'], is neither text nor a whole number",
}


def is_rendered(response: Response, request: Request) -> bool:
    """Whether scrapy-playwright's browser has made the body, with scripts run."""
    return PLAYWRIGHT in response.flags or ("cached" in response.flags and bool(request.meta.get(PLAYWRIGHT)))


class BackPressureMiddleware(Component):
    """Holds requests back while captured pages wait. A downloader middleware."""

    is_of_capture = True

    async def process_request(self, request: Request) -> None:
        """Wait while captured pages wait; then let the request go on."""
        await self._delivery.room()


class FoundItemsMiddleware(Component):
    """Remembers on which response each item was found. A spider middleware, the nearest to the spider of all."""

    is_of_capture = True

    def process_spider_output(self, response: Response, result: Iterable[Any]) -> Iterator[Any]:
        """Pass on everything that the callback yields."""
        for found in result:
            self._note(found, response)
            yield found

    async def process_spider_output_async(self, response: Response, result: AsyncIterable[Any]) -> AsyncIterator[Any]:
        """The same for an asynchronous callback."""
        async for found in result:
            self._note(found, response)
            yield found

    def _note(self, found: Any, response: Response) -> None:
        if found is not None and not isinstance(found, Request):
            self._delivery.items.found(found, response)
