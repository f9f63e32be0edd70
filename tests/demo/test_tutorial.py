"""The handbook's first tutorial, followed exactly as printed, from the project on: its output is as printed."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

from worker.demo.server import SiteServer

ROOT: Final = Path(__file__).resolve().parents[2]
PAGE: Final = (ROOT / "docs" / "tutorial" / "first-crawl.md").read_text(encoding="utf-8")
BLOCKS: Final = re.findall(r"```(\w+)[^\n]*\n(.*?)```", PAGE, re.DOTALL)
SHELL: Final = [text for kind, text in BLOCKS if kind == "sh"]
SERVE: Final = "python -m worker.demo.server 8000 8001 &\n"
ADDRESS: Final = "http://127.0.0.1:8000/"
OF_A_CRAWL: Final = 352
"""The number of items: one per page, except print versions and files; the first page comes twice."""


def followed(folder: Path, command: str) -> str:
    """Run the tutorial's command in a folder like a reader's, with the tests' environment in place of the
    tutorial's."""
    paths = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        ["bash", "-ec", command],
        cwd=folder,
        env=os.environ | paths,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=400,
        check=True,
    ).stdout


def stat(log: str, name: str) -> int:
    """A value of a crawl's statistics, as printed in the log and in the tutorial; 0 where it is missing."""
    found = re.search(rf"'{name}': (\d+),", log)
    return int(found[1]) if found else 0


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_who_follows_it_from_nothing_has_a_feed_without_copies(tmp_path: Path) -> None:
    install, serve, project, crawl, look = SHELL
    (spider,) = [text for kind, text in BLOCKS if kind == "python"]
    (told,) = [text for kind, text in BLOCKS if kind == "text"]
    written = [*install.splitlines(), *serve.splitlines(), *project.splitlines(), *crawl.splitlines()]
    assert len([line for line in written if not line.startswith("cat ") and line != "END"]) == 12
    assert serve == SERVE
    followed(tmp_path, project)
    here = tmp_path / "courier"
    with SiteServer() as site:
        (here / "courier" / "spiders" / "articles.py").write_text(spider.replace(ADDRESS, site.site.start))
        log = followed(here, crawl)
        assert stat(log, "item_scraped_count") == stat(told, "item_scraped_count") == len(site.site.groups)
        assert stat(log, "item_dropped_count") == stat(told, "item_dropped_count")
        reasons = [stat(log, f"dedup/dropped/{rule}") for rule in ("exact-bytes", "exact-text", "hamming", "sketch")]
        assert sum(reasons) == stat(log, "item_dropped_count")
        assert stat(log, "item_dropped_count") + stat(log, "item_scraped_count") == OF_A_CRAWL
        assert f"of {OF_A_CRAWL} items" in PAGE
        assert f"{len(site.site.pages)} pages at" in PAGE.replace("\n", " ")
        feed = lines(here / "articles.jsonl")
        assert len(feed) == len(site.site.groups)
        assert not any(item["dedup"]["verdict"] == "duplicate" for item in feed if isinstance(item["dedup"], dict))
        files = [file for item in feed if isinstance(item["files"], list) for file in item["files"]]
        # Where the mirror of an article comes first, that is the survivor, and has no print version to download.
        wanted = [url for item in feed if isinstance(item["file_urls"], list) for url in item["file_urls"]]
        assert len(files) == len(wanted) == len([*(here / "files").glob("full/*")])
        assert any(item["file_urls"] for item in feed + lines(here / "dropped.jsonl"))
        assert (here / "job" / "dedup").is_dir()
    assert len(lines(here / "dropped.jsonl")) == OF_A_CRAWL - len(site.site.groups)
    assert [json.loads(line)["dedup"]["verdict"] for line in followed(here, look).splitlines()] == ["duplicate"] * 3


def test_its_site_is_served_by_its_command_until_that_is_ended() -> None:
    command = SERVE.split()[1:-3]
    with subprocess.Popen([sys.executable, *command, "0", "0"], stdout=subprocess.PIPE, text=True, cwd=ROOT) as site:
        assert site.stdout is not None
        told = site.stdout.readline()
        site.terminate()
    assert re.fullmatch(r"\d+ pages from http://127\.0\.0\.1:\d+/ on, until this ends\n", told)
