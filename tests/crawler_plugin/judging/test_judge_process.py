"""``JudgeProcess``: verdicts for a crawl that may not wait for them, from a process that may end at any moment."""

from __future__ import annotations

import json
import os
import resource
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import pytest

from crawler_plugin.judging.judge_process import JudgeProcess
from crawler_plugin.record import PageRecord
from crawler_plugin.wire.errors import Refused, Stop, Unavailable, UsageError
from crawler_plugin.wire.judge_pipe import GREETING, JudgeOpened, PageJudged, write_frame
from tests.local.crawled import about, crawl
from tests.processes import children
from tests.waiting import wait_for
from worker.config import Settings
from worker.local import Deduplicator, FetchedPage

PLAIN: Final = {"page": {"processes": 1}, "index": {"memory_mb": 0}}
PAGES: Final = [page for page, _ in crawl(5, 60)]
UNIQUE: Final = [FetchedPage(f"http://a.example/{n}", text=f"only page {n} says a{n} b{n} c{n}") for n in range(3000)]
GONE: Final = "has ended .killed by SIGKILL.*start the crawl again"


def config(folder: Path, **sections: Any) -> str:
    path = folder / "dedup.yaml"
    path.write_text(json.dumps(PLAIN | sections), encoding="utf-8")
    return str(path)


def record(page: FetchedPage) -> PageRecord:
    """The record that the crawl would hand over."""
    sent = page.record(0, 0)
    return PageRecord(page.url, sent.key or b"", sent.value or b"", tuple(sent.headers))


def judged(state: Path) -> int:
    with Deduplicator(state, Settings.model_validate(PLAIN)) as local:
        return local.judged


class Judging:
    """A judge and the id of its process."""

    def __init__(self, folder: Path, **sections: Any) -> None:
        before = children()
        self.state = folder / "state"
        self.judge = JudgeProcess(sys.executable, str(self.state), config(folder, **sections))
        (self.pid,) = children() - before

    def submit(self, pages: list[FetchedPage]) -> list[Future[PageJudged]]:
        return [self.judge.submit(record(page)) for page in pages]


@pytest.fixture
def judging(tmp_path: Path) -> Iterator[Callable[..., Judging]]:
    made: list[Judging] = []

    def make(**sections: Any) -> Judging:
        made.append(Judging(tmp_path, **sections))
        return made[-1]

    yield make
    for each in made:
        with suppress(Stop):
            each.judge.leave()
        assert each.pid not in children()


def test_pages_get_the_verdicts_that_they_get_one_by_one_also_where_a_reader_hung_and_signals_came_meanwhile(
    judging: Callable[..., Judging],
) -> None:
    with Deduplicator(config=Settings.model_validate(PLAIN)) as local:
        wanted = [local.judge(page.url, page.body, **about(page)) for page in PAGES]
    one = judging()
    assert one.judge.judged_before == 0
    found = [one.submit(PAGES[:1])[0].result(60)]
    (reader,) = children(one.pid)
    os.kill(reader, signal.SIGSTOP)
    coming = one.submit(PAGES[1:])
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        os.kill(one.pid, number)
    assert not any(verdict.done() for verdict in coming)
    os.kill(reader, signal.SIGCONT)
    found += [verdict.result(60) for verdict in coming]
    one.judge.close()
    assert [(f.verdict, f.reason, f.duplicate_of, f.distance, f.similarity, f.suspect, f.detail) for f in found] == [
        (w.verdict, w.reason, w.duplicate_of, w.distance, w.similarity, w.suspect, w.detail) for w in wanted
    ]
    with pytest.raises(ValueError, match="make another one"):
        one.submit(PAGES[:1])[0].result(60)
    assert judged(one.state) == len(PAGES)


def test_what_was_submitted_is_judged_before_a_judge_is_closed_and_left_out_where_it_is_left(
    judging: Callable[..., Judging],
) -> None:
    one = judging()
    coming = one.submit(UNIQUE[:500])
    one.judge.close()
    assert all(verdict.result(0).verdict == "unique" for verdict in coming)
    other = judging()
    assert other.judge.judged_before == 500
    other.submit(UNIQUE[500:501])[0].result(60)
    (reader,) = children(other.pid)
    os.kill(reader, signal.SIGSTOP)
    coming = other.submit(UNIQUE[501:502])
    other.judge.leave()
    assert isinstance(coming[0].exception(0), ValueError)
    assert judged(other.state) == 501


def test_what_was_judged_is_written_in_time_though_no_page_comes(judging: Callable[..., Judging]) -> None:
    one = judging(index={"memory_mb": 0, "flush_seconds": 0.2})
    file = one.state / "index.blocks"
    before = file.stat().st_size
    one.submit(PAGES[:1])[0].result(60)
    wait_for(lambda: file.stat().st_size > before, "the page to be written", pause=0.02)


