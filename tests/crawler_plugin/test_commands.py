"""Scrapy's commands that only look at a page: they publish nothing, and say so once."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.crawler_plugin.crawling import Site, numbered, serve
from tests.crawler_plugin.test_refusal import ADDON, PIPELINE, project, run
from worker.broker.ports import free_port

SAID = "publishes and judges no page"
MORE = """
class Looked(Shop):
    name = "looked"
    custom_settings = {"DEDUP_SPOOL": "pages.spool", "DEDUP_FLUSH_TIMEOUT": 0}

    def parse(self, response):
        '''A contract.

        @url %s
        @returns items 1
        '''
        yield {"url": response.url, "body": response.body}
"""


def shop(folder: Path, url: str, plugin: str) -> None:
    project(folder, f'{plugin}DEDUP_BOOTSTRAP_SERVERS = "127.0.0.1:{free_port()}"\nLOG_LEVEL = "INFO"\n')
    with (folder / "shop" / "spiders.py").open("a") as spiders:
        spiders.write(MORE % url)


CAPTURE = ADDON + "DEDUP_CAPTURE = True\n"
FETCH = ("fetch", "--spider", "looked", "URL")
SHELL = ("shell", "--spider", "looked", "-c", "response.status", "URL")


@pytest.mark.parametrize(
    ("plugin", "command"),
    [
        (CAPTURE, FETCH),
        (ADDON, FETCH),
        (PIPELINE, FETCH),
        (CAPTURE, SHELL),
        (PIPELINE, SHELL),
        (PIPELINE, ("shell", "-s", "TWISTED_REACTOR_ENABLED=False", *SHELL[1:])),
        (CAPTURE, ("view", *FETCH[1:])),
        (CAPTURE, ("parse", "--pipelines", *FETCH[1:])),
        (CAPTURE, ("check", "-s", "LOG_ENABLED=True", "looked")),
    ],
)
def test_a_look_at_a_page_publishes_nothing_and_says_so_once(
    tmp_path: Path, plugin: str, command: tuple[str, ...]
) -> None:
    with serve(Site(numbered(1))) as site:
        shop(tmp_path, site.url("/page/0"), plugin)
        looked = [part.replace("URL", site.url("/page/0")) for part in command]
        program = (
            "import scrapy.commands.view\n"
            "scrapy.commands.view.open_in_browser = lambda *_: None\n"
            "from scrapy.cmdline import execute\n"
            "execute()"
        )
        ended = run(tmp_path, "-c", program, *looked)
        assert "/page/0" in site.asked
    said = ended.stdout + ended.stderr
    assert len(re.findall(rf"scrapy {command[0]} {SAID}", said)) == 1, said
    assert "dedup/" not in said
    assert "Traceback" not in said
    assert not (tmp_path / "pages.spool").exists()


def test_a_crawl_by_the_same_command_line_publishes(tmp_path: Path) -> None:
    shop(tmp_path, "data:,page", ADDON)
    ended = run(tmp_path, "-m", "scrapy", "crawl", "looked")
    assert SAID not in ended.stderr
    assert "'dedup/spool/left': 1" in ended.stderr or "dedup/skipped" in ended.stderr


def test_a_command_that_only_looks_needs_no_right_settings(tmp_path: Path) -> None:
    project(tmp_path, ADDON + 'DEDUP_OVERSIZE = "drop"\n')
    with serve(Site(numbered(1))) as site:
        ended = run(tmp_path, "-m", "scrapy", "fetch", "--nolog", site.url("/page/0"))
    assert (ended.returncode, ended.stdout) == (0, numbered(1)["/page/0"].decode() + "\n"), ended.stderr
