"""The common base of all components: one delivery for each crawl, and all parts of capture or none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from scrapy import Spider
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.utils.test import get_crawler

from crawler_plugin import CaptureMiddleware, FeedbackMiddleware, Pipeline
from crawler_plugin.components.capture import BackPressureMiddleware
from crawler_plugin.refusal import Refusal
from tests.crawler_plugin.crawling import Site, crawl, numbered, serve

COMPONENTS = [Pipeline, CaptureMiddleware, BackPressureMiddleware]
CAPTURE: dict[str, Any] = {"ADDONS": {"crawler_plugin.Addon": 500}, "DEDUP_CAPTURE": True}


def crawler(**settings: Any) -> Crawler:
    return get_crawler(Spider, settings)


def test_components_of_one_crawl_share_a_delivery_and_those_of_another_have_their_own() -> None:
    one, other = crawler(**CAPTURE), crawler(**CAPTURE)
    made = [component.from_crawler(one) for component in COMPONENTS]
    assert len({id(component._delivery) for component in made}) == 1
    assert Pipeline.from_crawler(other)._delivery is not made[0]._delivery


@pytest.mark.parametrize("component", [CaptureMiddleware, BackPressureMiddleware])
def test_a_component_of_capture_is_refused_where_responses_are_not_captured(component: type[CaptureMiddleware]) -> None:
    with pytest.raises(Refusal, match="three components"):
        component.from_crawler(crawler(ADDONS=CAPTURE["ADDONS"]))


@pytest.mark.parametrize("component", COMPONENTS)
def test_no_component_is_made_where_the_plugin_is_switched_off(component: type[Pipeline]) -> None:
    with pytest.raises(NotConfigured):
        component.from_crawler(crawler(DEDUP_ENABLED=False))


def test_feedback_without_the_addon_is_refused_and_its_middleware_without_feedback_is_not_made() -> None:
    with pytest.raises(Refusal, match="with DEDUP_FEEDBACK = True"):
        Pipeline.from_crawler(crawler(DEDUP_FEEDBACK=True))
    with pytest.raises(NotConfigured, match="DEDUP_FEEDBACK is False"):
        FeedbackMiddleware.from_crawler(crawler(ADDONS=CAPTURE["ADDONS"]))


@pytest.mark.parametrize(
    "components",
    [
        {"ITEM_PIPELINES": {"crawler_plugin.Pipeline": 300}, "DEDUP_CAPTURE": True},
        {"ITEM_PIPELINES": {}, "SPIDER_MIDDLEWARES": {"crawler_plugin.CaptureMiddleware": 1000}},
    ],
    ids=["setting without the add-on", "middleware without the add-on"],
)
def test_capture_without_the_addon_is_refused(tmp_path: Path, components: dict[str, object]) -> None:
    with serve(Site(numbered(3))) as site:
        ended = crawl(tmp_path, site, **components)
    assert 'write ADDONS = {"crawler_plugin.Addon": 500} and DEDUP_CAPTURE = True' in ended.log
    assert (site.asked, ended.returncode) == ([], 1)
