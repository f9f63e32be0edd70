"""scrapy-poet: page objects and callbacks may ask for the ``DedupVerdict`` on their response.

    SCRAPY_POET_PROVIDERS = {"crawler_plugin.poet.DedupVerdictProvider": 500}

scrapy-poet makes a callback's arguments while the response is in the downloader. So the response is published there,
and takes one of ``CONCURRENT_REQUESTS`` until its verdict has come.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

from scrapy import Request
from scrapy.exceptions import NotConfigured
from scrapy.http import Response
from scrapy_poet.page_input_providers import PageObjectInputProvider

from crawler_plugin.components.capture import CaptureMiddleware
from crawler_plugin.config.settings import PluginSettings
from crawler_plugin.refusal import said_alone
from crawler_plugin.waiting_items import DedupVerdict
from crawler_plugin.wire.errors import UsageError

SWITCHED_OFF: Final = "switched_off"


class DedupVerdictProvider(PageObjectInputProvider):
    """Publishes the response, if it is wanted, and waits for its verdict as long as items do.

    Raises:
        Refusal: responses are not captured, verdicts do not come back, or scrapy-poet would keep them in its cache.
    """

    provided_classes = {DedupVerdict}  # noqa: RUF012  # as scrapy-poet declares it
    name = "dedup_verdict"

    def __init__(self, injector: Any) -> None:
        super().__init__(injector)  # type: ignore[no-untyped-call]
        crawler = injector.crawler
        self._capture: CaptureMiddleware | None = None
        with suppress(NotConfigured):  # the plugin is switched off, or the command only looks at pages
            self._capture = CaptureMiddleware.from_crawler(crawler)
        with said_alone(crawler):
            if self._capture is not None and not PluginSettings.read(crawler.settings).tells:
                raise UsageError("a callback asks for DedupVerdict: add DEDUP_AWAIT, or DEDUP_MODE = 'local'")
            if crawler.settings.get("SCRAPY_POET_CACHE"):
                raise UsageError("a DedupVerdict belongs to one fetch and cannot be cached: remove SCRAPY_POET_CACHE")

    async def __call__(
        self, to_provide: set[Callable[..., Any]], request: Request, response: Response
    ) -> list[DedupVerdict]:
        """The verdict on this response."""
        if self._capture is None:
            return [DedupVerdict(None, reason=SWITCHED_OFF)]
        return [await self._capture.judged(response, request)]