def test_at_the_limit_of_memory_judging_is_over_and_what_was_judged_is_kept(judging: Callable[..., Judging]) -> None:
    one = judging(index={"memory_mb": 9})
    failures = [verdict.exception(60) for verdict in one.submit(UNIQUE)]
    first = failures.index(next(failure for failure in failures if failure is not None))
    assert first > 10
    assert all("index.memory_mb" in str(failure) for failure in failures[first:])
    assert "index.memory_mb" in str(one.submit(UNIQUE[:1])[0].exception(0))
    one.judge.close()
    assert judged(one.state) >= first


def test_when_the_disk_is_full_judging_is_over_and_so_it_says_when_it_is_closed(
    judging: Callable[..., Judging],
) -> None:
    one = judging(index={"memory_mb": 0, "flush_entries": 1})
    size = (one.state / "index.blocks").stat().st_size + 10
    resource.prlimit(one.pid, resource.RLIMIT_FSIZE, (size, size))
    failures = [str(verdict.exception(60)) for verdict in one.submit(UNIQUE[:3])]
    assert ["make room on the disk" in failure for failure in failures] == [True] * 3
    with pytest.raises(Unavailable, match="make room on the disk"):
        one.judge.close()
    assert judged(one.state) == 0


def test_large_pages_and_long_verdicts_at_once_stop_neither_end(judging: Callable[..., Judging]) -> None:
    """Both pipes are full at times: each copy's verdict names a URL of 2 kB, 2 MB in all."""
    one = judging()
    words = " ".join(f"word{number}" for number in range(300))
    urls = [f"http://a.example/{number}/{'x' * 2000}" for number in range(1000)]
    large = [FetchedPage(f"http://b.example/{n}", f"<p>large {n}</p>".encode() + b" " * 5_000_000) for n in range(6)]
    coming = one.submit([FetchedPage(url, text=words) for url in urls] + large)
    found = [verdict.result(120) for verdict in coming]
    assert [verdict.verdict for verdict in found[: len(urls)]] == ["unique"] + ["duplicate"] * (len(urls) - 1)
    assert {verdict.duplicate_of for verdict in found[1 : len(urls)]} == {urls[0]}
    assert len(found) == len(coming)


@pytest.mark.parametrize("moment", ["before a page", "while pages wait", "while it is written"])
def test_when_the_judge_is_killed_all_pages_without_a_verdict_and_the_one_who_closes_it_are_told(
    judging: Callable[..., Judging], moment: str
) -> None:
    one = judging(index={"memory_mb": 0, "flush_seconds": 3600})
    if moment == "before a page":
        os.kill(one.pid, signal.SIGKILL)
        with pytest.raises(Unavailable, match=GONE):
            one.submit(PAGES[:1])[0].result(60)
    else:
        one.submit(PAGES[:1])[0].result(60)
        (reader,) = children(one.pid)
        os.kill(reader, signal.SIGSTOP)
        coming = one.submit(PAGES[1:])
        os.kill(one.pid, signal.SIGSTOP if moment == "while it is written" else signal.SIGKILL)
        if moment == "while it is written":
            os.kill(one.pid, signal.SIGKILL)
            with pytest.raises(Unavailable, match=GONE):
                one.judge.leave()
        for verdict in coming:
            with pytest.raises(Unavailable, match=GONE):
                verdict.result(60)
    with pytest.raises(Unavailable, match=GONE):
        one.judge.close()
    assert judged(one.state) == 0


CRAWL: Final = """
import os, sys
from crawler_plugin.judging.judge_process import JudgeProcess
from tests.crawler_plugin.judging.test_judge_process import UNIQUE, record
judge = JudgeProcess(sys.executable, sys.argv[1], sys.argv[2])
verdicts = [judge.submit(record(page)) for page in UNIQUE[:int(sys.argv[3])]]
for verdict in verdicts:
    verdict.result()
print("judged", flush=True)
if sys.argv[4] == "forked" and os.fork() == 0:
    sys.stdout.close()
sys.stdin.read()
"""


@pytest.mark.parametrize(("pages", "forked"), [(0, ""), (20, ""), (20, "forked")])
def test_when_the_crawl_is_killed_its_judge_writes_what_it_has_judged_and_ends(
    tmp_path: Path, pages: int, forked: str
) -> None:
    told = config(tmp_path, index={"memory_mb": 0, "flush_seconds": 1 if forked else 3600})
    state = tmp_path / "state"
    arguments = [sys.executable, "-c", CRAWL, str(state), told, str(pages), forked]
    crawling = subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert crawling.stdin is not None
    assert crawling.stdout is not None
    assert crawling.stdout.readline() == b"judged\n"
    holder = int((state / "lock").read_text())
    crawling.kill()
    crawling.wait()
    wait_for(lambda: not Path(f"/proc/{holder}").exists(), "the judge to end", pause=0.05)
    crawling.stdin.close()
    crawling.stdout.close()
    assert judged(state) == pages


