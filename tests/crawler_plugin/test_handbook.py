"""The code that README and handbook tell a Scrapy project to write, run exactly as printed on a site with more than
pages."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from scrapy.settings import Settings

from crawler_plugin import Addon, FeedbackMiddleware
from crawler_plugin.config.settings import PluginSettings
from crawler_plugin.feedback.decision import FeedbackPolicy
from tests.crawler_plugin.crawling import ROOT, make_topic, published, serve
from tests.crawler_plugin.judging.test_local import CONFIG, items, settings_of, site_of_copies
from tests.crawler_plugin.odd_site import odd_site

pytestmark = pytest.mark.cluster


def shown(page: str) -> list[str]:
    """The Python code blocks of a page."""
    return re.findall(r"```python[^\n]*\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL)


(README_SETTINGS,) = shown("README.md")
SETTINGS, SPIDER, AWAITING, KNOWING, PARSE, LISTENING, PROVIDER, PARSE_PAGE, _ = shown("docs/how-to/crawl.md")
LEARNING, BEGINNING = shown("docs/how-to/learn.md")


def test_readme_and_handbook_tell_the_same_settings() -> None:
    assert README_SETTINGS == SETTINGS


def test_who_awaits_verdicts_as_the_handbook_says_drops_copies() -> None:
    told: dict[str, object] = {}
    exec(SETTINGS + AWAITING, told)
    read = PluginSettings.read(Settings({name: told[name] for name in told if name.startswith("DEDUP_")}))
    assert read.tells
    assert read.patience == 10
    assert read.drop == {"duplicate"}


def test_a_crawl_that_learns_as_the_handbook_says_puts_requests_behind_all_others() -> None:
    told: dict[str, object] = {}
    exec(LEARNING, told)
    settings = Settings({name: told[name] for name in told if name.startswith("DEDUP_")})
    assert PluginSettings.read(settings).feedback == FeedbackPolicy("deprioritise", least=20, explore=0.05)
    Addon().update_settings(settings)
    assert FeedbackMiddleware in settings.getdict("DOWNLOADER_MIDDLEWARES")
    exec(BEGINNING, told)
    earlier = PluginSettings.read(Settings({name: told[name] for name in told if name.startswith("DEDUP_")})).feedback
    assert earlier is not None and earlier.earlier == "crawls/monday"


def test_the_handbooks_callbacks_make_no_items_of_copies_and_its_extension_hears_of_each_page(tmp_path: Path) -> None:
    told: dict[str, object] = {}
    exec(KNOWING + PROVIDER, told)
    settings = {name: value for name, value in told.items() if name.isupper()} | settings_of(tmp_path, **CONFIG)
    settings |= {"ADDONS": {"crawler_plugin.Addon": 500, "scrapy_poet.Addon": 300}, "EXTENSIONS": {"heard.Counting": 0}}
    (tmp_path / "heard.py").write_text(LISTENING)
    with serve(site_of_copies()) as site:
        (tmp_path / "spider.py").write_text(
            f"import scrapy\n{PARSE}\n{PARSE_PAGE}\n\nclass Handbook(scrapy.Spider):\n    name = 'handbook'\n"
            f"    start_urls = [{site.url('/')!r}]\n    custom_settings = {settings!r}\n    parse, parse_page = parse, "
            "parse_page\n    async def start(self):\n        async for request in super().start():\n"
            "            yield request\n            yield request.replace(url=request.url + 'page/0', "
            "callback=self.parse_page)\n"
        )
        subprocess.run(
            [sys.executable, "-m", "scrapy", "runspider", "spider.py", "--logfile", "crawl.log"],
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": os.pathsep.join((str(ROOT), str(tmp_path)))},
            timeout=120,
            check=True,
        )
    log = (tmp_path / "crawl.log").read_text()
    assert "Traceback" not in log
    assert len(items(tmp_path)) == 1 + 4
    heard = re.findall(rf"{re.escape(site.url('/'))}(\S*): (\w+) \(", log)
    assert len(heard) == 1 + 8 + 1, "scrapy-poet tells requests for other page objects apart: one page is fetched twice"
    assert [verdict for _, verdict in heard].count("duplicate") == 4


@pytest.mark.parametrize("captures", [True, False])
def test_the_handbooks_spider_meets_pictures_pdf_and_json_and_its_items_are_exported(
    broker: str, topic_prefix: str, tmp_path: Path, captures: bool
) -> None:
    make_topic(broker, topic_prefix)
    told: dict[str, object] = {}
    exec(SETTINGS, told)
    assert told["DEDUP_CAPTURE"] is True
    with serve(odd_site()) as site:
        (tmp_path / "spider.py").write_text(
            f"import scrapy\n{SPIDER}\n\nclass Handbook(scrapy.Spider):\n    name = 'handbook'\n"
            f"    start_urls = [{site.url('/')!r}]\n    parse = parse\n"
        )
        options = {
            "ADDONS": json.dumps(told["ADDONS"]),
            "DEDUP_CAPTURE": captures,
            "DEDUP_BOOTSTRAP_SERVERS": broker,
            "DEDUP_TOPIC_PREFIX": topic_prefix,
            "RETRY_ENABLED": False,
        }
        arguments = [part for name, value in options.items() for part in ("-s", f"{name}={value}")]
        ended = subprocess.run(
            [sys.executable, "-m", "scrapy", "runspider", "spider.py", "-O", "items.json", *arguments],
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
        )
    assert "Traceback" not in ended.stderr
    assert "spider_exceptions" not in ended.stderr
    pages = {"/", "/arrived", "/untyped", "/switched_off", "/secret", "/media.html", "/nothing", "/raises"}
    items = json.loads((tmp_path / "items.json").read_text())
    assert pages <= {item["url"].removeprefix(site.url("")) for item in items}
    assert all(item["body"].keys() == {"size"} for item in items)
    found = set(published(broker, topic_prefix, site))
    assert pages <= found
    assert ("/rows.json" in found) is captures
    assert not found & {"/picture.png", "/paper.pdf", "/gone", "/broken"}
