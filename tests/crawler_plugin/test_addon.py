"""The add-on puts the components in their places, unless the project has placed them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from scrapy.pipelines.files import FilesPipeline
from scrapy.settings import Settings

from crawler_plugin import Addon, CaptureMiddleware, FeedbackMiddleware, Pipeline
from crawler_plugin.addon import BACK_PRESSURE_ORDER, CAPTURE_ORDER, FEEDBACK_ORDER, PIPELINE_ORDER
from crawler_plugin.components.capture import BackPressureMiddleware
from crawler_plugin.refusal import EarlyRefusal
from tests.crawler_plugin.crawling import Site, crawl, make_topic, numbered, records, serve, to_kafka

ASYNCIO = "twisted.internet.asyncioreactor.AsyncioSelectorReactor"
SELECT = "twisted.internet.selectreactor.SelectReactor"


def updated(**told: Any) -> Settings:
    settings = Settings(told)
    Addon().update_settings(settings)
    return settings


def places(settings: Settings) -> dict[str, dict[Any, int]]:
    names = ("ITEM_PIPELINES", "SPIDER_MIDDLEWARES", "DOWNLOADER_MIDDLEWARES")
    return {name: dict(settings.getdict(name)) for name in names}


def test_without_capture_the_pipeline_alone_is_put_in_its_place() -> None:
    assert places(updated()) == {
        "ITEM_PIPELINES": {Pipeline: PIPELINE_ORDER},
        "SPIDER_MIDDLEWARES": {},
        "DOWNLOADER_MIDDLEWARES": {},
    }


def test_with_capture_all_three_components_are() -> None:
    assert places(updated(DEDUP_CAPTURE=True)) == {
        "ITEM_PIPELINES": {Pipeline: PIPELINE_ORDER},
        "SPIDER_MIDDLEWARES": {CaptureMiddleware: CAPTURE_ORDER},
        "DOWNLOADER_MIDDLEWARES": {BackPressureMiddleware: BACK_PRESSURE_ORDER},
    }


def test_with_feedback_its_middleware_is_whether_responses_are_captured_or_not() -> None:
    assert places(updated(DEDUP_FEEDBACK=True))["DOWNLOADER_MIDDLEWARES"] == {FeedbackMiddleware: FEEDBACK_ORDER}
    assert places(updated(DEDUP_FEEDBACK=True, DEDUP_CAPTURE=True))["DOWNLOADER_MIDDLEWARES"] == {
        FeedbackMiddleware: FEEDBACK_ORDER,
        BackPressureMiddleware: BACK_PRESSURE_ORDER,
    }


FILES = "scrapy.pipelines.files.FilesPipeline"


class OwnFiles(FilesPipeline):
    """A project's own pipeline."""


@pytest.mark.parametrize(
    ("pipelines", "told", "order"),
    [
        ({FILES: 1}, {"DEDUP_DROP": True, "DEDUP_AWAIT": 1}, 0),
        ({FILES: 0}, {"DEDUP_DROP": True, "DEDUP_MODE": "local"}, -1),
        ({OwnFiles: 200, FILES: 250}, {"DEDUP_DROP": True, "DEDUP_AWAIT": 1}, 199),
        ({FILES: 400, OwnFiles: None}, {"DEDUP_DROP": True, "DEDUP_AWAIT": 1}, PIPELINE_ORDER),
        ({FILES: 1}, {"DEDUP_AWAIT": 1}, PIPELINE_ORDER),
        ({FILES: 1, Pipeline: 2}, {"DEDUP_DROP": True, "DEDUP_AWAIT": 1}, 2),
    ],
)
def test_where_items_are_dropped_the_pipeline_is_before_media_pipelines_unless_the_project_says_otherwise(
    pipelines: dict[Any, Any], told: dict[str, Any], order: int
) -> None:
    assert places(updated(ITEM_PIPELINES=pipelines, **told))["ITEM_PIPELINES"][Pipeline] == order


@pytest.mark.parametrize("by", ["crawler_plugin.Pipeline", Pipeline])
def test_a_place_that_the_project_has_given_stays(by: object) -> None:
    assert places(updated(ITEM_PIPELINES={by: 7}))["ITEM_PIPELINES"] == {by: 7}


def test_a_plugin_that_is_switched_off_is_put_nowhere() -> None:
    assert places(updated(DEDUP_ENABLED=False, DEDUP_CAPTURE=True)) == places(Settings())


def test_a_wrong_setting_is_refused_before_any_crawl_and_later_left_to_the_pipeline() -> None:
    wrong = {"DEDUP_OVERSIZE": "drop"}
    with pytest.raises(EarlyRefusal, match="DEDUP_OVERSIZE='drop': write truncate or reject"):
        Addon.update_pre_crawler_settings(Settings(wrong))
    assert Pipeline in places(updated(**wrong))["ITEM_PIPELINES"]
    Addon.update_pre_crawler_settings(Settings(wrong | {"DEDUP_ENABLED": "0"}))


@pytest.mark.cluster
@pytest.mark.parametrize("reactor", [ASYNCIO, SELECT])
@pytest.mark.parametrize(
    "plugin",
    [{"ADDONS": {"crawler_plugin.Addon": 500}}, {"ITEM_PIPELINES": {"crawler_plugin.Pipeline": 300}}],
    ids=["addon", "pipeline"],
)
def test_addon_and_pipeline_line_do_the_same_on_either_reactor(
    broker: str, topic_prefix: str, tmp_path: Path, plugin: dict[str, object], reactor: str
) -> None:
    make_topic(broker, topic_prefix)
    with serve(Site(numbered(12, size=20_000))) as site:
        # The budget is so small that the crawl waits for confirmations again and again.
        little = {"DEDUP_MAX_PAGE_BYTES": 30_000, "DEDUP_BUFFER_BYTES": 50_000}
        ended = crawl(tmp_path, site, **to_kafka(broker, topic_prefix), **plugin, **little, TWISTED_REACTOR=reactor)
    assert {record.meta.url for record in records(broker, topic_prefix)} == site.urls
    assert ended.dedup["confirmed"] == ended.dedup["published"] == 12
    assert ended.stats["dedup/waited_pages"] > 0
    assert ended.stats["dedup/buffered_bytes_max"] <= 50_000


@pytest.mark.cluster
def test_both_lines_together_publish_a_page_once(broker: str, topic_prefix: str, tmp_path: Path) -> None:
    make_topic(broker, topic_prefix)
    both = {"ADDONS": {"crawler_plugin.Addon": 500}, "ITEM_PIPELINES": {"crawler_plugin.Pipeline": 800}}
    with serve(Site(numbered(3))) as site:
        crawl(tmp_path, site, **to_kafka(broker, topic_prefix), **both)
    assert len(records(broker, topic_prefix)) == 3
