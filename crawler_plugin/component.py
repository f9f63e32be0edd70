"""What the plugin's Scrapy components have in common: one delivery a crawl, and all of capture or nothing of it."""

from __future__ import annotations

from typing import ClassVar, Self

from scrapy.crawler import Crawler

from crawler_plugin.publishing.delivery import Delivery
from crawler_plugin.refusal import said_alone
from worker.errors import UsageError


class Component:
    """Made by Scrapy for each crawl."""

    is_of_capture: ClassVar[bool] = False
    """Whether it has nothing to do where responses are not captured."""

    def __init__(self, delivery: Delivery) -> None:
        self._delivery = delivery

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Called by Scrapy before the first request.

        Raises:
            NotConfigured: the plugin is switched off.
            Refusal: a setting is wrong, or responses are captured without the add-on.
        """
        from crawler_plugin.addon import Addon  # here, since it imports the components

        delivery = Delivery.of(crawler)
        if cls.is_of_capture or delivery.captured is not None:
            with said_alone(crawler):
                if delivery.captured is None or crawler.get_addon(Addon) is None:
                    raise UsageError(
                        "responses are captured by three components, which the add-on puts in their places; write "
                        'ADDONS = {"crawler_plugin.Addon": 500} and DEDUP_CAPTURE = True in the Scrapy settings'
                    )
        return cls(delivery)
