"""How crawls with wrong settings end, as the person who started them sees it; and crawls without the plugin."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from crawler_plugin.refusal import EarlyRefusal
from crawler_plugin.wire.errors import UsageError
from tests.crawler_plugin.crawling import ROOT, Site, crawl, numbered, serve
from worker.broker.ports import free_port

SENTENCE = (
    "the crawl does not start, since its pages would be lost; correct in the Scrapy settings: "
    "DEDUP_OVERSIZE='drop': write truncate or reject"
)
SPIDERS = """
import scrapy
from scrapy.crawler import AsyncCrawlerProcess, CrawlerProcess

class Shop(scrapy.Spider):
    name = "shop"
    start_urls = ["data:,page"]
    def parse(self, response):
        open("parsed", "w").close()

class Wrong(Shop):
    name = "wrong"
    custom_settings = {"DEDUP_OVERSIZE": "drop"}

class Local(Shop):
    name = "local"
    custom_settings = {"DEDUP_MODE": "local"}

class Lacking(Shop):
    name = "lacking"
    custom_settings = {"DEDUP_MODE": None}
"""
SETTINGS = """
SPIDER_MODULES = ["shop.spiders"]
LOG_LEVEL = "ERROR"
"""
ADDON = 'ADDONS = {"crawler_plugin.Addon": 500}\n'
PIPELINE = 'ITEM_PIPELINES = {"crawler_plugin.Pipeline": 300}\n'


def project(folder: Path, settings: str) -> None:
    (folder / "shop").mkdir()
    (folder / "shop" / "__init__.py").touch()
    (folder / "shop" / "spiders.py").write_text(SPIDERS)
    (folder / "shop" / "settings.py").write_text(SETTINGS + settings)
    (folder / "scrapy.cfg").write_text("[settings]\ndefault = shop.settings\n")


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python in this folder."""
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def said(ended: subprocess.CompletedProcess[str]) -> str:
    """The whole output, without the times of log lines."""
    lines = (ended.stdout + ended.stderr).splitlines()
    return "\n".join(line.partition("CRITICAL: ")[2] or line for line in lines)


@pytest.mark.parametrize(
    ("settings", "arguments"),
    [
        (ADDON + 'DEDUP_OVERSIZE = "drop"\n', ("crawl", "shop")),
        (ADDON, ("crawl", "shop", "-s", "DEDUP_OVERSIZE=drop")),
        (ADDON, ("runspider", "shop/spiders.py", "-s", "DEDUP_OVERSIZE=drop")),
        (ADDON, ("crawl", "wrong")),
        (PIPELINE, ("crawl", "shop", "-s", "DEDUP_OVERSIZE=drop")),
    ],
    ids=["project", "command line", "runspider", "spider", "pipeline without the add-on"],
)
def test_a_scrapy_command_with_a_wrong_setting_says_one_sentence_and_exits_with_1(
    tmp_path: Path, settings: str, arguments: tuple[str, ...]
) -> None:
    project(tmp_path, settings)
    ended = run(tmp_path, "-m", "scrapy", *arguments)
    assert (said(ended), ended.returncode) == (SENTENCE, 1)
    assert not (tmp_path / "parsed").exists()


@pytest.mark.parametrize(("spider", "code"), [("local", 0), ("lacking", 1)])
def test_what_a_setting_of_the_project_needs_may_be_told_by_the_spider(tmp_path: Path, spider: str, code: int) -> None:
    project(tmp_path, ADDON + "DEDUP_DROP = True\n")
    ended = run(tmp_path, "-m", "scrapy", "crawl", spider)
    assert ended.returncode == code, ended.stderr
    assert (tmp_path / "parsed").exists() is not bool(code)
    assert ("DEDUP_DROP: it has no effect without DEDUP_AWAIT, or DEDUP_MODE = 'local'" in said(ended)) is bool(code)


def test_settings_of_another_program_are_warned_of_once(tmp_path: Path) -> None:
    project(tmp_path, ADDON + 'DEDUP_REDIS_URL = "redis://"\nDEDUP_MODE = "local"\nLOG_LEVEL = "INFO"\n')
    ended = run(tmp_path, "-m", "scrapy", "crawl", "shop")
    warned = ended.stderr.count("DEDUP_REDIS_URL: not a setting of crawl-dedup")
    assert (ended.returncode, warned) == (0, 1), ended.stderr


@pytest.mark.parametrize("process", ["CrawlerProcess", "AsyncCrawlerProcess"])
def test_a_script_with_a_wrong_setting_says_one_sentence_and_exits_with_1(tmp_path: Path, process: str) -> None:
    told = '{"ADDONS": {"crawler_plugin.Addon": 500}, "DEDUP_OVERSIZE": "drop"}'
    (tmp_path / "script.py").write_text(f"{SPIDERS}\nprocess = {process}({told})\nprocess.crawl(Shop)\nprocess.start()")
    ended = run(tmp_path, "script.py")
    assert (said(ended), ended.returncode) == (SENTENCE, 1)
    assert not (tmp_path / "parsed").exists()


@pytest.mark.parametrize("process", ["CrawlerProcess", "AsyncCrawlerProcess"])
def test_a_spider_with_a_wrong_setting_ends_its_own_crawl_and_no_other_of_the_process(
    tmp_path: Path, process: str
) -> None:
    told = '{"ADDONS": {"crawler_plugin.Addon": 500}, "LOG_LEVEL": "ERROR"}'
    crawls = "process.crawl(Wrong)\nprocess.crawl(Shop)\nprocess.start()\nprint(process.bootstrap_failed)"
    (tmp_path / "script.py").write_text(f"{SPIDERS}\nprocess = {process}({told})\n{crawls}")
    ended = run(tmp_path, "script.py")
    assert said(ended).splitlines()[:2] == ["True", SENTENCE], "standard output comes first here"
    assert ended.stderr.count("CRITICAL") == 1, "Twisted's own report to standard error is no line of the log"
    assert (tmp_path / "parsed").exists()


def test_an_early_refusal_is_an_error_like_others_to_who_catches_it() -> None:
    with pytest.raises(UsageError, match="wrong"):
        raise EarlyRefusal("wrong")
    assert issubclass(EarlyRefusal, Exception)


@pytest.mark.parametrize(
    "plugin",
    [
        {"ADDONS": {"crawler_plugin.Addon": 500}, "DEDUP_CAPTURE": True},
        {"ITEM_PIPELINES": {"crawler_plugin.Pipeline": 300}},
    ],
    ids=["addon", "pipeline"],
)
def test_a_plugin_that_is_switched_off_does_nothing_whatever_its_settings(
    tmp_path: Path, plugin: dict[str, object]
) -> None:
    nowhere = f"127.0.0.1:{free_port()}"
    with serve(Site(numbered(3))) as site:
        ended = crawl(
            tmp_path, site, **plugin, DEDUP_ENABLED="False", DEDUP_OVERSIZE="drop", DEDUP_BOOTSTRAP_SERVERS=nowhere
        )
    assert ended.dedup == {}
    assert (ended.returncode, ended.stats["item_scraped_count"]) == (0, 3)


def test_whether_it_is_switched_off_must_be_said_plainly(tmp_path: Path) -> None:
    with serve(Site(numbered(3))) as site:
        ended = crawl(tmp_path, site, DEDUP_ENABLED="flase")
    assert "DEDUP_ENABLED='flase': write True or False" in ended.log
    assert (site.asked, ended.returncode) == ([], 1)
