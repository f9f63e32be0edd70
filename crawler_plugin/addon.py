"""The plugin as a Scrapy add-on: ``ADDONS = {"crawler_plugin.Addon": 500}`` is all that a project needs."""

from __future__ import annotations

from contextlib import suppress
from typing import Final

from scrapy.pipelines.media import MediaPipeline
from scrapy.settings import BaseSettings
from scrapy.utils.misc import load_object

from crawler_plugin.components.awaited_responses import AwaitedResponsesMiddleware
from crawler_plugin.components.capture import BackPressureMiddleware, CaptureMiddleware, FoundItemsMiddleware
from crawler_plugin.components.component import PlacesComponents
from crawler_plugin.components.feedback import FeedbackMiddleware
from crawler_plugin.components.pipeline import Pipeline
from crawler_plugin.config.settings import PluginSettings, is_enabled
from crawler_plugin.refusal import EarlyRefusal
from crawler_plugin.running import looking_command, only_looks, spare_loaded_modules
from crawler_plugin.wire.errors import UsageError

PIPELINE_ORDER: Final = 300
"""Place among the item pipelines: after pipelines that correct items, before pipelines that store them. Where items of
copies are dropped, it is also before the first media pipeline: otherwise the files of copies would be fetched."""
CAPTURE_ORDER: Final = 1000
"""Place among the spider middlewares: the last before the spider, so that it sees only responses that no other
middleware turned away."""
FOUND_ITEMS_ORDER: Final = CAPTURE_ORDER + 1
"""Even nearer to the spider: it sees items as the callback made them."""
AWAITED_RESPONSES_ORDER: Final = FOUND_ITEMS_ORDER + 1
"""The nearest to the spider of all."""
BACK_PRESSURE_ORDER: Final = 75
"""Place among the downloader middlewares: after the filter of other sites, before robots.txt is requested."""
FEEDBACK_ORDER: Final = BACK_PRESSURE_ORDER - 5
"""Before a request waits for room, so that a request that is not made does not wait."""


class Addon(PlacesComponents):
    """Puts the plugin's components in their places, unless the project has placed them itself."""

    @classmethod
    def update_pre_crawler_settings(cls, settings: BaseSettings) -> None:
        """Called by Scrapy once for each ``CrawlerProcess``, before anything else.

        The spider's settings are not there yet, so the requirements of one setting on another are checked later.

        Raises:
            EarlyRefusal: a setting of the project or of the command line is wrong by itself.
        """
        try:
            if looking_command() is None and is_enabled(settings):
                PluginSettings.read(settings, are_merged=False)
                spare_loaded_modules()
        except UsageError as error:
            raise EarlyRefusal(str(error)) from None

    def update_settings(self, settings: BaseSettings) -> None:
        """Called by Scrapy before each crawl. Wrong settings are left to the pipeline, whose construction then fails.

        An error here would come before Scrapy has installed its reactor, and would end the process's other crawls too.
        """
        read = None
        if only_looks():
            return
        with suppress(UsageError):
            if not is_enabled(settings):
                return
            read = PluginSettings.read(settings)
        order = PIPELINE_ORDER if read is None or not read.drop else _before_media(settings)
        settings.setdefault_in_component_priority_dict("ITEM_PIPELINES", Pipeline, order)
        if read is None:
            return
        if read.feedback is not None:
            settings.setdefault_in_component_priority_dict("DOWNLOADER_MIDDLEWARES", FeedbackMiddleware, FEEDBACK_ORDER)
        if read.captured is None:
            return
        if read.tells:
            settings.setdefault_in_component_priority_dict(
                "SPIDER_MIDDLEWARES", FoundItemsMiddleware, FOUND_ITEMS_ORDER
            )
        if read.awaits_responses:
            settings.setdefault_in_component_priority_dict(
                "SPIDER_MIDDLEWARES", AwaitedResponsesMiddleware, AWAITED_RESPONSES_ORDER
            )
        settings.setdefault_in_component_priority_dict("SPIDER_MIDDLEWARES", CaptureMiddleware, CAPTURE_ORDER)
        settings.setdefault_in_component_priority_dict(
            "DOWNLOADER_MIDDLEWARES", BackPressureMiddleware, BACK_PRESSURE_ORDER
        )


def _before_media(settings: BaseSettings) -> int:
    """The order of the pipeline where items of copies are dropped."""
    order = PIPELINE_ORDER
    for named, place in settings.getwithbase("ITEM_PIPELINES").items():
        pipeline = None if place is None else load_object(named)
        if isinstance(pipeline, type) and issubclass(pipeline, MediaPipeline):
            order = min(order, place - 1)
    return order
