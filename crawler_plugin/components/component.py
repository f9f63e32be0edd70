"""The common base of the plugin's Scrapy components: one delivery per crawl, and all parts of capture or none."""

from __future__ import annotations

import logging
from typing import ClassVar, Final, Self
from weakref import WeakValueDictionary

from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured

from crawler_plugin.config.settings import PluginSettings, is_enabled
from crawler_plugin.delivery import Delivery
from crawler_plugin.judging.local import LocalDelivery
from crawler_plugin.publishing.delivery import KafkaDelivery
from crawler_plugin.refusal import said_alone
from crawler_plugin.running import only_looks, spare_loaded_modules
from crawler_plugin.wire.errors import UsageError

_deliveries: Final[WeakValueDictionary[int, Delivery]] = WeakValueDictionary()
"""Deliveries by ``id`` of the crawler, which the value refers to: an entry lives as long as a component that uses
it."""


class PlacesComponents:
    """The base class of an add-on that puts the components in their places."""


class Component:
    """Made by Scrapy for each crawl."""

    is_of_capture: ClassVar[bool] = False
    """Whether this component has nothing to do where responses are not captured."""

    def __init__(self, delivery: Delivery) -> None:
        self._delivery = delivery

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Called by Scrapy before the first request.

        Raises:
            NotConfigured: the plugin, or the component's feature, is switched off, or this is ``scrapy fetch`` or
                another command that only looks at pages.
            Refusal: a setting is wrong, or responses are captured, or requests are decided on, without the add-on.
        """
        if only_looks():
            raise NotConfigured
        with said_alone(crawler):
            delivery = _delivery_of(crawler)
            captures = delivery.settings.captured is not None
            has_addon = crawler.get_addon(PlacesComponents) is not None
            if delivery.learning is not None and not has_addon:
                raise UsageError(
                    "requests are decided by a component that the add-on puts in its place; write "
                    'ADDONS = {"crawler_plugin.Addon": 500} with DEDUP_FEEDBACK = True in the Scrapy settings'
                )
            if (cls.is_of_capture or captures) and not (captures and has_addon):
                raise UsageError(
                    "responses are captured by three components, which the add-on puts in their places; write "
                    'ADDONS = {"crawler_plugin.Addon": 500} and DEDUP_CAPTURE = True in the Scrapy settings'
                )
        return cls(delivery)


def _delivery_of(crawler: Crawler) -> Delivery:
    """The delivery of this crawler, made at the first call.

    Raises:
        NotConfigured: the plugin is switched off.
        UsageError: a setting is wrong. ``NotConfigured`` would only switch the plugin off, and every page would be
            lost.
    """
    found = _deliveries.get(id(crawler))
    if found is None:
        if not is_enabled(crawler.settings):
            raise NotConfigured("DEDUP_ENABLED is False")
        settings = PluginSettings.read(crawler.settings)
        spare_loaded_modules()
        kind = LocalDelivery if settings.mode == "local" else KafkaDelivery
        found = _deliveries[id(crawler)] = kind(crawler, settings)
        if settings.foreign:
            found.log.say(
                logging.WARNING,
                f"{', '.join(settings.foreign)}: not a setting of crawl-dedup, ignored. If no other program reads it, "
                "correct the name: docs/reference/plugin.md lists all settings",
            )
    return found
