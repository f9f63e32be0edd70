"""The demo's spider follows every link, comes back to front pages once, and hands out files without reading them."""

from __future__ import annotations

from typing import Any, Final

import pytest
from scrapy.http import HtmlResponse, Request, Response

from worker.demo.spider import COME_BACK_LATER, EveryPage

FRONT: Final = "http://127.0.0.1:8001/food/"
PAGE: Final = "http://127.0.0.1:8001/food/salt"
MARKUP: Final = b'<a href="/food/salt">Salt</a> <a href="map.pdf">Map</a>'


def parsed(response: Response) -> tuple[dict[str, Any], list[Request]]:
    """The one item that a page yields, and the requests after it."""
    item, *requests = EveryPage().parse(response)
    return item, requests


def response(url: str, **meta: Any) -> HtmlResponse:
    return HtmlResponse(url, body=MARKUP, encoding="utf-8", request=Request(url, meta=meta))


def test_a_page_becomes_an_item_with_the_bytes_that_came_and_its_links_are_followed() -> None:
    item, requests = parsed(response(PAGE))
    assert (item["url"], item["status"], item["body"], item["encoding"]) == (PAGE, 200, MARKUP, "utf-8")
    assert [request.url for request in requests] == [PAGE, FRONT + "map.pdf"]
    assert not any(request.dont_filter for request in requests)


def test_a_front_page_is_fetched_once_more_after_all_others_and_never_a_third_time() -> None:
    _, requests = parsed(response(FRONT))
    (again,) = [request for request in requests if request.url == FRONT]
    assert (again.dont_filter, again.priority) == (True, COME_BACK_LATER)
    _, requests = parsed(response(FRONT, **again.meta))
    assert FRONT not in [request.url for request in requests]


@pytest.mark.parametrize("url", [FRONT + "map.pdf", "http://127.0.0.1:8001/files/"])
def test_a_file_is_an_item_without_encoding_and_leads_nowhere(url: str) -> None:
    item, requests = parsed(Response(url, body=b"%PDF", headers={"Content-Type": "application/pdf"}))
    assert (item["body"], item["encoding"], item["content_type"]) == (b"%PDF", None, b"application/pdf")
    assert requests == []
