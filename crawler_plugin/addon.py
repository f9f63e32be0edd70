"""The plugin as a Scrapy add-on: ``ADDONS = {"crawler_plugin.Addon": 500}`` is all that a project needs."""

from __future__ import annotations

from typing import Final

from scrapy.settings import BaseSettings

from crawler_plugin.pipeline import Pipeline

PIPELINE_ORDER: Final = 300
"""Among the item pipelines: after those that correct items, before those that store them."""


class Addon:
    """Puts ``crawler_plugin.Pipeline`` among the item pipelines, unless the project has given it a place itself."""

    def update_settings(self, settings: BaseSettings) -> None:
        """Called by Scrapy before the crawl."""
        settings.setdefault_in_component_priority_dict("ITEM_PIPELINES", Pipeline, PIPELINE_ORDER)
