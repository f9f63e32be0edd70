"""What ``pip install crawl-dedup`` brings: enough for a crawl through the plugin, and nothing that only workers need.

The wheel is built and installed, not the folder of the checkout, into an environment that has nothing else.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from collections import Counter
from pathlib import Path
from typing import Final

import pytest

from tests.crawler_plugin.crawling import ROOT, Site, make_topic, numbered, published, serve

pytestmark = pytest.mark.cluster

HEAVY: Final = {
    "jieba",
    "llvmlite",
    "numba",
    "numpy",
    "prometheus-client",
    "pydantic",
    "pydantic-core",
    "pydantic-settings",
}
HEAVY_TOO: Final = {"publicsuffixlist", "pyyaml", "resiliparse", "xxhash"}
SPIDER: Final = """
import scrapy


class Shop(scrapy.Spider):
    name = "shop"

    def __init__(self, start):
        self.start_urls = [start]

    def parse(self, response):
        yield from response.follow_all(css="a")
"""


class Environment:
    """A virtual environment without anything of ours but what is installed into it."""

    def __init__(self, folder: Path) -> None:
        venv.create(folder, with_pip=False, symlinks=True)
        self._python = folder / "bin" / "python"

    def install(self, *what: str) -> None:
        subprocess.run([*self._pip, "install", "--quiet", *what], check=True)

    @property
    def packages(self) -> set[str]:
        listed = subprocess.run([*self._pip, "list", "--format=json"], check=True, capture_output=True, text=True)
        return {package["name"].lower() for package in json.loads(listed.stdout)}

    def run(self, *arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
        surroundings = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        return subprocess.run(
            [str(self._python), *arguments],
            cwd=folder,
            env=surroundings,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    @property
    def _pip(self) -> list[str]:
        return [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", str(self._python)]


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """One where ``pip install`` of the wheel is all that was done."""
    wheels = tmp_path_factory.mktemp("wheels")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    subprocess.run([*pip, "wheel", "--quiet", "--no-deps", "--wheel-dir", str(wheels), str(ROOT)], check=True)
    (wheel,) = wheels.glob("crawl_dedup-*.whl")
    made = Environment(tmp_path_factory.mktemp("plugin-alone") / "environment")
    made.install(str(wheel))
    return made


def test_the_plugin_comes_out_of_the_wheel_and_without_what_only_workers_need(
    environment: Environment, tmp_path: Path
) -> None:
    where = environment.run("-c", "import crawler_plugin; print(crawler_plugin.__file__)", folder=tmp_path)
    assert "site-packages" in where.stdout, where.stderr
    assert {"crawl-dedup", "kafka-python", "crc32c", "scrapy"} <= environment.packages
    assert not environment.packages & (HEAVY | HEAVY_TOO)


def test_a_crawl_with_the_plugin_alone_puts_every_page_on_the_topic(
    environment: Environment, broker: str, topic_prefix: str, tmp_path: Path
) -> None:
    make_topic(broker, topic_prefix)
    (tmp_path / "scrapy.cfg").write_text("[settings]\ndefault = shop_settings\n", encoding="utf-8")
    (tmp_path / "shop_spiders.py").write_text(SPIDER, encoding="utf-8")
    (tmp_path / "shop_settings.py").write_text(
        'SPIDER_MODULES = ["shop_spiders"]\n'
        'ADDONS = {"crawler_plugin.Addon": 500}\n'
        f'DEDUP_BOOTSTRAP_SERVERS = "{broker}"\n'
        f'DEDUP_TOPIC_PREFIX = "{topic_prefix}"\n'
        "DEDUP_CAPTURE = True\n",
        encoding="utf-8",
    )
    with serve(Site(numbered(40))) as site:
        ended = environment.run("-m", "scrapy", "crawl", "shop", "-a", f"start={site.url('/')}", folder=tmp_path)
        assert ended.returncode == 0, ended.stderr
        assert published(broker, topic_prefix, site) == Counter(["/", *site.pages]), ended.stderr


def test_a_crawl_that_is_to_judge_its_pages_says_with_the_plugin_alone_what_to_install(
    environment: Environment, tmp_path: Path
) -> None:
    (tmp_path / "shop.py").write_text(SPIDER, encoding="utf-8")
    told = ['ADDONS={"crawler_plugin.Addon": 500}', "DEDUP_MODE=local", "LOG_LEVEL=ERROR"]
    arguments = [part for setting in told for part in ("-s", setting)]
    ended = environment.run(
        "-m", "scrapy", "runspider", "shop.py", "-a", "start=http://127.0.0.1:9/", *arguments, folder=tmp_path
    )
    (line,) = ended.stderr.splitlines()
    assert (ended.returncode, line.endswith("Install it: pip install 'crawl-dedup[worker]'")) == (1, True), line


@pytest.mark.parametrize("command", [[], ["demo"], ["run"], ["--check-config"]], ids=lambda command: " ".join(command))
def test_a_worker_that_is_started_with_the_plugin_alone_says_in_one_line_what_to_install(
    environment: Environment, tmp_path: Path, command: list[str]
) -> None:
    ended = environment.run("-m", "worker", *command, folder=tmp_path)
    assert ended.returncode == 2, ended.stderr
    (line,) = ended.stderr.splitlines()
    assert line.startswith("worker: error: workers need more than the Scrapy plugin does, missing here: ")
    assert line.endswith(". Install it: pip install 'crawl-dedup[worker]'")
    assert "numba" in line
    assert not ended.stdout


def test_version_and_help_are_told_with_the_plugin_alone(environment: Environment, tmp_path: Path) -> None:
    assert environment.run("-m", "worker", "--version", folder=tmp_path).stdout.startswith("crawl-dedup ")
    assert "commands:" in environment.run("-m", "worker", "--help", folder=tmp_path).stdout


def test_the_command_that_sends_a_spool_runs_with_the_plugin_alone(environment: Environment, tmp_path: Path) -> None:
    ended = environment.run("-m", "crawler_plugin.spool", "nothing.spool", folder=tmp_path)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "nothing.spool: no such file" in ended.stderr
