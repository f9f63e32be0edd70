"""``pip install 'crawl-dedup-scrapy[scrapy]'`` installs enough for a crawl, and nothing with the name ``worker``.

The wheel, not the folder of the checkout, is built and installed into an otherwise empty environment.
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
from worker.local import Deduplicator

pytestmark = pytest.mark.cluster

OF_WORKERS: Final = {
    "crawl-dedup",
    "jieba",
    "llvmlite",
    "numba",
    "numpy",
    "prometheus-client",
    "publicsuffixlist",
    "pydantic",
    "pydantic-core",
    "pyyaml",
    "resiliparse",
    "xxhash",
}
WORKER: Final = """
from pathlib import Path


class Tasks:
    def send(self, url):
        with Path("tasks.txt").open("a") as tasks:
            tasks.write(url + "\\n")


app = Tasks()
"""
"""A module that projects with Celery or RQ tasks often have."""
SPIDER: Final = """
import scrapy
from worker import app


class Shop(scrapy.Spider):
    name = "shop"

    def __init__(self, start):
        self.start_urls = [start]

    def parse(self, response):
        app.send(response.url)
        yield from response.follow_all(css="a")
"""
BY_COMMAND: Final = [["scrapy"], ["python", "-m", "scrapy"]]


class Environment:
    """A virtual environment with only those parts of ours that are installed into it."""

    def __init__(self, folder: Path) -> None:
        venv.create(folder, with_pip=False, symlinks=True)
        self._programs = folder / "bin"

    def install(self, *what: str) -> None:
        subprocess.run([*self._pip, "install", "--quiet", *what], check=True)

    @property
    def packages(self) -> set[str]:
        listed = subprocess.run([*self._pip, "list", "--format=json"], check=True, capture_output=True, text=True)
        return {package["name"].lower() for package in json.loads(listed.stdout)}

    def run(self, program: str, *arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
        surroundings = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        return subprocess.run(
            [str(self._programs / program), *arguments],
            cwd=folder,
            env=surroundings,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    @property
    def _pip(self) -> list[str]:
        python = str(self._programs / "python")
        return [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", python]


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """An environment with only the plugin's wheel and Scrapy, installed with ``pip install``."""
    wheels = tmp_path_factory.mktemp("wheels")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    plugin = str(ROOT / "crawler_plugin")
    subprocess.run([*pip, "wheel", "--quiet", "--no-deps", "--wheel-dir", str(wheels), plugin], check=True)
    (wheel,) = wheels.glob("*.whl")
    made = Environment(tmp_path_factory.mktemp("plugin-alone") / "environment")
    made.install("--no-compile", f"{wheel}[scrapy]")
    return made


def project(folder: Path, **settings: object) -> Path:
    """A Scrapy project that has a ``worker`` of its own, which its spider imports."""
    told = {"SPIDER_MODULES": ["shop_spiders"], "ADDONS": {"crawler_plugin.Addon": 500}, "DEDUP_CAPTURE": True}
    written = "".join(f"{name} = {value!r}\n" for name, value in (told | settings).items())
    (folder / "scrapy.cfg").write_text("[settings]\ndefault = shop_settings\n", encoding="utf-8")
    (folder / "shop_spiders.py").write_text(SPIDER, encoding="utf-8")
    (folder / "shop_settings.py").write_text(written, encoding="utf-8")
    (folder / "worker.py").write_text(WORKER, encoding="utf-8")
    return folder


def sent_by_the_project(folder: Path, site: Site) -> Counter[str]:
    return Counter(url.removeprefix(site.url("")) for url in (folder / "tasks.txt").read_text().splitlines())


def test_the_wheel_brings_the_plugin_and_nothing_of_the_workers(environment: Environment, tmp_path: Path) -> None:
    where = environment.run("python", "-c", "import crawler_plugin; print(crawler_plugin.__file__)", folder=tmp_path)
    assert "site-packages" in where.stdout, where.stderr
    assert {"crawl-dedup-scrapy", "kafka-python", "crc32c", "msgspec", "scrapy"} <= environment.packages
    assert not environment.packages & OF_WORKERS
    assert "No module named 'worker'" in environment.run("python", "-c", "import worker", folder=tmp_path).stderr


@pytest.mark.parametrize("command", BY_COMMAND, ids=" ".join)
def test_a_crawl_of_a_project_with_a_worker_of_its_own_puts_every_page_on_the_topic(
    environment: Environment, broker: str, topic_prefix: str, tmp_path: Path, command: list[str]
) -> None:
    make_topic(broker, topic_prefix)
    folder = project(tmp_path, DEDUP_BOOTSTRAP_SERVERS=broker, DEDUP_TOPIC_PREFIX=topic_prefix)
    with serve(Site(numbered(40))) as site:
        ended = environment.run(*command, "crawl", "shop", "-a", f"start={site.url('/')}", folder=folder)
        assert ended.returncode == 0, ended.stderr
        pages = Counter(["/", *site.pages])
        assert published(broker, topic_prefix, site) == pages, ended.stderr
        assert sent_by_the_project(folder, site) == pages


@pytest.mark.parametrize("command", BY_COMMAND, ids=" ".join)
def test_such_a_crawl_has_its_pages_judged_by_the_interpreter_that_it_names(
    environment: Environment, tmp_path: Path, command: list[str]
) -> None:
    folder = project(tmp_path, DEDUP_MODE="local", DEDUP_LOCAL_PYTHON=sys.executable, DEDUP_STATE="seen")
    (folder / "config.yaml").write_text("page: {processes: 1}\n", encoding="utf-8")
    copies = {f"/copy/{number}": page for number, page in enumerate([b"<p>the same words on each of these pages"] * 3)}
    with serve(Site(copies)) as site:
        ended = environment.run(*command, "crawl", "shop", "-a", f"start={site.url('/')}", folder=folder)
        assert ended.returncode == 0, ended.stderr
        assert "'dedup/verdict/unique': 2" in ended.stderr, ended.stderr
        assert "'dedup/verdict/duplicate': 2" in ended.stderr
        assert sent_by_the_project(folder, site) == Counter(["/", *site.pages])
    with Deduplicator(folder / "seen", folder / "config.yaml") as state:
        assert state.judged == 4


def test_a_crawl_that_is_to_judge_its_pages_says_with_the_plugin_alone_what_to_install(
    environment: Environment, tmp_path: Path
) -> None:
    folder = project(tmp_path, DEDUP_MODE="local", LOG_LEVEL="ERROR")
    ended = environment.run("scrapy", "crawl", "shop", "-a", "start=http://127.0.0.1:9/", folder=folder)
    (line,) = ended.stderr.splitlines()
    assert ended.returncode == 1, line
    assert "(No module named 'worker'): install it there (" in line
    assert line.endswith("-m pip install crawl-dedup), or name another interpreter in DEDUP_LOCAL_PYTHON")


def test_the_command_that_sends_a_spool_runs_with_the_plugin_alone(environment: Environment, tmp_path: Path) -> None:
    ended = environment.run("python", "-m", "crawler_plugin.spool", "nothing.spool", folder=tmp_path)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "nothing.spool: no such file" in ended.stderr
