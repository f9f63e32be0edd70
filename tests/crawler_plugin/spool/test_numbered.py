"""One name per spider and folder: simultaneous crawls use different files, and the next crawl sends the pages that all
of them left."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from crawler_plugin.spool.file import Spool
from crawler_plugin.spool.numbered import open_numbered
from crawler_plugin.spool.records import Destination
from crawler_plugin.wire.outcomes import JobMark
from tests.crawler_plugin.crawling import ROOT
from tests.crawler_plugin.spool.test_file import numbered, take_all, urls

ROOM = 10**9
HERE = Destination("dedup.pages", "dedup.jobs", ("kafka:9092",), "monday")
THERE = Destination("other.pages", "other.jobs", ("kafka:9092",), "monday")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "dedup-news.v2.spool"


def names(path: Path) -> list[str]:
    return sorted(each.name.removeprefix("dedup-news.v2") for each in path.parent.iterdir())


def killed(path: Path, *pages: int, to: Destination = HERE) -> None:
    """A crawl that had these pages in its spool and was killed: its lock ends with it."""
    spool = open_numbered(path, ROOM, to).spool
    assert spool.append(numbered(*pages)).pages == len(pages)
    spool._held.close()


def test_crawls_at_once_take_a_file_each_and_the_next_one_takes_all_that_is_left(path: Path) -> None:
    running = [open_numbered(path, ROOM, HERE).spool for _ in range(4)]
    for number, spool in enumerate(running):
        spool.append(numbered(number))
        spool.keep_marks([JobMark(job=f"{number}", spider="news", run="r", pages=7)])
    assert names(path) == [".spool", "~2.spool", "~3.spool", "~4.spool"]
    running[1].close()
    running[2]._held.close()  # killed
    opened = open_numbered(path, 10, HERE)
    assert opened.spool.path.name == "dedup-news.v2~2.spool", "the first that is free"
    assert urls(take_all(opened.spool)) == ["1", "2"], "whatever its limit is"
    assert {mark.job for mark in opened.spool.marks} == {"1", "2"}
    assert names(path) == [".spool", "~2.spool", "~4.spool"]
    opened.spool._held.close()  # killed at once
    for spool in (running[0], running[3]):
        spool.close()
    last = open_numbered(path, ROOM, HERE)
    assert last.spool.path == path
    assert sorted(urls(take_all(last.spool))) == ["0", "1", "2", "3"]
    assert {mark.job for mark in last.spool.marks} == {"0", "1", "2", "3"}
    assert (last.damage, last.passed_over, last.spool.destinations) == ([], [], [HERE])
    assert names(path) == [".spool"]


def test_pages_that_are_to_go_elsewhere_stay_and_are_named_with_the_command_that_sends_them(path: Path) -> None:
    killed(path, 1, to=THERE)
    killed(path, 2)
    opened = open_numbered(path, ROOM, HERE)
    assert opened.spool.path.name == "dedup-news.v2~2.spool"
    assert urls(take_all(opened.spool)) == ["2"]
    (line,) = opened.passed_over
    assert line.startswith(f"the pages in {path} are to go to other.pages at kafka:9092, and this crawl publishes to ")
    assert f"python -m crawler_plugin.spool {path}" in line
    there = open_numbered(path, ROOM, THERE)
    assert there.spool.path == path


def test_damage_of_a_spool_that_is_taken_over_is_told_and_its_other_pages_are_kept(path: Path) -> None:
    killed(path, 1)
    second = path.with_name("dedup-news.v2~2.spool")
    killed(second, 2, 3)
    with second.open("ab") as file:
        file.write(b"torn")
    opened = open_numbered(path, ROOM, HERE)
    assert urls(take_all(opened.spool)) == ["1", "2", "3"]
    (line,) = opened.damage
    assert line.startswith(f"{second}: bytes ")


def test_a_disk_that_is_full_leaves_what_could_not_be_taken_over_where_it_was(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed(path, 1)
    second = path.with_name("dedup-news.v2~2.spool")
    killed(second, 2)
    before = second.read_bytes()

    def full(descriptor: int, record: bytes, offset: int) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as disk:
        disk.setattr(os, "pwrite", full)
        opened = open_numbered(path, ROOM, HERE)
    assert opened.passed_over == [f"1 page stays in {second}: {path}: No space left on device"]
    assert second.read_bytes() == before
    assert urls(take_all(opened.spool)) == ["1"]


def test_processes_that_begin_at_one_moment_have_a_file_each(path: Path) -> None:
    program = (
        "import sys; from pathlib import Path\n"
        "from crawler_plugin.spool.numbered import open_numbered\n"
        "from crawler_plugin.spool.records import Destination\n"
        "sys.stdin.readline()\n"
        "print(open_numbered(Path(sys.argv[1]), 10**9, Destination('p', 'j', ('s:1',))).spool.path, flush=True)\n"
        "sys.stdin.readline()"
    )
    begun = [
        subprocess.Popen(
            [sys.executable, "-c", program, str(path)],
            cwd=ROOT,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        for _ in range(4)
    ]
    for process in begun:
        assert process.stdin is not None
        process.stdin.write("begin\n")
        process.stdin.flush()
    took = [process.stdout.readline() for process in begun if process.stdout is not None]
    for process in begun:
        process.communicate("end\n", timeout=60)
    assert len(set(took)) == 4


@pytest.mark.parametrize("name", ["dedup-news.v2~.spool", "dedup-news.v2~02x.spool", "dedup-news.spool", "other.spool"])
def test_files_with_other_names_are_left_alone(path: Path, name: str) -> None:
    spool = Spool.open(path.with_name(name), ROOM, HERE)
    spool.append(numbered(1))
    spool.close()
    assert open_numbered(path, ROOM, HERE).spool.left == 0
