"""Callbacks that run once the verdict on their response is there: ``DEDUP_AWAIT_RESPONSES``.

Scrapy awaits the return value of a callback. Between the download and the callback it awaits only the methods of
downloader middlewares, where a response that waits would take one of ``CONCURRENT_REQUESTS``. So, just before the
callback is called, the response gets a copy of its request with another callback: a coroutine that waits, then calls
the spider's own callback, whatever kind of function that is, and returns its return value. Before the coroutine waits,
the response gets its own request back, since a spider may make that request anew, or a queue on the disk may write it
down.

A waiting response takes room in Scrapy as a response does whose items wait: beyond ``SCRAPER_SLOT_MAX_ACTIVE_SIZE``
bytes of them nothing is fetched. A verdict does not depend on anything that waits: the page was handed over before.
"""

from __future__ import annotations

from copy import copy
from dataclasses import asdict
from typing import Any

from scrapy.http import Response

from crawler_plugin.components.capture import META_KEY
from crawler_plugin.components.component import Component


class AwaitedResponsesMiddleware(Component):
    """Lets callbacks wait. A spider middleware, the last before the spider, so that no other middleware sees its
    callback."""

    is_of_capture = True

    def process_spider_input(self, response: Response) -> None:
        """Replace the spider's callback with the one that waits."""
        request, spider = response.request, self._delivery.crawler.spider
        assert request is not None
        assert spider is not None
        callback = request.callback or spider._parse

        def wait(response: Response, **arguments: Any) -> Any:
            response.request = request
            return self._called(callback, response, arguments)

        response.request = copy(request)
        response.request.callback = wait

    async def _called(self, callback: Any, response: Response, arguments: dict[str, Any]) -> Any:
        known = await self._delivery.known_of(response)
        if response.meta.get(META_KEY) is not False:
            response.meta[META_KEY] = asdict(known)
        return callback(response, **arguments)