def test_what_cannot_be_opened_is_refused_where_it_is_made_and_leaves_no_process(
    tmp_path: Path, judging: Callable[..., Judging]
) -> None:
    one = judging()
    others = children()
    with pytest.raises(Refused, match=f"open already, in process {one.pid}"):
        JudgeProcess(sys.executable, str(one.state), config(tmp_path))
    with pytest.raises(Refused, match=r"near\.scopes"):
        JudgeProcess(sys.executable, None, config(tmp_path, near={"scopes": "host"}))
    assert children() == others


def as_frames(*frames: Any) -> str:
    """A shell command that writes them."""
    read, write = os.pipe()
    with os.fdopen(write, "wb") as pipe:
        pipe.write(GREETING)
        for frame in frames:
            write_frame(pipe, frame) if not isinstance(frame, bytes) else pipe.write(frame)
    with os.fdopen(read, "rb") as pipe:
        return "printf '" + "".join(f"\\{byte:03o}" for byte in pipe.read()) + "'"


LATE: Final = "; exec cat >/dev/null"
"""The process lives on."""
VERDICT: Final = PageJudged("unique", None, None, None, "new", False, "")


@pytest.mark.parametrize(
    ("program", "told"),
    [
        ("exit 3", r"does not have it \(exit code 3; see standard error\): install it there"),
        ("kill -9 $$", "killed by SIGKILL; see standard error"),
        ("echo no module of that name", r"\(no module of that name\)"),
        ("echo crawl-dedup judge 2" + LATE, r"needs crawl-dedup of the same version .*\(crawl-dedup judge 2\)"),
        ("exec yes", r"\(y\)"),
        (as_frames(), "has ended .exit code 0.*start the crawl again"),
        (as_frames(b"\xff" * 100) + LATE, "has ended .a frame of 4294967295 bytes"),
        (as_frames(b"\x01\0\0\0\xc1") + LATE, "has ended .no frame: "),
        (as_frames(VERDICT) + LATE, "has ended .its message answers no page"),
    ],
)
def test_an_interpreter_that_judges_nothing_or_says_something_else_is_refused_in_one_sentence(
    tmp_path: Path, program: str, told: str
) -> None:
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\n{program}\n", encoding="ascii")
    python.chmod(python.stat().st_mode | stat.S_IXUSR)
    others = children()
    with pytest.raises(Stop, match=told) as refused:
        JudgeProcess(str(python), None, None)
    assert "\n" not in str(refused.value)
    assert children() == others


@pytest.mark.parametrize("frame", [VERDICT, JudgeOpened(1), b"\xff" * 100])
def test_a_judge_that_says_what_nobody_asked_is_ended_and_pages_are_told(tmp_path: Path, frame: Any) -> None:
    python = tmp_path / "python"
    first, then = as_frames(JudgeOpened(0)), as_frames(frame).replace(as_frames()[:-1], "printf '")
    python.write_text(f"#!/bin/sh\n{first}\nhead -c 30 >/dev/null\n{then}\nexec cat >/dev/null\n", encoding="ascii")
    python.chmod(python.stat().st_mode | stat.S_IXUSR)
    judge = JudgeProcess(str(python), None, None)
    coming = [judge.submit(record(page)) for page in PAGES[:1]]
    failure = coming[0].exception(60) if frame is not VERDICT else judge.submit(record(PAGES[1])).exception(60)
    assert "has ended (" in str(failure)
    with pytest.raises(Unavailable, match="start the crawl again"):
        judge.close()


@pytest.mark.parametrize("name", ["nowhere/python", "a\0b", "/"])
def test_an_interpreter_that_cannot_be_started_is_told_by_its_setting(name: str) -> None:
    with pytest.raises(UsageError, match=r"^DEDUP_LOCAL_PYTHON: .* cannot be started .*; name the Python interpreter"):
        JudgeProcess(name, None, None)


def test_what_the_judge_logs_comes_with_its_level_and_what_it_prints_disturbs_nothing(tmp_path: Path) -> None:
    state = tmp_path / "state"
    JudgeProcess(sys.executable, str(state), config(tmp_path)).leave()
    with (state / "index.blocks").open("ab") as file:
        file.write(b"torn")
    lines: list[tuple[int, str]] = []
    JudgeProcess(sys.executable, str(state), config(tmp_path), lambda *line: lines.append(line)).leave()
    ((level, message),) = [line for line in lines if "index.blocks" in line[1]]
    assert level > 20, message


def test_the_project_s_modules_are_not_the_judge_s(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "worker.py").write_text("raise SystemExit('the project was imported')", encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dedup.yaml").write_text(json.dumps(PLAIN), encoding="utf-8")
    judge = JudgeProcess(sys.executable, "state", "dedup.yaml")
    assert judge.submit(record(UNIQUE[0])).result(60).verdict == "unique"
    judge.close()
    assert judged(tmp_path / "state") == 1
