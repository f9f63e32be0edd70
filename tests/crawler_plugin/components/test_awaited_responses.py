"""Crawls whose callbacks are called once the verdict on their response is there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import pytest

from tests.crawler_plugin.crawling import Ended, Site, crawl, serve
from tests.crawler_plugin.judging.test_local import CONFIG, SCRAPY, page, settings_of, text
from tests.crawler_plugin.odd_site import odd_site

AWAITED: Final = {"DEDUP_CAPTURE": True, "DEDUP_AWAIT_RESPONSES": True, "RETRY_ENABLED": False}
SELECT: Final = {"TWISTED_REACTOR": "twisted.internet.selectreactor.SelectReactor"}


def known(ended: Ended, site: Site) -> dict[str, list[str]]:
    """What callbacks were told, by path: the verdicts, and where there was none the reason."""
    found: dict[str, list[str]] = {}
    for url, told in ended.stats.get("spider/known", []):
        word = str(told) if not isinstance(told, dict) else told["verdict"] or f"no: {told['reason']}"
        found.setdefault(url.removeprefix(site.url("")), []).append(word)
    return found


def of(words: Iterable[str], word: str) -> dict[str, list[str]]:
    return {f"/{name}": [word] for name in words}


@pytest.mark.parametrize(
    "loop",
    [
        {"CONCURRENT_REQUESTS": 1},
        SELECT,
        pytest.param(
            {"TWISTED_REACTOR_ENABLED": False},
            marks=pytest.mark.skipif(SCRAPY < (2, 15), reason="Scrapy below 2.15 always has a Twisted reactor"),
        ),
    ],
    ids=["asyncio, one request at a time", "select", "no reactor"],
)
def test_every_callback_knows_the_verdict_on_its_response_or_why_there_is_none(
    tmp_path: Path, loop: dict[str, Any]
) -> None:
    site = odd_site()
    site.pages |= {f"/{name}": page(text(number)) for number, name in enumerate(("first", "again", "hands_on"))}
    site.pages |= {"/second": site.pages["/first"], "/lie": b"%PDF-1.7 no page"}
    odd = {
        "ROBOTSTXT_OBEY": True,
        "JOBDIR": str(tmp_path / "job"),  # requests of callbacks are written down
        "ITEM_PIPELINES": {"scrapy.pipelines.files.FilesPipeline": 1},
        "ADDONS": {"crawler_plugin.Addon": 500},
        "FILES_STORE": str(tmp_path / "files"),
    }
    with serve(site):
        ended = crawl(tmp_path, site, "heard", **settings_of(tmp_path, **CONFIG), **AWAITED, **odd, **loop)
    assert (ended.returncode, ended.stats["finish_reason"]) == (0, "finished")
    found = known(ended, site)
    assert sorted([*found.pop("/first"), *found.pop("/second")]) == ["duplicate", "unique"]
    uncaptured = "picture.png", "paper.pdf", "untyped_bytes", "gone", "robots.txt", "picture.png?handed_on"
    pages = set(site.pages) | {"/", "/rows.json", "/notes.txt", "/feed.rss", "/untyped", "/arrived"}
    single = {path.removeprefix("/") for path in pages - {"/first", "/second", "/again", "/lie"}}
    assert found == of(single, "unique") | of(["lie"], "dead") | of(["switched_off"], "False") | of(
        uncaptured, "no: not_captured"
    ) | {"/again": ["unique", "refetch"]}
    assert ended.stats["spider_exceptions/count"] == 2, "those of the spider's own"

    # What listens hears of each page once, with its request and response.
    heard = Counter(verdict for _, verdict, _, _ in ended.stats["spider/judged"])
    told = Counter(word for words in known(ended, site).values() for word in words)
    assert heard == {word: told[word] for word in ("unique", "duplicate", "refetch", "dead")}
    assert all(
        url == requested == answered or "/moved" in requested or "/arrived" in url
        for url, _, requested, answered in ended.stats["spider/judged"]
    )
