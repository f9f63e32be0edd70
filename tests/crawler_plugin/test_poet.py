"""Page objects that ask for the verdict on their page, in crawls with scrapy-poet."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest

from tests.crawler_plugin.crawling import Answer, Ended, Site, crawl, serve
from tests.crawler_plugin.judging.test_local import CONFIG, page, settings_of, text

POET: Final = {
    "ADDONS": {"crawler_plugin.Addon": 500, "scrapy_poet.Addon": 300},
    "SCRAPY_POET_PROVIDERS": {"crawler_plugin.poet.DedupVerdictProvider": 500},
    "DEDUP_CAPTURE": True,
    "CONCURRENT_REQUESTS": 1,
    "RETRY_ENABLED": False,
}


def crawled(folder: Path, site: Site, **more: Any) -> Ended:
    return crawl(folder, site, "poet", **settings_of(folder, **CONFIG), **(POET | more))


def test_a_page_object_knows_the_verdict_on_its_response_which_is_published_once(tmp_path: Path) -> None:
    same = page(text(1))
    moved = Answer(302, {"Content-Type": "text/html", "Location": "/one"}, b"moved")
    site = Site({"/one": same, "/two": same, "/other": page(text(2))}, {"/moved": moved})
    site.others["/picture.png"] = Answer(200, {"Content-Type": "image/png"}, b"\x89PNG")
    with serve(site):
        ended = crawled(tmp_path, site, DEDUP_AWAIT_RESPONSES=True)
    assert ended.returncode == 0
    found = {url.removeprefix(site.url("")): told for url, told in ended.stats["spider/known"]}
    assert sorted([found.pop("/one"), found.pop("/two")]) == ["duplicate of a page", "unique"]
    assert found == {"/other": "unique", "/picture.png": "no: not_captured"}
    judged = {name: count for name, count in ended.dedup.items() if name.startswith("verdict/")}
    assert judged == {"verdict/unique": 3, "verdict/duplicate": 1}, "the start page is one"


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"DEDUP_CAPTURE": False}, "DEDUP_CAPTURE = True in the Scrapy settings"),
        ({"DEDUP_MODE": "kafka"}, "a callback asks for DedupVerdict: add DEDUP_AWAIT, or DEDUP_MODE = 'local'"),
        ({"SCRAPY_POET_CACHE": True}, "cannot be cached: remove SCRAPY_POET_CACHE"),
    ],
)
def test_what_would_leave_page_objects_without_a_verdict_is_said_before_the_first_request(
    tmp_path: Path, wrong: dict[str, Any], said: str
) -> None:
    with serve(Site({})) as site:
        told = settings_of(tmp_path, **CONFIG) | POET | wrong
        if told["DEDUP_MODE"] == "kafka":
            del told["DEDUP_CONFIG"]
        ended = crawl(tmp_path, site, "poet", **told)
        assert site.asked == []
    assert ended.returncode == 1
    assert said in ended.log


def test_where_the_plugin_is_switched_off_page_objects_are_told_so(tmp_path: Path) -> None:
    with serve(Site({"/one": page(text(1))})) as site:
        ended = crawled(tmp_path, site, DEDUP_ENABLED=False)
    assert [told for _, told in ended.stats["spider/known"]] == ["no: switched_off"]
