"""Verdicts on their way to items."""

from __future__ import annotations

import gc
from typing import Any

from scrapy.http import Response

from crawler_plugin.waiting_items import ComingVerdict, FoundItems, learned_as


def test_an_item_is_known_by_itself_once_and_not_after_its_response() -> None:
    items, coming = FoundItems(), ComingVerdict()
    response, other = Response("http://a.example/"), Response("http://b.example/")
    items.captured(response, coming)
    one: dict[str, Any] = {}
    equal: dict[str, Any] = {}
    items.found(one, response)
    items.found({}, other)
    assert items.verdict_of(equal) is None
    assert items.verdict_of(one) is coming
    assert items.verdict_of(one) is None
    items.found(one, response)
    del response
    gc.collect()
    assert items.verdict_of(one) is None


def test_a_crawl_learns_from_a_duplicate_of_a_suspect_as_from_a_new_page() -> None:
    told = {"verdict": "duplicate", "suspect": False}
    assert [learned_as(told), learned_as(told | {"suspect": True})] == ["duplicate", "unique"]
