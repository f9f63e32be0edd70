"""Callbacks that are called once the verdict on their response is there: ``DEDUP_AWAIT_RESPONSES``.

Scrapy awaits what a callback returns, and no method of a middleware between the download and the callback but those of
downloader middlewares, where a response that waits would take one of ``CONCURRENT_REQUESTS``. So, in the moment before
its callback is called, a response is given a copy of its request with another callback: a coroutine that waits, then
calls the spider's own, whatever kind of function that is, and returns what that returns. Before it waits the response
has its own request again, which a spider may make anew, or a queue on the disk write down.

What waits takes room in Scrapy as responses do whose items wait: beyond ``SCRAPER_SLOT_MAX_ACTIVE_SIZE`` bytes of them
nothing is fetched. Nothing is held by it that a verdict needs: the page was handed over before.
"""

from __future__ import annotations

from copy import copy
from dataclasses import asdict
from typing import Any

from scrapy.http import Response

from crawler_plugin.components.capture import META_KEY
from crawler_plugin.components.component import Component


class AwaitedResponsesMiddleware(Component):
    """Lets callbacks wait. A spider middleware, the last before the spider, so that nothing else meets its callback."""

    is_of_capture = True

    def process_spider_input(self, response: Response) -> None:
        """Put the callback that waits in the place of the spider's."""
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
